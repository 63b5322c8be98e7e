"""A log judged, or counted, by PySpark: on this machine, or on as many as a cluster has.

::

    JSON lines or Parquet ──▶ rows (file, line, bytes)
                                ├─ counting: mapInArrow, partial of each share ───────────────▶ merge
                                └─ judging: the opening to every task; of the rest
                                     mapInArrow finds each line's partition by tool, and what
                                     its call is to its session ──▶ to the partitions of the session
                                     ──▶ sorted by file and line within each partition
                                     ──▶ applyInArrow, one engine a partition ──────────────────▶ merged

The result is that of the processes of one machine (see ``_partitions.py``), as far as no more sessions than an engine
remembers go on side by side: a task hears of those that it has a call of. Tasks stream: no partition is held in memory
as a whole.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial as bound
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit
from zlib import crc32

import orjson

from agentguard._line_files import BYTE_ORDER_MARK
from agentguard.errors import AgentGuardError, ConfigurationError, DataError
from agentguard.traces._counts import State, merge
from agentguard.traces._partitions import (
    OPENING,
    PART_JSON,
    PARTITIONS,
    EngineSpec,
    Opening,
    Share,
    check_partitions,
    merged,
    partition_of,
    tool_of,
)
from agentguard.traces._processes import usable_cpus
from agentguard.traces._read import (
    MAX_LINE_BYTES,
    NO_TRACES,
    OWN,
    STDIN,
    SUFFIXES,
    BrokenLine,
    Line,
    find_traces,
    format_of,
    is_parquet,
    is_said,
    line_of,
    parse,
    reason_of,
    too_long_line,
    wanted_columns,
)
from agentguard.traces._replay import ReplaySummary
from agentguard.verification._division import Made, made
from agentguard.verification._engine import reader

if TYPE_CHECKING:
    from os import PathLike

    import pyarrow
    from pyspark import SparkConf
    from pyspark.sql import DataFrame, SparkSession


MASTER_VARIABLE = "SPARK_MASTER"
NEEDS = "the spark engine needs {}: pip install 'agentguard[spark]', and a JDK of version 17 or newer"

_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",  # lines may be long, and a batch of them is held in memory
}
_LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}


@contextmanager
def spark_session(master: str | None = None, workers: int | None = None) -> Iterator[SparkSession]:
    """A session that is stopped on leaving.

    Args:
        master: Spark's address of where to run. None: what the environment variable ``SPARK_MASTER`` says, else
            ``local[workers]``, which is this machine and listens on loopback only.
        workers: tasks at a time where nothing else says so; None: one for each processor.

    Raises:
        ConfigurationError: where PySpark, pyarrow or Java is missing.
        AgentGuardError: where Spark does not start.
    """
    try:
        import pyarrow  # noqa: F401  # what the session needs later is asked for now, before Java is started
        from pyspark import SparkConf
    except ImportError as error:
        raise ConfigurationError(NEEDS.format(error.name or "pyspark")) from None
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and shutil.which("java", path=os.path.join(home, "bin"))):
        raise ConfigurationError(NEEDS.format("Java"))
    chosen = master or os.environ.get(MASTER_VARIABLE) or f"local[{workers or usable_cpus()}]"
    is_local = chosen.startswith("local")
    settings = {**_QUIET, **(_LOOPBACK if is_local else {})}
    conf = SparkConf().setMaster(chosen).setAppName("agentguard replay").setAll(list(settings.items()))
    before = signal.getsignal(signal.SIGINT)
    # py4j logs Ctrl-C with its traceback, and Python prints that where nobody has set up logging.
    silent = logging.NullHandler()
    logging.getLogger().addHandler(silent)
    try:
        with _started(conf, chosen, is_local=is_local) as session:
            yield session
    finally:
        logging.getLogger().removeHandler(silent)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)  # Spark has put its own in the place


@contextmanager
def _started(conf: SparkConf, master: str, *, is_local: bool) -> Iterator[SparkSession]:
    from pyspark import SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    if is_local:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the tasks' interpreter; Spark asks nothing else
    try:
        # What Java prints while it starts is no message of ours; a local Spark has nothing else to say there.
        options = {"stderr": subprocess.DEVNULL} if is_local else None
        gateway = SparkContext._gateway or launch_gateway(conf, options)  # type: ignore[no-untyped-call]  # of PySpark
        context = SparkContext(conf=conf, gateway=gateway)
    except (PySparkException, ValueError, OSError) as error:
        raise AgentGuardError(f"Spark did not start at {master}: {str(error).splitlines()[0][:300]}") from None
    try:
        yield SparkSession(context)
    finally:
        context.stop()


# --- The log as rows of a table, each with its place ---
#
# Spark cuts text files into blocks and does not number lines, so a log of JSON lines is read twice: to count the lines
# of each block, and again with the number of the block's first line known. Spark numbers rows of Parquet itself.

ROWS = "file int, line long, raw binary"
"""The columns of a log: an index into the names of its files, the line's number, and its bytes."""

