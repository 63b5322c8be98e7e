"""Changes of a tool that last: what is odd about its results since when, and what was said of it.

::

              suspects that share what is odd about them
                               │
                               ▼         ordinary calls again
              ┌────────────── open ◀───────────────────────▶ recovered ──▶ mode
              │                │                                           (between ordinary calls, again and again:
    a reviewer: fabricated     │ a reviewer: genuine, or ``adopt_after``    a thing that the tool does)
              ▼                ▼
            fault           adopted

A change is told of once, however many calls look like it. Its life is a few events in the store's log, which every
engine on the store reads on; the calls that look like it are the audit records that name it. Nothing here holds
arguments or results.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from threading import Lock
from typing import Any, Final, Literal, NamedTuple, cast, get_args

from agentguard.errors import DataError, StoreError
from agentguard.stores import Store
from agentguard.stores.base import Record

__all__ = ["CHANGES", "DECISIONS", "Change", "ChangeEvent", "ChangeLog", "ChangeState", "changes_in", "decide", "read_change_event"]

#: The kind of the events in the store's log.
CHANGES: Final = "changes"
AUDIT: Final = "audit"  # of the records that name a change; see ``audit``

ChangeState = Literal["open", "fault", "adopted", "recovered", "mode"]
STATES: Final = get_args(ChangeState)

#: What a reviewer may say of a change, as the state that it has from then on.
DECISIONS: Final = ("fault", "adopted")

#: Which changes a person should look at first.
_URGENCY: Final = {"open": 0, "recovered": 1, "fault": 2, "mode": 3, "adopted": 4}
MAX_TRAITS: Final = 16
MAX_WORDS: Final = 1_000
MAX_KNOWN: Final = 10_000
MAX_WAITING: Final = 1_000
_log = logging.getLogger("agentguard")


class Change(NamedTuple):
    """One lasting change of a tool's results.

    Attributes:
        id: twelve hexadecimal digits, the same in every process that meets the same change of the same tool.
        tool: the tool's name.
        state: ``open``, ``fault`` (a reviewer: fabricated), ``adopted`` (a reviewer: genuine), ``recovered`` (ordinary
            calls came again) or ``mode`` (comes between ordinary calls, and was learned as one more thing that the
            tool does).
        what: what is odd about the results, in one sentence without a value of theirs.
        traits: the same for programs, as in ``SignalResult.traits``.
        opened: when it was first told of, in seconds since the epoch by the store's clock.
        since: when its present state began.
        calls: how many calls looked like it; the same call with the same result counts once.
        blocked: how many of them were blocked.
        reviewed: a person has decided what it is.
    """

    id: str
    tool: str
    state: ChangeState
    what: str
    traits: tuple[str, ...]
    opened: float
    since: float
    calls: int
    blocked: int
    reviewed: bool


class ChangeEvent(NamedTuple):
    """One event in the life of a change, as the log has it; ``what`` and ``traits`` come with the first."""

    sequence: int
    at: float
    id: str
    tool: str
    state: ChangeState
    by: str
    what: str
    traits: tuple[str, ...]


def read_change_event(record: Record) -> ChangeEvent | None:
    """The event of a change in a record of the log; None where there is none: a log may hold what no engine wrote."""
    event = record.event
    id_, tool, state = event.get("change"), event.get("tool"), event.get("state")
    what, by, traits = event.get("what", ""), event.get("by", ""), event.get("traits", ())
    texts = all(isinstance(text, str) and 0 < len(text) <= MAX_WORDS for text in (id_, tool))
    if not texts or state not in STATES or not isinstance(what, str) or not isinstance(by, str):
        return None
    if not isinstance(traits, (list, tuple)) or not all(isinstance(trait, str) for trait in traits):
        return None
    return ChangeEvent(
        record.sequence, record.at, cast(str, id_), cast(str, tool), cast(ChangeState, state), by, what[:MAX_WORDS],
        tuple(traits[:MAX_TRAITS]),
    )  # fmt: skip


def change_event(
    id_: str, tool: str, state: ChangeState, by: str = "engine", what: str = "", traits: Iterable[str] = ()
) -> Mapping[str, Any]:
    """An event for the log; ``what`` and ``traits`` are given with a change's first."""
    event: dict[str, Any] = {"change": id_, "tool": tool, "state": state, "by": by}
    if what:
        event |= {"what": what, "traits": list(traits)}
    return event


def changes_in(store: Store, tool: str | None = None) -> list[Change]:
    """All changes in a store, or those of one tool: the open ones first, then by when their state began, newest first.

    Raises:
        StoreError: where the store cannot be read.
    """
    found: dict[str, Change] = {}
    for event in _events(store):
        if tool is not None and event.tool != tool:
            continue
        before = found.get(event.id)
        found[event.id] = _opened(event) if before is None else _moved(before, event)
    if found:
        calls: dict[str, int] = {}
        blocked: dict[str, int] = {}
        for record in store.events(AUDIT):
            id_ = record.event.get("change")
            if isinstance(id_, str) and id_ in found and not record.event.get("asked"):
                calls[id_] = calls.get(id_, 0) + 1
                blocked[id_] = blocked.get(id_, 0) + (record.event.get("verdict") == "block")
        found = {
            id_: change._replace(calls=calls.get(id_, 0), blocked=blocked.get(id_, 0)) for id_, change in found.items()
        }
    return sorted(found.values(), key=lambda change: (_URGENCY[change.state], -change.since, change.id))


