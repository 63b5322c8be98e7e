"""All that one page over one store needs, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import anyio.to_thread

from agentguard.errors import StoreError
from agentguard.serving.problems import ProblemError
from agentguard.stores import Store
from agentguard.verification.audit import AUDIT

from .audience import Audience
from .board import Board
from .follower import Follower
from .models import CallDetail
from .records import read_kept, shown
from .reviews import Reviews
from .sessions import Sessions

__all__ = ["PATH", "View"]

PATH: Final = "/live/"


class View:
    """A page over a store.

    Args:
        store: what is shown, and where labels go. It stays the caller's to close.
        source: its address, as it may be shown.
        every: seconds between two looks at it.
        most_streams: how many may listen at once.
        heartbeat: seconds after which a listener is told that nothing happens.
    """

    def __init__(self, store: Store, *, source: str, every: float, most_streams: int, heartbeat: float) -> None:
        self.source, self.heartbeat, self._store = source, heartbeat, store
        self.board = Board()
        self.audience = Audience(most_streams)
        self.follower = Follower(store, self.board, every=every, heard=self.audience.call)
        self.reviews = Reviews(store, self.board, self.follower)
        self.sessions = Sessions(PATH)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Look at the store as long as the page is served."""
        self.audience.stopping = False
        self.follower.start()
        try:
            yield
        finally:
            self.audience.stop()
            await anyio.to_thread.run_sync(self.follower.stop)

    def refresh(self) -> None:
        """Look at the store now; where it fails, what was read before stands."""
        with suppress(StoreError):
            self.follower.catch_up()

    def detail(self, sequence: int) -> CallDetail:
        """One call, opened up. What was kept of the call itself is read now, and never held in memory.

        Raises:
            ProblemError: where it is not among the newest on record, or the store fails.
        """
        found = self.board.find(sequence)
        if found is None:
            raise ProblemError(404, "no-such-verdict", "this verdict is not among the newest on record")
        recorded, label = found
        try:
            record = next(iter(self._store.events(AUDIT, after=sequence - 1)), None)
        except StoreError:
            raise ProblemError(503, "store", "the store cannot be used; try again later", retry_after=10) from None
        kept = None if record is None or record.sequence != sequence else read_kept(record)
        change = None if recorded.change is None else self.board.change(recorded.change)
        return CallDetail(verdict=shown(recorded, label), change=change, kept=kept)
