"""The content of the page, in memory: verdicts, labels, the queue, lasting changes, tallies by tool, and news of them.

A log may hold events that no engine wrote. Those that cannot be used are passed over, as engines do.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import islice
from math import inf
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from agentguard import _forks as forks
from agentguard.stores import MemoryStore
from agentguard.stores._base import Record
from agentguard.verification._audit import AuditRecord, audit_record, is_share
from agentguard.verification._calibration import DECLARED
from agentguard.verification._changes import CHANGES, Change, ChangeState, changes_in, read_change_event
from agentguard.verification._persistence import sayable
from agentguard.verification.types import SEVERITY, Verdict

MAX_NAME: Final = 1_000
MAX_SIGNALS: Final = 100
MAX_SENTENCE: Final = 400
MAX_CONTENT: Final = 20_000


class RecordedCall(NamedTuple):
    """A verdict in the log."""

    record: AuditRecord  # the verdict
    change: str | None = None  # the id of the lasting change that the call looks like
    asked: int = 0  # how often the same call had had the same result before
    said: Mapping[str, str] = MappingProxyType({})  # the findings of signals, in words


class Label(NamedTuple):
    """A reviewer's label: its number and time in the log, and the call that it is about."""

    sequence: int
    at: float
    tool: str
    call_id: str | None
    posterior: float | None
    fabricated: bool


@dataclass(frozen=True, slots=True)
class ShownSignal:
    """A signal's contribution in nats and its finding in words; ``declared`` if it is a broken declaration."""

    name: str
    nats: float
    fired: bool
    declared: bool
    said: str


@dataclass(frozen=True, slots=True)
class ShownLabel:
    """The latest label of a call; times are seconds since the epoch."""

    sequence: int
    at: float
    was_hallucination: bool


@dataclass(frozen=True, slots=True)
class ShownVerdict:
    """An audit record for the page, without arguments and result.

    ``change`` is the id of the lasting change that the call looks like, and ``has_card`` says that this one is on
    record: the call is reviewed with it. ``asked`` is how often it was asked before.
    """

    sequence: int
    at: float
    tool: str
    call_id: str | None
    session_id: str | None
    verdict: Verdict
    prior: float
    posterior: float
    false_block_p: float | None
    propensity: float
    signals: tuple[ShownSignal, ...]
    label: ShownLabel | None
    change: str | None
    has_card: bool
    asked: int


@dataclass(frozen=True, slots=True)
class KeptCall:
    """Arguments and result of a call, redacted, as the engine has kept them; None if it has not."""

    args: str | None
    result: str | None


def read_record(record: Record) -> RecordedCall | None:
    """Read the verdict in an event of the audit log; None without one, or if it is too large to be shown."""
    audit = audit_record(record)
    if audit is None:
        return None
    names = [audit.tool, audit.call_id or "", audit.session_id or "", *audit.call.fired, *audit.call.nats]
    if max(map(len, names)) > MAX_NAME or max(len(audit.call.fired), len(audit.call.nats)) > MAX_SIGNALS:
        return None
    change, asked, said = (record.event.get(name) for name in ("change", "asked", "said"))
    sentences = islice(said.items(), MAX_SIGNALS) if isinstance(said, Mapping) else ()
    return RecordedCall(
        audit,
        change if isinstance(change, str) and 0 < len(change) <= MAX_NAME else None,
        asked if type(asked) is int and 0 <= asked < 2**53 else 0,
        {name: text[:MAX_SENTENCE] for name, text in sentences if isinstance(name, str) and isinstance(text, str)},
    )


def read_kept(record: Record) -> KeptCall | None:
    """Read arguments and result in an event of the audit log; None if the engine has not kept them."""
    kept = record.event.get("kept")
    if not isinstance(kept, Mapping):
        return None
    args, result = (
        sayable(text[:MAX_CONTENT]) if isinstance(text, str) else None for text in map(kept.get, ("args", "result"))
    )
    return None if args is None and result is None else KeptCall(args, result)


