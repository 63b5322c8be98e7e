"""What each tool has had, added up: verdicts on record, labels, and calls that wait for one."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any, Final, NamedTuple

from agentguard import forks
from agentguard.live._records import Label, RecordedCall, ShownVerdict, shown
from agentguard.stores import MemoryStore
from agentguard.stores.base import Record
from agentguard.verification.changes import CHANGES, Change, ChangeState, changes_in, read_change_event
from agentguard.verification.persistence import sayable
from agentguard.verification.types import SEVERITY

MAX_TOOLS: Final = 10_000
SHOWN: Final = 100


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool.

    Attributes:
        tool: its name.
        calls: as counted in the hours that the store keeps; None where nothing was counted.
        flag: flagged calls on record.
        block: blocked calls on record.
        accept: accepted calls on record, which are a sample.
        waiting: calls that can be reviewed and were not.
        fabricated: labels that say so.
        genuine: labels that say so.
    """

    tool: str
    calls: int | None
    flag: int
    block: int
    accept: int
    waiting: int
    fabricated: int
    genuine: int


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools with most to look at, how many there are besides, and how many calls wait for a reviewer in all."""

    rows: tuple[ToolRow, ...]
    more: int
    waiting: int


class Tallies:
    """Counts by tool, of at most 10,000 tools: those longest untouched go first. Not locked."""

    def __init__(self) -> None:
        self._by_tool: OrderedDict[str, Counter[str]] = OrderedDict()
        self._calls: Mapping[str, int] = {}

    def add(self, tool: str, what: str, times: int = 1) -> None:
        """Count ``flag``, ``block``, ``accept``, ``waiting``, ``fabricated`` or ``genuine``."""
        tool = sayable(tool)
        self._by_tool.setdefault(tool, Counter())[what] += times
        self._by_tool.move_to_end(tool)
        if len(self._by_tool) > MAX_TOOLS:
            self._by_tool.popitem(last=False)

    def forget_labels(self, tool: str) -> None:
        """The labels of a tool were taken back."""
        counts = self._by_tool.get(sayable(tool))
        if counts is not None:
            counts["fabricated"] = counts["genuine"] = 0

    def set_calls(self, calls: Mapping[str, int]) -> bool:
        """What was counted of calls, by tool; whether that is news."""
        news, self._calls = calls != self._calls, calls
        return news

    def tools(self, waiting: int) -> Tools:
        """The hundred tools with most waiting, then with most suspects, then with most calls."""
        rows = [self._row(tool) for tool in {**self._by_tool, **self._calls}]
        rows.sort(key=lambda row: (-row.waiting, -row.block - row.flag, -(row.calls or 0), row.tool))
        return Tools(tuple(rows[:SHOWN]), max(len(rows) - SHOWN, 0), waiting)

    def _row(self, tool: str) -> ToolRow:
        counts = self._by_tool.get(tool, Counter[str]())
        return ToolRow(
            tool, self._calls.get(tool), counts["flag"], counts["block"], counts["accept"], max(counts["waiting"], 0),
            counts["fabricated"], counts["genuine"],
        )  # fmt: skip


# --- changes ---
# Lasting changes as a store's log has them, read on, and as the page shows them.


MAX_EVENTS: Final = 10_000
SHOWN_CHANGES: Final = 20


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
            tuple(self._shown(change, alike) for change in changes[:SHOWN_CHANGES]),
            max(len(changes) - SHOWN_CHANGES, 0),
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


# --- board ---
# What the page shows, in memory: verdicts and their labels, the queue, lasting changes, the tallies, and what is new.
#
# A piece of news has a position: the number of the last audit record and that of the last event of feedback that are in
# it. Both are the store's own, so that a reader goes on where it was with any server on the same store.


KEPT: Final = 5_000
MAX_NEWS: Final = 2_000
MAX_ALIKE: Final = 10_000  # ids of changes whose calls are counted


class Position(NamedTuple):
    """How far the logs were read."""

    audit: int = 0
    feedback: int = 0

    def __str__(self) -> str:
        return f"{self.audit}.{self.feedback}"

    @classmethod
    def parse(cls, text: str) -> Position | None:
        """The position that was written so; None where none was.

        >>> Position.parse("12.3"), Position.parse("12"), Position.parse("1.-3")
        (Position(audit=12, feedback=3), None, None)
        """
        parts = text.split(".")
        if len(parts) != 2 or not all(part.isascii() and part.isdecimal() and len(part) <= 18 for part in parts):
            return None
        return cls(int(parts[0]), int(parts[1]))


class News(NamedTuple):
    """A ``verdict``, a ``label``, or ``labels forgotten``; where it is, and what to say of it."""

    kind: str
    at: Position
    what: dict[str, Any] | RecordedCall


@dataclass(frozen=True, slots=True)
class Queue:
    """Calls that wait for a reviewer, the worst first: by posterior, blocked before flagged, then the oldest.

    Attributes:
        waiting: how many there are among the newest 5,000 verdicts.
        verdicts: some of them.
    """

    waiting: int
    verdicts: tuple[ShownVerdict, ...]


class Board:
    """Written by one thread, read by many.

    Args:
        kept: the newest verdicts that are kept.
        news: the newest pieces of news.
    """

    def __init__(self, kept: int = KEPT, news: int = MAX_NEWS) -> None:
        self._lock = forks.lock(forks.Rank.LEAF)
        self._kept, self._most_news = kept, news
        self._position = Position()
        self._records: OrderedDict[int, RecordedCall] = OrderedDict()
        self._named: dict[tuple[str, str], list[int]] = {}
        self._labels: dict[int, Label] = {}
        self._unmatched: OrderedDict[tuple[str, str], Label] = OrderedDict()  # their calls may be put on record late
        self._waiting: set[int] = set()
        self._news: deque[News] = deque()
        self._lost = Position()  # news up to here is not kept any more
        self._changes = ChangeLog()
        self._alike: OrderedDict[str, Alike] = OrderedDict()
        self._tallies = Tallies()
        self._version = self._changes_version = 0

    # --- Written ---

    def read_on(
        self, audit: int, records: Iterable[RecordedCall], feedback: int, events: Iterable[Label | str]
    ) -> bool:
        """Take in what was read from both logs, the verdicts first; whether anything is new.

        Args:
            audit: the number of the last audit record that was read.
            records: those that can be used.
            feedback: the number of the last event of feedback that was read.
            events: labels, and names of tools whose labels were taken back.
        """
        with self._lock:
            before = self._position
            for record in records:
                self._add(record)
            self._position = self._position._replace(audit=max(audit, self._position.audit))
            for event in events:
                if isinstance(event, str):
                    self._take_back(event, feedback)
                else:
                    self._label(event)
            self._position = self._position._replace(feedback=max(feedback, self._position.feedback))
            news = self._position != before
            self._version += news
        return news

    def read_changes(self, records: Iterable[Record]) -> bool:
        """Take in events of lasting changes, oldest first; whether anything is new."""
        with self._lock:
            news = self._changes.add(records)
            self._changes_version += news
        return news

    def set_calls(self, calls: dict[str, int]) -> bool:
        """What was counted of calls; whether that is news."""
        with self._lock:
            news = self._tallies.set_calls(calls)
            self._version += news
            return news

    def _add(self, recorded: RecordedCall) -> None:
        record = recorded.record
        self._position = self._position._replace(audit=record.sequence)
        self._records[record.sequence] = recorded
        if recorded.change is not None:
            self._count_alike(recorded.change, recorded)
        self._tallies.add(record.tool, record.call.verdict)
        if record.call_id is not None:
            name = record.tool, record.call_id
            self._named.setdefault(name, []).append(record.sequence)
            early = self._unmatched.get(name)
            if early is not None and early.posterior in (None, record.posterior):
                self._labels[record.sequence] = self._unmatched.pop(name)
            else:
                self._waiting.add(record.sequence)
                self._tallies.add(record.tool, "waiting")
        self._tell(News("verdict", self._position, recorded))
        while len(self._records) > self._kept:
            self._drop()

    def _count_alike(self, change: str, recorded: RecordedCall) -> None:
        """Count a call that looks like a change, whose own event may come later; asked again, it is no other call."""
        if recorded.asked:
            return
        calls, blocked = self._alike.get(change, Alike())
        self._alike[change] = Alike(calls + 1, blocked + (recorded.record.call.verdict == "block"))
        self._alike.move_to_end(change)
        if len(self._alike) > MAX_ALIKE:
            self._alike.popitem(last=False)
        self._changes_version += 1

    def _drop(self) -> None:
        sequence, (record, *_) = self._records.popitem(last=False)
        self._labels.pop(sequence, None)
        if sequence in self._waiting:
            self._waiting.discard(sequence)
            self._tallies.add(record.tool, "waiting", -1)
        if record.call_id is not None:
            same = self._named[record.tool, record.call_id]
            same.remove(sequence)
            if not same:
                del self._named[record.tool, record.call_id]

    def _label(self, label: Label) -> None:
        self._position = self._position._replace(feedback=label.sequence)
        self._tallies.add(label.tool, "fabricated" if label.fabricated else "genuine")
        of = self._verdict_of(label)
        if of is not None:
            self._labels[of] = label
            if of in self._waiting:
                self._waiting.discard(of)
                self._tallies.add(label.tool, "waiting", -1)
        elif label.call_id is not None:
            self._unmatched[label.tool, label.call_id] = label
            if len(self._unmatched) > self._kept:
                self._unmatched.popitem(last=False)
        what = {
            "of": of, "tool": sayable(label.tool), "sequence": label.sequence, "at": label.at,
            "was_hallucination": label.fabricated,
        }  # fmt: skip
        self._tell(News("label", self._position, what))

    def _verdict_of(self, label: Label) -> int | None:
        """The verdict that a label is about: the newest of its name with its posterior, else the newest of its name."""
        if label.call_id is None:
            return None
        same = self._named.get((label.tool, label.call_id), [])
        exact = [sequence for sequence in same if self._records[sequence].record.posterior == label.posterior]
        return max(exact or same, default=None)

    def _take_back(self, tool: str, feedback: int) -> None:
        self._tallies.forget_labels(tool)
        for sequence in [each for each in self._labels if self._records[each].record.tool == tool]:
            del self._labels[sequence]
        again = {
            sequence
            for sequence, (record, *_) in self._records.items()
            if record.tool == tool and record.call_id is not None and sequence not in self._waiting
        }
        self._tallies.add(tool, "waiting", len(again))
        self._waiting |= again
        for name in [name for name in self._unmatched if name[0] == tool]:
            del self._unmatched[name]
        self._tell(News("labels forgotten", self._position._replace(feedback=feedback), {"tool": sayable(tool)}))

    def _tell(self, news: News) -> None:
        self._news.append(news)
        if len(self._news) > self._most_news:
            self._lost = self._news.popleft().at

    # --- Read ---

    @property
    def position(self) -> Position:
        """How far the logs were read."""
        with self._lock:
            return self._position

    @property
    def version(self) -> int:
        """Another number whenever verdicts, labels or counts are new."""
        with self._lock:
            return self._version

    @property
    def changes_version(self) -> int:
        """Another number whenever lasting changes are, or calls that look like them."""
        with self._lock:
            return self._changes_version

    @property
    def changes_read(self) -> int:
        """The number of the last event of a change that was read."""
        with self._lock:
            return self._changes.read

    def changes(self) -> ShownChanges:
        """The lasting changes with most to look at."""
        with self._lock:
            return self._changes.shown(self._alike)

    def change(self, id_: str) -> ShownChange | None:
        """The lasting change of this id; None where there is none."""
        with self._lock:
            return self._changes.find(id_, self._alike)

    def changes_by_state(self) -> Mapping[tuple[str, str], int]:
        """How many lasting changes there are, by tool and state."""
        with self._lock:
            return self._changes.by_state()

    def find(self, sequence: int) -> tuple[RecordedCall, Label | None] | None:
        """A verdict by its number, with the latest word on it; None where it is not among the newest."""
        with self._lock:
            record = self._records.get(sequence)
            return None if record is None else (record, self._labels.get(sequence))

    def newest(self, limit: int) -> tuple[ShownVerdict, ...]:
        """The newest verdicts, the newest first."""
        with self._lock:
            numbers = [number for number, _ in zip(reversed(self._records), range(limit), strict=False)]
            return tuple(self._shown(number) for number in numbers)

    def queue(self, after: int, limit: int) -> Queue:
        """Calls that wait for a reviewer, the worst first.

        Args:
            after: the number of a verdict; only those behind it in this order. 0, or one that is not kept: all.
            limit: so many at most.
        """
        with self._lock:
            from_ = self._rank(after) if after in self._records else None
            found = (number for number in self._waiting if from_ is None or self._rank(number) > from_)
            numbers = nsmallest(limit, found, key=self._rank)
            return Queue(len(self._waiting), tuple(self._shown(number) for number in numbers))

    def tools(self) -> Tools:
        """The tools with most to look at."""
        with self._lock:
            return self._tallies.tools(len(self._waiting))

    def news_after(self, position: Position, limit: int) -> list[tuple[News, ShownVerdict | None]] | None:
        """What is new after a position, oldest first, at most so many; None where not all of it is kept any more.

        A verdict comes as it is shown, with the label that it has by now.
        """
        with self._lock:
            behind = position.audit < self._lost.audit or position.feedback < self._lost.feedback
            if behind or position.audit > self._position.audit or position.feedback > self._position.feedback:
                return None
            found: list[tuple[News, ShownVerdict | None]] = []
            for news in self._news:
                if isinstance(news.what, RecordedCall):
                    if news.what.record.sequence <= position.audit:
                        continue
                    found.append((news, shown(news.what, self._labels.get(news.what.record.sequence))))
                elif news.at.feedback > position.feedback:
                    found.append((news, None))
                if len(found) == limit:
                    break
            return found

    def _rank(self, sequence: int) -> tuple[float, int, int]:
        """The place in the queue."""
        record = self._records[sequence].record
        return -record.posterior, -SEVERITY[record.call.verdict], sequence

    def _shown(self, sequence: int) -> ShownVerdict:
        return shown(self._records[sequence], self._labels.get(sequence))
