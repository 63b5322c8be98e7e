"""A log judged, or counted, by PySpark: on this machine, or on as many as a cluster has.

::

    JSON lines or Parquet ──▶ rows (file, line, bytes)
                                 ├─ counting: mapInArrow, partial of each share ───────────────▶ merge
                                 └─ judging: mapInArrow finds each line's partition by tool
                                    ──▶ sorted by file and line within each partition
                                    ──▶ applyInArrow, one engine a partition ──────────────────▶ merged

What is counted and judged is what processes count and judge (see ``partitions``), with the same result. Tasks stream:
no partition is held in memory as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial as bound
from typing import TYPE_CHECKING, Any

import orjson

from agentguard.errors import AgentGuardError, ConfigurationError

from ..read import parse
from ..state import State, merge
from ..summary import ReplaySummary
from .partitions import PARTITIONS, EngineSpec, Part, Partition, merged, partition_of, tool_of
from .spark_reading import ROWS, line_from, log_of

if TYPE_CHECKING:
    from os import PathLike

    import pyarrow
    from pyspark.sql import SparkSession

__all__ = ["count_on_spark", "judge_on_spark"]

_RAISED = re.compile(r"[\w.]+(Error|Exception|Exit|Interrupt)\b")


def count_on_spark(source: str | PathLike[str], session: SparkSession) -> State:
    """What can be counted of a log; equal to ``partial`` of it all.

    Args:
        source: a file or a folder, see ``log_of``.
        session: as ``spark_session`` gives it, or a cluster's own.

    Raises:
        DataError: where there is nothing to read.
        AgentGuardError: where a task failed.
    """
    state = State()
    with _one_clear_error():
        log = log_of(source, session, numbered=False)
        for row in log.rows.mapInArrow(bound(_count, log.files), "state binary").toLocalIterator():
            state = merge(state, State.from_dict(orjson.loads(row.state)))
    return state


def judge_on_spark(
    source: str | PathLike[str], session: SparkSession, spec: EngineSpec, partitions: int = PARTITIONS
) -> ReplaySummary:
    """The verdicts on a log, as ``JudgingProcesses`` gives them for the same number of partitions.

    Args:
        source: a file or a folder, see ``log_of``.
        session: as ``spark_session`` gives it, or a cluster's own.
        spec: what every partition's engine is built from.
        partitions: into how many parts the tools are divided; as many tasks can judge at the same time.

    Raises:
        ConfigurationError: for a number of partitions below 1.
        DataError: where there is nothing to read.
        AgentGuardError: where a task failed.
    """
    if partitions < 1:
        raise ConfigurationError(f"partitions must be at least 1, not {partitions}")
    with _one_clear_error():
        log = log_of(source, session)
        placed = log.rows.mapInArrow(bound(_place, log.files, partitions), f"partition int, {ROWS}")
        ordered = placed.repartition(partitions, "partition").sortWithinPartitions("partition", "file", "line")
        judged = ordered.groupBy("partition").applyInArrow(_judging(log.files, spec), "part binary")
        return merged(Part.from_dict(orjson.loads(row.part)) for row in judged.toLocalIterator())


@contextmanager
def _one_clear_error() -> Iterator[None]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise AgentGuardError(f"Spark could not do it: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """One line. Of what went wrong in a task the kind of error only: its text may hold what was in the log."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    raised = [line for line in lines if _RAISED.match(line)]
    if "Traceback" not in str(error) or not raised:
        return lines[0][:300]
    kind, _, text = raised[-1].partition(":")
    own = kind.startswith("agentguard.errors.") or kind in ("ImportError", "ModuleNotFoundError")
    return f"a task failed with {kind.rpartition('.')[2]}{f':{text[:300]}' if own else ''}"


# --- What follows runs in the tasks ---


def _count(files: tuple[str, ...], batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow

    state = State()
    for batch in batches:
        for row in parse(line_from(files, *place) for place in _places(batch)):
            state.push(row)
    yield pyarrow.RecordBatch.from_pydict({"state": [orjson.dumps(state.as_dict())]})


def _place(
    files: tuple[str, ...], partitions: int, batches: Iterator[pyarrow.RecordBatch]
) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow

    for batch in batches:
        numbers = [partition_of(tool_of(line_from(files, *place)), partitions) for place in _places(batch)]
        columns = [pyarrow.array(numbers, pyarrow.int32()), *batch.columns]
        yield pyarrow.RecordBatch.from_arrays(columns, names=["partition", "file", "line", "raw"])


def _judging(files: tuple[str, ...], spec: EngineSpec) -> Callable[..., Any]:
    import pyarrow

    def judge(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        partition: Partition | None = None
        last = (-1, -1)
        for batch in batches:
            places = list(_places(batch))
            for file, number, _ in places:
                if (file, number) <= last:  # Spark promises no order within a group; that it keeps it is held here
                    raise AgentGuardError(f"Spark gave line {number} of {files[file]} out of order")
                last = (file, number)
            if partition is None:
                partition = Partition(batch["partition"][0].as_py(), spec)
            partition.push(line_from(files, *place) for place in places)
        if partition is not None:
            yield pyarrow.RecordBatch.from_pydict({"part": [orjson.dumps(partition.part().as_dict())]})

    # Spark asks what a function of groups takes; annotations that are text do not tell it.
    judge.__annotations__ = dict.fromkeys(("batches", "return"), Iterator[pyarrow.RecordBatch])
    return judge


def _places(batch: pyarrow.RecordBatch) -> Iterator[tuple[int, int, bytes]]:
    return zip(*(batch[name].to_pylist() for name in ("file", "line", "raw")), strict=True)
