"""The relay: messages between a front and a server, each looked at by the connection on its way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Final, Protocol

from agentguard.guard._read_back import in_thread
from agentguard.proxy._connection import ENDS, TOO_LONG, Connection, Work
from agentguard.proxy._guarding import Guarding
from agentguard.proxy._messages import LONGEST, Line

_log = logging.getLogger("agentguard")

#: Seconds for what a server that is gone has said last; who still holds its output open is not waited for.
REST_SECONDS: Final = 2.0
MOST_AT_ONCE: Final = 4  # large answers that are judged at once; with more of them the server waits


class Front(Protocol):
    """The client's side."""

    def lines(self) -> AsyncIterator[Line]:
        """What the client sends, until it closes its end."""

    async def write(self, data: bytes) -> None:
        """Send something to the client; raises ``OSError`` where it reads no more."""


class Server(Protocol):
    """The server's side."""

    def lines(self) -> AsyncIterator[Line]:
        """What the server sends, until it is gone."""

    async def send(self, line: Line) -> None:
        """Send something to the server; raises ``OSError`` where it reads no more."""

    async def close(self) -> None:
        """Let the server know that nothing more comes, and end it where it does not end by itself."""


class Relay:
    """Passes messages on in both directions until one side is gone.

    Args:
        front: the client's side.
        server: the server's side.
        guarding: judges.
    """

    def __init__(self, front: Front, server: Server, guarding: Guarding) -> None:
        self._front = front
        self._server = server
        self._guarding = guarding
        self._connection = Connection(guarding, send=self._ask)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._input = asyncio.Lock()  # held while a line goes to the server, of a long one from first piece to last
        self._under_way: set[asyncio.Task[None]] = set()
        self._free = asyncio.Semaphore(MOST_AT_ONCE)
        self._in_pieces = False
        self._ends: bytes | None = None  # of a long line that is withheld
        self._output = asyncio.Lock()  # held from the first piece of a long line to its last

    async def run(self, stop: asyncio.Event) -> None:
        """Pass messages on until the client closes its end, the server is gone, or ``stop`` is set."""
        self._loop = asyncio.get_running_loop()
        inward = asyncio.create_task(self._inward())
        outward = asyncio.create_task(self._outward())
        stopped = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({inward, outward, stopped}, return_when=asyncio.FIRST_COMPLETED)
            # What the server still has to say when the client says no more is passed on until it is gone.
            await self._server.close()
            await asyncio.wait({outward}, timeout=REST_SECONDS)
            for way in (inward, outward):
                if way.done() and isinstance(error := way.exception(), Exception):
                    if not isinstance(error, OSError):
                        raise error
                    _log.info("one side reads no more: %s", type(error).__name__)
        finally:
            for task in (inward, outward, stopped, *self._under_way):
                task.cancel()
            await asyncio.gather(inward, outward, stopped, *self._under_way, return_exceptions=True)

    async def _inward(self) -> None:
        """From the client to the server."""
        in_pieces = False
        ends = b""
        async for line in self._front.lines():
            if not line.whole and self._connection.withholds:
                ends = _ends(ends, line.data)
                if line.data.endswith(b"\n"):
                    why = f"it is longer than {LONGEST:,} bytes, and its answer could not be judged"
                    await self._write(self._connection.unsent(ends, why))
                    ends = b""
                continue
            if not (line.whole or in_pieces):
                self._guarding.count("messages of the client too long to be read")
                _log.warning("a message of the client is longer than %d bytes: its answer passes unjudged", LONGEST)
            answer = self._connection.sent(line.data) if line.whole else None
            if answer is not None:
                await self._write(answer)
                continue
            if not in_pieces:
                await self._input.acquire()
            in_pieces = not (line.whole or line.data.endswith(b"\n"))
            try:
                await self._server.send(line)
            finally:
                if not in_pieces:
                    self._input.release()

    def _ask(self, data: bytes) -> None:
        """Send a request of the guard's own to the server; from a thread.

        Raises:
            OSError: where the server reads no more.
        """
        assert self._loop is not None  # noqa: S101 -- nothing is asked before something was answered
        asyncio.run_coroutine_threadsafe(self._send_own(data), self._loop).result()

    async def _send_own(self, data: bytes) -> None:
        async with self._input:
            await self._server.send(Line(data))

    async def _outward(self) -> None:
        """From the server to the client."""
        try:
            await self._pass_outward()
        finally:
            self._connection.close()
        if self._under_way:
            await asyncio.wait(self._under_way)

    async def _pass_outward(self) -> None:
        async for line in self._server.lines():
            if not line.whole:
                await self._write_piece(line)
                continue
            step = self._connection.received(line.data)
            if isinstance(step, bytes):
                await self._write(step)
                continue
            if not step.waits:
                await self._write(step.message)
            if step.asks or step.large:
                if not step.asks:  # what asks waits for others to pass, and is not to hold them up
                    await self._free.acquire()
                task = asyncio.create_task(self._apart(step))
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)
            else:
                message = step.run()
                if step.waits:
                    await self._write(message)

    async def _apart(self, step: Work) -> None:
        """Work on a message in a thread, while others pass."""
        try:
            if step.asks:
                message = await asyncio.wrap_future(in_thread(step.run))
            else:
                message = await asyncio.to_thread(step.run)
            if step.waits:
                await self._write(message)
        except OSError as error:
            _log.info("the client reads no more: %s", type(error).__name__)
        finally:
            if not step.asks:
                self._free.release()

    async def _write(self, data: bytes) -> None:
        if not data:  # it was for the guard, or could not be judged
            return
        async with self._output:
            await self._front.write(data)

    async def _write_piece(self, piece: Line) -> None:
        """Pass on a piece of a line that is too long to be judged; or withhold it, and say so at its end."""
        if not self._in_pieces:
            self._in_pieces = True
            self._guarding.count("messages too long to be judged")
            withholds = self._connection.withholds
            done = "is withheld" if withholds else "passes unjudged"
            _log.warning("a message of the server is longer than %d bytes: it %s", LONGEST, done)
            self._ends = b"" if withholds else None
            await self._output.acquire()
        if self._ends is None:
            await self._front.write(piece.data)
        else:
            self._ends = _ends(self._ends, piece.data)
        if piece.data.endswith(b"\n"):
            notice = b"" if self._ends is None else self._connection.withheld(self._ends, why=TOO_LONG)
            if notice:
                await self._front.write(notice)
            self._in_pieces = False
            self._output.release()


def _ends(ends: bytes, piece: bytes) -> bytes:
    """The beginning and the end of a message, given those of what came before its latest piece."""
    if len(ends) < ENDS:
        ends, piece = ends + piece[: ENDS - len(ends)], piece[ENDS - len(ends) :]
    return ends[:ENDS] + (ends[ENDS:] + piece)[-ENDS:]
