"""What the engine asks of a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

__all__ = ["Event", "Store"]

Event = Mapping[str, Any]


class Store(Protocol):
    """An append-only log of events, by kind. Events are JSON objects.

    ``append`` returns once the event is kept: what a caller was told is recorded must be there after a restart of
    whatever the store survives. Both methods may be called from several threads.

    Raises:
        StoreError: where an event cannot be kept or read back.
    """

    def append(self, kind: str, event: Event, /) -> None:
        """Keep one event."""

    def events(self, kind: str, /) -> Iterator[Event]:
        """All events of a kind, oldest first."""
