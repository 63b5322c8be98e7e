"""Locks that may be held while another thread forks: one order for all of them, and one protocol.

::

    a thread calls os.fork()
      before     every lock is taken, in the order of ``Rank``: nobody is in the middle of anything
                 then everyone who watches is told to let go of what may not be carried over (an open database)
      parent     the locks are given back
      child      the same; a lock that could not be had in time belongs to a thread that is not there, and is made anew;
                 then everyone who watches is told that this is another process

A thread that holds one of these locks and takes another one takes a later one by ``Rank``, or one that it holds
already: by that no two threads wait for each other, and forking waits for no longer than what is under way takes.
Locks are reentrant: also a thread that holds some may fork, and goes on holding them on both sides.
"""

from __future__ import annotations

import os
import time
from enum import IntEnum
from threading import RLock, local
from typing import Any, Final, Protocol
from weakref import WeakSet

PATIENCE: Final = 10.0  # seconds: a process is forked all the same after that


class Rank(IntEnum):
    """The order in which a thread takes locks."""

    FLUSH = 0  # one write-behind thread's turn
    PERSISTENCE = 1  # what is handed over to a store, and taken from there
    CHANGE_LOG = 2  # whose turn it is to read and write the log of changes
    REGISTRY = 3  # which tools there are
    TOOL = 4  # one tool, or one model: what was learned of it
    POOL = 5  # what tools have in common
    CHANGES = 6  # which changes are known
    AUDIT = 7  # audit records that wait, and the latest calls by name
    OPENING = 8  # of database files
    STORE = 9  # one store, or one database
    LEAF = 10  # whoever holds it takes no other


class ForkAware(Protocol):
    """An object that acts when the process is copied. Neither method may raise."""

    def forking(self) -> None:
        """The process is about to be copied; all locks are held, but those that could not be had in time."""

    def forked(self) -> None:
        """This is the copy, with no thread but the one that forked."""


def lock(rank: Rank) -> RLock:
    """A reentrant lock that is taken in this order, and that a child process finds usable."""
    made = RLock()
    with _making:
        _locks[rank].add(made)
    return made


def undivided() -> RLock:
    """The running thread's own lock: held around work in a library that has locks of its own, it lets no fork between.

    Nobody but a fork waits for it, and so threads do not wait for each other.
    """
    own: RLock = _own.lock
    return own


def has(lock: object) -> bool:
    """Tell whether the fork under way holds a lock."""
    return any(one is lock for one in _held)


def watch(one: ForkAware) -> None:
    """Tell ``one`` of each fork from now on; it is not kept alive by that."""
    with _making:
        _watching.add(one)


def unwatch(one: ForkAware) -> None:
    """Tell ``one`` no more."""
    with _making:
        _watching.discard(one)


_making = RLock()  # held by nobody who waits for another lock
_locks: Final[dict[Rank, WeakSet[Any]]] = {rank: WeakSet() for rank in Rank}
_watching: WeakSet[Any] = WeakSet()


class _Own(local):
    def __init__(self) -> None:
        self.lock = lock(Rank.LEAF)


_own = _Own()

# Of the fork that is under way; of two threads that fork one waits for the other.
_forking = RLock()
_held: Final[list[Any]] = []
_missed: Final[list[Any]] = []
_told: Final[list[Any]] = []


def _before() -> None:
    _forking.acquire()
    deadline = time.monotonic() + PATIENCE
    for rank in Rank:
        with _making:
            wanted = list(_locks[rank])
        for one in wanted:
            had = one.acquire(timeout=max(deadline - time.monotonic(), 0.0))
            (_held if had else _missed).append(one)
    _making.acquire()
    _held.append(_making)
    _told.extend(_watching)
    for one in _told:
        one.forking()


def _release() -> None:
    while _held:
        _held.pop().release()


def _in_the_parent() -> None:
    _release()
    _missed.clear()
    _told.clear()
    _forking.release()


def _in_the_child() -> None:
    _release()
    for one in _missed:
        one._at_fork_reinit()
    _missed.clear()
    watchers = list(_told)
    _told.clear()
    _forking.release()
    for one in watchers:
        one.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_the_parent, after_in_child=_in_the_child)
