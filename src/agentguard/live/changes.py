"""Lasting changes as a store's log has them, read on, and as the page shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from agentguard.stores import MemoryStore
from agentguard.stores._base import Record
from agentguard.verification.changes import CHANGES, Change, ChangeState, changes_in, read_change_event
from agentguard.verification.persistence import sayable

__all__ = ["Alike", "ChangeLog", "ShownChange", "ShownChanges"]

MAX_EVENTS: Final = 10_000
SHOWN: Final = 20


class Alike(NamedTuple):
    """Calls on record that look like a change, the same call with the same result once, and those of them blocked."""

    calls: int = 0
    blocked: int = 0


@dataclass(frozen=True, slots=True)
class ShownChange:
    """One change; times are seconds since the epoch.

    Attributes:
        id: its id.
        tool: the tool's name.
        state: ``open``, ``fault``, ``adopted``, ``recovered`` or ``mode``.
        what: what is odd about the results, in one sentence.
        opened: when it was first told of.
        since: when its state began.
        calls: on record, that look like it.
        blocked: of these.
        reviewed: a person has decided what it is.
        decided: the number of the latest decision in the log; 0 where there is none.
    """

    id: str
    tool: str
    state: ChangeState
    what: str
    opened: float
    since: float
    calls: int
    blocked: int
    reviewed: bool
    decided: int


@dataclass(frozen=True, slots=True)
class ShownChanges:
    """Changes, the open ones first; how many there are besides, and how many are open in all."""

    rows: tuple[ShownChange, ...]
    more: int
    open: int


class ChangeLog:
    """The events of changes that were read so far. Not locked.

    What they come to is said in one place, which asks a store: so they are put into one in memory, with the times that
    they had.
    """

    def __init__(self) -> None:
        self._at = 0.0
        self._events = MemoryStore(max_events=MAX_EVENTS, clock=lambda: self._at)
        self._decided: dict[str, int] = {}
        self._changes: dict[str, Change] = {}
        self.read: int = 0

    def add(self, records: Iterable[Record]) -> bool:
        """Take in events, oldest first; whether there was any that is of a change."""
        news = False
        for record in records:
            self.read = max(self.read, record.sequence)
            event = read_change_event(record)
            if event is None or not abs(record.at) < float("inf"):
                continue
            self._at, news = record.at, True
            self._events.append(CHANGES, record.event)
            if event.by == "review":
                self._decided[event.id] = record.sequence
        if news:
            self._changes = {change.id: change for change in changes_in(self._events)}
            self._decided = {id_: number for id_, number in self._decided.items() if id_ in self._changes}
        return news

    def shown(self, alike: Mapping[str, Alike]) -> ShownChanges:
        """The changes with most to look at."""
        changes = list(self._changes.values())
        return ShownChanges(
            tuple(self._shown(change, alike) for change in changes[:SHOWN]),
            max(len(changes) - SHOWN, 0),
            sum(change.state == "open" for change in changes),
        )

    def find(self, id_: str, alike: Mapping[str, Alike]) -> ShownChange | None:
        """The change of this id."""
        change = self._changes.get(id_)
        return None if change is None else self._shown(change, alike)

    def by_state(self) -> Mapping[tuple[str, str], int]:
        """How many there are, by tool and state."""
        found: dict[tuple[str, str], int] = {}
        for change in self._changes.values():
            key = sayable(change.tool), change.state
            found[key] = found.get(key, 0) + 1
        return found

    def _shown(self, change: Change, alike: Mapping[str, Alike]) -> ShownChange:
        calls, blocked = alike.get(change.id, Alike())
        return ShownChange(
            sayable(change.id), sayable(change.tool), change.state, sayable(change.what), change.opened, change.since,
            calls, blocked, change.reviewed, self._decided.get(change.id, 0),
        )  # fmt: skip
