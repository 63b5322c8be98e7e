"""All that one page over one store needs, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import anyio.to_thread

from agentguard.errors import StoreError
from agentguard.stores import Store

from .audience import Audience
from .board import Board
from .follower import Follower
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
        self.source, self.heartbeat = source, heartbeat
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
