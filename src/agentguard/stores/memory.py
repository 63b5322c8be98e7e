"""A store that lives as long as the process; several engines may share one."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from threading import Lock

from .base import Event

__all__ = ["MemoryStore"]


class MemoryStore:
    """Events in memory, the newest ``limit`` of each kind.

    >>> store = MemoryStore()
    >>> store.append("feedback", {"tool": "search_web"})
    >>> list(store.events("feedback"))
    [{'tool': 'search_web'}]
    """

    def __init__(self, limit: int = 100_000) -> None:
        self._lock = Lock()
        self._events: dict[str, deque[Event]] = defaultdict(lambda: deque(maxlen=limit))

    def append(self, kind: str, event: Event, /) -> None:
        with self._lock:
            self._events[kind].append(dict(event))

    def events(self, kind: str, /) -> Iterator[Event]:
        with self._lock:
            return iter(tuple(self._events[kind]))
