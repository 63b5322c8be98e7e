"""The handler with LangChain's own models: called, streamed, batched, failing, cached, interleaved."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.caches import InMemoryCache
from langchain_core.language_models import FakeListChatModel, FakeListLLM, GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall
from langchain_core.outputs import ChatGenerationChunk, ChatResult, LLMResult

from agentguard.health import HealthResult, LLMCall, LLMMonitor
from agentguard.integrations import health
from agentguard.integrations.health import HealthCallbackHandler

USAGE = {"input_tokens": 3, "output_tokens": 6, "total_tokens": 9}


class Clock:
    """Seconds that pass when it is told so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Watching(LLMMonitor):
    """Keeps the calls that it is told of."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[LLMCall] = []

    def record(self, call: LLMCall) -> HealthResult:
        self.calls.append(call)
        return super().record(call)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(health, "perf_counter", clock)
    return clock


@pytest.fixture
def monitor() -> Watching:
    return Watching()


@pytest.fixture
def handler(monitor: Watching, clock: Clock) -> HealthCallbackHandler:
    return HealthCallbackHandler(monitor)


class TimedModel(GenericFakeChatModel):
    """Says its messages in turn; takes a second for each piece, and for a whole answer."""

    model_name: str = "timed-1"
    clock: Any = None

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.clock.now += 1.0
        return super()._generate(messages, *args, **kwargs)

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        run_manager = kwargs.get("run_manager")
        for text in ("", "It is ", "mild."):
            self.clock.now += 1.0
            chunk = ChatGenerationChunk(message=AIMessageChunk(text))
            if run_manager:
                run_manager.on_llm_new_token(text, chunk=chunk)
            yield chunk
        usage: Any = USAGE
        yield ChatGenerationChunk(message=AIMessageChunk("", usage_metadata=usage))

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def timed(clock: Clock, *messages: AIMessage) -> TimedModel:
    return TimedModel(messages=iter(messages), clock=clock)


def said(text: str) -> AIMessage:
    usage: Any = USAGE
    return AIMessage(text, usage_metadata=usage)


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "batch", "abatch"])
async def test_a_call(way: str, handler: HealthCallbackHandler, monitor: Watching, clock: Clock) -> None:
    model, config = timed(clock, said("It is mild.")), {"callbacks": [handler]}
    if way == "invoke":
        model.invoke("How is it?", config)
    elif way == "ainvoke":
        await model.ainvoke("How is it?", config)
    elif way == "batch":
        model.batch(["How is it?"], config)
    else:
        await model.abatch(["How is it?"], config)

    assert monitor.calls == [LLMCall("timed-1", "It is mild.", 1000.0, tokens=6)]
    assert not handler._running


@pytest.mark.parametrize("way", ["stream", "astream"])
async def test_a_stream(way: str, handler: HealthCallbackHandler, monitor: Watching, clock: Clock) -> None:
    """The first piece is empty, as the first of many providers is; the first text comes after two seconds."""
    model, config = timed(clock), {"callbacks": [handler]}
    if way == "stream":
        pieces = list(model.stream("How is it?", config))
    else:
        pieces = [piece async for piece in model.astream("How is it?", config)]

    assert "".join(str(piece.content) for piece in pieces) == "It is mild."
    assert monitor.calls == [LLMCall("timed-1", "It is mild.", 3000.0, first_token_ms=2000.0, tokens=6)]
    assert not handler._running


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
async def test_a_plain_model(way: str, handler: HealthCallbackHandler, monitor: Watching) -> None:
    model, config = FakeListLLM(responses=["It is mild."]), {"callbacks": [handler]}
    if way == "invoke":
        model.invoke("How is it?", config)
    elif way == "ainvoke":
        await model.ainvoke("How is it?", config)
    elif way == "stream":
        list(model.stream("How is it?", config))
    else:
        [piece async for piece in model.astream("How is it?", config)]

    assert monitor.calls == [LLMCall("FakeListLLM", "It is mild.", 0.0)]


def test_tokens_that_only_the_result_names(handler: HealthCallbackHandler, monitor: Watching) -> None:
    """As clients of plain models report them."""

    class Counting(FakeListLLM):
        def _generate(self, prompts: list[str], *args: Any, **kwargs: Any) -> LLMResult:
            found = super()._generate(prompts, *args, **kwargs)
            return LLMResult(generations=found.generations, llm_output={"token_usage": {"completion_tokens": 4}})

    Counting(responses=["It is mild."]).invoke("How is it?", {"callbacks": [handler]})

    assert [call.tokens for call in monitor.calls] == [4]


class FailingModel(FakeListChatModel):
    """Fails at once, or in the middle of a stream."""

    def _call(self, *args: Any, **kwargs: Any) -> str:
        raise ValueError("about Oslo")

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=AIMessageChunk("It is "))
        raise ValueError("about Oslo")

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream():
            yield chunk


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
async def test_an_exception_passes_through_and_counts(
    way: str, handler: HealthCallbackHandler, monitor: Watching, caplog: pytest.LogCaptureFixture
) -> None:
    model: Any = FailingModel(responses=["x"])
    config = {"callbacks": [handler]}

    async def ask() -> None:
        if way.endswith("invoke"):
            model.invoke("How is it?", config) if way == "invoke" else await model.ainvoke("How is it?", config)
        elif way == "stream":
            list(model.stream("How is it?", config))
        else:
            [piece async for piece in model.astream("How is it?", config)]

    with pytest.raises(ValueError, match="about Oslo"):
        await ask()

    assert monitor.calls == [LLMCall("FailingModel", error="ValueError")]
    assert not handler._running
    assert caplog.text == ""


async def test_a_cancelled_call_does_not_count(handler: HealthCallbackHandler, monitor: Watching) -> None:
    class Waiting(FakeListChatModel):
        async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
            await asyncio.Event().wait()
            raise AssertionError

    task = asyncio.create_task(Waiting(responses=["x"]).ainvoke("How is it?", {"callbacks": [handler]}))
    while not handler._running:
        await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert monitor.calls == []  # nobody is told of its end; it is forgotten when there are too many of its kind


def test_an_answer_from_the_cache_has_no_latency(
    handler: HealthCallbackHandler, monitor: Watching, clock: Clock
) -> None:
    model = timed(clock, said("It is mild."))
    model.cache = InMemoryCache()

    for _ in range(2):
        model.invoke("How is it?", {"callbacks": [handler]})

    assert [call.latency_ms for call in monitor.calls] == [1000.0, None]
    assert monitor.baseline("timed-1").latency_ms == 1000.0


def test_an_agents_calls(handler: HealthCallbackHandler, monitor: Watching, clock: Clock) -> None:
    """The first turn only asks for a tool, and has no text."""

    def weather(city: str) -> str:
        """The weather of a city."""
        return "mild"

    usage: Any = USAGE
    asks = AIMessage("", tool_calls=[ToolCall(name="weather", args={"city": "Oslo"}, id="1")], usage_metadata=usage)
    agent = create_agent(timed(clock, asks, said("It is mild.")), [weather])

    agent.invoke({"messages": ["How is it in Oslo?"]}, {"callbacks": [handler]})

    assert [(call.text, call.tokens) for call in monitor.calls] == [(None, 6), ("It is mild.", 6)]


async def test_many_calls_at_once_are_told_apart(clock: Clock) -> None:
    """Fifty streams, each with a model of its own and one piece at a time in turn."""
    monitor = Watching()
    handler = HealthCallbackHandler(monitor)

    class Slow(FakeListChatModel):
        model_name: str

        async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
            for piece in ("It is ", self.model_name):
                await asyncio.sleep(0)
                yield ChatGenerationChunk(message=AIMessageChunk(piece))

    async def ask(number: int) -> None:
        model = Slow(responses=["x"], model_name=f"m{number}")
        async for _ in model.astream("How is it?", {"callbacks": [handler]}):
            await asyncio.sleep(0)

    await asyncio.gather(*map(ask, range(50)))

    assert {(call.model, call.text) for call in monitor.calls} == {(f"m{n}", f"It is m{n}") for n in range(50)}
    assert len(monitor.calls) == 50
    assert not handler._running


def test_calls_that_never_end_are_forgotten_oldest_first(
    handler: HealthCallbackHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "MAX_RUNNING_CALLS", 3)
    runs = [uuid4() for _ in range(5)]

    for run_id in runs:
        handler.on_llm_start({}, ["How is it?"], run_id=run_id)

    assert list(handler._running) == runs[2:]


def test_the_end_of_an_unknown_call_is_ignored(handler: HealthCallbackHandler, monitor: Watching) -> None:
    handler.on_llm_new_token("x", run_id=uuid4())
    handler.on_llm_end(LLMResult(generations=[]), run_id=uuid4())
    handler.on_llm_error(ValueError(), run_id=uuid4())

    assert monitor.calls == []


@pytest.mark.parametrize("result", [LLMResult(generations=[]), LLMResult(generations=[[]]), object()])
def test_a_result_without_anything_in_it(
    result: Any, handler: HealthCallbackHandler, monitor: Watching, caplog: pytest.LogCaptureFixture
) -> None:
    run_id = uuid4()
    handler.on_chat_model_start({"name": "Own"}, [[]], run_id=run_id)
    with caplog.at_level(logging.ERROR, logger="agentguard"):
        handler.on_llm_end(result, run_id=run_id)

    assert monitor.calls == [LLMCall("Own", None, 0.0)]


@pytest.mark.parametrize(
    ("serialized", "given", "name"),
    [
        ({"id": ["langchain", "ChatX"]}, {"metadata": {"ls_model_name": "x-1"}}, "x-1"),
        ({"id": ["langchain", "ChatX"]}, {"invocation_params": {"model": "x-2"}}, "x-2"),
        ({"id": ["langchain", "ChatX"]}, {"invocation_params": {"model_name": "x-3"}}, "x-3"),
        ({"id": ["langchain", "ChatX"]}, {"invocation_params": {"model": 7}}, "ChatX"),
        (None, {"name": "Own"}, "Own"),
        (None, {}, "unnamed model"),
    ],
)
def test_whose_call_it_is(
    serialized: Any, given: dict[str, Any], name: str, handler: HealthCallbackHandler, monitor: Watching
) -> None:
    run_id = uuid4()
    handler.on_chat_model_start(serialized, [[]], run_id=run_id, **given)
    handler.on_llm_error(ValueError(), run_id=run_id)

    assert [call.model for call in monitor.calls] == [name]


@pytest.mark.parametrize(
    ("wanted", "expects"),
    [({"type": "json_object"}, "json"), ({"type": "json_schema"}, "json"), ({"type": "text"}, None), (None, None)],
)
def test_json_is_expected_where_it_was_asked_for(
    wanted: Any, expects: str | None, handler: HealthCallbackHandler, monitor: Watching, clock: Clock
) -> None:
    class Asked(TimedModel):
        def _get_invocation_params(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
            return {"model": "timed-1", "response_format": wanted}

    Asked(messages=iter([said("It is mild.")]), clock=clock).invoke("How is it?", {"callbacks": [handler]})

    assert [call.expects for call in monitor.calls] == [expects]


def test_results_are_told(monitor: Watching, caplog: pytest.LogCaptureFixture) -> None:
    told: list[HealthResult] = []
    model = FakeListChatModel(responses=["It is mild."])
    model.invoke("How is it?", {"callbacks": [HealthCallbackHandler(monitor, on_result=told.append)]})
    assert [result.model for result in told] == ["FakeListChatModel"]

    def fail(result: HealthResult) -> None:
        raise ValueError("about Oslo")

    with caplog.at_level(logging.ERROR, logger="agentguard"):
        answer = model.invoke("How is it?", {"callbacks": [HealthCallbackHandler(monitor, on_result=fail)]})
    assert answer.content == "It is mild."
    assert [record.getMessage() for record in caplog.records] == [
        "on_result failed for 'FakeListChatModel': ValueError"
    ]


def test_a_slow_answer_is_noticed(monitor: Watching, clock: Clock) -> None:
    """Four times the usual second: latency 1.0, rate 0.75, text as usual: 0.4375 / 0.8."""
    told: list[HealthResult] = []
    config: Any = {"callbacks": [HealthCallbackHandler(monitor, on_result=told.append)]}
    model = timed(clock, *[said("It is mild.")] * 5)

    class Slowed(TimedModel):
        def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
            self.clock.now += 3.0
            return super()._generate(*args, **kwargs)

    for _ in range(5):
        model.invoke("How is it?", config)
    Slowed(messages=iter([said("It is mild.")]), clock=clock).invoke("How is it?", config)

    assert told[-1].health == "degraded"
    assert told[-1].score == pytest.approx(0.546875)
