"""Write-behind: what was learned is handed over every second, away from the calls that are judged."""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from typing import Protocol
from uuid import uuid4

from agentguard import forks

__all__ = ["Flushed", "Flusher", "new_worker"]


class Flushed(Protocol):
    """What a flusher looks after."""

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
        """Nothing: whoever forks holds the lock of the flush."""

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
