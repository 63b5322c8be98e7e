"""Persistence of what an engine learned: loaded when a tool is first met, handed over at each flush.

::

    verify ──▶ memory of the tool ──▶ a document, saved whole      (what depends on the order of calls)
          └──▶ census of the tool ──▶ counts, merged as a delta    (what can be added up) ──▶ the other workers

Labels come from the store's log of feedback, which every engine on the store reads on. Where the store cannot be
reached, the engine goes on with what it has; documents, counts and audit records are handed over when it is back.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Any, NamedTuple

from agentguard import _forks as forks
from agentguard.errors import DataError, StoreError
from agentguard.stores import Delta, Store
from agentguard.stores._flusher import Flusher, new_worker
from agentguard.verification import _snapshot as snapshot
from agentguard.verification._audit import Audit
from agentguard.verification._baseline import ToolMemory
from agentguard.verification._census import absorb, added, check_counts
from agentguard.verification._changes import CHANGES, ChangeLog, ChangeState, read_traits
from agentguard.verification._incidents import Incidents, incident_id
from agentguard.verification._method import Method
from agentguard.verification._registry import Registry, Remembered, ToolState

_log = logging.getLogger("agentguard")

Known = dict[int, dict[str, int]]
"""Counts of a tool by hour and field, as last seen in the store, or put there by this worker."""

Tools = list[tuple[str, ToolState]]


def sayable(tool: str) -> str:
    """A tool's name as a store takes it: a lone surrogate is no text to it."""
    return tool.encode("utf-8", "backslashreplace").decode()


class Fleet:
    """One worker among those on a store. Used by one thread at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, Known] = {}
        self._calls: dict[str, int] = {}
        self._hour = 0
        self.begin()

    def begin(self) -> None:
        """As a new worker: nothing is left to be handed over."""
        self._worker, self._sequence = new_worker(), 0
        self._unsent: dict[str, dict[str, int]] = {}
        self._pending: Delta | None = None

    def forgotten(self) -> None:
        """The store has lost its counts: those of others count from now on."""
        self._known, self._calls, self._hour = {}, {}, 0

    def send(self, tools: Tools) -> None:
        """Hand over what was counted since the last time.

        Raises:
            StoreError: where the store cannot be reached; it is handed over once, the next time.
        """
        if self._pending is not None:
            self._deliver(self._pending)  # the same delta again: the answer was lost
        for tool, state in tools:
            if state.census is not None:
                with state.lock:
                    counts = state.census.take()
                if counts:
                    self._unsent[sayable(tool)] = added(self._unsent.get(sayable(tool), {}), counts)
        if self._unsent:
            self._pending = Delta(self._worker, self._sequence + 1, self._unsent)
            self._unsent = {}
            self._deliver(self._pending)

    def _deliver(self, delta: Delta) -> None:
        hour = self._store.merge(delta)
        for tool, sent in delta.counts.items():
            if tool in self._known:
                self._known[tool][hour] = added(self._known[tool].get(hour, {}), sent)
        self._sequence += 1
        self._pending = None

    def pull(self, tools: Tools) -> None:
        """Take in what other workers counted of the tools that are in use here.

        Raises:
            StoreError: where the store cannot be reached.
        """
        active, calls = {}, {}
        for tool, state in tools:
            if state.census is not None:
                calls[tool] = state.judged
                if self._calls.get(tool) != state.judged:
                    active[sayable(tool)] = state
        self._calls = calls
        self._known = {tool: known for tool, known in self._known.items() if tool in calls}
        if not active:
            return
        counts = self._store.counts(list(active), since=self._hour)
        for tool, state in active.items():
            now = {hour: names[tool] for hour, names in counts.items() if tool in names}
            before = self._known.get(tool)
            self._known[tool] = now
            if before is not None:  # what was there when the tool was first met is in its document
                _take_in(state, _beyond(now, before))
        if counts:
            self._hour = max(counts) - 1  # an hour that has just ended may still get a late delta


def _take_in(state: ToolState, counts: dict[str, int]) -> None:
    memory: Any = state.memory
    if counts and isinstance(memory, ToolMemory):
        with state.lock:
            try:
                check_counts(counts)  # of an hour that was forgotten under way, parts of the sums may be left
                absorb(memory, counts)
            except Exception as error:  # the store may hold what no worker wrote
                _log.error("what other workers counted of a tool cannot be used: %s", type(error).__name__)
            state.changed = True


def _beyond(now: Known, before: Known) -> dict[str, int]:
    """The counts since, all hours together."""
    more: Counter[str] = Counter()
    for hour, counts in now.items():
        known = before.get(hour, {})
        for name, times in counts.items():
            more[name] += max(times - known.get(name, 0), 0)
    return +more


# --- Documents and labels ---

FEEDBACK = "feedback"
VERSION = 1
MIGRATIONS: dict[int, Callable[[Any], Any]] = {}
"""By version: makes what the next version holds. New fields of records need none (see ``_snapshot``)."""

MAX_EVICTED = 1_000  # tools that wait for the store
AT_ONCE = 50  # documents in one save
SHARED_EVERY = 10  # flushes: what all tools have in common is large, and changes with every call
PULL_EVERY = 5  # flushes


def learned_in(document: Mapping[str, Any]) -> Any:
    """The learned state in a document, in the form of this version.

    Raises:
        DataError: where it was changed since an engine wrote it, is of a newer version, or of none.
    """
    version, learned = document.get("version"), document.get("learned")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise DataError(f"it has version {version!r}, and this is agentguard with version {VERSION}")
    snapshot.check_seal(document)
    try:
        for older in range(version, VERSION):
            learned = MIGRATIONS[older](learned)
    except Exception as error:
        raise DataError(f"it cannot be brought from version {version} to {VERSION}: {type(error).__name__}") from None
    return learned


def document_name(mode: str, tool: str | None = None) -> str:
    """The name of a tool's document, or (without a tool) of what all tools of a mode have in common."""
    return mode if tool is None else f"{mode}:{sayable(tool)}"


