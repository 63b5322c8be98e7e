"""Callables with a stopwatch: what the caller gets is what it was, and each call is recorded once."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from agentguard.errors import ConfigurationError
from agentguard.health import LLMCall, LLMMonitor, Reply, _measuring


class Clock:
    """Seconds that pass when it is told so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Watching(LLMMonitor):
    """Keeps the calls that it is told of."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock=clock)
        self.calls: list[LLMCall] = []

    def record(self, call: LLMCall) -> Any:
        self.calls.append(call)
        return super().record(call)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def monitor(clock: Clock) -> Watching:
    return Watching(clock)


def only(monitor: Watching) -> LLMCall:
    (call,) = monitor.calls
    return call._replace(
        latency_ms=None if call.latency_ms is None else round(call.latency_ms, 6),
        first_token_ms=None if call.first_token_ms is None else round(call.first_token_ms, 6),
    )


async def test_a_function(monitor: Watching, clock: Clock) -> None:
    def ask(question: str, *, loudly: bool = False) -> str:
        """Ask."""
        clock.now += 0.25
        return question + "!" * loudly

    asked = monitor.wrap(ask)

    assert asked("Mild", loudly=True) == "Mild!"
    assert (asked.__name__, asked.__doc__, inspect.signature(asked)) == ("ask", "Ask.", inspect.signature(ask))
    assert only(monitor) == LLMCall("ask", "Mild!", 250.0)


async def test_a_coroutine_function(monitor: Watching, clock: Clock) -> None:
    async def ask() -> dict[str, Any]:
        await asyncio.sleep(0)
        clock.now += 0.25
        return {"choices": [{"message": {"content": "{}"}}], "usage": {"completion_tokens": 2}}

    asked = monitor.wrap(ask, model="m", expects="json")

    assert inspect.iscoroutinefunction(asked)
    assert (await asked())["usage"] == {"completion_tokens": 2}
    assert only(monitor) == LLMCall("m", "{}", 250.0, tokens=2, expects="json")


async def test_a_function_that_hands_on_a_coroutine(monitor: Watching, clock: Clock) -> None:
    async def ask() -> str:
        clock.now += 0.25
        return "Mild."

    assert await monitor.wrap(lambda: ask(), model="m")() == "Mild."
    assert only(monitor) == LLMCall("m", "Mild.", 250.0)


async def test_a_task_is_handed_on_unmeasured(monitor: Watching) -> None:
    async def ask() -> str:
        return "Mild."

    task = monitor.wrap(lambda: asyncio.ensure_future(ask()), model="m")()

    assert isinstance(task, asyncio.Future)
    assert await task == "Mild."
    assert monitor.calls == []


class Lazy:
    """A client that can be called."""

    def __call__(self) -> str:
        return "Mild."


def test_a_callable_without_a_name_needs_a_model(monitor: Watching) -> None:
    assert monitor.wrap(Lazy(), model="m")() == "Mild."
    with pytest.raises(ConfigurationError, match="with a name, or model"):
        monitor.wrap(Lazy())
    with pytest.raises(ConfigurationError, match="not a str"):
        monitor.wrap("ask", model="m")  # type: ignore[type-var]  # on purpose


async def test_a_stream_is_timed_without_its_consumer(monitor: Watching, clock: Clock) -> None:
    """1 s to the first piece with text, 1 s more to the last, 0.5 s to the end; the consumer's 10 s do not count."""

    def ask() -> Iterator[str]:
        clock.now += 0.5
        yield ""
        clock.now += 0.5
        yield "It is "
        clock.now += 1.0
        yield "mild."
        clock.now += 0.5

    pieces = []
    for piece in monitor.wrap(ask, model="m")():
        clock.now += 10.0
        pieces.append(piece)

    assert pieces == ["", "It is ", "mild."]
    assert only(monitor) == LLMCall("m", "It is mild.", 2500.0, first_token_ms=1000.0)


async def test_an_async_stream(monitor: Watching, clock: Clock) -> None:
    async def ask() -> AsyncIterator[str]:
        clock.now += 1.0
        yield "It is "
        clock.now += 1.0
        yield "mild."

    pieces = []
    async for piece in monitor.wrap(ask, model="m")():
        clock.now += 10.0
        pieces.append(piece)

    assert pieces == ["It is ", "mild."]
    assert only(monitor) == LLMCall("m", "It is mild.", 2000.0, first_token_ms=1000.0)


class ClientStream:
    """A stream as clients have it: with a context and attributes of its own."""

    def __init__(self) -> None:
        self.request_id = "r-1"
        self.closed = False
        self._left = iter(["It is ", "mild."])

    def __iter__(self) -> ClientStream:
        return self

    def __next__(self) -> str:
        return next(self._left)

    def __aiter__(self) -> ClientStream:
        return self

    async def __anext__(self) -> str:
        for piece in self._left:
            return piece
        raise StopAsyncIteration

    def __enter__(self) -> ClientStream:
        return self

    def __exit__(self, *raised: Any) -> None:
        self.closed = True

    async def __aenter__(self) -> ClientStream:
        return self

    async def __aexit__(self, *raised: Any) -> None:
        self.closed = True


