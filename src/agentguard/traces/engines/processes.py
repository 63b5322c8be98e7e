"""A log judged, or counted, on several processes of one machine.

::

    the log ── cut at line feeds ──▶ batches of lines, each with its place
                                        ├─ counting: to the idlest worker ──────▶ partial ──▶ merge
                                        └─ judging: by tool to the worker that
                                           has its partition ───────────────────▶ verdicts ──▶ merged

Lines are read where they are judged or counted. Memory is constant: a worker is sent a bounded number of batches ahead,
then the reader waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType

from agentguard.errors import ConfigurationError

from ..read import Line, parse
from ..state import State, merge
from ..summary import ReplaySummary
from .lines import BATCH_BYTES, BATCH_LINES, batches
from .partitions import PARTITIONS, EngineSpec, Part, Partition, merged, partition_of, tool_of
from .workers import Worker, Workers

__all__ = ["CountingProcesses", "JudgingProcesses"]


class CountingProcesses:
    """Counts what can be counted of a log's calls in any order; equal to ``partial`` of the whole log.

    Args:
        workers: how many processes, at least 1.

    Attributes:
        calls: how many lines were handed over so far.

    Use it as a context manager; leaving it ends the processes.
    """

    def __init__(self, workers: int) -> None:
        self.calls = 0
        self._workers = Workers(workers, _prepare_counting)

    def __enter__(self) -> CountingProcesses:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._workers.__exit__(kind, error, None)

    def push(self, lines: Iterable[Line]) -> None:
        """Have the calls in lines counted; waits where the workers are behind.

        Raises:
            AgentGuardError: where a worker process ended before its work was done.
        """
        for batch in batches(lines):
            self._workers.idlest().send(len(batch), _count, batch)
            self.calls += len(batch)

    def summary(self) -> State:
        """What was counted of all lines handed over so far; waits until they are.

        Raises:
            AgentGuardError: where a worker process ended before its work was done.
        """
        state = State()
        for counted in self._workers.ask(_counted):
            state = merge(state, State.from_dict(counted))
        return state


class JudgingProcesses:
    """Judges a log's calls, each tool's in recorded order.

    The calls are divided by tool into a fixed number of partitions, each with an engine of its own; a partition stays
    with the worker that got its first call, which is the one that was sent least until then. How many workers there
    are changes nothing but the time.

    Args:
        spec: what every partition's engine is built from.
        workers: how many processes, at least 1; those beyond the number of partitions are not started.
        partitions: into how many parts the tools are divided. One part judges as a single engine would.

    Attributes:
        calls: how many lines were handed over so far.

    Use it as a context manager; leaving it ends the processes.
    """

    def __init__(self, spec: EngineSpec, workers: int, partitions: int = PARTITIONS) -> None:
        if partitions < 1:
            raise ConfigurationError(f"partitions must be at least 1, not {partitions}")
        self.calls = 0
        self._partitions = partitions
        self._workers = Workers(min(workers, partitions), _prepare_judging, spec)
        self._worker_of: dict[int, Worker] = {}
        self._waiting: dict[int, _Waiting] = {}

    def __enter__(self) -> JudgingProcesses:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._workers.__exit__(kind, error, None)

    def push(self, lines: Iterable[Line]) -> None:
        """Have the calls in lines judged; waits where the workers are behind.

        Raises:
            AgentGuardError: where a worker process ended before its work was done.
        """
        for line in lines:
            number = partition_of(tool_of(line), self._partitions)
            waiting = self._waiting.get(number)
            if waiting is None:
                waiting = self._waiting[number] = _Waiting()
            waiting.lines.append(line)
            waiting.size += len(line[2])
            self.calls += 1
            if len(waiting.lines) >= BATCH_LINES or waiting.size >= BATCH_BYTES:
                self._send(number)

    def summary(self) -> ReplaySummary:
        """What was said of all lines handed over so far; waits until they are judged.

        Raises:
            AgentGuardError: where a worker process ended before its work was done.
        """
        for number in list(self._waiting):
            self._send(number)
        return merged(part for parts in self._workers.ask(_parts) for part in parts)

    def _send(self, number: int) -> None:
        worker = self._worker_of.get(number)
        if worker is None:
            worker = self._worker_of[number] = min(self._workers.all, key=lambda worker: worker.sent)
        waiting = self._waiting.pop(number)
        worker.send(waiting.size + 1, _judge, number, waiting.lines)


class _Waiting:
    """Lines of one partition that have not been sent."""

    __slots__ = ("lines", "size")

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.size = 0


# --- What follows runs in the workers ---

_spec = EngineSpec()
_partitions: dict[int, Partition] = {}
_state = State()


def _prepare_counting() -> None:
    """A process begins with a state of its own."""


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