def read_label(record: Record) -> Label | None:
    """Read the label in an event of the log of feedback; None without one."""
    event = record.event
    tool, call_id, fabricated = event.get("tool"), event.get("call_id"), event.get("was_hallucination")
    if not isinstance(tool, str) or not isinstance(fabricated, bool):
        return None
    posterior = event.get("confidence_score")
    return Label(
        record.sequence,
        record.at,
        tool,
        call_id if isinstance(call_id, str) else None,
        posterior if is_share(posterior) else None,
        fabricated,
    )


def label_event(audit: AuditRecord, *, was_hallucination: bool) -> Mapping[str, Any]:
    """The event that ``VerificationEngine.record_feedback`` writes for this call."""
    named = {"tool": audit.tool, "confidence_score": audit.posterior, "was_hallucination": was_hallucination}
    return {**named, "call_id": audit.call_id, **audit.call.as_event()}


def shown(recorded: RecordedCall, label: Label | None, *, has_card: bool = False) -> ShownVerdict:
    """A record for the page, its heaviest signals first; lone surrogates, which JSON lacks, are written out."""
    audit = recorded.record
    call = audit.call
    fired = {name.removeprefix(DECLARED): name.startswith(DECLARED) for name in call.fired}
    signals = sorted(
        (name for name in {**fired, **call.nats} if name in fired or call.nats[name]),
        key=lambda name: -abs(call.nats.get(name, 0.0)),
    )
    shown_signals = [
        ShownSignal(
            sayable(name), float(call.nats.get(name, 0.0)), name in fired, fired.get(name, False),
            sayable(recorded.said.get(name, "")),
        )
        for name in signals
    ]  # fmt: skip
    return ShownVerdict(
        audit.sequence, audit.at, sayable(audit.tool), _sayable(audit.call_id), _sayable(audit.session_id),
        call.verdict, call.prior, audit.posterior, audit.false_block_p, call.propensity, tuple(shown_signals),
        None if label is None else ShownLabel(label.sequence, label.at, label.fabricated),
        _sayable(recorded.change), has_card, recorded.asked,
    )  # fmt: skip


def _sayable(text: str | None) -> str | None:
    return None if text is None else sayable(text)


# --- Tallies by tool: verdicts on record, labels, and calls that wait for one ---

MAX_TOOLS: Final = 10_000
SHOWN_TOOLS: Final = 100
COUNTED: Final = ("flag", "block", "accept", "waiting", "fabricated", "genuine")  # in the order of ToolRow


