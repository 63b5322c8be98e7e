"""A server that is started by the proxy: a process, spoken to by its standard input and output."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Final

from agentguard.errors import ConfigurationError
from agentguard.proxy._messages import Line, Lines

CHUNK: Final = 1 << 16
#: Seconds that a server has to end after its input was closed, and again after it was told to end. The same as the
#: clients of the reference SDKs give a server.
GRACE: Final = 2.0


class Child:
    """A running server; its standard error is ours."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, command: Sequence[str]) -> Child:
        """Start a server.

        Raises:
            ConfigurationError: where there is no such program, or it cannot be run.
        """
        program = shutil.which(command[0])
        if program is None:
            raise ConfigurationError(f"there is no program {command[0]!r} on the PATH")
        try:
            process = await asyncio.create_subprocess_exec(
                program, *command[1:], stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=CHUNK
            )
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"{command[0]!r} cannot be run: {error}") from None
        return cls(process)

    async def lines(self) -> AsyncIterator[Line]:
        """What the server sends, until it closes its output."""
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe, see start
        lines = Lines()
        while chunk := await self._process.stdout.read(CHUNK):
            for line in lines.feed(chunk):
                yield line
        rest = lines.rest()
        if rest is not None:
            yield rest

    async def send(self, line: Line) -> None:
        """Pass a line on; waits until the server has room for it."""
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe, see start
        self._process.stdin.write(line.data)
        await self._process.stdin.drain()

    async def close(self) -> None:
        """Close the server's input, and end it where it does not end by itself: asked first, then at once."""
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe, see start
        self._process.stdin.close()
        for end in (self._process.terminate, self._process.kill):
            if await self._has_ended():
                return
            with suppress(ProcessLookupError):
                end()
        await self._process.wait()

    def end(self) -> None:
        """Ask the server to end."""
        with suppress(ProcessLookupError):
            self._process.terminate()

    async def _has_ended(self) -> bool:
        try:
            await asyncio.wait_for(self._process.wait(), GRACE)
        except asyncio.TimeoutError:
            return False
        return True

    @property
    def exit_code(self) -> int:
        """The server's exit code; of one that a signal ended 128 and its number, as shells say it."""
        code = self._process.returncode
        return 0 if code is None else code if code >= 0 else 128 - code