_GLOB = re.compile(r"([\\*?\[\]{}])")


class Log(NamedTuple):
    """The names of a log's files, in recorded order, and its rows (see ``ROWS``), in no order."""

    files: tuple[str, ...]
    rows: DataFrame


def log_of(source: str | os.PathLike[str], session: SparkSession, *, numbered: bool = True) -> Log:
    """The log in a file or a folder, local or of any scheme that the cluster reads (``s3a://``, ``hdfs://``).

    Where it is not ``numbered``, the first reading of JSON lines is saved, and all lines have the number 0.

    Raises:
        DataError: where there is nothing to read, or what Spark would read otherwise than the other engines.
    """
    if source == STDIN:
        raise DataError("Spark cannot read standard input: write the log to a file first")
    given = os.fspath(source)
    files = _remote_files(given, session) if "://" in given else tuple(map(str, find_traces(source)))
    parquet = [file for file in files if (file.endswith(".parquet") if "://" in file else is_parquet(file))]
    if parquet and len(parquet) < len(files):
        raise DataError(f"{given} has JSON lines and Parquet files: give Spark folders of one kind")
    for file in files:
        _refuse_if_read_otherwise(file)
    paths = [file if "://" in file else os.path.abspath(file) for file in files]
    known = {path: index for index, path in enumerate(paths)}
    paths = [_escaped(path) for path in paths]
    return Log(files, _of_parquet(paths, known, session) if parquet else _of_text(paths, known, session, numbered))


def _remote_files(given: str, session: SparkSession) -> tuple[str, ...]:
    listed = session.read.format("binaryFile").option("recursiveFileLookup", "true").load(_escaped(given))
    files = sorted(file for file in map(_name, listed.inputFiles()) if file.endswith(SUFFIXES))
    if not files:
        raise DataError(NO_TRACES.format(given))
    return tuple(files)


def _escaped(path: str) -> str:
    """A path that Spark takes for the name it is, and for no pattern."""
    return _GLOB.sub(r"\\\1", path)


def _name(uri: str) -> str:
    """A file's name from its address as Spark gives it: as it was given to Spark, of local files the path."""
    parts = urlsplit(uri)
    path = unquote(parts.path)
    return path if parts.scheme in ("", "file") else f"{parts.scheme}://{parts.netloc}{path}"