@dataclass(frozen=True, slots=True)
class ToolRow:
    """The counts of one tool.

    ``calls`` are those of the hours that the store keeps, None if nothing was counted; ``flag``, ``block`` and
    ``accept`` are verdicts on record (of accepted calls a sample); ``waiting`` are changes that nobody has reviewed,
    and calls of none that have no label; ``fabricated`` and ``genuine`` are labels.
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
    """The tools with most to look at, the number of others, and the number of all calls in the queue."""

    rows: tuple[ToolRow, ...]
    more: int
    waiting: int


class Tallies:
    """Counts by tool, of at most 10,000 tools: the longest untouched are dropped. Not locked."""

    def __init__(self) -> None:
        self.calls: Mapping[str, int] = {}  # by tool, as the store counts them
        self._by_tool: OrderedDict[str, Counter[str]] = OrderedDict()

    def add(self, tool: str, what: str, times: int = 1) -> None:
        """Count one of ``COUNTED``."""
        tool = sayable(tool)
        self._by_tool.setdefault(tool, Counter())[what] += times
        self._by_tool.move_to_end(tool)
        if len(self._by_tool) > MAX_TOOLS:
            self._by_tool.popitem(last=False)

    def forget_labels(self, tool: str) -> None:
        """Take back the labels of a tool."""
        counts = self._by_tool.get(sayable(tool))
        if counts is not None:
            counts["fabricated"] = counts["genuine"] = 0

    def tools(self, waiting: int, changes: Mapping[str, int]) -> Tools:
        """The hundred tools with most waiting, changes included, then with most suspects, then with most calls."""
        rows = [self._row(tool, changes.get(tool, 0)) for tool in {**self._by_tool, **self.calls, **changes}]
        rows.sort(key=lambda row: (-row.waiting, -row.block - row.flag, -(row.calls or 0), row.tool))
        return Tools(tuple(rows[:SHOWN_TOOLS]), max(len(rows) - SHOWN_TOOLS, 0), waiting)

    def _row(self, tool: str, changes: int) -> ToolRow:
        counts = self._by_tool.get(tool, Counter[str]())
        row = ToolRow(tool, self.calls.get(tool), *(max(counts[name], 0) for name in COUNTED))
        return replace(row, waiting=row.waiting + changes)


# --- Lasting changes ---

MAX_EVENTS: Final = 10_000
SHOWN_CHANGES: Final = 20  # that wait for a reviewer, and as many that do not


class Alike(NamedTuple):
    """Numbers of recorded and of blocked calls that look like a change, and when the first of them came."""

    calls: int = 0
    blocked: int = 0
    began: float = inf


@dataclass(frozen=True, slots=True)
class ShownChange:
    """One change, with the oddity of the results in one sentence; times are seconds since the epoch.

    Attributes:
        opened: when its first call came.
        since: when its state began.
        calls, blocked: number of recorded calls that look like it, and of those that were blocked.
        reviewed: whether a person has decided about it; until then it waits.
        decided: the number of the latest decision in the log; 0 without one.
        why: why the engine has followed it.
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
    why: str


@dataclass(frozen=True, slots=True)
class ShownChanges:
    """Changes, the unreviewed ones first; the numbers of others, of all that are open, and of all unreviewed ones."""

    rows: tuple[ShownChange, ...]
    more: int
    open: int
    waiting: int


class ChangeLog:
    """The events of changes that were read so far. Not locked.

    ``changes_in`` derives the changes from a store: so the events are put into one in memory, with their own times.
    """

    def __init__(self) -> None:
        self._at = 0.0
        self._events = MemoryStore(max_events=MAX_EVENTS, clock=lambda: self._at)
        self._decided: dict[str, int] = {}
        self._changes: dict[str, Change] = {}
        self.read: int = 0

    def __contains__(self, id_: object) -> bool:
        return id_ in self._changes

    def add(self, records: Iterable[Record]) -> set[str]:
        """Add events, oldest first; the ids of the changes that they are of."""
        news: set[str] = set()
        for record in records:
            self.read = max(self.read, record.sequence)
            event = read_change_event(record)
            if event is None or not abs(record.at) < float("inf"):
                continue
            self._at = record.at
            news.add(event.id)
            self._events.append(CHANGES, record.event)
            if event.by == "review":
                self._decided[event.id] = record.sequence
        if news:
            self._changes = {change.id: change for change in changes_in(self._events)}
            self._decided = {id_: number for id_, number in self._decided.items() if id_ in self._changes}
        return news

    def shown(self, alike: Mapping[str, Alike]) -> ShownChanges:
        """The first twenty that wait for a reviewer, the open ones before the others, and the first twenty decided."""
        waiting, decided = (
            [change for change in self._changes.values() if change.reviewed is reviewed] for reviewed in (False, True)
        )
        rows = [*waiting[:SHOWN_CHANGES], *decided[:SHOWN_CHANGES]]
        return ShownChanges(
            tuple(self._shown(change, alike) for change in rows),
            len(self._changes) - len(rows),
            sum(change.state == "open" for change in waiting),
            len(waiting),
        )

    def waiting(self) -> Mapping[str, int]:
        """The number of changes that nobody has reviewed, by tool."""
        return Counter(sayable(change.tool) for change in self._changes.values() if not change.reviewed)

    def find(self, id_: str, alike: Mapping[str, Alike]) -> ShownChange | None:
        """The change of this id."""
        change = self._changes.get(id_)
        return None if change is None else self._shown(change, alike)

    def by_state(self) -> Mapping[tuple[str, str], int]:
        """The number of changes by tool and state."""
        return Counter((sayable(change.tool), change.state) for change in self._changes.values())

    def _shown(self, change: Change, alike: Mapping[str, Alike]) -> ShownChange:
        calls, blocked, began = alike.get(change.id, Alike())
        return ShownChange(
            sayable(change.id), sayable(change.tool), change.state, sayable(change.what), min(change.opened, began),
            change.since, calls, blocked, change.reviewed, self._decided.get(change.id, 0), sayable(change.why),
        )  # fmt: skip


