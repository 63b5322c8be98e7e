"""Lasting changes of a tool: what is odd about its results since when, and what reviewers decided.

::

              suspects that share what is odd about them
                               │
                               ▼         ordinary calls again
              ┌────────────── open ◀───────────────────────▶ recovered ──▶ mode
              │                │ │                                         (between ordinary calls, again and again:
              │                │ └──▶ followed                              a thing that the tool does)
              │                │      (the engine: the service has changed, or nobody reviews it)
    a reviewer: fabricated     │ a reviewer: genuine
              ▼                ▼
            fault           adopted

``followed`` and ``mode`` are ends that the engine finds by itself: it takes the results as genuine, and a reviewer
undoes that with ``fault``. A change is told of once, however many calls look like it. Its life is a few events in the
store's log, which every engine on the store reads on; the calls that look like it are the audit records that name it.
Nothing here holds arguments or results.

Of several workers that meet the same state of the same change one writes it: the one that claims it. What was claimed
and does not come (its worker died, the answer was lost) is written by another after a while. A reviewer's word stands
over what workers wrote that had not read it yet; what a worker writes who knows of an adoption opens the change again.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from math import inf
from typing import Any, Final, Literal, NamedTuple, cast, get_args

from agentguard import _forks as forks
from agentguard.errors import DataError, StoreError
from agentguard.stores import MemoryStore, Store
from agentguard.stores._base import Record
from agentguard.verification.types import Trait

#: The kind of the events in the store's log.
CHANGES: Final = "changes"
AUDIT: Final = "audit"  # of the records that name a change; see ``_audit``

ChangeState = Literal["open", "followed", "fault", "adopted", "recovered", "mode"]
STATES: Final = get_args(ChangeState)

#: What a reviewer may say of a change, as the state that it has from then on.
DECISIONS: Final = ("fault", "adopted")

#: The states that an engine gave by taking the results as genuine, or a reviewer: a reviewer may undo them.
TAKEN: Final = ("followed", "mode", "adopted")

#: Which changes a person should look at first: those that no person has decided.
_URGENCY: Final = {"open": 0, "followed": 1, "recovered": 2, "mode": 3, "fault": 4, "adopted": 5}
MAX_TRAITS: Final = 16  # of one event
MAX_WORDS: Final = 1_000  # characters of a text in an event
MAX_KNOWN: Final = 10_000  # changes, of which the least recently met is forgotten first
MAX_WAITING: Final = 1_000  # notes that wait for the store
PATIENCE: Final = 10.0  # seconds: no store needs as long between a claim and its event
UNTOLD: Final = "its first event is no longer on record"
_log = logging.getLogger("agentguard")


class Change(NamedTuple):
    """One lasting change of a tool's results.

    Attributes:
        id: twelve hexadecimal digits, the same in every process that meets the same change of the same tool.
        tool: the tool's name.
        state: ``open``, ``fault`` (a reviewer: fabricated), ``adopted`` (a reviewer: genuine), ``followed`` (the
            engine: the service has changed, or nobody reviews it), ``recovered`` (ordinary calls came again) or
            ``mode`` (comes between ordinary calls, and was learned as one more thing that the tool does).
        what: what is odd about the results, in one sentence without a value of theirs.
        traits: the same for programs, as in ``SignalResult.traits``.
        opened: when it began: the time of its first call on record, or, where that is not known (in a callback of
            ``on_change``), when it was first told of; in seconds since the epoch by the store's clock.
        since: when its present state began.
        calls: how many calls on record looked like it, each repeat counted.
        blocked: how many of them were blocked.
        reviewed: a person has decided what it is.
        why: the reason why the engine has followed it, in one sentence without a value; empty in other states.
    """

    id: str
    tool: str
    state: ChangeState
    what: str
    traits: tuple[Trait, ...]
    opened: float
    since: float
    calls: int
    blocked: int
    reviewed: bool
    why: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the change as plain JSON, each trait as text."""
        return {**self._asdict(), "traits": list(map(str, self.traits))}


