"""A log judged, or counted, on several processes of one machine.

::

    the log ── cut at line feeds ──▶ batches of lines, each with its place
                                        ├─ counting: to the idlest worker ──────▶ partial ──▶ merge
                                        └─ judging: the opening to every worker,
                                           then windows of lines, by tool to the
                                           worker that has its partition
                                             ├─ read: the calls of sessions ────▶ to the other workers
                                             └─ judged, when theirs have come ──▶ verdicts ──▶ merged

Lines are parsed where they are judged or counted. Memory is constant: a worker is sent a bounded number of batches
ahead, then the reader waits for it. While a window is judged, the next one is read.

Workers are spawned, so that no thread and no lock of the parent comes with them. They leave Ctrl-C to the parent, which
asks them for what they have so far, and they end with it, also where it is killed.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections import Counter, deque
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
    OPENING,
    PARTITIONS,
    EngineSpec,
    Opening,
    Part,
    Share,
    Window,
    batches,
    check_partitions,
    merged,
    partition_of,
    tool_of,
)
from agentguard.traces._read import Line, parse
from agentguard.traces._replay import ReplaySummary
from agentguard.verification._division import Made

T = TypeVar("T")
W = TypeVar("W", bound="Workers")

COLLECTED_AFTER = 50_000
"""New objects in what reads a log after which its garbage is collected."""

AHEAD = 8
"""Pieces of work that a worker is sent before the first of them must be done: what bounds memory."""


def usable_cpus() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_workers(number: int) -> None:
    """Refuse to divide work among no workers."""
    if number < 1:
        raise ConfigurationError(f"workers must be at least 1, not {number}")


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

    def send(self, amount: int, function: Callable[..., T], *given: Any) -> Future[T]:
        """Have a function of a module called in the process; waits where the process is far behind."""
        with _one_clear_error():
            while len(self._under_way) >= AHEAD:
                self._under_way[0].result()
                self._under_way.popleft()
            self.sent += amount
            future = self._executor.submit(function, *given)
            self._under_way.append(future)
            return future

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
        check_workers(number)
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
def seldom_collected() -> Iterator[None]:
    """Have garbage collected seldom while a log is read: next to nothing in it is a cycle."""
    before = gc.get_threshold()
    gc.set_threshold(COLLECTED_AFTER, 10, 10)
    try:
        yield
    finally:
        gc.set_threshold(*before)


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
    # Next to nothing in a worker is a cycle. At its usual pace the collector looks through the calls of a window, and
    # through what the engine has learned, again and again while the window is read.
    gc.set_threshold(COLLECTED_AFTER, 10, 10)
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


WINDOW_LINES = 512
WINDOW_BYTES = 2**20
WINDOWS = 4
"""Windows that are under way at a time: one is read while those before it are judged. With more than two, no worker
waits where another one has more of a window than it has itself."""
CALL_BYTES = 46_000
"""CPU time of a call apart from its length, in bytes of its line: `agentguard replay` takes 0.22 ms for each call and
4.7 ns for each byte (calls of 1.3 and of 55 KB, CPython 3.11). It decides which worker gets which tools."""

_Heard = tuple[int, tuple[Any, ...]]  # place and ``Made``, as plain tuples: these are written in a third of the time
_Reading = tuple[Worker, "Future[list[_Heard]]"]


class JudgingProcesses(Workers):
    """Judges a log's calls, each tool's in recorded order.

    The calls are divided by tool into a fixed number of partitions, and these among the workers. How many workers there
    are changes nothing but the time. A log that is no longer than its opening is judged here, and no process is
    started. Both methods raise ``AgentGuardError`` where a worker process ended before its work was done.

    Args:
        spec: what every engine is built from.
        workers: number of processes, at least 1; those beyond the number of partitions are not started.
        partitions: into how many parts the tools are divided. One part judges as a single engine would.
        opening: calls that are judged as a whole, by every worker.
    """

    def __init__(self, spec: EngineSpec, workers: int, partitions: int = PARTITIONS, opening: int = OPENING) -> None:
        check_partitions(partitions)
        check_workers(workers)
        self.all = []
        self.calls = 0  # number of lines handed over so far
        self._spec, self._number, self._partitions = spec, min(workers, partitions), partitions
        self._opening = Opening(opening)
        self._worker_of: dict[int, Worker] = {}
        self._window: list[tuple[int, int, Line]] = []  # place, partition and line of those that were not sent yet
        self._bytes = 0  # their size
        self._sent = 0  # number of windows
        self._under_way: deque[tuple[int, list[_Reading]]] = deque()  # windows that are read, and not judged yet

    def push(self, lines: Iterable[Line]) -> None:
        """Have the calls in lines judged; waits where the workers are behind."""
        for line in lines:
            self.calls += 1
            if self._opening.take(line):
                continue
            if not self.all:
                self._start()
            self._window.append((len(self._window), partition_of(tool_of(line), self._partitions), line))
            self._bytes += len(line[2])
            if len(self._window) >= WINDOW_LINES or self._bytes >= WINDOW_BYTES:
                self._send()

    def summary(self) -> ReplaySummary:
        """The summary of all lines handed over so far; waits until they are judged."""
        if not self.all:
            share = Share(self._spec, self._partitions, range(self._partitions))
            share.open(self._opening.lines)
            return merged(share.parts())
        if self._window:
            self._send()
        while self._under_way:
            self._have_judged()
        return merged(part for parts in self.ask(_parts) for part in parts)

    def _start(self) -> None:
        """Start the workers, each with partitions of about as much work, by what the opening has of each."""
        sizes: Counter[int] = Counter()
        for line in self._opening.lines:
            sizes[partition_of(tool_of(line), self._partitions)] += CALL_BYTES + len(line[2])
        shares: list[list[int]] = [[] for _ in range(self._number)]
        loads = [0] * self._number
        for number in sorted(range(self._partitions), key=lambda number: (-sizes[number], number)):
            least = loads.index(min(loads))
            shares[least].append(number)
            loads[least] += sizes[number] + 1
        workers = [Worker(_prepare_judging, self._spec, self._partitions, numbers) for numbers in shares]
        for worker, numbers in zip(workers, shares, strict=True):
            self._worker_of.update(dict.fromkeys(numbers, worker))
            worker.send(1, _open, self._opening.lines)
        self.all = workers
        self._opening.lines = []  # they are with the workers

    def _send(self) -> None:
        window, self._window, self._bytes = self._window, [], 0
        self._sent += 1
        reading: list[_Reading] = []
        for worker in self.all:
            lines = [(place, line) for place, number, line in window if self._worker_of[number] is worker]
            reading.append((worker, worker.send(len(lines), _read, self._sent, lines)))
        self._under_way.append((self._sent, reading))
        while len(self._under_way) >= WINDOWS:
            self._have_judged()

    def _have_judged(self) -> None:
        """Have the oldest window judged, once all workers have read it."""
        number, reading = self._under_way.popleft()
        with _one_clear_error():
            made = [(worker, future.result()) for worker, future in reading]
        for worker in self.all:
            others = sorted(call for other, calls in made if other is not worker for call in calls)
            worker.send(0, _judge, number, others)


# --- What follows runs in the workers ---

_shares: list[Share] = []
_windows: dict[int, Window] = {}
_state = State()


def _count(lines: list[Line]) -> None:
    for row in parse(lines):
        _state.push(row)


def _counted() -> dict[str, object]:
    return _state.as_dict()


def _prepare_judging(spec: EngineSpec, partitions: int, numbers: list[int]) -> None:
    _shares.append(Share(spec, partitions, numbers))


def _open(lines: list[Line]) -> None:
    _shares[0].open(lines)


def _read(number: int, lines: list[tuple[int, Line]]) -> list[_Heard]:
    window = _windows[number] = Window(_shares[0], lines)
    return [(place, tuple(call)) for place, call in window.made()]


def _judge(number: int, heard: list[_Heard]) -> None:
    _windows.pop(number).judge((place, Made(*call)) for place, call in heard)


def _parts() -> list[Part]:
    return _shares[0].parts()
