"""A log as rows of a Spark table, each with the place at which the same line stands for every other engine.

Spark cuts text files into blocks and does not number lines, so a log of JSON lines is read twice: once to count the
lines of each block, and then with the number of the block's first line known. Rows of Parquet are numbered by Spark.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import partial as bound
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from agentguard.errors import DataError

from ..parquet import is_parquet, line_of, wanted_columns
from ..read import BYTE_ORDER_MARK, MAX_LINE_BYTES, STDIN, Line, find_traces
from ..row import BrokenLine

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["ROWS", "Log", "line_from", "log_of"]

ROWS = "file int, line long, raw binary"
"""The columns of a log: an index into the names of its files, the line's number, and its bytes."""

_BLOCK = ("path", "start")
_GLOB = re.compile(r"([\\*?\[\]{}])")


class Log(NamedTuple):
    """The names of a log's files, in recorded order, and its rows (see ``ROWS``), in no order."""

    files: tuple[str, ...]
    rows: DataFrame


def line_from(files: tuple[str, ...], file: int, number: int, raw: bytes) -> Line:
    """One row as every engine takes it."""
    if len(raw) > MAX_LINE_BYTES:
        return BrokenLine(files[file], number, f"longer than {MAX_LINE_BYTES:,} bytes")
    return files[file], number, raw


def log_of(source: str | os.PathLike[str], session: SparkSession, *, numbered: bool = True) -> Log:
    """The log in a file or a folder, local or of any scheme that the cluster reads (``s3a://``, ``hdfs://``).

    Args:
        source: the file, or a folder of ``.jsonl``, ``.jsonl.gz`` or ``.parquet`` files.
        session: the session that reads.
        numbered: False saves the first reading of JSON lines; all lines have the number 0 then.

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
    found = sorted(map(_name, listed.inputFiles()))
    files = tuple(file for file in found if file.endswith((".jsonl", ".jsonl.gz", ".parquet")))
    if not files:
        raise DataError(f"no traces in {given}: it has no *.jsonl, *.jsonl.gz or *.parquet file")
    return files


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
    try:
        with Path(file).open("rb") as stream:
            is_gzip = stream.read(2) == b"\x1f\x8b"
    except OSError as error:
        raise DataError(f"cannot read {file}: {error.strerror or error}") from None
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
    import pyarrow

    seen: dict[tuple[str, int], int] = {}
    for batch in batches:
        files: list[int] = []
        numbers: list[int] = []
        lines: list[bytes] = []
        for path, start, raw in zip(*(batch[name].to_pylist() for name in (*_BLOCK, "raw")), strict=True):
            before = seen.get((path, start), 0)
            seen[path, start] = before + 1
            if start == before == 0:
                raw = raw.removeprefix(BYTE_ORDER_MARK)
            raw = raw.strip()
            if raw:
                files.append(known[_name(path)])
                numbers.append(0 if firsts is None else firsts[path, start] + before)
                lines.append(raw)
        yield pyarrow.RecordBatch.from_arrays(_arrays(files, numbers, lines), names=["file", "line", "raw"])


def _rows_of_parquet(known: Mapping[str, int], batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow

    for batch in batches:
        files = [known[_name(path)] for path in batch["file_path"].to_pylist()]
        numbers = [index + 1 for index in batch["row_index"].to_pylist()]
        columns = batch.drop_columns(["file_path", "row_index"])
        lines = [line_of(row) for row in columns.to_pylist(maps_as_pydicts="lossy")]
        yield pyarrow.RecordBatch.from_arrays(_arrays(files, numbers, lines), names=["file", "line", "raw"])


def _arrays(files: list[int], numbers: list[int], lines: list[bytes]) -> list[pyarrow.Array]:
    import pyarrow

    types = (pyarrow.int32(), pyarrow.int64(), pyarrow.binary())
    return [pyarrow.array(values, kind) for values, kind in zip((files, numbers, lines), types, strict=True)]