class ChangeEvent(NamedTuple):
    """One event in the life of a change, as the log has it; ``what`` and ``traits`` come with the first.

    Attributes:
        by: ``engine`` or ``review``.
        reviews: how many reviews of the change whoever wrote this had read.
        label: the number, in the log of feedback, of the label that decided so; 0 where none did.
        why: see ``Change``.
    """

    sequence: int
    at: float
    id: str
    tool: str
    state: ChangeState
    by: str
    what: str
    traits: tuple[Trait, ...]
    reviews: int = 0
    label: int = 0
    why: str = ""


def read_traits(value: Any) -> tuple[Trait, ...] | None:
    """The traits in an event, at most 16 with at most 1,000 characters a text; None where they are none."""
    if not isinstance(value, (list, tuple)):
        return None
    try:
        traits = [Trait.read(trait) for trait in value[:MAX_TRAITS]]
    except ValueError:
        return None
    return tuple([trait._replace(path=trait.path[:MAX_WORDS], what=trait.what[:MAX_WORDS]) for trait in traits])


def read_change_event(record: Record) -> ChangeEvent | None:
    """The event of a change in a record of the log; None where there is none: a log may hold what no engine wrote."""
    event = record.event
    id_, tool, state = event.get("change"), event.get("tool"), event.get("state")
    what, why, by, traits = (event.get("what", ""), event.get("why", ""), event.get("by", ""), event.get("traits", ()))
    reviews, label = event.get("reviews", 0), event.get("label", 0)
    texts = all(isinstance(text, str) and 0 < len(text) <= MAX_WORDS for text in (id_, tool))
    if not texts or state not in STATES or not all(isinstance(text, str) for text in (what, why, by)):
        return None
    traits = read_traits(traits)
    if traits is None:
        return None
    if not all(type(number) is int and number >= 0 for number in (reviews, label)):
        return None
    return ChangeEvent(
        record.sequence, record.at, cast(str, id_), cast(str, tool), cast(ChangeState, state), by, what[:MAX_WORDS],
        traits, reviews, label, why[:MAX_WORDS],
    )  # fmt: skip


def change_event(
    id_: str,
    tool: str,
    state: ChangeState,
    by: str = "engine",
    what: str = "",
    traits: Iterable[Trait] = (),
    *,
    reviews: int = 0,
    label: int = 0,
    why: str = "",
) -> Mapping[str, Any]:
    """An event for the log; ``what`` and ``traits`` are given with a change's first. See ``ChangeEvent``."""
    event: dict[str, Any] = {"change": id_, "tool": tool, "state": state, "by": by}
    if what:
        event |= {"what": what, "traits": [list(trait) for trait in traits]}
    if reviews:
        event["reviews"] = reviews
    if label:
        event["label"] = label
    if why:
        event["why"] = why
    return event


def changes_in(store: Store, tool: str | None = None) -> list[Change]:
    """All changes in a store, or those of one tool: the open ones first, then by when their state began, newest first.

    Raises:
        StoreError: where the store cannot be read.
    """
    lives: dict[str, _Life] = {}
    for record in store.events(CHANGES):
        event = read_change_event(record)
        if event is not None and (tool is None or event.tool == tool):
            if event.id in lives:
                lives[event.id].take(event)
            else:
                lives[event.id] = _Life(event)
    # The calls of each are the audit records that name it; it began with the first, before anybody was told of it.
    began = {id_: life.change.opened for id_, life in lives.items()}
    calls: Counter[str] = Counter()
    blocked: Counter[str] = Counter()
    for record in store.events(AUDIT) if lives else ():
        id_ = record.event.get("change")
        if isinstance(id_, str) and id_ in lives:
            calls[id_] += 1
            blocked[id_] += record.event.get("verdict") == "block"
            began[id_] = min(began[id_], record.at)
    changes = [
        life.change._replace(opened=began[id_], calls=calls[id_], blocked=blocked[id_]) for id_, life in lives.items()
    ]
    return sorted(changes, key=lambda change: (_URGENCY[change.state], -change.since, change.id))


