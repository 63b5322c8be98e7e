"""Targets by what they are handed: chat models known by their batch call, and plain functions."""

import threading
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from agentguard.errors import ConfigurationError, GateError
from agentguard.gate._types import Prompt
from agentguard.gate.models._targets import CallableTarget, ModelTarget

from ...rows import over

PROMPTS = [Prompt("p1", "one"), Prompt("p2", "two")]


class Batches:
    """A model that notes its batches, and answers with what it is given."""

    def __init__(self, answer: Any = "fine") -> None:
        self.answer = answer
        self.sizes: list[int] = []
        self.configs: list[Any] = []

    def batch(self, inputs: list[Any], config: Any = None, *, return_exceptions: bool = False) -> list[Any]:
        self.sizes.append(len(inputs))
        self.configs.append((config, return_exceptions))
        return [self.answer(messages[-1]["content"]) if callable(self.answer) else self.answer for messages in inputs]


def test_any_chat_model_is_a_target() -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage("first"), AIMessage("second")]))

    assert ModelTarget(model, "fake", max_concurrency=1).respond(PROMPTS) == ["first", "second"]


@over(
    ("content", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        ([], ""),
        ([{"type": "text", "text": "two "}, {"type": "text", "text": "blocks"}], "two blocks"),
        (
            [{"type": "reasoning_content", "reasoning_content": {"text": "hm"}}, {"type": "text", "text": "said"}],
            "said",
        ),
        ([{"type": "tool_use", "name": "f", "input": {}, "text": "no"}], ""),
        (["bare ", "texts"], "bare texts"),
    ],
)
def test_the_text_of_an_answer(content: Any, text: str) -> None:
    assert ModelTarget(Batches(AIMessage(content)), "m").respond(PROMPTS[:1]) == [text]


@pytest.mark.parametrize("answer", [None, 7, b"bytes", {"type": "text"}])
def test_what_is_no_message_has_no_text(answer: Any) -> None:
    assert ModelTarget(Batches(answer), "m").respond(PROMPTS[:1]) == [""]


def test_requests_go_through_the_batch_call() -> None:
    model = Batches()
    ModelTarget(model, "m", max_concurrency=3).respond([Prompt(f"p{number}", "?") for number in range(100)])

    assert model.configs == [({"max_concurrency": 3}, True)] * 3
    assert model.sizes == [48, 48, 4]


def test_after_a_failure_no_further_batch_is_sent() -> None:
    model = Batches(lambda text: ValueError("broken") if text == "q5" else text)

    with pytest.raises(GateError, match="m did not answer prompt p5: ValueError"):
        ModelTarget(model, "m", max_concurrency=1).respond([Prompt(f"p{n}", f"q{n}") for n in range(100)])
    assert model.sizes == [16]


def test_a_batch_that_raises_is_told_by_its_first_prompt() -> None:
    class Raising:
        def batch(self, inputs: list[Any], config: Any = None, *, return_exceptions: bool = False) -> list[Any]:
            raise TimeoutError("no answer in 5 s")

    with pytest.raises(GateError, match=r"^m did not answer prompt p1 or one of 1 sent together with it: TimeoutErr"):
        ModelTarget(Raising(), "m").respond(PROMPTS)


def test_a_batch_that_loses_answers_is_not_believed() -> None:
    class Losing:
        def batch(self, inputs: list[Any], config: Any = None, *, return_exceptions: bool = False) -> list[Any]:
            return ["only one"]

    with pytest.raises(GateError, match="gave 1 answers to 2 requests"):
        ModelTarget(Losing(), "m").respond(PROMPTS)


def test_lone_surrogates_of_an_answer_are_replaced() -> None:
    assert ModelTarget(Batches("cut \ud83d"), "m").respond(PROMPTS[:1]) == ["cut ?"]
    assert CallableTarget(lambda text: "cut \ud83d").respond(PROMPTS[:1]) == ["cut ?"]


def test_a_function_is_a_target() -> None:
    target = CallableTarget(str.upper, "shouting")

    assert target.name == "shouting"
    assert target.respond(PROMPTS) == ["ONE", "TWO"]
    assert target.respond([]) == []


def test_functions_run_at_once_where_asked_to_and_keep_the_order() -> None:
    both = threading.Barrier(2)

    def answer(text: str) -> str:
        both.wait(timeout=20)
        return text

    assert CallableTarget(answer, max_concurrency=2).respond(PROMPTS) == ["one", "two"]


def test_nothing_is_an_empty_answer() -> None:
    assert CallableTarget(lambda text: None).respond(PROMPTS) == ["", ""]


@pytest.mark.parametrize("max_concurrency", [1, 2])
def test_a_function_that_raises_is_told_by_its_prompt(max_concurrency: int) -> None:
    def answer(text: str) -> str:
        if text == "two":
            raise KeyError("the patient is called Ann")
        return text

    with pytest.raises(GateError, match="callable did not answer prompt p2: KeyError") as caught:
        CallableTarget(answer, max_concurrency=max_concurrency).respond(PROMPTS)
    assert "Ann" not in str(caught.value)


def test_an_answer_that_is_no_text_is_refused() -> None:
    with pytest.raises(GateError, match="answered prompt p1 with int, which is no text"):
        CallableTarget(lambda text: 3).respond(PROMPTS)  # type: ignore[arg-type,return-value]  the fault under test


@over("number", [0, -1, True, 1.5, None])
def test_max_concurrency_is_a_number_of_requests(number: Any) -> None:
    with pytest.raises(ConfigurationError, match="max_concurrency"):
        ModelTarget(Batches(), "m", number)
    with pytest.raises(ConfigurationError, match="max_concurrency"):
        CallableTarget(str.upper, "m", number)
