"""How many calls each tool has had, as the store counts them by the hour."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from agentguard import forks
from agentguard.errors import StoreError
from agentguard.live._board import Board
from agentguard.live._records import Label, RecordedCall, read_label, read_record
from agentguard.stores import Store
from agentguard.stores.base import Record
from agentguard.verification.audit import AUDIT
from agentguard.verification.census import field
from agentguard.verification.changes import CHANGES
from agentguard.verification.persistence import FEEDBACK
from agentguard.verification.state import batches, place_of

MOST: Final = 500  # tools: those whose documents were saved last
WHOLE_EVERY: Final = 60  # readings: hours beyond the store's bound are gone then, and tools that were reset
_CALLS: Final = field("calls")


class CallCounts:
    """Reads the counts on: of a tool that is known, those of the latest two hours. Used by one thread at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._readings = 0
        self._hour = 1
        self._calls: dict[str, dict[int, int]] = {}

    def read(self) -> dict[str, int]:
        """Calls by tool.

        Raises:
            StoreError: where the store cannot be read.
        """
        if self._readings % WHOLE_EVERY == 0:
            self._calls = {}
        self._readings += 1
        places = map(place_of, self._store.names())
        tools = list(dict.fromkeys(place.tool for place in places if place is not None and place.tool is not None))
        known = self._calls.keys() & tools[-MOST:]
        # An hour that has just ended may still get a late delta.
        for names, since in ((known, self._hour - 1), (set(tools[-MOST:]) - known, 0)):
            for batch in batches(sorted(names)):
                for hour, counts in self._store.counts(batch, since=since).items():
                    self._hour = max(self._hour, hour)
                    for tool, fields in counts.items():
                        self._calls.setdefault(tool, {})[hour] = fields.get(_CALLS, 0)
        return {tool: sum(hours.values()) for tool, hours in self._calls.items()}


# --- follower ---
# Reads a store's logs on, in a thread of its own, and puts what is new on the board.


PAGE: Final = 1_000  # events that are put on the board at once
COUNT_EVERY: Final = 30  # looks at the logs: counts are larger, and change with every call
_log = logging.getLogger("agentguard.live")


class Follower:
    """Between a store and a board. Where the store fails the board stays as it is, and what was missed is read later.

    Args:
        store: what is read.
        board: what is written.
        every: seconds between two looks.
        heard: called, in whichever thread it is, when there is something new or the store fails or is back.
    """

    def __init__(self, store: Store, board: Board, *, every: float, heard: Callable[[], None]) -> None:
        self._store, self._board, self._every, self._heard = store, board, every, heard
        self._counts = CallCounts(store)
        self._lock = forks.lock(forks.Rank.LEAF)
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._failing = False

    @property
    def reaches_store(self) -> bool:
        """Whether the latest look at the store went well."""
        return not self._failing

    def start(self) -> None:
        """Begin to look."""
        self._stopped.clear()
        self._thread = threading.Thread(target=self._run, name="agentguard-live", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it; waits for a look that is under way."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def catch_up(self) -> None:
        """Read on now.

        Raises:
            StoreError: where the store cannot be read.
        """
        with self._lock:
            self._attempt(self._read_on)

    def _run(self) -> None:
        looks = 0
        while not self._stopped.is_set():
            try:
                with self._lock:
                    self._attempt(self._read_on)
                    if looks % COUNT_EVERY == 0:
                        self._attempt(self._read_counts)
                looks += 1
            except StoreError:
                pass  # it was told of, and the next look tries again
            except Exception as error:  # a store of somebody else's
                _log.error("looking at the store failed: %s", type(error).__name__)
            self._stopped.wait(self._every)

    def _attempt(self, work: Callable[[], bool]) -> None:
        try:
            news = work()
        except StoreError as error:
            if not self._failing:
                self._failing = True
                _log.error("the store cannot be read, the page shows what was read before: %s", error)
                self._heard()
            raise
        if self._failing:
            self._failing, news = False, True
            _log.warning("the store can be read again")
        if news:
            self._heard()

    def _read_on(self) -> bool:
        at = self._board.position
        # Asked in this order: a label that is found here is on a call whose record, if it has one, is found below.
        feedback = self._store.events(FEEDBACK, after=at.feedback)
        audit = self._store.events(AUDIT, after=at.audit)
        last, records = at.audit, list[RecordedCall]()
        # Before the calls that look like them, so that no call is shown with a change that nobody has heard of.
        news = self._board.read_changes(list(self._store.events(CHANGES, after=self._board.changes_read)))
        for record in audit:
            last = record.sequence
            found = read_record(record)
            if found is not None:
                records.append(found)
            if len(records) == PAGE:
                news |= self._board.read_on(last, records, 0, ())
                records = []
        news |= self._board.read_on(last, records, 0, ())
        last, events = at.feedback, list[Label | str]()
        for record in feedback:
            last = record.sequence
            events += _event(record)
            if len(events) >= PAGE:
                news |= self._board.read_on(0, (), last, events)
                events = []
        return self._board.read_on(0, (), last, events) or news

    def _read_counts(self) -> bool:
        return self._board.set_calls(self._counts.read())


def _event(record: Record) -> list[Label | str]:
    if "reset" in record.event:
        return [str(record.event["reset"])] if record.event.get("labels") else []
    label = read_label(record)
    return [] if label is None else [label]
