"""A process that does what it is sent, in that order.

Workers are spawned, so that no thread and no lock of the parent comes with them. They leave Ctrl-C to the parent, which
asks them for what they have so far, and they end with it, also where it is killed.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import connection, get_context, parent_process
from types import TracebackType
from typing import Any, TypeVar

from agentguard.errors import AgentGuardError, ConfigurationError

__all__ = ["Worker", "Workers", "usable_cpus"]

T = TypeVar("T")

AHEAD = 4
"""Pieces of work that a worker is sent before the first of them must be done: what bounds memory."""


def usable_cpus() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Worker:
    """One process with a queue of its own.

    Args:
        prepare: called in the process before all else, with ``given``; a function of a module.
        given: what ``prepare`` is called with.

    Attributes:
        sent: how much the process was sent, as ``send`` was told.
    """

    def __init__(self, prepare: Callable[..., None], *given: Any) -> None:
        self.sent = 0
        self._under_way: deque[Future[Any]] = deque()
        self._executor = ProcessPoolExecutor(
            1, mp_context=get_context("spawn"), initializer=_begin, initargs=(prepare, given)
        )
        with _one_clear_error(), _ctrl_c_ignored():
            self._executor.submit(_nothing)  # starts the process

    @property
    def under_way(self) -> list[Future[Any]]:
        """What was sent and is not done; raises what went wrong in what is done."""
        with _one_clear_error():
            while self._under_way and self._under_way[0].done():
                self._under_way.popleft().result()
        return list(self._under_way)

    def send(self, amount: int, function: Callable[..., None], *given: Any) -> None:
        """Have a function of a module called in the process; waits where the process is far behind.

        Raises:
            AgentGuardError: where the process ended before its work was done.
        """
        with _one_clear_error():
            while len(self._under_way) >= AHEAD:
                self._under_way[0].result()
                self._under_way.popleft()
            self.sent += amount
            self._under_way.append(self._executor.submit(function, *given))

    def ask(self, function: Callable[[], T]) -> Callable[[], T]:
        """Have a function called after all that was sent; what is returned waits for its answer.

        Raises:
            AgentGuardError: where the process ended before its work was done.
        """
        with _one_clear_error():
            future = self._executor.submit(function)

        def answer() -> T:
            with _one_clear_error():
                while self._under_way:
                    self._under_way.popleft().result()
                return future.result()

        return answer

    def end(self, *, now: bool) -> None:
        """End the process: when its work is done, or without the work that it has not begun."""
        self._executor.shutdown(wait=not now, cancel_futures=now)


class Workers:
    """Several workers, ended together on leaving the context.

    Raises:
        ConfigurationError: for a number below 1.
    """

    def __init__(self, number: int, prepare: Callable[..., None], *given: Any) -> None:
        if number < 1:
            raise ConfigurationError(f"workers must be at least 1, not {number}")
        self.all = [Worker(prepare, *given) for _ in range(number)]

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        for worker in self.all:
            worker.end(now=error is not None)

    def idlest(self) -> Worker:
        """The worker with the least work before it; waits until one has room for more."""
        while True:
            under_way = [worker.under_way for worker in self.all]
            worker = min(range(len(self.all)), key=lambda index: (len(under_way[index]), self.all[index].sent))
            if len(under_way[worker]) < AHEAD:
                return self.all[worker]
            wait([futures[0] for futures in under_way], return_when=FIRST_COMPLETED)

    def ask(self, function: Callable[[], T]) -> list[T]:
        """What each answers, after all that it was sent."""
        answers = [worker.ask(function) for worker in self.all]
        return [answer() for answer in answers]


@contextmanager
def _ctrl_c_ignored() -> Iterator[None]:
    """Processes started in here inherit that SIGINT is ignored, from their first instruction on."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _one_clear_error() -> Iterator[None]:
    try:
        yield
    except BrokenProcessPool:
        raise AgentGuardError(
            "a worker process ended before its work was done (killed, or out of memory): "
            "run again with fewer workers, or with the local engine"
        ) from None


# --- What follows runs in the process ---


def _begin(prepare: Callable[..., None], given: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    prepare(*given)


def _end_with_the_parent() -> None:
    """A parent that is killed cannot tell its workers to end, and they would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _nothing() -> None:
    """To be there is all."""