def decide(store: Store, id_: str, state: Literal["fault", "adopted"]) -> Change:
    """Say what a change is: ``fault`` (its results are fabricated or corrupted) or ``adopted`` (they are genuine).

    Engines on the store act on it when they next read on, within ``flush_seconds``. What was decided may be changed.

    Args:
        store: whose log it is.
        id_: the change's, or as much of its beginning as tells it from all others.
        state: the decision.

    Raises:
        DataError: where there is no such change, or several begin so.
        StoreError: where it cannot be kept; nothing is decided then.
    """
    if state not in DECISIONS:
        raise DataError(f"a change is decided to be {' or '.join(map(repr, DECISIONS))}, not {state!r}")
    change = find_change(changes_in(store), id_)
    store.append(CHANGES, change_event(change.id, change.tool, state, by="review"))
    return change._replace(state=state, reviewed=True)


def find_change(changes: Iterable[Change], id_: str) -> Change:
    """The one change whose id begins so.

    Raises:
        DataError: where there is none, or several.
    """
    known = list(changes)
    found = [change for change in known if id_ and change.id.startswith(id_)]
    if len(found) == 1:
        return found[0]
    if found:
        raise DataError(f"{len(found)} changes have an id that begins with {id_!r}; give more of it")
    raise DataError(f"there is no change {id_!r} among {len(known):,}; `agentguard changes list` shows them")


def _events(store: Store) -> Iterator[ChangeEvent]:
    for record in store.events(CHANGES):
        event = read_change_event(record)
        if event is not None:
            yield event


def _opened(event: ChangeEvent) -> Change:
    return Change(
        event.id, event.tool, event.state, event.what or "its first event is no longer on record", event.traits,
        event.at, event.at, 0, 0, event.by == "review",
    )  # fmt: skip


def _moved(change: Change, event: ChangeEvent) -> Change:
    # A reviewer's word stands until a reviewer takes it back, whatever workers that had not read it yet wrote.
    if change.reviewed and event.by != "review":
        return change
    since = change.since if event.state == change.state else event.at
    return change._replace(state=event.state, since=since, reviewed=event.by == "review")


class ChangeLog:
    """One engine's side of the log of changes: tells what it met, reads on what others did. Thread-safe.

    What cannot be written now is written at a later flush. Of several workers that meet the same change one tells.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._read = 0
        self._known: dict[str, Change] = {}
        self._events: dict[str, int] = {}
        self._waiting: deque[tuple[str, Mapping[str, Any]]] = deque(maxlen=MAX_WAITING)
        self._listeners: list[Callable[[Change], object]] = []
        #: Is told of every change whose state somebody else moved; set by the engine.
        self.apply: Callable[[Change], object] = _nobody

    def listen(self, callback: Callable[[Change], object]) -> None:
        """Call back with each change whose state moves from now on."""
        self._listeners.append(callback)

    def of(self, tool: str) -> list[Change]:
        """The changes of a tool that were read so far."""
        with self._lock:
            return [change for change in self._known.values() if change.tool == tool]

    def find(self, id_: str) -> Change | None:
        """A change by its full id."""
        with self._lock:
            return self._known.get(id_)

    def tell(self, id_: str, tool: str, state: ChangeState, what: str, traits: Iterable[str], claim: str = "") -> None:
        """Write that a change has a new state, unless another worker does. Never raises."""
        with self._lock:
            known = self._known.get(id_)
            if known is not None and known.state == state and not claim:
                return
            key = claim or f"{id_} {self._events.get(id_, 0)} {state}"
            by = "review" if claim else "engine"
            self._waiting.append((key, change_event(id_, tool, state, by, what, traits)))
        try:
            self.flush()
        except StoreError as error:
            _log.error("a change of %r waits to be put on record: %s", tool, error)

    def decide(self, change: Change, state: ChangeState) -> None:
        """Write a reviewer's decision.

        Raises:
            StoreError: where it cannot be kept; nothing is decided then.
        """
        event = change_event(change.id, change.tool, state, "review", change.what, change.traits)
        self._store.append(CHANGES, event)
        self.follow()

    def forked(self) -> None:
        """In a child process: what waits is the parent's to write."""
        self._lock = Lock()
        self._waiting.clear()

    def flush(self) -> None:
        """Write what waits, and read on.

        Raises:
            StoreError: where the store cannot be used; what waits goes on waiting.
        """
        with self._lock:
            while self._waiting:
                key, event = self._waiting[0]
                if self._store.claim(CHANGES, key):
                    self._store.append(CHANGES, event)
                self._waiting.popleft()
        self.follow()

    def follow(self, *, quietly: bool = False) -> None:
        """Read on what was written, by this engine or another.

        Args:
            quietly: what is read is history, and nobody is called back.

        Raises:
            StoreError: where the store cannot be read.
        """
        moved: list[Change] = []
        with self._lock:
            for record in self._store.events(CHANGES, after=self._read):
                self._read = record.sequence
                event = read_change_event(record)
                if event is None:
                    continue
                before = self._known.get(event.id)
                change = _opened(event) if before is None else _moved(before, event)
                self._known[event.id] = change
                self._events[event.id] = self._events.get(event.id, 0) + 1
                if before is None or change != before:
                    moved.append(change)
            while len(self._known) > MAX_KNOWN:
                oldest = next(iter(self._known))
                del self._known[oldest]
                self._events.pop(oldest, None)
        for change in moved:
            self.apply(change)
            for listener in () if quietly else self._listeners:
                try:
                    listener(change)
                except Exception as error:
                    _log.error("on_change failed on change %s: %s", change.id, type(error).__name__)


def _nobody(change: Change) -> None:
    """Nobody is told."""