# --- The board ---

KEPT: Final = 5_000
MAX_NEWS: Final = 2_000
MAX_ALIKE: Final = 10_000  # ids of changes whose calls are counted
_POSITION: Final = re.compile(r"([0-9]{1,18})\.([0-9]{1,18})")


class Position(NamedTuple):
    """How far the logs were read: the numbers of the last audit record and of the last event of feedback.

    Both are the store's own, so that a listener goes on where it was with any server on the same store.
    """

    audit: int = 0
    feedback: int = 0

    def __str__(self) -> str:
        return f"{self.audit}.{self.feedback}"

    @classmethod
    def parse(cls, text: str) -> Position | None:
        """Parse a position; None for text that is none.

        >>> Position.parse("12.3"), Position.parse("12"), Position.parse("1.-3")
        (Position(audit=12, feedback=3), None, None)
        """
        match = _POSITION.fullmatch(text)
        return None if match is None else cls(int(match[1]), int(match[2]))


class News(NamedTuple):
    """A ``verdict``, a ``label``, or ``labels forgotten``; its position, and its content."""

    kind: str
    at: Position
    what: dict[str, Any] | RecordedCall


@dataclass(frozen=True, slots=True)
class Queue:
    """Calls of no change that wait for a reviewer, the worst first: by posterior, blocked before flagged, the oldest.

    ``waiting`` is their number among the newest 5,000 verdicts, ``verdicts`` are some of them.
    """

    waiting: int
    verdicts: tuple[ShownVerdict, ...]


