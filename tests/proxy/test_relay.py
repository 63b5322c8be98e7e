"""The relay: what overtakes what, what waits for what, and what ends it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agentguard.proxy._guarding import Guarding
from agentguard.proxy._messages import Line
from agentguard.proxy._relay import MOST_AT_ONCE, Relay
from agentguard.verification.profile import parse_profile

from .conftest import answer, call, line, text

Make = Callable[..., Guarding]


class End:
    """A side of the relay: what it says is put in, what it is told is read."""

    def __init__(self) -> None:
        self.said: asyncio.Queue[Line | None] = asyncio.Queue()
        self.told: asyncio.Queue[bytes] = asyncio.Queue()
        self.closed = asyncio.Event()

    async def lines(self) -> AsyncIterator[Line]:
        while (each := await self.said.get()) is not None:
            yield each

    async def write(self, data: bytes) -> None:
        await self.told.put(data)

    async def send(self, line: Line) -> None:
        await self.told.put(line.data)

    async def close(self) -> None:
        self.closed.set()
        await self.said.put(None)

    def say(self, *messages: bytes, whole: bool = True) -> None:
        for each in messages:
            self.said.put_nowait(Line(each, whole))


class Blocked:
    """Lets judgements wait."""

    def __init__(self, guarding: Guarding, loop: asyncio.AbstractEventLoop) -> None:
        self.begun = asyncio.Semaphore(0)
        self.free = asyncio.Event()
        judge = guarding.judge

        def waiting(outcome: Any, beside: Any = None) -> Any:
            if outcome.tool == "large":
                loop.call_soon_threadsafe(self.begun.release)
                asyncio.run_coroutine_threadsafe(self.free.wait(), loop).result()
            return judge(outcome, beside)

        guarding.judge = waiting  # type: ignore[method-assign]


class Relayed:
    def __init__(self, guarding: Guarding) -> None:
        self.client, self.server, self.stop = End(), End(), asyncio.Event()
        self.task = asyncio.create_task(Relay(self.client, self.server, guarding).run(self.stop))


LARGE = text("x" * 200_000)


async def test_a_large_answer_holds_nothing_up(guarding: Make) -> None:
    kept = guarding()
    blocked = Blocked(kept, asyncio.get_running_loop())
    relayed = Relayed(kept)
    relayed.client.say(call(1, "large"), call(2, "small"))
    for _ in range(2):
        await relayed.server.told.get()
    note = line({"jsonrpc": "2.0", "method": "note"})
    relayed.server.say(answer(1, LARGE), answer(2, text("a")), note)

    assert await relayed.client.told.get() == answer(2, text("a"))
    assert await relayed.client.told.get() == note
    await blocked.begun.acquire()
    assert relayed.client.told.empty()
    blocked.free.set()
    assert await relayed.client.told.get() == answer(1, LARGE)
    relayed.client.said.put_nowait(None)
    await relayed.task


async def test_large_answers_are_bounded(guarding: Make) -> None:
    kept = guarding()
    blocked = Blocked(kept, asyncio.get_running_loop())
    relayed = Relayed(kept)
    for number in range(MOST_AT_ONCE + 3):
        relayed.client.say(call(number, "large"))
        await relayed.server.told.get()
        relayed.server.say(answer(number, LARGE))
    for _ in range(2):
        await blocked.begun.acquire()
    assert relayed.server.said.qsize() >= 2  # the server waits
    blocked.free.set()
    got = [json.loads(await relayed.client.told.get())["id"] for _ in range(MOST_AT_ONCE + 3)]

    assert sorted(got) == list(range(MOST_AT_ONCE + 3))
    relayed.stop.set()
    await relayed.task


async def test_an_observer_waits_for_no_judgement(guarding: Make) -> None:
    kept = guarding(shadow=True)
    blocked = Blocked(kept, asyncio.get_running_loop())
    relayed = Relayed(kept)
    relayed.client.say(call(1, "large"))
    await relayed.server.told.get()
    relayed.server.say(answer(1, LARGE))

    assert await relayed.client.told.get() == answer(1, LARGE)
    blocked.free.set()
    relayed.stop.set()
    await relayed.task


async def test_nothing_comes_between_the_pieces_of_a_long_line(guarding: Make) -> None:
    kept = guarding()
    blocked = Blocked(kept, asyncio.get_running_loop())
    relayed = Relayed(kept)
    relayed.client.say(call(1, "large"))
    await relayed.server.told.get()
    relayed.server.say(answer(1, LARGE))
    await blocked.begun.acquire()
    relayed.server.say(b"abc", b"def", whole=False)
    assert [await relayed.client.told.get() for _ in range(2)] == [b"abc", b"def"]
    blocked.free.set()
    relayed.server.say(b"end\n", whole=False)

    assert [await relayed.client.told.get() for _ in range(2)] == [b"end\n", answer(1, LARGE)]
    assert kept.counts["messages too long to be judged"] == 1
    relayed.stop.set()
    await relayed.task


@pytest.mark.parametrize(
    "pieces",
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"content":["', b"x" * 1_000, b'"]}}\n'),
        (b'{"result":{"content":["', b"x" * 1_000, b'"]},"jsonrpc":"2.0","id":7}\n'),
    ],
)
async def test_a_long_line_is_withheld_where_failures_are_closed(guarding: Make, pieces: tuple[bytes, ...]) -> None:
    relayed = Relayed(guarding(on_guard_error="closed"))
    relayed.client.say(call(7, "stock"))
    await relayed.server.told.get()
    relayed.server.say(*pieces, whole=False)
    made = json.loads(await relayed.client.told.get())

    assert made["id"] == 7
    assert made["result"]["isError"] is True
    assert "too long to be verified" in made["result"]["content"][0]["text"]
    relayed.server.say(*pieces, whole=False)  # no call is open any more: nobody is answered in its place
    after = line({"jsonrpc": "2.0", "method": "x"})
    relayed.server.say(after)
    assert await relayed.client.told.get() == after
    relayed.stop.set()
    await relayed.task


@pytest.mark.parametrize(
    "pieces",
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"id":8,"x":"', b"x" * 1_000, b'"}}\n'),
        (b'{"method":"tools/call","params":{"id":8,"x":"', b"x" * 1_000, b'"},"jsonrpc":"2.0","id":7}\n'),
    ],
)
async def test_a_request_too_long_to_be_read_is_answered_where_failures_are_closed(
    guarding: Make, pieces: tuple[bytes, ...]
) -> None:
    relayed = Relayed(guarding(on_guard_error="closed"))
    relayed.client.say(*pieces, whole=False)
    made = json.loads(await relayed.client.told.get())
    relayed.client.say(call(9))

    assert made["id"] == 7
    assert "was not sent to the server" in made["error"]["message"]
    assert await relayed.server.told.get() == call(9)
    relayed.stop.set()
    await relayed.task


async def test_a_request_too_long_to_be_read_passes_where_failures_are_open(guarding: Make) -> None:
    kept = guarding()
    relayed = Relayed(kept)
    pieces = (b'{"jsonrpc":"2.0","id":7,"params":"', b"x" * 1_000, b'"}\n')
    relayed.client.say(*pieces, whole=False)

    assert [await relayed.server.told.get() for _ in pieces] == list(pieces)
    assert kept.counts["messages of the client too long to be read"] == 1
    relayed.stop.set()
    await relayed.task


async def test_what_the_server_says_at_its_end_is_passed_on(guarding: Make) -> None:
    relayed = Relayed(guarding())
    relayed.server.say(line({"jsonrpc": "2.0", "method": "bye"}))
    relayed.server.said.put_nowait(None)
    await relayed.task

    assert relayed.client.told.qsize() == 1
    assert relayed.server.closed.is_set()


@pytest.mark.parametrize("side", ["client", "server"])
async def test_a_side_that_reads_no_more_ends_it(guarding: Make, side: str) -> None:
    async def gone(_: Any) -> None:
        raise BrokenPipeError

    relayed = Relayed(guarding())
    setattr(getattr(relayed, side), "write" if side == "client" else "send", gone)
    (relayed.server if side == "client" else relayed.client).say(line({"jsonrpc": "2.0", "method": "x"}))
    await relayed.task

    assert relayed.server.closed.is_set()


class TestReadBack:
    """A write that is read back through the same server."""

    WRITE = parse_profile({"name": "create", "confirm": {"tool": "get", "args": {"id": "$.result.id"}}})

    async def written(self, guarding: Make, said: Any) -> dict[str, Any]:
        """What a client gets of a write, where the server has this to say of it afterwards."""
        relayed = Relayed(guarding(self.WRITE))
        relayed.client.say(call(1, "create", amount=5))
        assert json.loads(await relayed.server.told.get())["id"] == 1
        relayed.server.say(answer(1, text('{"id": "O-1"}')), line({"jsonrpc": "2.0", "method": "note"}))
        own = json.loads(await relayed.server.told.get())
        assert own["params"] == {"name": "get", "arguments": {"id": "O-1"}}
        assert str(own["id"]).startswith("agentguard-")
        # What else the server has to say is not held up by it.
        assert json.loads(await relayed.client.told.get())["method"] == "note"
        if said is None:
            relayed.server.said.put_nowait(None)
        else:
            relayed.server.say(answer(own["id"], said))
        got: dict[str, Any] = json.loads(await relayed.client.told.get())
        assert got["id"] == 1
        relayed.client.said.put_nowait(None)
        await relayed.task
        assert relayed.client.told.empty()  # no client is told of the guard's own call
        return got["result"]

    async def test_what_is_there_is_passed_on(self, guarding: Make) -> None:
        assert await self.written(guarding, text('{"id": "O-1", "amount": 5}')) == text('{"id": "O-1"}')

    @pytest.mark.parametrize(
        "said", [text('{"id": "O-1", "amount": 500}'), text("no such order", isError=True), text("x " * 100_000)]
    )
    async def test_what_is_not_is_blocked(self, guarding: Make, said: Any) -> None:
        result = await self.written(guarding, said)
        if len(str(said)) > 100_000:  # an answer that is large, and says nothing otherwise
            assert result == text('{"id": "O-1"}')
            return

        assert result["isError"] is True
        assert result["_meta"]["agentguard"]["read_back"][0]["by"] == "guard"

    async def test_a_server_that_goes_away_leaves_it_unconfirmed(self, guarding: Make) -> None:
        result = await self.written(guarding, None)

        assert "could not be confirmed: get(id=…) raised ConnectionError" in result["content"][-1]["text"]

    async def test_other_calls_ask_nothing(self, guarding: Make) -> None:
        relayed = Relayed(guarding(self.WRITE))
        relayed.client.say(call(1, "other"))
        await relayed.server.told.get()
        relayed.server.say(answer(1, text("a")))

        assert await relayed.client.told.get() == answer(1, text("a"))
        assert relayed.server.told.empty()
        relayed.stop.set()
        await relayed.task
