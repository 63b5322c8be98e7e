"""Server-sent events: what is new on the board, told to one listener.

Nothing is queued for a listener. One that reads slowly is told less often, and one that has fallen behind the news that
the board keeps is asked to begin anew: slow listeners take no memory, however many there are.

============ ======================================= =================================================
event        data                                    id
============ ======================================= =================================================
``verdict``  a verdict, as in ``/live/state``        the position up to which the listener was told
``label``    ``{of, tool, sequence, at,              the same
             was_hallucination}``
``tools``    the table of tools, whole               none
``changes``  the lasting changes, as in the state    none
``store``    ``{reachable}``, when that changes      none
``anew``     ``{}``: ask for the state again         none
============ ======================================= =================================================
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import asdict
from typing import Any, Final

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agentguard.live._board import Board, News, Position
from agentguard.serving._app import ProblemError

MOST_STREAMS: Final = 32
RETRY_AFTER: Final = 30  # seconds
HEARTBEAT: Final = 15.0  # seconds: below the minute after which proxies close a silent connection
AT_ONCE: Final = 100  # pieces of news between two checks of whether the listener is still let in
SEND_SECONDS: Final = 60.0
RETRY: Final = b"retry: 2000\n\n"


class Seat:
    """One listener, in the event loop."""

    def __init__(self) -> None:
        self._called = asyncio.Event()

    def call(self) -> None:
        """Wake the listener."""
        self._called.set()

    async def news(self, seconds: float) -> bool:
        """Wait for a call, at most so long; whether there was one."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._called.wait(), seconds)
        called = self._called.is_set()
        self._called.clear()
        return called


class Audience:
    """The listeners of one server, at most so many; ``stopping`` while all of them are being let go."""

    def __init__(self, most: int = MOST_STREAMS) -> None:
        self._most = most
        self._seats: set[Seat] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.stopping = False

    def __len__(self) -> int:
        return len(self._seats)

    @contextmanager
    def seat(self) -> Iterator[Seat]:
        """A seat for one listener, for as long as the context is open.

        Raises:
            ProblemError: if all seats are taken, or the server is stopping.
        """
        if self.stopping or len(self._seats) >= self._most:
            reason = "the server is shutting down" if self.stopping else "as many are listening as may be at once"
            raise ProblemError(503, "no-seat", reason, retry_after=RETRY_AFTER)
        self._loop = asyncio.get_running_loop()
        seat = Seat()
        self._seats.add(seat)
        try:
            yield seat
        finally:
            self._seats.discard(seat)

    def call(self) -> None:
        """Wake all listeners; may be called in any thread, and by a signal handler."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended, and with it every listener
                self._loop.call_soon_threadsafe(self._call)

    def stop(self) -> None:
        """Let all listeners go; may be called by a signal handler."""
        self.stopping = True
        self.call()

    def _call(self) -> None:
        for seat in self._seats:
            seat.call()


def event(kind: str, data: Any, position: Position | None = None) -> bytes:
    r"""Frame an event: JSON in ASCII, in which no line can end.

    >>> event("tools", {"tool": "a\nb"}, Position(3, 1))
    b'id: 3.1\nevent: tools\ndata: {"tool":"a\\nb"}\n\n'
    """
    identity = "" if position is None else f"id: {position}\n"
    return f"{identity}event: {kind}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


async def news_events(
    board: Board,
    seat: Seat,
    position: Position,
    *,
    may_listen: Callable[[], bool],
    reaches_store: Callable[[], bool],
    heartbeat: float = HEARTBEAT,
) -> AsyncGenerator[bytes, None]:
    """Events for a listener, from a position on, for as long as it may listen."""
    version = changes_version = -1
    reachable = True
    yield RETRY
    while may_listen():
        if reachable != reaches_store():
            reachable = not reachable
            yield event("store", {"reachable": reachable})
        page = board.news_after(position, AT_ONCE)
        # Behind what the board keeps, or labels were taken back: the listener has to ask for the whole state.
        if page is None:
            yield event("anew", {})
            return
        for news, verdict in page:
            if news.kind == "labels forgotten":
                yield event("anew", {})
                return
            position = _beyond(position, news)
            yield event(news.kind, news.what if verdict is None else asdict(verdict), position)
        if changes_version != board.changes_version:
            changes_version = board.changes_version
            yield event("changes", asdict(board.changes()))
        if version != board.version:
            version = board.version
            yield event("tools", asdict(board.tools()))
        if len(page) < AT_ONCE and not await seat.news(heartbeat):
            yield b": listening\n\n"


def _beyond(position: Position, news: News) -> Position:
    """The position after this news; that of another server may be ahead in one log and behind in the other."""
    if news.kind == "verdict":
        return position._replace(audit=max(position.audit, news.at.audit))
    return position._replace(feedback=max(position.feedback, news.at.feedback))


class EventStream(Response):
    """A response that goes on until there is nothing more to tell, or the listener is gone.

    A listener that takes nothing for ``patience`` seconds is let go.

    sse-starlette would do for the framing, but importing it replaces uvicorn's signal handler in the whole process,
    and after one shutdown it ends every later stream of that process at once (3.7).
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        audience: Audience,
        events_for: Callable[[Seat], AsyncGenerator[bytes, None]],
        *,
        patience: float = SEND_SECONDS,
    ) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})  # asks nginx to pass on what comes
        del self.headers["content-length"]
        self._audience, self._events_for, self._patience = audience, events_for, patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._audience.seat() as seat:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_until_gone, receive, tasks.cancel_scope)
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                async with aclosing(self._events_for(seat)) as chunks:
                    async for chunk in chunks:
                        with anyio.move_on_after(self._patience) as sending:
                            await send({"type": "http.response.body", "body": chunk, "more_body": True})
                        if sending.cancelled_caught:
                            break
                    else:
                        await send({"type": "http.response.body", "body": b"", "more_body": False})
                tasks.cancel_scope.cancel()


async def _until_gone(receive: Receive, listening: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    listening.cancel()