async def test_a_clients_stream_keeps_its_own_ways(monitor: Watching) -> None:
    async def ask() -> ClientStream:
        return ClientStream()

    async with await monitor.wrap(ask, model="m")() as stream:
        assert stream.request_id == "r-1"
        assert [piece async for piece in stream] == ["It is ", "mild."]
    assert stream.closed
    assert only(monitor).text == "It is mild."


def test_and_so_does_one_that_can_be_read_either_way(monitor: Watching) -> None:
    with monitor.wrap(ClientStream, model="m")() as stream:
        assert list(stream) == ["It is ", "mild."]
    assert stream.closed
    assert only(monitor).text == "It is mild."


def test_a_stream_that_is_left_is_not_recorded(monitor: Watching) -> None:
    ended = []

    def ask() -> Iterator[str]:
        try:
            yield "It is "
            yield "mild."
        finally:
            ended.append(True)

    stream = monitor.wrap(ask, model="m")()
    assert next(stream) == "It is "
    stream.close()  # type: ignore[attr-defined]  # a generator's, which is passed on

    assert ended == [True]
    assert monitor.calls == []


class Failed(Exception):
    """Of the model's client."""


async def test_an_exception_passes_through_and_counts(monitor: Watching) -> None:
    def ask() -> str:
        raise Failed("about Oslo")

    async def ask_async() -> str:
        raise Failed("about Oslo")

    def stream() -> Iterator[str]:
        yield "It is "
        raise Failed("about Oslo")

    async def stream_async() -> AsyncIterator[str]:
        yield "It is "
        raise Failed("about Oslo")

    with pytest.raises(Failed, match="about Oslo"):
        monitor.wrap(ask, model="m")()
    with pytest.raises(Failed, match="about Oslo"):
        await monitor.wrap(ask_async, model="m")()
    with pytest.raises(Failed, match="about Oslo"):
        list(monitor.wrap(stream, model="m")())
    with pytest.raises(Failed, match="about Oslo"):
        [piece async for piece in monitor.wrap(stream_async, model="m")()]

    assert monitor.calls == [LLMCall("m", latency_ms=0.0, error="Failed")] * 4
    assert (monitor.baseline("m").calls, monitor.baseline("m").errors) == (4, 4)


async def test_a_cancelled_call_does_not_count(monitor: Watching) -> None:
    async def ask() -> str:
        await asyncio.Event().wait()
        return "never"

    task = asyncio.create_task(monitor.wrap(ask, model="m")())
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert monitor.calls == []


def test_a_block(monitor: Watching, clock: Clock) -> None:
    with monitor.measure("m", expects="list") as call:
        clock.now += 1.0
        call.add("- one")
        clock.now += 1.0
        call.add("\n- two")

    assert only(monitor) == LLMCall("m", "- one\n- two", 2000.0, first_token_ms=1000.0, expects="list")
    assert call.result is not None
    assert call.result.model == "m"


def test_a_block_that_fails(monitor: Watching) -> None:
    with pytest.raises(Failed), monitor.measure("m"):
        raise Failed
    with pytest.raises(KeyboardInterrupt), monitor.measure("m") as interrupted:
        raise KeyboardInterrupt

    assert only(monitor).error == "Failed"
    assert interrupted.result is None


def test_tokens_of_pieces_are_the_last_count_or_their_sum(monitor: Watching) -> None:
    with monitor.measure("m") as call:
        call.add({"text": "a", "usage": {"output_tokens": 1}})
        call.add({"text": "b", "usage": {"output_tokens": 7}})
    with monitor.measure("m") as call:
        call.add({"text": "a", "usage_metadata": {"output_tokens": 1}})
        call.add({"text": "b", "usage_metadata": {"output_tokens": 7}})

    assert [call.tokens for call in monitor.calls] == [7, 8]


def test_a_reader_of_ones_own(monitor: Watching) -> None:
    asked = monitor.wrap(lambda: ("Mild.", 2), model="m", reader=lambda pair: Reply(*pair))

    assert asked() == ("Mild.", 2)
    assert (only(monitor).text, only(monitor).tokens) == ("Mild.", 2)


def test_a_reader_that_fails_is_logged_once_and_nothing_else(
    monitor: Watching, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(value: Any) -> Reply:
        raise Failed("about Oslo")

    with caplog.at_level(logging.ERROR, logger="agentguard"):
        assert list(monitor.wrap(lambda: iter(["It is ", "mild."]), model="m", reader=fail)()) == ["It is ", "mild."]

    assert [record.getMessage() for record in caplog.records] == ["a response of 'm' could not be read: Failed"]
    assert only(monitor) == LLMCall("m", None, 0.0)


def test_no_more_than_so_much_of_a_stream_is_held(monitor: Watching, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_measuring, "LONGEST", 10)

    with monitor.measure("m") as call:
        for _ in range(11):
            call.add("x")
        assert call._pieces == []

    assert only(monitor).text is None
