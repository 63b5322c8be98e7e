"""The present state of each lasting change, so that a transition is told once, whichever engines tell of it."""

from __future__ import annotations

import weakref
from collections import Counter, OrderedDict
from collections.abc import Callable
from datetime import datetime, timezone
from time import monotonic
from typing import Final, NamedTuple

from agentguard import forks
from agentguard.errors import AgentGuardError
from agentguard.telemetry._disclosing import ToolNames
from agentguard.verification import VerificationEngine
from agentguard.verification.changes import Change

#: The name of the event in logs and traces.
CHANGE: Final = "agentguard.change"
MAX_CHANGES: Final = 10_000


class ChangeStates:
    """The latest state of each change, by its id. Thread-safe.

    Several engines of a process may be on one store: each tells of what it makes itself and of what it reads of the
    others, and one that reads late tells of states that are over.

    Args:
        most: how many are known; beyond it those longest unheard of go.

    >>> states = ChangeStates()
    >>> change = Change("0a1b2c3d4e5f", "get_price", "open", "price is high", (), 5.0, 5.0, 1, 1, False)
    >>> states.take(change), states.take(change), states.take(change._replace(state="adopted", since=9.0))
    (True, False, True)
    """

    def __init__(self, most: int = MAX_CHANGES) -> None:
        self._most = most
        self._lock = forks.lock(forks.Rank.LEAF)
        self._latest: OrderedDict[str, Change] = OrderedDict()
        self._tools: set[str] = set()  # that had an open one: they go on to be counted, with 0

    def take(self, change: Change) -> bool:
        """Take note of a change's state; whether it is one that was not known yet."""
        with self._lock:
            last = self._latest.get(change.id)
            news = last is None or (change.since >= last.since and change.state != last.state)
            if news:
                self._latest[change.id] = change
                self._latest.move_to_end(change.id)
                if len(self._latest) > self._most:
                    self._latest.popitem(last=False)
                if change.state == "open":
                    self._tools.add(change.tool)
            return news

    def watch(self, engine: VerificationEngine) -> None:
        """Take note of what an engine knows already: that is not news."""
        try:
            known = engine.changes()
        except AgentGuardError:  # a store that cannot be read now: its changes are told of as the engine reads them
            return
        for change in known:
            self.take(change)

    def open_by_tool(self) -> dict[str, int]:
        """How many are open, by tool; 0 where one was and none is."""
        with self._lock:
            found = Counter(change.tool for change in self._latest.values() if change.state == "open")
            self._tools &= {change.tool for change in self._latest.values()}
            return {tool: found[tool] for tool in sorted(self._tools)}


def open_by_label(states: ChangeStates, names: ToolNames) -> dict[str, int]:
    """How many changes are open, by the label of their tool."""
    found: Counter[str] = Counter()
    for tool, count in states.open_by_tool().items():
        found[names.label(tool)] += count
    return dict(found)


def moment(at: float) -> str:
    """A time in seconds since the epoch as UTC by ISO 8601.

    >>> moment(1_700_000_000.25), moment(1e30)
    ('2023-11-14T22:13:20.250+00:00', '1e+30')
    """
    try:
        return datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return repr(at)  # of a clock that was far off


# --- store_lag ---
# How far a store is behind the engines that write to it, for gauges that are read every few seconds.


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
