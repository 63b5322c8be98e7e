"""Events that wait to be written: by the call that made them, or by a thread behind it."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any, Final

from agentguard import forks
from agentguard.errors import StoreError

from .base import Event, Store
from .flusher import Flusher

__all__ = ["Outbox"]

AT_ONCE: Final = 200  # events in one write
_log = logging.getLogger("agentguard")


class Outbox:
    """The events of one kind that wait for the store, the oldest first. Thread-safe.

    Args:
        store: where they go.
        kind: of the events; each names its ``tool``.
        noun: what messages call one.
        room: the newest so many wait; older ones are lost.

    Attributes:
        hurry: lets another thread ``flush`` at once; None: an event is written before ``put`` returns.
    """

    def __init__(self, store: Store, kind: str, noun: str, room: int) -> None:
        self._store, self._kind, self._noun = store, kind, noun
        self._writing = forks.lock(forks.Rank.AUDIT)
        self._waiting: deque[Event] = deque(maxlen=room)
        self._failing = False
        self._flusher: Flusher | None = None
        self.hurry: Callable[[], object] | None = None

    def write_behind(self) -> None:
        """Let a thread of its own write from now on, where the store is not near and may be written behind."""
        if not self._store.is_near and self._store.flush_seconds is not None:
            self._flusher = Flusher(self, self._store.flush_seconds)
            self.hurry = self._flusher.hurry

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, event: Event, *, waits: bool = False) -> str:
        """Write an event, now or soon; why that could not be done, or "".

        Args:
            event: what is to be written.
            waits: wait for the store also where another thread writes.
        """
        self._waiting.append(event)
        # The store failed: until a flush finds it again nobody waits for it, unless nobody flushes.
        if self._failing and self._store.flush_seconds is not None:
            return f"{len(self._waiting):,} {self._noun.partition(' ')[2]}s wait for the store to be back"
        if self.hurry is not None and not waits:
            self.hurry()
            return ""
        try:
            self.flush()
        except Exception as error:
            why = _why(error)
            _log.error("%s of %r is not on record: %s", self._noun, event["tool"], why)
            return why
        return ""

    def flush(self) -> None:
        """Write what waits.

        Raises:
            StoreError: where the store still fails; what could not be written goes on waiting.
        """
        with self._writing:
            try:
                while self._waiting:
                    self._write(list(islice(self._waiting, AT_ONCE)))
            except BaseException:
                self._failing = True
                raise
            self._failing = False

    def flush_quietly(self) -> None:
        """The same from a thread: a failure is logged when it begins."""
        known = self._failing
        try:
            self.flush()
        except Exception as error:
            if not known:
                _log.error("%s waits to be put on record: %s", self._noun, _why(error))

    hurry_quietly = flush_quietly

    def forked(self) -> None:
        """In a child process: what waits is the parent's to write."""
        self._waiting.clear()

    def _write(self, some: list[Event]) -> None:
        try:
            self._store.extend(self._kind, some)
        except Exception:
            self._write_singly(some)
        else:
            self._written(some)

    def _write_singly(self, some: list[Event]) -> None:
        """Give up the first event that the store refuses twice, where it takes another one in between."""
        refused: Any = None
        for event in some:
            try:
                self._store.append(self._kind, event)
            except Exception:
                if refused is not None or event is some[-1]:
                    raise
                refused = event
                continue
            if refused is None:
                self._written([event])
                continue
            try:
                self._store.append(self._kind, refused)  # it may have met the end of an outage, and is no worse
            except Exception:
                _log.error("%s of %r is given up: the store refuses it", self._noun, refused["tool"])
            self._written([refused, event])
            return

    def _written(self, some: list[Event]) -> None:
        for event in some:
            if self._waiting and self._waiting[0] is event:  # else there was no room for it any more
                self._waiting.popleft()


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, StoreError) else f"the store raised {type(error).__name__}"
