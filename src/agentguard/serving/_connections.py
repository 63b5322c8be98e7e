"""Bounds on the connections of a uvicorn server: how many, and how long one may be open without a request.

A client that connects and sends nothing, or half a header, or does not read the answer, holds a file descriptor for as
long as it likes; enough of them lock everybody else out. With these bounds a header must come within seconds and
written data must be taken within seconds. Beyond the maximum the connection that has waited longest without a request
is closed, so that clients that ask are answered.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import OrderedDict
from contextlib import suppress
from typing import Any, ClassVar, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from agentguard.errors import ConfigurationError
from agentguard.serving._app import PROBLEM_JSON, make_problem

HEADER_SECONDS: Final = 10.0
WRITE_SECONDS: Final = 30.0
LINGER_SECONDS: Final = 1.0  # for the last answer; then the connection is cut off
MOST: Final = 1_000
#: ``uvicorn.Config(backlog=…)``: an event loop accepts this many before it can close others to make room.
ACCEPTED_AT_ONCE: Final = 1
WARN_EVERY: Final = 60.0  # seconds
_log = logging.getLogger("agentguard.serving")


def most_connections() -> int:
    """The default maximum: 1,000, or three quarters of the files that this process may open."""
    try:
        import resource
    except ImportError:  # no such limit on this system
        return MOST
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if files == resource.RLIM_INFINITY else max(min(MOST, files * 3 // 4), 1)


class Connections:
    """The bounds of one server's connections, for ``uvicorn.Config(http=connections.protocol())``.

    Args:
        most: connections at once, 1 or more; None: see ``most_connections``.
        header_seconds: above 0, within which a request's header must come, counted from the beginning of the
            connection or from the last answer.
        write_seconds: above 0, within which a client must take data that waits for it.

    Raises:
        ConfigurationError: if a number is out of range.
    """

    def __init__(
        self, most: int | None = None, *, header_seconds: float = HEADER_SECONDS, write_seconds: float = WRITE_SECONDS
    ) -> None:
        self.most = most_connections() if most is None else most
        if self.most < 1 or not header_seconds > 0.0 or not write_seconds > 0.0:
            raise ConfigurationError("most must be 1 or more, header_seconds and write_seconds above 0")
        self.header_seconds, self.write_seconds = header_seconds, write_seconds
        self.open = 0
        self._waiting: OrderedDict[_Bounded, None] = OrderedDict()  # without a request, the longest waiting first
        self._warned = -WARN_EVERY

    def protocol(self) -> type[asyncio.Protocol]:
        """A protocol class whose connections keep to these bounds."""

        class Bounded(_Bounded):
            room = self

        return Bounded

    def enter(self, connection: _Bounded) -> None:
        """Count a new connection; beyond the maximum, refuse the one that has waited longest."""
        self.open += 1
        self._waiting[connection] = None
        if self.open > self.most:
            now = connection.loop.time()
            if now - self._warned >= WARN_EVERY:
                self._warned = now
                _log.warning("there are more than %d connections: those without a request are closed", self.most)
            next(iter(self._waiting)).refuse(503, "there are too many connections: try again in a second")

    def wait(self, connection: _Bounded) -> None:
        """Note that a connection has no request under way."""
        self._waiting.setdefault(connection, None)

    def serve(self, connection: _Bounded) -> None:
        """Note that a connection has a request under way."""
        self._waiting.pop(connection, None)

    def leave(self, connection: _Bounded) -> None:
        """Forget a closed connection."""
        self._waiting.pop(connection, None)
        self.open -= 1


class _Lingering:
    """A transport that closes when the client has sent its body.

    A system answers data that nobody reads with a reset, and a client that sends on loses the answer by it.
    """

    def __init__(self, transport: Any, protocol: _Bounded) -> None:
        self._transport, self._protocol = transport, protocol

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        return self._protocol.lingers or bool(self._transport.is_closing())

    def close(self) -> None:
        if not self._protocol.linger(self._transport):
            self._transport.close()


class _Bounded(H11Protocol):
    """A connection that is closed if its client lets it wait."""

    room: ClassVar[Connections]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._deadline: asyncio.TimerHandle | None = None  # for the header; none while a request is served
        self._stalled: asyncio.TimerHandle | None = None  # for data that waits to be written
        self._began = False  # a part of a header has come
        self._lingers = False  # the answer is out, and what still comes of the body is thrown away

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(_Lingering(transport, self))  # type: ignore[arg-type]  # it is one by what it has
        # asyncio does so for sockets that were made with the protocol's number, which those of ``create_server`` are
        # not. Without it the body of an answer waits for the client to acknowledge the header: 40 ms.
        with suppress(OSError):  # of another kind of socket
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._wait(self.room.header_seconds)
        self.room.enter(self)

    @property
    def lingers(self) -> bool:
        """The connection ends as soon as the client has sent its body, or the header's time is over."""
        return self._lingers

    def linger(self, transport: asyncio.Transport) -> bool:
        """Read on where a body is refused before its end; returns whether there is something to be read."""
        if self._lingers or self.conn.their_state is not h11.SEND_BODY or transport.is_closing():
            return False
        self._lingers = True
        if transport.can_write_eof():
            transport.write_eof()
        transport.resume_reading()
        return True

    def data_received(self, data: bytes) -> None:
        if self._lingers:
            return
        self._began = True
        super().data_received(data)
        self._follow()

    def on_response_complete(self) -> None:
        self._began = False
        super().on_response_complete()  # goes on to the next request, if it has come already
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

    def refuse(self, status: int, detail: str) -> None:
        """Answer with a problem, and close; without an answer if nothing was asked or earlier data was not taken."""
        self.room.serve(self)  # no longer among those that wait
        if self.transport.is_closing() or self.transport.get_write_buffer_size():
            self.transport.abort()
            return
        if self._began or (status == 503 and self.cycle is None):
            problem = make_problem(status, "", detail)
            body = problem.model_dump_json(exclude_none=True).encode()
            head = f"HTTP/1.1 {status} {problem.title}\r\ncontent-type: {PROBLEM_JSON}\r\nconnection: close\r\n"
            retry = "retry-after: 1\r\n" if status == 503 else ""
            self.transport.write(f"{head}{retry}content-length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()
        self._wait(LINGER_SECONDS)

    def _follow(self) -> None:
        """Stop the header's deadline while a request is under way, else set one."""
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
