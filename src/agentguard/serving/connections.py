"""The connections of a server: how many there may be, and for how long one may be open without a request.

A client that connects and says nothing, or sends half a header, or does not read what it asked for, takes a file
descriptor for as long as it likes, and with enough of them nobody else gets in. Here a header has to be there within
seconds, what is written has to be taken within seconds, and where there are too many connections those that wait
without a request go first, the oldest of them before the others: who asks is answered.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from typing import Any, ClassVar, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

from agentguard.errors import ConfigurationError
from agentguard.serving.problems import PROBLEM_JSON, make_problem

__all__ = ["ACCEPTED_AT_ONCE", "HEADER_SECONDS", "WRITE_SECONDS", "Connections", "most_connections"]

HEADER_SECONDS: Final = 10.0
WRITE_SECONDS: Final = 30.0
LINGER_SECONDS: Final = 1.0  # for what was said last; then the connection is cut off
MOST: Final = 1_000
#: ``uvicorn.Config(backlog=…)``: an event loop accepts so many before those that make room for them can be gone.
ACCEPTED_AT_ONCE: Final = 1
SAID_EVERY: Final = 60.0  # seconds
_log = logging.getLogger("agentguard.serving")


def most_connections() -> int:
    """How many connections there may be: 1,000, or three quarters of the files that this process may open."""
    try:
        import resource
    except ImportError:  # no such limit on this system
        return MOST
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if files == resource.RLIM_INFINITY else max(min(MOST, files * 3 // 4), 1)


class Connections:
    """The bounds of one server's connections, for ``uvicorn.Config(http=connections.protocol())``.

    Args:
        most: connections at once, 1 or more; see ``most_connections``.
        header_seconds: above 0, within which the header of a request must be there: of the first one from the
            beginning of the connection, of others from the last answer.
        write_seconds: above 0, within which a client must take what is held for it.

    Raises:
        ConfigurationError: for numbers that cannot be used.
    """

    def __init__(
        self,
        most: int | None = None,
        *,
        header_seconds: float = HEADER_SECONDS,
        write_seconds: float = WRITE_SECONDS,
    ) -> None:
        self.most = most_connections() if most is None else most
        if self.most < 1 or not header_seconds > 0.0 or not write_seconds > 0.0:
            raise ConfigurationError("most must be 1 or more, header_seconds and write_seconds above 0")
        self.header_seconds, self.write_seconds = header_seconds, write_seconds
        self.open = 0
        self._waiting: OrderedDict[_Bounded, None] = OrderedDict()  # without a request, the longest first
        self._said = -SAID_EVERY

    def protocol(self) -> type[asyncio.Protocol]:
        """The protocol of one connection, which keeps to these bounds."""

        class Bounded(_Bounded):
            room = self

        return Bounded

    def enter(self, connection: _Bounded) -> None:
        """A connection was made; another one goes where there are too many, or this one."""
        self.open += 1
        self._waiting[connection] = None
        if self.open > self.most:
            now = connection.loop.time()
            if now - self._said >= SAID_EVERY:
                self._said = now
                _log.warning("there are more than %d connections: those without a request are closed", self.most)
            next(iter(self._waiting)).refuse(503, "there are too many connections: try again in a second")

    def wait(self, connection: _Bounded) -> None:
        """It has no request under way."""
        self._waiting.setdefault(connection, None)

    def serve(self, connection: _Bounded) -> None:
        """It has one."""
        self._waiting.pop(connection, None)

    def leave(self, connection: _Bounded) -> None:
        """It is gone."""
        self._waiting.pop(connection, None)
        self.open -= 1


class _Bounded(H11Protocol):
    """A connection that is closed where its client lets it wait."""

    room: ClassVar[Connections]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._deadline: asyncio.TimerHandle | None = (
            None  # for the header; there is one except where a request is served
        )
        self._stalled: asyncio.TimerHandle | None = None
        self._began = False  # something of a header is there

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]  # a server's is always a Transport
        self._wait(self.room.header_seconds)
        self.room.enter(self)

    def data_received(self, data: bytes) -> None:
        self._began = True
        super().data_received(data)
        self._follow()

    def on_response_complete(self) -> None:
        self._began = False
        super().on_response_complete()  # goes on to the next request, where it is there already
        self._follow()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._deadline, self._stalled):
            if timer is not None:
                timer.cancel()
        self._deadline = self._stalled = None
        self.room.leave(self)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(self.room.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        super().resume_writing()

    def refuse(self, status: int, said: str) -> None:
        """Say why, and close; who asks for nothing, or does not take what was said before, is told nothing."""
        self.room.serve(self)  # it waits for nothing any more
        if self.transport.is_closing() or self.transport.get_write_buffer_size():
            self.transport.abort()
            return
        if self._began or (status == 503 and self.cycle is None):
            problem = make_problem(status, "", said)
            body = problem.model_dump_json(exclude_none=True).encode()
            head = f"HTTP/1.1 {status} {problem.title}\r\ncontent-type: {PROBLEM_JSON}\r\nconnection: close\r\n"
            retry = "retry-after: 1\r\n" if status == 503 else ""
            self.transport.write(f"{head}{retry}content-length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()
        self._wait(LINGER_SECONDS)

    def _follow(self) -> None:
        """Begin to count the seconds, or end, by whether a request is under way."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.room.serve(self)
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None
        elif self._deadline is None:
            self.room.wait(self)
            self._wait(self.room.header_seconds)

    def _wait(self, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(seconds, self._late)

    def _late(self) -> None:
        self._deadline = None
        self.refuse(408, f"the header was not there within {self.room.header_seconds:g} seconds")