class Board:
    """What the page shows; written by one thread, read by many.

    Args:
        kept: number of the newest verdicts to keep.
        news: number of the newest pieces of news to keep.

    Attributes:
        position: how far the logs were read.
        version: another number whenever verdicts, labels or counts are new.
        changes_version: another number whenever lasting changes are, or calls that look like them.
    """

    def __init__(self, kept: int = KEPT, news: int = MAX_NEWS) -> None:
        self._lock = forks.lock(forks.Rank.LEAF)
        self._kept, self._most_news = kept, news
        self._records: OrderedDict[int, RecordedCall] = OrderedDict()
        self._named: dict[tuple[str, str], list[int]] = {}
        self._labels: dict[int, Label] = {}
        self._unmatched: OrderedDict[tuple[str, str], Label] = OrderedDict()  # their calls may be put on record late
        self._waiting: set[int] = set()  # of calls that belong to no change on record
        self._like: dict[str, deque[int]] = {}  # calls by the change that they look like
        self._news: deque[News] = deque()
        self._lost = Position()  # news up to here is not kept any more
        self._changes = ChangeLog()
        self._alike: OrderedDict[str, Alike] = OrderedDict()
        self._tallies = Tallies()
        self.position = Position()
        self.version = self.changes_version = 0

    # --- Written ---

    def read_on(
        self, audit: int, records: Iterable[RecordedCall], feedback: int, events: Iterable[Label | str]
    ) -> bool:
        """Add what was read from both logs, the verdicts first; whether anything is new.

        Args:
            audit: the number of the last audit record that was read.
            records: the usable ones.
            feedback: the number of the last event of feedback that was read.
            events: labels, and names of tools whose labels were taken back.
        """
        with self._lock:
            before = self.position
            for record in records:
                self._add(record)
            self.position = self.position._replace(audit=max(audit, self.position.audit))
            for event in events:
                if isinstance(event, str):
                    self._take_back(event, feedback)
                else:
                    self._label(event)
            self.position = self.position._replace(feedback=max(feedback, self.position.feedback))
            news = self.position != before
            self.version += news
        return news

    def read_changes(self, records: Iterable[Record]) -> bool:
        """Add events of lasting changes, oldest first; whether anything is new."""
        with self._lock:
            news = self._changes.add(records)
            for id_ in news:
                for sequence in self._like.get(id_, ()):
                    self._wait_no_more(sequence)
            self.changes_version += bool(news)
            self.version += bool(news)
        return bool(news)

    def set_calls(self, calls: dict[str, int]) -> bool:
        """Set the calls by tool; whether any count has changed."""
        with self._lock:
            news = calls != self._tallies.calls
            self._tallies.calls = calls
            self.version += news
        return news

    def _add(self, recorded: RecordedCall) -> None:
        record = recorded.record
        self.position = self.position._replace(audit=record.sequence)
        self._records[record.sequence] = recorded
        if recorded.change is not None:
            self._count_alike(recorded.change, recorded)
            self._like.setdefault(recorded.change, deque()).append(record.sequence)
        self._tallies.add(record.tool, record.call.verdict)
        if record.call_id is not None:
            name = record.tool, record.call_id
            self._named.setdefault(name, []).append(record.sequence)
            early = self._unmatched.get(name)
            if early is not None and early.posterior in (None, record.posterior):
                self._labels[record.sequence] = self._unmatched.pop(name)
            elif recorded.change not in self._changes:
                self._waiting.add(record.sequence)
                self._tallies.add(record.tool, "waiting")
        self._tell(News("verdict", self.position, recorded))
        while len(self._records) > self._kept:
            self._drop()

    def _count_alike(self, change: str, recorded: RecordedCall) -> None:
        """Count a call that looks like a change, whose own event may come later."""
        calls, blocked, began = self._alike.get(change, Alike())
        is_blocked = recorded.record.call.verdict == "block"
        self._alike[change] = Alike(calls + 1, blocked + is_blocked, min(began, recorded.record.at))
        self._alike.move_to_end(change)
        if len(self._alike) > MAX_ALIKE:
            self._alike.popitem(last=False)
        self.changes_version += 1

    def _drop(self) -> None:
        sequence, (record, change, *_) = next(iter(self._records.items()))
        self._wait_no_more(sequence)
        del self._records[sequence]
        self._labels.pop(sequence, None)
        if change is not None:
            self._like[change].popleft()
            if not self._like[change]:
                del self._like[change]
        if record.call_id is not None:
            same = self._named[record.tool, record.call_id]
            same.remove(sequence)
            if not same:
                del self._named[record.tool, record.call_id]

    def _wait_no_more(self, sequence: int) -> None:
        if sequence in self._waiting:
            self._waiting.discard(sequence)
            self._tallies.add(self._records[sequence].record.tool, "waiting", -1)

    def _label(self, label: Label) -> None:
        self.position = self.position._replace(feedback=label.sequence)
        self._tallies.add(label.tool, "fabricated" if label.fabricated else "genuine")
        of = self._verdict_of(label)
        if of is not None:
            self._labels[of] = label
            self._wait_no_more(of)
        elif label.call_id is not None:
            self._unmatched[label.tool, label.call_id] = label
            if len(self._unmatched) > self._kept:
                self._unmatched.popitem(last=False)
        what = {
            "of": of, "tool": sayable(label.tool), "sequence": label.sequence, "at": label.at,
            "was_hallucination": label.fabricated,
        }  # fmt: skip
        self._tell(News("label", self.position, what))

    def _verdict_of(self, label: Label) -> int | None:
        """The verdict that a label is about: the newest with its id and posterior, else the newest with its id."""
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
            for sequence, (record, change, *_) in self._records.items()
            if record.tool == tool and record.call_id is not None and change not in self._changes
            if sequence not in self._waiting
        }
        self._tallies.add(tool, "waiting", len(again))
        self._waiting |= again
        for name in [name for name in self._unmatched if name[0] == tool]:
            del self._unmatched[name]
        self._tell(News("labels forgotten", self.position._replace(feedback=feedback), {"tool": sayable(tool)}))

    def _tell(self, news: News) -> None:
        self._news.append(news)
        if len(self._news) > self._most_news:
            self._lost = self._news.popleft().at

    # --- Read ---

    @property
    def changes_read(self) -> int:
        """The number of the last event of a change that was read."""
        return self._changes.read

    def changes(self) -> ShownChanges:
        """The lasting changes, the open ones first."""
        with self._lock:
            return self._changes.shown(self._alike)

    def change(self, id_: str) -> ShownChange | None:
        """The lasting change of this id; None without one."""
        with self._lock:
            return self._changes.find(id_, self._alike)

    def changes_by_state(self) -> Mapping[tuple[str, str], int]:
        """The number of lasting changes by tool and state."""
        with self._lock:
            return self._changes.by_state()

    def calls_of(self, id_: str, limit: int) -> tuple[ShownVerdict, ...]:
        """The newest calls that look like a change, the newest first."""
        with self._lock:
            return tuple(self._shown(number) for number in islice(reversed(self._like.get(id_, ())), limit))

    def find(self, sequence: int) -> tuple[RecordedCall, Label | None] | None:
        """A verdict by its number, with its latest label; None if it is not among the newest."""
        with self._lock:
            record = self._records.get(sequence)
            return None if record is None else (record, self._labels.get(sequence))

    def newest(self, limit: int) -> tuple[ShownVerdict, ...]:
        """The newest verdicts, the newest first."""
        with self._lock:
            return tuple(self._shown(number) for number in islice(reversed(self._records), limit))

    def queue(self, after: int, limit: int) -> Queue:
        """Calls that wait for a reviewer, worst first, behind the verdict of this number; all if it is not kept."""
        with self._lock:
            first = self._rank(after) if after in self._records else None
            behind = (number for number in self._waiting if first is None or self._rank(number) > first)
            numbers = nsmallest(limit, behind, key=self._rank)
            return Queue(len(self._waiting), tuple(self._shown(number) for number in numbers))

    def tools(self) -> Tools:
        """The tools with most to look at."""
        with self._lock:
            return self._tallies.tools(len(self._waiting), self._changes.waiting())

    def news_after(self, position: Position, limit: int) -> list[tuple[News, ShownVerdict | None]] | None:
        """News after a position, oldest first, at most so many; None if not all of it is kept any more.

        A verdict comes as it is shown, with its present label.
        """
        with self._lock:
            behind = position.audit < self._lost.audit or position.feedback < self._lost.feedback
            if behind or position.audit > self.position.audit or position.feedback > self.position.feedback:
                return None
            result: list[tuple[News, ShownVerdict | None]] = []
            for news in self._news:
                if isinstance(news.what, RecordedCall):
                    if news.what.record.sequence <= position.audit:
                        continue
                    result.append((news, self.show(news.what, self._labels.get(news.what.record.sequence))))
                elif news.at.feedback > position.feedback:
                    result.append((news, None))
                if len(result) == limit:
                    break
            return result

    def _rank(self, sequence: int) -> tuple[float, int, int]:
        """Sort key of the queue."""
        record = self._records[sequence].record
        return -record.posterior, -SEVERITY[record.call.verdict], sequence

    def show(self, recorded: RecordedCall, label: Label | None) -> ShownVerdict:
        """A call for the page."""
        return shown(recorded, label, has_card=recorded.change in self._changes)

    def _shown(self, sequence: int) -> ShownVerdict:
        return self.show(self._records[sequence], self._labels.get(sequence))
