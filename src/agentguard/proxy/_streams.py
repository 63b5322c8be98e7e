"""The front of a proxy that a client starts: standard input and output, read and written by threads of their own.

Threads, since not everything that stands there can be waited for by an event loop: a file, a console of Windows.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from concurrent.futures import CancelledError
from contextlib import suppress
from queue import SimpleQueue
from typing import Final

from agentguard.proxy._messages import Line, Lines

CHUNK: Final = 1 << 16
MOST_CHUNKS: Final = 16  # that were read and wait to be passed on


class Streams:
    """A pair of file descriptors as lines in and bytes out. Made and used in a running event loop.

    Args:
        read: where the client's messages come from.
        write: where the server's go to.
    """

    def __init__(self, read: int, write: int) -> None:
        self._read = read
        self._write = write
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue(MOST_CHUNKS)
        self._outgoing: SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        # No exit of the process waits for a client that neither writes nor reads.
        for work in (self._pump_in, self._pump_out):
            threading.Thread(target=work, name=f"agentguard-proxy{work.__name__}", daemon=True).start()

    def _pump_in(self) -> None:
        while True:
            try:
                chunk = os.read(self._read, CHUNK)
            except OSError:
                chunk = b""
            put = self._chunks.put(chunk)
            try:
                asyncio.run_coroutine_threadsafe(put, self._loop).result()
            except (RuntimeError, CancelledError):  # the loop has ended, or is about to
                put.close()
                return
            if not chunk:
                return

    async def lines(self) -> AsyncIterator[Line]:
        """The client's messages, until it closes its end."""
        lines = Lines()
        while chunk := await self._chunks.get():
            for line in lines.feed(chunk):
                yield line
        rest = lines.rest()
        if rest is not None:
            yield rest

    async def write(self, data: bytes) -> None:
        """Write some bytes, after all that were given before; waits until they are taken.

        Raises:
            OSError: where the client reads no more.
        """
        taken = self._loop.create_future()
        self._outgoing.put((data, taken))
        await taken

    def _pump_out(self) -> None:
        while (item := self._outgoing.get()) is not None:
            data, taken = item
            failed: OSError | None = None
            view = memoryview(data)
            try:
                while view:
                    view = view[os.write(self._write, view) :]
            except OSError as error:
                failed = error
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(_settle, taken, failed)
        with suppress(OSError):
            os.close(self._write)

    def close(self) -> None:
        """Close the output, once all that was given is written."""
        self._outgoing.put(None)


def _settle(taken: asyncio.Future[None], failed: OSError | None) -> None:
    if taken.done():  # whoever waited waits no more
        return
    if failed is None:
        taken.set_result(None)
    else:
        taken.set_exception(failed)
