"""Write-behind: what was learned is handed over every second, away from the calls that are judged."""

from __future__ import annotations

import atexit
import logging
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any, Final, Protocol
from uuid import uuid4

from agentguard import _forks as forks
from agentguard.errors import StoreError
from agentguard.stores._base import Event, Store


class Flushed(Protocol):
    """An object that a flusher flushes."""

    def flush_quietly(self) -> None:
        """Hand over what was learned; raises nothing."""

    def hurry_quietly(self) -> None:
        """Hand over what was asked for with ``Flusher.hurry``; raises nothing."""

    def forked(self) -> None:
        """This is a copy in a new process: what was not handed over yet is the original's."""


def new_worker() -> str:
    """A name that no other worker has."""
    return uuid4().hex


class Flusher:
    """Flushes every so many seconds from a thread of its own, and once more when the interpreter ends.

    The thread does not keep alive what it flushes: with that, the flushing ends. A child process goes on with a thread
    of its own, and no process is forked in the middle of a flush.

    Attributes:
        thread: the one that flushes.

    Args:
        flushed: what to flush.
        seconds: between the end of one flush and the begin of the next.
    """

    def __init__(self, flushed: Flushed, seconds: float) -> None:
        self._flushed = weakref.ref(flushed)
        self._seconds = seconds
        self._busy = forks.lock(forks.Rank.FLUSH)
        self._stopped, self._called = threading.Event(), threading.Event()
        self._start()
        _running.add(self)
        forks.watch(self)

    def hurry(self) -> None:
        """Let the thread hand over at once what cannot wait for the next flush; waits for nothing."""
        self._called.set()

    def stop(self) -> None:
        """End the flushing; the last flush is the caller's. Waits for one that is under way."""
        self._stopped.set()
        self._called.set()
        _running.discard(self)
        forks.unwatch(self)
        with self._busy:
            pass

    def _start(self) -> None:
        events = self._stopped, self._called
        self.thread = threading.Thread(target=self._run, args=events, name="agentguard-flush", daemon=True)
        self.thread.start()

    def _run(self, stopped: threading.Event, called: threading.Event) -> None:
        due = time.monotonic() + self._seconds
        goes_on = True
        while goes_on:
            called.wait(max(due - time.monotonic(), 0.0))
            called.clear()
            if stopped.is_set():
                return
            hurried = time.monotonic() < due
            goes_on = self._once(hurried=hurried)
            if not hurried:
                due = time.monotonic() + self._seconds

    def _once(self, *, hurried: bool = False) -> bool:
        flushed = self._flushed()
        if flushed is None:
            return False
        with self._busy:
            if not self._stopped.is_set():
                if hurried:
                    flushed.hurry_quietly()
                else:
                    flushed.flush_quietly()
        return True

    def forking(self) -> None:
        """Do nothing: whoever forks holds the lock of the flush."""

    def forked(self) -> None:
        """In a child process, which has none of its parent's threads."""
        flushed = self._flushed()
        if flushed is not None:
            flushed.forked()
            self._stopped, self._called = threading.Event(), threading.Event()
            self._start()


_running: weakref.WeakSet[Flusher] = weakref.WeakSet()


def _at_exit() -> None:
    for flusher in list(_running):
        flusher._once()


atexit.register(_at_exit)


# --- Events that wait to be written: by the call that made them, or by a thread behind it ---

AT_ONCE: Final = 200  # events in one write
_log = logging.getLogger("agentguard")


class Outbox:
    """The events of one kind that wait for the store, the oldest first. Thread-safe.

    Args:
        store: where they go.
        kind: of the events; each names its ``tool``.
        noun: what messages call one.
        room: the newest so many wait; older ones are lost.

    Attributes:
        hurry: lets another thread ``flush`` at once; None: an event is written before ``put`` returns.
    """

    def __init__(self, store: Store, kind: str, noun: str, room: int) -> None:
        self._store, self._kind, self._noun = store, kind, noun
        self._writing = forks.lock(forks.Rank.AUDIT)
        self._waiting: deque[Event] = deque(maxlen=room)
        self._failing = False
        self._flusher: Flusher | None = None
        self.hurry: Callable[[], object] | None = None

    def write_behind(self) -> None:
        """Let a thread of its own write from now on, where the store is not near and may be written behind."""
        if not self._store.is_near and self._store.flush_seconds is not None:
            self._flusher = Flusher(self, self._store.flush_seconds)
            self.hurry = self._flusher.hurry

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, event: Event, *, waits: bool = False) -> str:
        """Write an event, now or soon; why that could not be done, or "".

        Args:
            event: what is to be written.
            waits: wait for the store also where another thread writes.
        """
        self._waiting.append(event)
        # The store failed: until a flush finds it again nobody waits for it, unless nobody flushes.
        if self._failing and self._store.flush_seconds is not None:
            return f"{len(self._waiting):,} {self._noun.partition(' ')[2]}s wait for the store to be back"
        if self.hurry is not None and not waits:
            self.hurry()
            return ""
        try:
            self.flush()
        except Exception as error:
            why = _why(error)
            _log.error("%s of %r is not on record: %s", self._noun, event["tool"], why)
            return why
        return ""

    def flush(self) -> None:
        """Write what waits.

        Raises:
            StoreError: where the store still fails; what could not be written goes on waiting.
        """
        with self._writing:
            try:
                while self._waiting:
                    self._write(list(islice(self._waiting, AT_ONCE)))
            except BaseException:
                self._failing = True
                raise
            self._failing = False

    def flush_quietly(self) -> None:
        """The same from a thread: a failure is logged when it begins."""
        known = self._failing
        try:
            self.flush()
        except Exception as error:
            if not known:
                _log.error("%s waits to be put on record: %s", self._noun, _why(error))

    hurry_quietly = flush_quietly

    def forked(self) -> None:
        """In a child process: what waits is the parent's to write."""
        self._waiting.clear()

    def _write(self, some: list[Event]) -> None:
        try:
            self._store.extend(self._kind, some)
        except Exception:
            self._write_singly(some)
        else:
            self._written(some)

    def _write_singly(self, some: list[Event]) -> None:
        """Give up the first event that the store refuses twice, where it takes another one in between."""
        refused: Any = None
        for event in some:
            try:
                self._store.append(self._kind, event)
            except Exception:
                if refused is not None or event is some[-1]:
                    raise
                refused = event
                continue
            if refused is None:
                self._written([event])
                continue
            try:
                self._store.append(self._kind, refused)  # it may have met the end of an outage, and is no worse
            except Exception:
                _log.error("%s of %r is given up: the store refuses it", self._noun, refused["tool"])
            self._written([refused, event])
            return

    def _written(self, some: list[Event]) -> None:
        for event in some:
            if self._waiting and self._waiting[0] is event:  # else there was no room for it any more
                self._waiting.popleft()


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, StoreError) else f"the store raised {type(error).__name__}"
