"""Between the store and the board: read logs and counts on, and write what reviewers say."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from typing import Final, Literal

from agentguard import _forks as forks
from agentguard.errors import DataError, StoreError
from agentguard.live._board import (
    Board,
    Label,
    ShownChange,
    ShownVerdict,
    label_event,
    read_label,
    read_record,
)
from agentguard.serving._app import ProblemError
from agentguard.stores import Store
from agentguard.stores._base import Record
from agentguard.verification._audit import AUDIT
from agentguard.verification._census import field
from agentguard.verification._changes import CHANGES, decide
from agentguard.verification._persistence import FEEDBACK
from agentguard.verification._state import batches, place_of

MOST: Final = 500  # tools: those whose documents were saved last
WHOLE_EVERY: Final = 60  # readings; then hours beyond the store's bound go, and tools that were reset
PAGE: Final = 1_000  # events that are put on the board at once
COUNT_EVERY: Final = 30  # looks at the logs: counts are larger, and change with every call
REVIEW: Final = "review"  # kinds of claims
DECISION: Final = "decision"
_CALLS: Final = field("calls")
_log = logging.getLogger("agentguard.live")


class CallCounts:
    """Calls by tool, as the store counts them by the hour. Used by one thread at a time.

    Of a tool that is known the latest two hours are read again, of others all.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._readings = 0
        self._hour = 1
        self._calls: dict[str, dict[int, int]] = {}

    def read(self) -> dict[str, int]:
        """Read the counts on; calls by tool; raises ``StoreError`` if the store cannot be read."""
        if self._readings % WHOLE_EVERY == 0:
            self._calls = {}
        self._readings += 1
        places = map(place_of, self._store.names())
        tools = list(dict.fromkeys(place.tool for place in places if place is not None and place.tool is not None))
        latest = set(tools[-MOST:])
        known = self._calls.keys() & latest
        # An hour that has just ended may still get a late delta.
        for names, since in ((known, self._hour - 1), (latest - known, 0)):
            for batch in batches(sorted(names)):
                for hour, counts in self._store.counts(batch, since=since).items():
                    self._hour = max(self._hour, hour)
                    for tool, fields in counts.items():
                        self._calls.setdefault(tool, {})[hour] = fields.get(_CALLS, 0)
        return {tool: sum(hours.values()) for tool, hours in self._calls.items()}