def decide(store: Store, id_: str, state: Literal["fault", "adopted"]) -> Change:
    """Say what a change is: ``fault`` (its results are fabricated or corrupted) or ``adopted`` (they are genuine).

    Engines on the store act on it when they next read on, within ``flush_seconds``. What was decided may be changed.
    ``id_`` is the change's, or as much of its beginning as tells it from all others.

    Raises:
        DataError: where there is no such change, or several begin so.
        StoreError: where it cannot be kept; nothing is decided then.
    """
    if state not in DECISIONS:
        raise DataError(f"a change is decided to be {' or '.join(map(repr, DECISIONS))}, not {state!r}")
    change = find_change(changes_in(store), id_)
    sequence = store.append(CHANGES, change_event(change.id, change.tool, state, by="review"))
    since = change.since
    if change.state != state:
        with suppress(StoreError):  # it is decided, whether or not the store tells when
            since = next((record.at for record in store.events(CHANGES, after=sequence - 1)), since)
    return change._replace(state=state, reviewed=True, since=since, why="")


def find_change(changes: Iterable[Change], id_: str) -> Change:
    """The one change whose id begins so.

    Raises:
        DataError: where there is none, or several.
    """
    known = list(changes)
    matches = [change for change in known if id_ and change.id.startswith(id_)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise DataError(f"{len(matches)} changes have an id that begins with {id_!r}; give more of it")
    raise DataError(f"there is no change {id_!r} among {len(known):,}; `agentguard changes list` shows them")


class _Life:
    """The sum of the events of a change that were read so far.

    Attributes:
        change: as it stands.
        sequence: of the latest event.
        reviews: how many decisions there were.
        label: the number of the latest label that decided.
        decided: when it was last decided otherwise.
    """

    __slots__ = ("change", "decided", "label", "reviews", "sequence")

    def __init__(self, event: ChangeEvent) -> None:
        self.change = Change(
            event.id, event.tool, event.state, event.what or UNTOLD, event.traits, event.at, event.at, 0, 0, False,
            event.why,
        )  # fmt: skip
        self.sequence = self.reviews = self.label = 0
        self.decided = -inf
        self.take(event)

    def take(self, event: ChangeEvent) -> bool:
        """Go on with the next event; whether the change is another than before."""
        before = self.change
        self.sequence = event.sequence
        if event.what and before.what == UNTOLD:
            self.change = self.change._replace(what=event.what, traits=event.traits)
        if event.by == "review":
            self.reviews += 1
            if event.label:
                self.label = max(self.label, event.label)
            else:
                self.decided = event.at
        elif before.reviewed and (
            # A review stands, but for an adoption that a worker had read of which has met what is odd in the same way.
            before.state != "adopted" or event.state != "open" or event.reviews < self.reviews
        ):
            return self.change != before
        same = event.state == before.state
        since, why = (before.since, event.why or before.why) if same else (event.at, event.why)
        self.change = self.change._replace(state=event.state, since=since, reviewed=event.by == "review", why=why)
        return self.change != before


class _Note(NamedTuple):
    """A change of state that is to be written, see ``ChangeEvent``; ``reviewed``: a reviewer's that the log lost."""

    id: str
    tool: str
    state: ChangeState
    what: str
    traits: tuple[Trait, ...]
    reviews: int
    label: int
    reviewed: bool = False
    why: str = ""

    def event(self) -> Mapping[str, Any]:
        by = "review" if self.label or self.reviewed else "engine"
        return change_event(
            self.id, self.tool, self.state, by, self.what, self.traits, reviews=self.reviews, label=self.label,
            why=self.why,
        )  # fmt: skip

    def stands(self, life: _Life | None) -> bool:
        """Whether it is on record already, or a reviewer has decided meanwhile."""
        if life is None:
            return False
        if self.label or self.reviewed:
            heeded = 0 < self.label <= life.label
            return heeded or (life.change.reviewed and life.change.state == self.state)
        return life.change.state == self.state or (life.change.reviewed and life.reviews > self.reviews)


class ChangeLog:
    """One engine's side of the log of changes: tells what it met, reads on what others did. Thread-safe.

    What cannot be written now is written at a later flush. What is there when the log is first read is history, of
    which nobody is called back.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._turn = forks.lock(forks.Rank.CHANGE_LOG)  # one thread at a time uses the log
        self._lock = forks.lock(forks.Rank.CHANGES)  # of what follows; held by nobody who asks the store or calls back
        self._lives: OrderedDict[str, _Life] = OrderedDict()
        self._waiting: list[_Note] = []
        self._news: deque[Change] = deque(maxlen=MAX_KNOWN)
        self._announcing = False
        self._read = 0
        #: The number of the latest event that was applied.
        self.applied = 0
        self._begins = -inf  # when the oldest event was written, where older ones are gone
        self._caught_up = False
        self._failing = False
        self._claimed: set[str] = set()
        self._refused: dict[str, float] = {}
        self._listeners: list[Callable[[Change], object]] = []
        #: Lets another thread ``flush`` at once; None: a call writes what it has to tell.
        self.hurry: Callable[[], object] | None = None
        #: Is told of every change whose state moved, in the log's order; set by the engine. It may not use the log.
        self.apply: Callable[[Change], object] = lambda change: None

    def listen(self, callback: Callable[[Change], object]) -> None:
        """Call back with each change whose state moves from now on."""
        self._listeners.append(callback)

    def of(self, tool: str, after: int = 0) -> list[Change]:
        """The changes of a tool that were read so far, those with an event beyond a number."""
        with self._lock:
            return [life.change for life in self._lives.values() if life.change.tool == tool and life.sequence > after]

    def find(self, id_: str) -> Change | None:
        """A change by its full id."""
        with self._lock:
            life = self._lives.get(id_)
            return None if life is None else life.change

    def tell(
        self, id_: str, tool: str, state: ChangeState, what: str, traits: Iterable[Trait], *, why: str = ""
    ) -> None:
        """Write that a change has a new state, and ``why`` it is followed, unless another worker does; never raises."""
        note = _Note(id_, tool, state, what, tuple(traits), 0, 0, why=why)
        if not self._put(note):
            return
        if self.hurry is not None:
            self.hurry()
        elif not (self._failing and self._store.flush_seconds is not None):
            # No call waits for a store that is gone, where there is a thread that tries again.
            self._flush_quietly(tool)
            self.announce()

    def note_label(
        self, id_: str, tool: str, state: ChangeState, what: str, traits: Iterable[Trait], label: int, at: float = inf
    ) -> bool:
        """Take note of a label that decides what a change is, to be written with the next flush.

        It has the number ``label`` in the log of feedback, and was given at ``at`` by the store's clock. False where it
        was heeded before, a later decision stands over it, or its events are long forgotten.
        """
        with self._lock:
            life = self._lives.get(id_)
            overruled = life is not None and (life.label >= label or at < life.decided)
        return (
            not overruled and at >= self._begins and self._put(_Note(id_, tool, state, what, tuple(traits), 0, label))
        )

    def decide(self, change: Change, state: ChangeState) -> Change:
        """Write a reviewer's decision; the change as it is then.

        Raises:
            StoreError: where it cannot be kept; nothing is decided then.
        """
        event = change_event(change.id, change.tool, state, "review", change.what, change.traits)
        self._store.append(CHANGES, event)
        self._flush_quietly(change.tool)
        self.announce()
        known = self.find(change.id)
        if known is None or known.state != state:
            return change._replace(state=state, reviewed=True, why="")
        return known._replace(opened=change.opened, calls=change.calls, blocked=change.blocked)

    def forked(self) -> None:
        """In a child process: what waits is the parent's to write."""
        self._announcing = False
        self._waiting.clear()
        self._news.clear()
        self._claimed.clear()
        self._refused.clear()

    def forgotten(self) -> None:
        """The store has lost events: its log is read anew, and what this engine knows beyond it waits to be written."""
        with self._turn:
            with self._lock:
                known = [life.change for life in self._lives.values()]
                self._lives.clear()
                self._claimed.clear()
                self._refused.clear()
            self._read = self.applied = 0
            self._begins, self._caught_up = -inf, False
            self._read_on(applies=False)
            with self._lock:
                again = [
                    _Note(*change[:5], reviews=0, label=0, reviewed=change.reviewed, why=change.why) for change in known
                ]
                self._waiting = [*again, *self._waiting][-MAX_WAITING:]

    def flush(self) -> None:
        """Read on, and write what waits. ``announce`` calls back then.

        Raises:
            StoreError: where the store cannot be used; what waits goes on waiting.
        """
        with self._turn:
            try:
                self._read_on()
                self._write()
            except BaseException:
                self._failing = True
                raise
            self._failing = False

    def announce(self) -> None:
        """Call back with what is new, each once and in order; used where no lock is held."""
        with self._lock:
            if self._announcing:
                return  # whoever is at it goes on with what came meanwhile
            self._announcing = True
        while True:
            with self._lock:
                if not self._news:
                    self._announcing = False
                    return
                change = self._news.popleft()
            for listener in tuple(self._listeners):
                try:
                    listener(change)
                except Exception as error:
                    _log.error("on_change failed on change %s: %s", change.id, type(error).__name__)

    def _flush_quietly(self, tool: str) -> None:
        try:
            self.flush()
        except Exception as error:
            why = str(error) if isinstance(error, StoreError) else f"the store raised {type(error).__name__}"
            _log.error("a change of %r waits to be put on record: %s", tool, why)

    def _put(self, note: _Note) -> bool:
        """Let a note wait, and what it makes pointless wait no more; False where it says nothing new."""
        with self._lock:
            life = self._lives.get(note.id)
            note = note._replace(reviews=0 if life is None else life.reviews)
            mine = [other for other in self._waiting if other.id == note.id]
            if not note.label:
                last = mine[-1].state if mine else None if life is None else life.change.state
                if last == note.state or any(other.label for other in mine):
                    return False
                # Of states that nobody was told of only the last counts, and the first of a change that is unknown.
                kept = mine[:1] if life is None else []
                self._waiting = [other for other in self._waiting if other.id != note.id] + kept
                before = kept[0].state if kept else None if life is None else life.change.state
                if before == note.state:
                    return False
            self._waiting.append(note)
            del self._waiting[:-MAX_WAITING]
            return True

    def _write(self) -> None:
        """Write what waits; in whose turn it is."""
        left: set[str] = set()  # changes of which another worker is about to tell
        for note in tuple(self._waiting):
            with self._lock:
                life = self._lives.get(note.id)
            if note.id in left:
                continue
            if not note.stands(life):
                after = 0 if life is None else life.sequence
                key = f"label {note.label} {note.id}" if note.label else f"{note.id} {after} {note.state}"
                if not self._may_write(key):
                    left.add(note.id)
                    continue
                self._store.append(CHANGES, note.event())
                if note.state in ("followed", "mode"):
                    self._say_followed(note)
                self._claimed.discard(key)
                self._refused.pop(key, None)
                self._read_on()
            self._done(note)
        if left:
            self._read_on()
            for note in tuple(self._waiting):
                if note.stands(self._lives.get(note.id)):
                    self._done(note)
        if not self._waiting:
            self._claimed.clear()
            self._refused.clear()

    def _say_followed(self, note: _Note) -> None:
        """Log, in the worker that wrote it, what is taken for genuine without a person's word, and how to undo it."""
        alone = isinstance(self._store, MemoryStore)  # nobody but who holds the engine can act on it
        undo = f"engine.reject({note.id!r})" if alone else f"`agentguard changes undo {note.id}`"
        level = logging.INFO if alone else logging.WARNING
        why = note.why or "it has lasted, and nobody has reviewed it"
        _log.log(level, "change %s of %r is followed: %s; %s undoes it", note.id, note.tool, why, undo)

    def _may_write(self, key: str) -> bool:
        """This worker has claimed it, or whoever has does not write it."""
        if key in self._claimed:
            return True
        if self._store.claim(CHANGES, key):
            self._claimed.add(key)
            return True
        now = self._clock()
        return now - self._refused.setdefault(key, now) >= PATIENCE

    def _done(self, note: _Note) -> None:
        with self._lock:
            if note in self._waiting:
                self._waiting.remove(note)

    def _read_on(self, *, applies: bool = True) -> None:
        """Read what is new, and apply it; in whose turn it is."""
        for record in self._store.events(CHANGES, after=self._read):
            if not self._read and record.sequence > 1:
                self._begins = record.at
            self._read = record.sequence
            event = read_change_event(record)
            if event is not None:
                with self._lock:
                    change = self._taken(event)
                if change is not None and applies:
                    self.apply(change)
            self.applied = record.sequence
        self._caught_up = True

    def _taken(self, event: ChangeEvent) -> Change | None:
        """The change of an event, where it is another by it."""
        life = self._lives.get(event.id)
        if life is None:
            life = self._lives[event.id] = _Life(event)
            if len(self._lives) > MAX_KNOWN:
                self._lives.popitem(last=False)
        else:
            self._lives.move_to_end(event.id)
            if not life.take(event):
                return None
        if self._caught_up and self._listeners:
            self._news.append(life.change)
        return life.change
