"""A log judged, or counted, on several processes of one machine.

::

    the log ── cut at line feeds ──▶ batches of lines, each with its place
                                        ├─ counting: to the idlest worker ──────▶ partial ──▶ merge
                                        └─ judging: by tool to the worker that
                                           has its partition ───────────────────▶ verdicts ──▶ merged

Lines are parsed where they are judged or counted. Memory is constant: a worker is sent a bounded number of batches
ahead, then the reader waits for it.

Workers are spawned, so that no thread and no lock of the parent comes with them. They leave Ctrl-C to the parent, which
asks them for what they have so far, and they end with it, also where it is killed.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import reduce
from multiprocessing import connection, get_context, parent_process
from types import TracebackType
from typing import Any, TypeVar

from agentguard.errors import AgentGuardError, ConfigurationError
from agentguard.traces._counts import State, merge
from agentguard.traces._partitions import (
    BATCH_BYTES,
    BATCH_LINES,
    PARTITIONS,
    EngineSpec,
    Part,
    Partition,
    batches,
    check_partitions,
    merged,
    partition_of,
    tool_of,
)
from agentguard.traces._read import Line, parse
from agentguard.traces._replay import ReplaySummary

T = TypeVar("T")
W = TypeVar("W", bound="Workers")

AHEAD = 4
"""Pieces of work that a worker is sent before the first of them must be done: what bounds memory."""


def usable_cpus() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Worker:
    """One process with a queue of its own, in which ``prepare``, a function of a module, is called before all else.

    All methods raise ``AgentGuardError`` where the process ended before its work was done.
    """

    def __init__(self, prepare: Callable[..., None], *given: Any) -> None:
        self.sent = 0  # how much the process was sent, as ``send`` was told
        self._under_way: deque[Future[Any]] = deque()
        self._executor = ProcessPoolExecutor(
            1, mp_context=get_context("spawn"), initializer=_begin, initargs=(prepare, given)
        )
        with _one_clear_error(), _ctrl_c_ignored():
            self._executor.submit(_nothing)  # starts the process

    @property
    def under_way(self) -> list[Future[Any]]:
        """The work that was sent and is not done; raises the errors of work that is done."""
        with _one_clear_error():
            while self._under_way and self._under_way[0].done():
                self._under_way.popleft().result()
        return list(self._under_way)

    def send(self, amount: int, function: Callable[..., None], *given: Any) -> None:
        """Have a function of a module called in the process; waits where the process is far behind."""
        with _one_clear_error():
            while len(self._under_way) >= AHEAD:
                self._under_way[0].result()
                self._under_way.popleft()
            self.sent += amount
            self._under_way.append(self._executor.submit(function, *given))

    def ask(self, function: Callable[[], T]) -> Callable[[], T]:
        """Have a function called after all that was sent; what is returned waits for its answer."""
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
    """Several workers, ended together on leaving the context."""

    def __init__(self, number: int, prepare: Callable[..., None], *given: Any) -> None:
        if number < 1:
            raise ConfigurationError(f"workers must be at least 1, not {number}")
        self.all = [Worker(prepare, *given) for _ in range(number)]

    def __enter__(self: W) -> W:
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
        """Call a function in each process after all work sent to it; the answers."""
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
    """Prepare nothing; or, as the first work of all, start the process."""


# --- The engines ---


class CountingProcesses(Workers):
    """Counts what can be counted of a log's calls in any order; equal to ``partial`` of the whole log.

    Both methods raise ``AgentGuardError`` where a worker process ended before its work was done.
    """

    def __init__(self, workers: int) -> None:
        super().__init__(workers, _nothing)
        self.calls = 0  # number of lines handed over so far

    def push(self, lines: Iterable[Line]) -> None:
        """Have the calls in lines counted; waits where the workers are behind."""
        for batch in batches(lines):
            self.idlest().send(len(batch), _count, batch)
            self.calls += len(batch)

    def summary(self) -> State:
        """The counts of all lines handed over so far; waits until they are counted."""
        return reduce(merge, map(State.from_dict, self.ask(_counted)), State())


class JudgingProcesses(Workers):
    """Judges a log's calls, each tool's in recorded order.

    The calls are divided by tool into a fixed number of partitions, each with an engine of its own; a partition stays
    with the worker that got its first call, which is the one that was sent least until then. How many workers there
    are changes nothing but the time. Both methods raise ``AgentGuardError`` where a worker process ended before its
    work was done.

    Args:
        spec: what every partition's engine is built from.
        workers: number of processes, at least 1; those beyond the number of partitions are not started.
        partitions: into how many parts the tools are divided. One part judges as a single engine would.
    """

    def __init__(self, spec: EngineSpec, workers: int, partitions: int = PARTITIONS) -> None:
        check_partitions(partitions)
        super().__init__(min(workers, partitions), _prepare_judging, spec)
        self.calls = 0  # number of lines handed over so far
        self._partitions = partitions
        self._worker_of: dict[int, Worker] = {}
        self._waiting: defaultdict[int, list[Line]] = defaultdict(list)  # lines of a partition that were not sent yet
        self._bytes: Counter[int] = Counter()  # their size

    def push(self, lines: Iterable[Line]) -> None:
        """Have the calls in lines judged; waits where the workers are behind."""
        for line in lines:
            number = partition_of(tool_of(line), self._partitions)
            self._waiting[number].append(line)
            self._bytes[number] += len(line[2])
            self.calls += 1
            if len(self._waiting[number]) >= BATCH_LINES or self._bytes[number] >= BATCH_BYTES:
                self._send(number)

    def summary(self) -> ReplaySummary:
        """The summary of all lines handed over so far; waits until they are judged."""
        for number in list(self._waiting):
            self._send(number)
        return merged(part for parts in self.ask(_parts) for part in parts)

    def _send(self, number: int) -> None:
        worker = self._worker_of.get(number)
        if worker is None:
            worker = self._worker_of[number] = min(self.all, key=lambda worker: worker.sent)
        worker.send(self._bytes.pop(number) + 1, _judge, number, self._waiting.pop(number))


# --- What follows runs in the workers ---

_spec = EngineSpec()
_partitions: dict[int, Partition] = {}
_state = State()


def _count(lines: list[Line]) -> None:
    for row in parse(lines):
        _state.push(row)


def _counted() -> dict[str, object]:
    return _state.as_dict()


def _prepare_judging(spec: EngineSpec) -> None:
    global _spec
    _spec = spec


def _judge(number: int, lines: list[Line]) -> None:
    partition = _partitions.get(number)
    if partition is None:
        partition = _partitions[number] = Partition(number, _spec)
    partition.push(lines)


def _parts() -> list[Part]:
    return [partition.part() for partition in _partitions.values()]