def _refuse_if_read_otherwise(file: str) -> None:
    """Spark leaves out hidden files without a word, and takes a file for compressed by its name alone."""
    if Path(file).name.startswith((".", "_")):
        raise DataError(f"{file}: Spark reads no file whose name begins with '.' or '_': give it another name")
    if "://" in file:
        return
    if (format := format_of(Path(file))) != OWN:
        raise DataError(
            f"{file} is in the format {format}, in which a call may take several lines: it cannot be divided among "
            f"tasks; use another engine, or convert it first ('agentguard convert {file} -o calls.jsonl')"
        )
    try:
        with Path(file).open("rb") as stream:
            is_gzip = stream.read(2) == b"\x1f\x8b"
    except OSError as error:
        raise DataError(f"cannot read {file}: {reason_of(error)}") from None
    if is_gzip != file.endswith(".gz"):
        what = "is compressed, and Spark would not know it" if is_gzip else "is not compressed, which Spark would think"
        raise DataError(f"{file} {what} from its name: a name ends with .gz where the file is gzip, and nowhere else")


def _of_parquet(paths: list[str], known: Mapping[str, int], session: SparkSession) -> DataFrame:
    table = session.read.option("mergeSchema", "true").parquet(*paths)
    columns = wanted_columns(table.columns, "the log")
    placed = table.select(*columns, "_metadata.file_path", "_metadata.row_index")
    return placed.mapInArrow(bound(_rows_of_parquet, known), ROWS)


def _of_text(paths: list[str], known: Mapping[str, int], session: SparkSession, numbered: bool) -> DataFrame:
    text = session.read.option("lineSep", "\n").text(paths)
    place = ("_metadata.file_path AS path", "_metadata.file_block_start AS start")
    firsts: dict[tuple[str, int], int] | None = None
    if numbered:
        blocks = text.selectExpr(*place).mapInArrow(_lengths, "path string, start long, lines long").collect()
        firsts, number, last = {}, 1, ""
        for path, start, lines in sorted(map(tuple, blocks)):
            number = 1 if path != last else number
            firsts[path, start] = number
            number, last = number + lines, path
    placed = text.selectExpr(*place, "CAST(value AS BINARY) AS raw")
    return placed.mapInArrow(bound(_rows_of_text, known, firsts), ROWS)


# --- What follows runs in the tasks. A block is read by one task, from its first line to its last ---


