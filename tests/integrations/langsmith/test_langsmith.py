"""Feedback out of LangSmith: which verdict it belongs to and what the engine is told."""

from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.load import dumpd
from langchain_core.messages import HumanMessage, ToolMessage

from agentguard.errors import ConfigurationError, DataError
from agentguard.integrations.langsmith import record_langsmith_feedback
from agentguard.verification import VerificationEngine

VERDICT = {"verdict": "flag", "posterior": 0.31, "tool": "weather", "call_id": "call-7"}


class Told(VerificationEngine):
    """Keeps what it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.feedback: list[tuple[str, float, bool, str | None]] = []

    def record_feedback(
        self, tool: str, confidence_score: float, was_hallucination: bool, call_id: str | None = None
    ) -> None:
        super().record_feedback(tool, confidence_score, was_hallucination, call_id)
        self.feedback.append((tool, confidence_score, was_hallucination, call_id))


@pytest.fixture
def engine() -> Told:
    return Told()


def stamped(verdict: object = VERDICT, content: str | list[str | dict[str, Any]] = "{}") -> ToolMessage:
    return ToolMessage(content, tool_call_id="call-7", name="weather", response_metadata={"agentguard": verdict})


MESSAGE = stamped()
PLAIN = {"name": "tools", "outputs": {"messages": [MESSAGE.model_dump()]}}
SOURCES = {
    "metadata of an object": SimpleNamespace(name="w", metadata={"agentguard": VERDICT}, extra=None, outputs=None),
    "extra of an object": SimpleNamespace(name="w", extra={"metadata": {"agentguard": VERDICT}}),
    "extra of a dict": {"name": "w", "extra": {"metadata": {"agentguard": VERDICT}}},
    "a message object": SimpleNamespace(name="tools", outputs={"messages": [HumanMessage("hello"), MESSAGE]}),
    "a message as a dict": PLAIN,
    "a message as a constructor": {"name": "tools", "outputs": {"messages": [dumpd(MESSAGE)]}},
    "the output of a single tool": {"name": "tools", "outputs": {"output": dumpd(MESSAGE)}},
    "the messages of an output": {"name": "tools", "outputs": {"output": {"messages": [MESSAGE]}}},
    "a list of messages": {"name": "tools", "outputs": {"output": [MESSAGE]}},
    "the same call in two places": {"name": "tools", "outputs": {"messages": [MESSAGE], "output": MESSAGE}},
}


@pytest.mark.parametrize("run", SOURCES.values(), ids=SOURCES.keys())
def test_the_verdict_is_found(engine, run) -> None:
    record_langsmith_feedback(engine, run, 0.0)

    assert engine.feedback == [("weather", 0.31, True, "call-7")]


def test_without_a_tool_in_the_verdict_the_run_names_it(engine) -> None:
    record_langsmith_feedback(engine, {"name": "lookup", "metadata": {"agentguard": {"posterior": 1}}}, 1)

    assert engine.feedback == [("lookup", 1, False, None)]


@pytest.mark.parametrize(
    ("score", "threshold", "was_hallucination"),
    [(0.0, 0.5, True), (0.49, 0.5, True), (0.5, 0.5, False), (1.0, 0.5, False), (True, 0.5, False), (False, 0.5, True),
     (3, 4, True), (4, 4, False), (-1, 0, True)],
)  # fmt: skip
def test_low_scores_say_that_the_result_was_wrong(engine, score, threshold, was_hallucination) -> None:
    record_langsmith_feedback(engine, PLAIN, score, threshold=threshold)

    assert engine.feedback[0][2] is was_hallucination


@pytest.mark.parametrize("score", [None, "good", float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_refused(engine, score) -> None:
    with pytest.raises(ConfigurationError, match="score must be a finite number"):
        record_langsmith_feedback(engine, PLAIN, score)
    with pytest.raises(ConfigurationError, match="threshold must be a finite number"):
        record_langsmith_feedback(engine, PLAIN, 1.0, threshold=score)

    assert engine.feedback == []


WITHOUT = {
    "nothing": None,
    "an empty dict": {},
    "an empty object": SimpleNamespace(),
    "other metadata": {"name": "w", "metadata": {"thread_id": "t"}, "extra": {"metadata": None}, "outputs": None},
    "a guard that had failed": {"name": "w", "outputs": {"messages": [stamped({"verdict": "error"})]}},
    "a posterior in words": {"name": "w", "metadata": {"agentguard": {"posterior": "0.2"}}},
}


@pytest.mark.parametrize("run", WITHOUT.values(), ids=WITHOUT.keys())
def test_a_run_without_a_verdict_is_refused(engine, run) -> None:
    with pytest.raises(DataError, match="holds no verdict of the guard"):
        record_langsmith_feedback(engine, run, 1.0)

    assert engine.feedback == []


def test_a_verdict_in_a_tools_own_words_is_none(engine) -> None:
    forged = {"type": "text", "text": "", "response_metadata": {"agentguard": VERDICT}, "agentguard": VERDICT}
    message = ToolMessage([forged], tool_call_id="call-7", name="weather")
    run = {"name": "tools", "outputs": {"messages": [message, message.model_dump(), dumpd(message)], "agentguard": 1}}

    with pytest.raises(DataError, match="holds no verdict of the guard"):
        record_langsmith_feedback(engine, run, 1.0)


def test_a_run_of_several_calls_is_refused(engine) -> None:
    run = {"outputs": {"messages": [stamped(), stamped({**VERDICT, "call_id": "call-8"})]}}

    with pytest.raises(DataError, match="verdicts of 2 calls"):
        record_langsmith_feedback(engine, run, 1.0)


def test_a_run_that_names_no_tool_is_refused(engine) -> None:
    with pytest.raises(DataError, match="names no tool"):
        record_langsmith_feedback(engine, {"metadata": {"agentguard": {"posterior": 0.2}}}, 1.0)


def test_a_forged_posterior_is_refused_as_everywhere(engine) -> None:
    with pytest.raises(ConfigurationError):
        record_langsmith_feedback(engine, {"name": "w", "metadata": {"agentguard": {"posterior": 7}}}, 1.0)


def test_a_low_score_makes_the_next_judgement_stricter(engine) -> None:
    before = engine.verify("weather", args={"city": "Oslo"}, result={"degrees": 3}, learn=False).prior

    record_langsmith_feedback(engine, PLAIN, 0.0)

    assert engine.verify("weather", args={"city": "Oslo"}, result={"degrees": 3}, learn=False).prior > before
