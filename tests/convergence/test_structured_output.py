"""Models with structured output answer by it; those that only have the method, by text. Sync and async."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from pydantic import Field

from agentguard.convergence import ConvergenceConfig, ConvergenceContext, ConvergenceEvaluation

Session = Callable[..., ConvergenceContext]
Judge = Callable[..., Awaitable[ConvergenceEvaluation]]
Answer = Callable[..., str]
Model = Callable[..., Any]


@pytest.fixture
def structured(scripted_model: type[Any]) -> Model:
    """A model that calls tools, which is how LangChain gets structured output from it."""

    class Structured(scripted_model):  # type: ignore[misc]  # the class is a fixture
        temperature: float = 1.0
        schemas: list[Any] = Field(default_factory=list)
        temperatures: list[float] = Field(default_factory=list)

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            self.schemas.extend(tools)
            return self.bind(tools=tools)

        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            self.temperatures.append(self.temperature)
            return super()._generate(*args, **kwargs)

    return lambda *replies: Structured(replies=list(replies))


def called(arguments: Any, content: str = "", name: str = "ConvergenceEvaluation") -> AIMessage:
    return AIMessage(content, tool_calls=[{"name": name, "args": arguments, "id": "c1"}])


async def test_the_structured_answer_is_taken(
    judge: Judge, session: Session, structured: Model, answer: Answer
) -> None:
    model = structured(called(json.loads(answer())))
    told = await judge(session(), model)

    assert told.passed
    assert told.category_scores["SECURITY"] == 90
    assert [schema["title"] for schema in model.schemas] == ["ConvergenceEvaluation"]
    assert model.temperatures == [0.3]


async def test_a_wrong_verdict_is_void_here_too(
    judge: Judge, session: Session, structured: Model, answer: Answer
) -> None:
    told = await judge(session(), structured(called(json.loads(answer(passed="true")))))

    assert not told.passed
    assert "passed is neither" in told.opinions[0].fault


async def test_other_fields_are_read_as_those_of_text(
    judge: Judge, session: Session, structured: Model, answer: Answer
) -> None:
    sloppy = json.loads(answer(qualityScore="85%", categoryScores={"SECURITY": 0.9}, gaps="timeouts"))
    told = await judge(session(), structured(called(sloppy)))

    assert told.passed
    assert (told.quality_score, told.category_scores["SECURITY"], told.gaps) == (85, None, ("timeouts",))
    assert told.opinions[0].reply is not None
    assert len(told.opinions[0].reply.notes) == 3


async def test_text_in_place_of_the_structured_answer(
    judge: Judge, session: Session, structured: Model, answer: Answer
) -> None:
    assert (await judge(session(), structured(answer()))).passed


@pytest.mark.parametrize("reply", [AIMessage(""), called({"passed": True}, name="another_tool")])
async def test_neither_text_nor_structured_answer(
    judge: Judge, session: Session, structured: Model, reply: AIMessage
) -> None:
    told = await judge(session(), structured(reply))

    assert told.opinions[0].fault == "No JSON found in response"


async def test_an_error_of_a_structured_model_is_a_failure(judge: Judge, session: Session, structured: Model) -> None:
    told = await judge(session(), structured(RuntimeError("no such format")))

    assert told.opinions[0].fault == "no such format"


async def test_structured_output_can_be_left_off(
    judge: Judge, session: Session, structured: Model, answer: Answer
) -> None:
    model = structured(answer())
    told = await judge(session(), model, ConvergenceConfig(structured=False))

    assert told.passed
    assert model.schemas == []


async def test_what_is_bound_to_a_model_stays_bound(
    judge: Judge, session: Session, structured: Model, answer: Answer
) -> None:
    """LangChain's binding hands ``with_structured_output`` on to the bare model; such a model is asked for text."""
    model = structured(answer())
    told = await judge(session(), model.bind(max_tokens=7), ConvergenceConfig(max_tokens=None))

    assert told.passed
    assert model.schemas == []
    assert model.settings == [{"max_tokens": 7, "temperature": 0.3}]


@pytest.mark.parametrize("refusal", [NotImplementedError("not here"), TypeError("include_raw"), ValueError("method")])
async def test_a_model_that_only_has_the_method(
    judge: Judge, session: Session, answer: Answer, refusal: Exception
) -> None:
    class Bare:
        def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
            raise refusal

        def invoke(self, messages: Any) -> str:
            return answer()

    assert (await judge(session(), Bare())).passed


async def test_a_model_that_returns_the_object_itself(judge: Judge, session: Session, answer: Answer) -> None:
    class Direct:
        def invoke(self, messages: Any) -> Any:
            loaded: Any = json.loads(answer())
            return loaded

    assert (await judge(session(), Direct())).passed