def _lengths(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow

    counts: dict[tuple[str, int], int] = {}
    for batch in batches:
        for block in zip(batch["path"].to_pylist(), batch["start"].to_pylist(), strict=True):
            counts[block] = counts.get(block, 0) + 1
    paths, starts = [path for path, _ in counts], [start for _, start in counts]
    yield pyarrow.RecordBatch.from_pydict({"path": paths, "start": starts, "lines": list(counts.values())})


def _rows_of_text(
    known: Mapping[str, int],
    firsts: Mapping[tuple[str, int], int] | None,
    batches: Iterator[pyarrow.RecordBatch],
) -> Iterator[pyarrow.RecordBatch]:
    seen: dict[tuple[str, int], int] = {}
    for batch in batches:
        files: list[int] = []
        numbers: list[int] = []
        lines: list[bytes] = []
        for path, start, raw in zip(*(batch[name].to_pylist() for name in ("path", "start", "raw")), strict=True):
            before = seen.get((path, start), 0)
            seen[path, start] = before + 1
            if start == before == 0:
                raw = raw.removeprefix(BYTE_ORDER_MARK)
            raw = raw.strip()
            if raw:
                files.append(known[_name(path)])
                numbers.append(0 if firsts is None else firsts[path, start] + before)
                lines.append(raw)
        yield _batch(files, numbers, lines)


def _rows_of_parquet(known: Mapping[str, int], batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    for batch in batches:
        files = [known[_name(path)] for path in batch["file_path"].to_pylist()]
        numbers = [index + 1 for index in batch["row_index"].to_pylist()]
        columns = batch.drop_columns(["file_path", "row_index"])
        lines = [line_of(row) for row in columns.to_pylist(maps_as_pydicts="lossy")]
        yield _batch(files, numbers, lines)


def _batch(files: list[int], numbers: list[int], lines: list[bytes]) -> pyarrow.RecordBatch:
    import pyarrow

    schema = pyarrow.schema({"file": pyarrow.int32(), "line": pyarrow.int64(), "raw": pyarrow.binary()})
    return pyarrow.RecordBatch.from_pydict({"file": files, "line": numbers, "raw": lines}, schema)


# --- Counting and judging ---

_RAISED = re.compile(r"[\w.]+(Error|Exception|Exit|Interrupt)\b")


def count_on_spark(source: str | PathLike[str], session: SparkSession) -> State:
    """Count a log on Spark; equal to ``partial`` of all of it.

    Raises:
        DataError: where there is nothing to read.
        AgentGuardError: where a task failed.
    """
    with _one_clear_error():
        log = log_of(source, session, numbered=False)
        rows = log.rows.mapInArrow(bound(_count, log.files), "state binary").toLocalIterator()
        return reduce(merge, (State.from_dict(orjson.loads(row.state)) for row in rows), State())


def judge_on_spark(
    source: str | PathLike[str],
    session: SparkSession,
    spec: EngineSpec,
    partitions: int = PARTITIONS,
    opening: int = OPENING,
) -> ReplaySummary:
    """Judge a log on Spark, as ``JudgingProcesses`` does with the same number of partitions and the same opening.

    Raises:
        ConfigurationError: for a number of partitions below 1.
        DataError: where there is nothing to read.
        AgentGuardError: where a task failed.
    """
    check_partitions(partitions)
    with _one_clear_error():
        log = log_of(source, session)
        first = Opening(opening)
        last, is_all = _take_opening(first, 2 * opening, log)
        if is_all:
            share = Share(spec, partitions, range(partitions))
            share.open(first.lines)
            return merged(share.parts())
        rest = (
            log.rows if last is None else log.rows.where(f"file > {last[0]} OR (file = {last[0]} AND line > {last[1]})")
        )
        placed = rest.mapInArrow(bound(_place, log.files, partitions), f"partition int, {ROWS}")
        calls = rest.mapInArrow(bound(_made, log.files, spec, partitions), f"{MADE}, session long").persist()
        asked = calls.select("session", calls["partition"].alias("asked")).distinct()
        heard = calls.join(asked, "session").where("asked != partition")
        heard = heard.selectExpr("asked AS partition", "file", "line", "CAST(NULL AS BINARY) AS raw", "call")
        # A partition of which there are calls in the opening alone is judged too.
        every = session.range(partitions).selectExpr(
            "CAST(id AS INT) AS partition", "-1 AS file", "CAST(0 AS LONG) AS line", "CAST(NULL AS BINARY) AS raw",
            "CAST(NULL AS BINARY) AS call",
        )  # fmt: skip
        rows = placed.selectExpr("*", "CAST(NULL AS BINARY) AS call").union(heard).union(every)
        ordered = rows.repartition(partitions, "partition").sortWithinPartitions("partition", "file", "line")
        judging = _judging(log.files, spec, partitions, first.lines)
        judged = ordered.groupBy("partition").applyInArrow(judging, "part binary")
        try:
            return merged(PART_JSON.validate_json(row.part) for row in judged.toLocalIterator())
        finally:
            calls.unpersist()


MADE = "partition int, file int, line long, call binary"
"""What calls are to their sessions: a partition, the place in the log, and a ``Made`` as JSON."""


def _take_opening(opening: Opening, most: int, log: Log) -> tuple[tuple[int, int] | None, bool]:
    """Fill the opening of a log from so many lines; the place of its last line, and whether it is the whole log."""
    last, taken = None, 0
    for row in log.rows.orderBy("file", "line").limit(most + 1).toLocalIterator():
        line = _line(log.files, row.file, row.line, bytes(row.raw))
        if taken == most or (line is not None and not opening.take(line)):
            return last, False
        last, taken = (row.file, row.line), taken + 1
    return last, True


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
        for row in parse(_lines(files, batch)):
            state.push(row)
    yield pyarrow.RecordBatch.from_pydict({"state": [orjson.dumps(state.as_dict())]})


def _place(
    files: tuple[str, ...], partitions: int, batches: Iterator[pyarrow.RecordBatch]
) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow

    for batch in batches:
        numbers = [partition_of(tool_of(line), partitions) for line in _lines(files, batch)]
        yield batch.add_column(0, "partition", pyarrow.array(numbers, pyarrow.int32()))


def _made(
    files: tuple[str, ...], spec: EngineSpec, partitions: int, batches: Iterator[pyarrow.RecordBatch]
) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow

    read = reader(spec.build())
    names = [column.split()[0] for column in MADE.split(", ")]
    types = pyarrow.int32(), pyarrow.int32(), pyarrow.int64(), pyarrow.binary(), pyarrow.int64()
    schema = pyarrow.schema(list(zip((*names, "session"), types, strict=True)))
    for batch in batches:
        rows: list[tuple[int, int, int, bytes, int]] = []
        for file, number, line in _placed_lines(files, batch):
            row = next(parse((line,)))
            call = None if isinstance(row, BrokenLine) else made(read(row.call))
            if call is not None:
                # A checksum tells sessions apart well enough: a call that is told without need does no harm.
                session = crc32(call.session_id.encode("utf-8", "surrogatepass"))
                part = partition_of(tool_of(line), partitions)
                rows.append((part, file, number, json.dumps(call).encode(), session))
        columns = zip(*rows, strict=True) if rows else [()] * len(schema)
        yield pyarrow.RecordBatch.from_arrays(
            [pyarrow.array(column, kind) for column, kind in zip(columns, types, strict=True)], schema=schema
        )


def _judging(files: tuple[str, ...], spec: EngineSpec, partitions: int, opening: list[Line]) -> Callable[..., Any]:
    import pyarrow

    def judge(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        share: Share | None = None
        last = (-2, 0)
        for batch in batches:
            if share is None:
                share = Share(spec, partitions, (batch["partition"][0].as_py(),))
                share.open(opening)
            for file, number, raw, call in zip(
                *(batch[name].to_pylist() for name in ("file", "line", "raw", "call")), strict=True
            ):
                if (file, number) <= last:  # Spark promises no order within a group; that it keeps it is held here
                    raise AgentGuardError(f"Spark gave line {number} of {files[file]} out of order")
                last = (file, number)
                if call is not None:
                    session_id, tool, result, marks = json.loads(call)
                    share.hear(Made(session_id, tool, result, tuple(marks)))
                    continue
                line = None if raw is None else _line(files, file, number, raw)
                if line is not None and (read := share.read(line)) is not None:
                    share.judge(read)
        if share is not None:
            (part,) = share.parts()
            yield pyarrow.RecordBatch.from_pydict({"part": [PART_JSON.dump_json(part)]})

    # Spark asks what a function of groups takes; annotations that are text do not tell it.
    judge.__annotations__ = dict.fromkeys(("batches", "return"), Iterator[pyarrow.RecordBatch])
    return judge


def _lines(files: tuple[str, ...], batch: pyarrow.RecordBatch) -> Iterator[Line]:
    """The rows as every engine takes them."""
    return (line for _, _, line in _placed_lines(files, batch))


def _placed_lines(files: tuple[str, ...], batch: pyarrow.RecordBatch) -> Iterator[tuple[int, int, Line]]:
    for file, number, raw in zip(*(batch[name].to_pylist() for name in ("file", "line", "raw")), strict=True):
        line = _line(files, file, number, raw)
        if line is not None:
            yield file, number, line


def _line(files: tuple[str, ...], file: int, number: int, raw: bytes) -> Line | None:
    """A line as every engine takes it; None for one that holds words and no call."""
    if len(raw) > MAX_LINE_BYTES:
        return too_long_line(files[file], number)
    return None if is_said(raw) else (files[file], number, raw)