class Backlog(NamedTuple):
    """How far a store is behind the engine that writes to it.

    Attributes:
        flushes: how many went through since the engine was built; in sound order one more every ``flush_seconds``.
        waiting: audit records that wait for the store.
        failing: the store could not be used when it was last tried.
    """

    flushes: int
    waiting: int
    failing: bool


class Persistence:
    """Between one engine and its store. Thread-safe."""

    def __init__(self, store: Store, method: Method, mode: str, audit: Audit) -> None:
        self.store, self._method, self._mode, self._audit = store, method, mode, audit
        self._lock = forks.lock(forks.Rank.PERSISTENCE)
        self._registry: Registry | None = None
        self._failing = False
        self._started = False
        self._unread: set[str] = set()  # documents that could not be read when they were needed
        self._read = 0
        self._own: set[int] = set()  # events of the log that were applied before they were read from it
        self._evicted: OrderedDict[str, ToolState] = OrderedDict()  # used under the registry's lock
        self._epoch: str | None = None
        self._flushes = 0
        self._fleet = Fleet(store)
        self.changes = ChangeLog(store)
        self._flusher: Flusher | None = None

    def start(self, registry: Registry, labels_after: int = 0) -> None:
        """Read what all tools have in common, and the labels; begin to write behind.

        Labels up to number ``labels_after`` are in the calibration that is in force, and do not count again.
        """
        self._registry, self._read = registry, labels_after
        if self._method.shared is not None:
            self._load(document_name(self._mode), self._method.shared)
        self._quietly(self._follow)
        self._started = True
        if self.store.flush_seconds is not None:
            self._flusher = Flusher(self, self.store.flush_seconds)
            if not self.store.is_near:
                self._audit.outbox.hurry = self.changes.hurry = self._flusher.hurry

    def close(self) -> None:
        """End the write-behind, after a last flush.

        Raises:
            StoreError: as ``flush``.
        """
        if self._flusher is not None:
            self._flusher.stop()
            self._flusher = self._audit.outbox.hurry = self.changes.hurry = None
        self.flush()

    # --- Documents in ---

    def remembered(self, tool: str) -> Remembered:
        """Load what was last saved of a tool, or nothing yet. Waits for the store, and never raises."""
        memory, incidents = self._method.new_memory(tool), Incidents(holds=self._method.holds)
        document = self._load(document_name(self._mode, tool), memory)
        follows = self._take_in(incidents, document) if document is not None and document.get("tool") == tool else 0
        return Remembered(memory, incidents, follows)

    def followed(self, tool: str, remembered: Remembered) -> Incidents:
        """The incidents of a tool, with what the log says of them since: they may be older, where a process died."""
        snapshot.follow_changes(remembered.incidents, self.changes.of(tool, remembered.follows), remembered.memory)
        return remembered.incidents

    def _take_in(self, incidents: Incidents, document: Mapping[str, Any]) -> int:
        """Take in the incidents of a document; the number of the event up to which it went along with the log."""
        after, kept = document.get("changes", 0), document.get("incidents")
        try:
            if kept is not None:
                snapshot.restore_incidents(incidents, kept)
        except DataError as error:
            _log.error("the incidents of %r cannot be used: %s", document.get("tool"), error)
            return 0
        # A number beyond the log is of another store, from which the document came here.
        return after if type(after) is int and 0 < after <= self.changes.applied else 0

    def _load(self, name: str, record: Any) -> Mapping[str, Any] | None:
        if self._failing:  # no call waits for a store that is gone
            self._unread.add(name)
            return None
        try:
            document = self.store.load([name]).get(name)
        except StoreError as error:
            self._unread.add(name)
            self._failed(error)
            return None
        return document if document is not None and self._restore(name, record, document) else None

    def _restore(self, name: str, record: Any, document: Mapping[str, Any]) -> bool:
        try:
            snapshot.restore(record, learned_in(document))
        except DataError as error:
            _log.error("%r in the store cannot be used and is kept as 'damaged:%s': %s", name, name, error)
            self._quietly(lambda: self.store.save({f"damaged:{name}": document}))
            return False
        return True

    # --- Flushing ---

    def flush(self) -> None:
        """Hand over everything that was learned since the last time, and take what others did.

        Raises:
            StoreError: where the store cannot be reached; nothing is lost by that.
        """
        with self._lock:
            self._flush(whole=True)
        self.changes.announce()

    def backlog(self) -> Backlog | None:
        """How far the store is behind; None where nothing is written behind (no store, one in memory, closed)."""
        if self._flusher is None:
            return None
        return Backlog(self._flushes, len(self._audit.outbox), self._failing)

    def flush_quietly(self) -> None:
        """Flush from the write-behind thread: a failure is logged once, and so is its end."""
        with self._lock:
            self._quietly(lambda: self._flush(whole=False))
        self.changes.announce()

    def hurry_quietly(self) -> None:
        """Write what does not wait for a flush: audit records, changes, and tools for which there was no more room."""
        with self._lock:
            self._quietly(self._audit.outbox.flush)
            self._quietly(self.changes.flush)
            self._quietly(self._save_evicted)
        self.changes.announce()

    def forked(self) -> None:
        """In a child process: what was counted before is the parent's to hand over."""
        self.changes.forked()
        self._audit.outbox.forked()
        self._evicted.clear()
        self._fleet.begin()
        for _, state in self._tools():
            if state.census is not None:
                state.census.take()

    def _flush(self, *, whole: bool) -> None:
        whole |= self._follow()
        tools = self._tools()
        self._save_evicted()
        changed = [(tool, state) for tool, state in self._tools() if state.changed]
        for begin in range(0, len(changed), AT_ONCE):
            self._save(changed[begin : begin + AT_ONCE])
        if whole or self._flushes % SHARED_EVERY == SHARED_EVERY - 1:
            self._save_shared()
        self._fleet.send(tools)
        if whole or self._flushes % PULL_EVERY == PULL_EVERY - 1:
            self._fleet.pull(self._tools())
        self._audit.outbox.flush()
        self._flushes += 1
        if self._failing:
            self._failing = False
            _log.warning("the store can be reached again; what was learned meanwhile is in it now")

    def _quietly(self, work: Any) -> None:
        try:
            work()
        except StoreError as error:
            self._failed(error)
        except Exception as error:
            _log.error("keeping what was learned failed: %s", type(error).__name__)

    def _failed(self, error: StoreError) -> None:
        if not self._failing:
            self._failing = True
            _log.error("the store cannot be used, the guard goes on without it: %s", error)

    def _tools(self) -> list[tuple[str, ToolState]]:
        return [] if self._registry is None else [*self._evicted.items(), *self._registry.known()]

    # --- Labels ---

    def _follow(self) -> bool:
        """Apply what others wrote to the logs of changes and feedback; True where the store has lost what it held."""
        forgot = self._has_forgotten()
        self.changes.flush()  # first: a decision that came after a label stands over it
        registry = self._registry
        if registry is None:
            return forgot
        decided = False
        for record in self.store.events(FEEDBACK, after=self._read):
            self._read = record.sequence
            if record.sequence in self._own:
                self._own.discard(record.sequence)
            elif "reset" in record.event:
                self._reset(registry, record.event)
            elif label_of(registry, record.event, record.sequence, by_change=self._method.holds):
                decided |= self._reviewed(record.event, record.sequence, record.at)
            else:
                _log.error("event %d of the log of feedback is no label, and is passed over", record.sequence)
        if decided:
            self.changes.flush()
        return forgot

    def _has_forgotten(self) -> bool:
        """Make all that is known ready to be sent again, where the store is another one or has fewer events.

        Documents and changes are; labels, which only the log had in full, count on here and are lost to who starts
        later.
        """
        standing = self.store.standing([FEEDBACK, CHANGES])
        before, self._epoch = self._epoch, standing.epoch
        read = {FEEDBACK: self._read, CHANGES: self.changes.applied}
        fewer = [kind for kind, last in standing.last.items() if last < read.get(kind, 0)]
        if before is None or (before == standing.epoch and not fewer):
            return False
        _log.error(
            "the store has lost %s: what was learned and decided is handed over again; labels given before count in "
            "workers that run now, and no longer in those that start later",
            "all that it held" if before != standing.epoch else f"the newest events of {' and '.join(fewer)}",
        )
        self._read = standing.last[FEEDBACK] if before == standing.epoch else 0
        self._own.clear()
        self._audit.forgotten()
        self._fleet.forgotten()
        self.changes.forgotten()
        for _, state in self._tools():
            state.changed = True
        return True

    def _reset(self, registry: Registry, event: Mapping[str, Any]) -> None:
        tool = str(event["reset"])
        registry.drop(tool, labels=bool(event.get("labels")))
        if self._started:  # a flush that was under way here may have saved the tool after it was reset
            self.store.forget([document_name(self._mode, tool)])

    def label(self, event: Mapping[str, Any]) -> None:
        """Write a label to the log, then apply it.

        Raises:
            StoreError: where it cannot be kept; nothing is learned then.
        """
        with self._lock:
            sequence = self.store.append(FEEDBACK, event)
            if sequence == self._read + 1:  # nobody else has written since
                self._read = sequence
            else:
                self._own.add(sequence)
        registry = self._registry
        if registry is None or not label_of(registry, event, sequence, by_change=self._method.holds):
            return
        if self._reviewed(event, sequence):
            self._quietly(self.changes.flush)
            self.changes.announce()

    def _reviewed(self, event: Mapping[str, Any], sequence: int, at: float = inf) -> bool:
        """A label on a suspect decides what the change is that it belongs to; whether that is to be written down.

        So does "fabricated" on a call that was accepted: what was odd about it, however little, is a fault from now on,
        and "genuine" on the same call takes that back.
        """
        tool, fabricated = str(event["tool"]), bool(event["was_hallucination"])
        traits, id_ = event.get("traits"), event.get("change")
        traits = read_traits(traits) or ()
        if not isinstance(id_, str):
            if not traits:
                return False
            id_ = incident_id(tool, traits[0])
            if not fabricated and self.changes.find(id_) is None:
                return False
        details, nats = (dict(event[name]) if isinstance(event.get(name), Mapping) else {} for name in ("said", "nats"))
        strongest = max(details, key=lambda name: nats.get(name, 0.0), default=None)
        state: ChangeState = "fault" if fabricated else "adopted"
        what = "a reviewed call" if strongest is None else str(details[strongest])
        return self.changes.note_label(id_, tool, state, what, traits, sequence, at)

    # --- Documents out ---

    def evicted(self, tool: str, state: ToolState) -> None:
        """Keep what was learned of a tool for which there is no more room, until it is in the store."""
        if state.changed and self.store.flush_seconds is not None:
            self._evicted[tool] = state
            if len(self._evicted) > MAX_EVICTED:
                lost, _ = self._evicted.popitem(last=False)
                _log.error("what was learned of %r is lost: the store does not come after", lost)
            if self._flusher is not None:
                self._flusher.hurry()

    def reclaimed(self, tool: str) -> ToolState | None:
        """A tool that was evicted, and is not in the store yet."""
        return self._evicted.pop(tool, None)

    def _save_evicted(self) -> None:
        while self._evicted:
            some = [(tool, state) for tool, state in list(self._evicted.items())[:AT_ONCE]]
            self._save(some)
            for tool, state in some:
                if self._evicted.get(tool) is state and not state.changed:
                    self._evicted.pop(tool, None)

    def _save(self, tools: Iterable[tuple[str, ToolState]]) -> None:
        documents: dict[str, Any] = {}
        taken = []
        for tool, state in tools:
            name = document_name(self._mode, tool)
            missed = self._missed(name)
            with state.lock:
                if missed is not None and self._catch_up(name, state.memory, missed):
                    self._take_in(state.incidents, missed)
                document = {"version": VERSION, "tool": tool, "learned": snapshot.encode(state.memory)}
                incidents = snapshot.encode_incidents(state.incidents)
                if incidents is not None:
                    document["incidents"] = incidents
                if self.changes.applied:
                    document["changes"] = self.changes.applied
                state.changed = False
            documents[name] = snapshot.sealed(document)
            taken.append(state)
        try:
            self.store.save(documents)
        except BaseException:
            for state in taken:
                state.changed = True
            raise

    def _save_shared(self) -> None:
        shared = self._method.shared
        if shared is None:
            return
        name = document_name(self._mode)
        missed = self._missed(name)
        with shared.lock:
            if missed is not None:
                self._catch_up(name, shared, missed)
            learned = snapshot.encode(shared)
        self.store.save({name: snapshot.sealed({"version": VERSION, "learned": learned})})

    def _missed(self, name: str) -> Mapping[str, Any] | None:
        """A document that could not be read when it was needed."""
        if name not in self._unread:
            return None
        document = self.store.load([name]).get(name)
        self._unread.discard(name)
        return document

    def _catch_up(self, name: str, record: Any, document: Mapping[str, Any]) -> bool:
        """Restore a document that could not be read in time, unless more was learned without it; False if damaged."""
        fresh = snapshot.encode(record)
        before = _experience(record)
        is_sound = self._restore(name, record, document)
        if _experience(record) < before:
            snapshot.restore(record, fresh)
        return is_sound


def _experience(record: Any) -> int:
    """The number of results that a ``ToolMemory``, a ``Pool`` or a ``Baseline`` rests on."""
    return next(int(getattr(record, name)) for name in ("count", "results", "calls") if hasattr(record, name))


def label_of(registry: Registry, event: Mapping[str, Any], sequence: int = 0, *, by_change: bool = True) -> bool:
    """Count the label in an event of the log; False where it has none. ``by_change``: those of one change are one."""
    try:
        tool, was_hallucination, call_id = str(event["tool"]), event["was_hallucination"], event.get("call_id")
        change = event.get("change")
        weight = 1.0 / max(float(event.get("propensity") or 1.0), 1e-9)
        fired = [str(name) for name in event.get("fired", ())]
    except (KeyError, TypeError, ValueError):
        return False
    registry.label(
        tool,
        was_hallucination=bool(was_hallucination),
        weight=weight,
        fired=fired,
        call_id=None if call_id is None else str(call_id),
        change=change if by_change and isinstance(change, str) else None,
        sequence=sequence,
    )
    return True