class Follower:
    """Reads a store's logs on in a thread of its own, and puts what is new on the board.

    While the store fails the board stays as it is; what was missed is read later. ``heard`` is called in any thread
    when there is something new, or the store fails or is back.
    """

    def __init__(self, store: Store, board: Board, *, every: float, heard: Callable[[], None]) -> None:
        self._store, self._board, self._every, self._heard = store, board, every, heard
        self._counts = CallCounts(store)
        self._lock = forks.lock(forks.Rank.LEAF)
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self.reaches_store = True  # whether the latest look at the store succeeded

    def start(self) -> None:
        """Start the thread."""
        self._stopped.clear()
        self._thread = threading.Thread(target=self._run, name="agentguard-live", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, after a look that is under way."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def catch_up(self) -> None:
        """Read on now; raises ``StoreError`` if the store cannot be read."""
        with self._lock:
            self._attempt(self._read_on)

    def _run(self) -> None:
        looks = 0
        while not self._stopped.is_set():
            try:
                with self._lock:
                    self._attempt(self._read_on)
                    if looks % COUNT_EVERY == 0:
                        self._attempt(lambda: self._board.set_calls(self._counts.read()))
                looks += 1
            except StoreError:
                pass  # it is logged, and the next look tries again
            except Exception as error:  # of a foreign store
                _log.error("looking at the store failed: %s", type(error).__name__)
            self._stopped.wait(self._every)

    def _attempt(self, work: Callable[[], bool]) -> None:
        try:
            news = work()
        except StoreError as error:
            if self.reaches_store:
                self.reaches_store = False
                _log.error("the store cannot be read, the page shows what was read before: %s", error)
                self._heard()
            raise
        if not self.reaches_store:
            self.reaches_store = news = True
            _log.warning("the store can be read again")
        if news:
            self._heard()

    def _read_on(self) -> bool:
        at = self._board.position
        # In this order: the record of a call whose label is found here, if it has one, is found below.
        feedback = self._store.events(FEEDBACK, after=at.feedback)
        audit = self._store.events(AUDIT, after=at.audit)
        # Changes before the calls that look like them: no call is shown with a change that is not.
        news = self._board.read_changes(list(self._store.events(CHANGES, after=self._board.changes_read)))
        for page in _pages(audit):
            calls = [call for call in map(read_record, page) if call is not None]
            news |= self._board.read_on(page[-1].sequence, calls, 0, ())
        for page in _pages(feedback):
            events = [event for record in page for event in _event(record)]
            news |= self._board.read_on(0, (), page[-1].sequence, events)
        return news


def _pages(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Records in lists of bounded length."""
    left = iter(records)
    while page := list(islice(left, PAGE)):
        yield page


def _event(record: Record) -> list[Label | str]:
    """The label in an event of feedback, or the tool whose labels it takes back."""
    if "reset" in record.event:
        return [str(record.event["reset"])] if record.event.get("labels") else []
    label = read_label(record)
    return [] if label is None else [label]


# --- What reviewers say ---


class Reviews:
    """Writes reviewers' labels and decisions, each once. Thread-safe.

    Of several reviewers of one call or change the first is heard and the others are told. Within a server a lock sees
    to that; between servers on one store a claim on the call and its present label, or on the change and its latest
    decision. The follower reads on what others have said meanwhile.
    """

    def __init__(self, store: Store, board: Board, follower: Follower) -> None:
        self._store, self._board, self._follower = store, board, follower
        self._lock = forks.lock(forks.Rank.LEAF)
        self._held: set[tuple[str, str]] = set()  # claims whose event could not be written: to be tried again

    def review(self, sequence: int, *, was_hallucination: bool, corrects: int = 0) -> ShownVerdict:
        """Label a call; the call with its label.

        Args:
            sequence: of its audit record.
            was_hallucination: whether it was fabricated or corrupted.
            corrects: the number of the label that this one replaces; 0 without one.

        Raises:
            ProblemError: if there is no such call, somebody else was first, or the store fails.
        """
        with self._writing("a label"):
            entry = self._board.find(sequence)
            if entry is None:
                raise ProblemError(404, "no-such-verdict", "this verdict is not among the newest on record")
            recorded, label = entry
            record = recorded.record
            if record.call_id is None:
                raise ProblemError(409, "nameless", "this call has no id, by which anybody could find out what it was")
            if label is not None and label.sequence == corrects and label.fabricated == was_hallucination:
                return self._board.show(recorded, label)
            if corrects != (0 if label is None else label.sequence):
                raise ProblemError(409, "reviewed", "somebody has reviewed this call meanwhile")
            claim = REVIEW, f"{sequence} {corrects}"
            self._claim(claim, "reviewed", "somebody is reviewing this call at another server")
            number = self._store.append(FEEDBACK, label_event(record, was_hallucination=was_hallucination))
            self._held.discard(claim)
            given = Label(number, time.time(), record.tool, record.call_id, record.posterior, was_hallucination)
            with suppress(StoreError):  # the label is written; the follower reports the store, and reads it later
                self._follower.catch_up()
                label = (self._board.find(sequence) or entry)[1]
            return self._board.show(recorded, label if label is not None and label.sequence == number else given)

    def decide(self, id_: str, state: Literal["fault", "adopted"], *, corrects: int = 0) -> ShownChange:
        """Decide a lasting change, as ``review`` labels a call; the change with this decision."""
        with self._writing("a decision"):
            known = self._board.change(id_)
            if known is None:
                raise ProblemError(404, "no-such-change", "there is no such change on record")
            if known.decided == corrects and known.reviewed and known.state == state:
                return known
            if corrects != known.decided:
                raise ProblemError(409, "decided", "somebody has decided this meanwhile")
            claim = DECISION, f"{id_} {corrects}"
            self._claim(claim, "decided", "somebody is deciding this at another server")
            try:
                change = decide(self._store, id_, state)
            except DataError as error:
                raise ProblemError(404, "no-such-change", str(error)) from None
            self._held.discard(claim)
            with suppress(StoreError):  # it is written; the follower reports the store, and reads it later
                self._follower.catch_up()
                return self._board.change(id_) or known
            return replace(known, state=change.state, reviewed=True)

    @contextmanager
    def _writing(self, what: str) -> Iterator[None]:
        """One writer at a time, on a board that has caught up."""
        try:
            with self._lock:
                self._follower.catch_up()
                yield
        except StoreError as error:
            _log.error("%s cannot be written: %s", what, error)
            detail = "the store cannot be used, and nothing was learned; try again later"
            raise ProblemError(503, "store", detail, retry_after=10) from None

    def _claim(self, claim: tuple[str, str], kind: str, detail: str) -> None:
        """Be the first to write, or raise a problem of this kind."""
        if claim not in self._held and not self._store.claim(*claim):
            raise ProblemError(409, kind, detail)
        self._held.add(claim)
