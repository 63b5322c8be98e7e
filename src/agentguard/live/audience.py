"""Who is listening: how many may, who is woken when there is something to tell, and when all must go."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from agentguard.serving.problems import ProblemError

__all__ = ["MOST_STREAMS", "Audience", "Seat"]

MOST_STREAMS: Final = 32
RETRY_AFTER: Final = 30  # seconds


class Seat:
    """One listener, in the event loop."""

    def __init__(self) -> None:
        self._called = asyncio.Event()

    def call(self) -> None:
        """There is something new."""
        self._called.set()

    async def news(self, seconds: float) -> bool:
        """Wait until there is something new, at most so long; whether there is."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._called.wait(), seconds)
        found = self._called.is_set()
        self._called.clear()
        return found


class Audience:
    """The listeners of one server.

    Attributes:
        stopping: no listener is kept any longer.

    Args:
        most: how many listeners there may be.
    """

    def __init__(self, most: int = MOST_STREAMS) -> None:
        self._most = most
        self._seats: set[Seat] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.stopping = False

    def __len__(self) -> int:
        return len(self._seats)

    @contextmanager
    def seat(self) -> Iterator[Seat]:
        """A place for one listener, as long as it listens.

        Raises:
            ProblemError: where all places are taken, or the server is stopping.
        """
        if self.stopping or len(self._seats) >= self._most:
            said = "the server is shutting down" if self.stopping else "as many are listening as may be at once"
            raise ProblemError(503, "no-seat", said, retry_after=RETRY_AFTER)
        self._loop = asyncio.get_running_loop()
        seat = Seat()
        self._seats.add(seat)
        try:
            yield seat
        finally:
            self._seats.discard(seat)

    def call(self) -> None:
        """There is something new; may be called in any thread, and by a signal."""
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop has ended, and with it everybody who listened
                loop.call_soon_threadsafe(self._call)

    def stop(self) -> None:
        """Let everybody go; may be called by a signal."""
        self.stopping = True
        self.call()

    def _call(self) -> None:
        for seat in self._seats:
            seat.call()
