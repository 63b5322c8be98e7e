"""State of the observed engines: lasting changes, and how far their stores are behind."""

from __future__ import annotations

import weakref
from collections import Counter, OrderedDict
from collections.abc import Callable
from datetime import datetime, timezone
from time import monotonic
from typing import Final, NamedTuple

from agentguard import _forks as forks
from agentguard.errors import AgentGuardError
from agentguard.telemetry._disclosing import ToolNames
from agentguard.verification import VerificationEngine
from agentguard.verification._changes import Change

#: The name of the event in logs and traces.
CHANGE: Final = "agentguard.change"
#: The states that a person should look at: nobody has decided, and what follows from it is under way.
UNREVIEWED: Final = ("open", "followed", "mode")
MAX_CHANGES: Final = 10_000


class ChangeStates:
    """The latest state of each change, so that a transition is reported once. Thread-safe.

    Several engines of a process may be on one store: each reports the changes that it makes itself and those that it
    reads of the others, and one that reads late reports states that are over.

    Args:
        most: maximum number; beyond it the change that was reported least recently is forgotten.

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
        """Note a change's state; whether it is news."""
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
        """Note the changes that an engine knows already: they are no news."""
        try:
            known = engine.changes()
        except AgentGuardError:  # the store cannot be read now: its changes are news when the engine reads them
            return
        for change in known:
            self.take(change)

    def open_by_tool(self) -> dict[str, int]:
        """The number of open changes by tool; 0 for a tool that had one."""
        with self._lock:
            counts = Counter(change.tool for change in self._latest.values() if change.state == "open")
            self._tools &= {change.tool for change in self._latest.values()}
            return {tool: counts[tool] for tool in sorted(self._tools)}


def open_by_label(states: ChangeStates, names: ToolNames) -> dict[str, int]:
    """The number of open changes by the label of their tool."""
    counts: Counter[str] = Counter()
    for tool, count in states.open_by_tool().items():
        counts[names.label(tool)] += count
    return dict(counts)


def moment(at: float) -> str:
    """Format seconds since the epoch as UTC by ISO 8601.

    >>> moment(1_700_000_000.25), moment(1e30)
    ('2023-11-14T22:13:20.250+00:00', '1e+30')
    """
    try:
        return datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return repr(at)  # of a clock that was far off


# --- Lag of stores, for gauges that are read every few seconds ---


class Lag(NamedTuple):
    """The worst of several engines.

    Attributes:
        seconds: since the last look at which what was learned had reached the store since the look before; 0 where it
            has now. Less than the truth by one interval between looks at most.
        waiting: number of audit records that wait for a store, of all engines.
        failing: number of engines that could not use their store the last time they tried.
    """

    seconds: float
    waiting: int
    failing: int


class StoreLag:
    """How far stores are behind the engines that write to them. Thread-safe; keeps no engine alive.

    Args:
        clock: monotonic, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = forks.lock(forks.Rank.LEAF)
        self._seen: weakref.WeakKeyDictionary[VerificationEngine, tuple[int, float]] = weakref.WeakKeyDictionary()

    def watch(self, engine: VerificationEngine) -> None:
        """Add an engine."""
        with self._lock:
            self._seen.setdefault(engine, (0, self._clock()))

    def read(self) -> Lag | None:
        """The lag now; None if no engine writes behind (no store, one in memory, closed)."""
        seconds, waiting, failing, any_writes_behind = 0.0, 0, 0, False
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
                any_writes_behind = True
                seconds = max(seconds, now - at)
                waiting += backlog.waiting
                failing += backlog.failing
        return Lag(seconds, waiting, failing) if any_writes_behind else None
