"""How far a store is behind the engines that write to it, for gauges that are read every few seconds."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

from agentguard import _forks as forks
from agentguard.verification import VerificationEngine

__all__ = ["Lag", "StoreLag"]


class Lag(NamedTuple):
    """The worst of several engines.

    Attributes:
        seconds: since the last look at which what was learned had reached the store since the look before; 0 where it
            has now. Less than the truth by one interval between looks at most.
        waiting: audit records that wait for the store, of all engines together.
        failing: how many engines could not use their store the last time they tried.
    """

    seconds: float
    waiting: int
    failing: int


class StoreLag:
    """Looks at engines whenever it is asked. Thread-safe; keeps no engine alive.

    Args:
        clock: seconds from any beginning.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = forks.lock(forks.Rank.LEAF)
        self._seen: weakref.WeakKeyDictionary[VerificationEngine, tuple[int, float]] = weakref.WeakKeyDictionary()

    def watch(self, engine: VerificationEngine) -> None:
        """Look at this engine too."""
        with self._lock:
            self._seen.setdefault(engine, (0, self._clock()))

    def read(self) -> Lag | None:
        """How it stands now; None where no engine writes behind (no store, one in memory, closed)."""
        seconds, waiting, failing, found = 0.0, 0, 0, False
        with self._lock:
            now = self._clock()
            for engine, (flushes, at) in list(self._seen.items()):
                backlog = engine.backlog()
                if backlog is None:
                    self._seen[engine] = (flushes, now)  # one that is closed does not fall behind
                    continue
                if backlog.flushes != flushes:
                    at = now
                    self._seen[engine] = (backlog.flushes, now)
                found = True
                seconds = max(seconds, now - at)
                waiting += backlog.waiting
                failing += backlog.failing
        return Lag(seconds, waiting, failing) if found else None
