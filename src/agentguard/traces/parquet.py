"""Calls kept in Parquet files: each row as the line of JSON that a trace would have.

Columns are named like the fields of a trace (see ``row.py``); only these are read, a row group's batch at a time.
``args`` may be a column of structs or maps, or of text that is JSON; ``result`` may be of any type, and is taken as it
is: a guard reads text that is JSON by itself. A column of structs says null where a row has no such field: results
that differ in their fields are kept exactly only as text. What JSON does not have (decimals, times, bytes) becomes
the text that stands for it everywhere in agentguard, and NaN becomes null.

Reading needs the extra ``agentguard[parquet]``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from agentguard.errors import ConfigurationError, DataError
from agentguard.verification.canonical import plain

from .row import FIELDS

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["COLUMNS", "is_parquet", "line_of", "parquet_lines", "wanted_columns"]

COLUMNS = (
    "tool", "args", "result", "latency_ms", "execution_time_ms", "session_id", "call_id", "is_error", "label",
)  # fmt: skip
"""The fields of a trace that are read of it, in the order in which a row's JSON has them."""

BATCH_ROWS = 64  # few: of a text that a file holds once each row has a copy when it is read
SLICE_BYTES = 2**20  # of a batch, that are made into Python's objects at once
_MAGIC = b"PAR1"
_JSON_BRACKETS = ("{", "[")


def is_parquet(path: str | PathLike[str]) -> bool:
    """A file that begins as Parquet does, whatever its name; False for what cannot be read."""
    try:
        with Path(path).open("rb") as stream:
            return stream.read(4) == _MAGIC
    except (OSError, ValueError):
        return False


def parquet_lines(path: Path, on_read: Callable[[int], None] | None = None) -> Iterator[tuple[str, int, bytes]]:
    """The rows of a file as places and lines of JSON; rows count from 1.

    Args:
        path: the file.
        on_read: told of the file's bytes, in shares by row group as they are read.

    Raises:
        DataError: where the file cannot be read, or has no column ``tool`` or ``result``.
        ConfigurationError: where pyarrow is not installed.
    """
    parquet = _pyarrow_parquet()
    import pyarrow

    told, number = 0, 0
    try:
        with path.open("rb") as stream, parquet.ParquetFile(stream) as file:
            size = os.fstat(stream.fileno()).st_size
            columns = wanted_columns(file.schema_arrow.names, str(path))
            for group in range(file.num_row_groups):
                for batch in file.iter_batches(BATCH_ROWS, row_groups=[group], columns=columns):
                    for row in _rows(batch):
                        number += 1
                        yield str(path), number, line_of(row)
                if on_read is not None:
                    share = size * (group + 1) // file.num_row_groups
                    on_read(share - told)
                    told = share
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or 'it is damaged Parquet'}") from None
    except pyarrow.ArrowException as error:
        raise DataError(f"cannot read {path} as Parquet: {type(error).__name__}; write the file again") from None


def _rows(batch: Any) -> Iterator[Mapping[str, Any]]:
    step = max(SLICE_BYTES * len(batch) // max(batch.nbytes, 1), 1)
    for begin in range(0, len(batch), step):
        yield from batch.slice(begin, step).to_pylist(maps_as_pydicts="lossy")


def wanted_columns(names: Sequence[str], source: str) -> list[str]:
    """The columns of a table that are read.

    Raises:
        DataError: where ``tool`` or ``result`` is not among them.
    """
    missing = [name for name in ("tool", "result") if name not in names]
    if missing:
        near = f"; of a trace's columns it has {', '.join(sorted(FIELDS & set(names))) or 'none'}"
        raise DataError(f"{source} has no column {' and no column '.join(map(repr, missing))}{near}")
    return [name for name in COLUMNS if name in names]


def line_of(row: Mapping[str, Any]) -> bytes:
    """A row as a line of a trace.

    >>> line_of({"tool": "add", "args": "[1, 2]", "result": "3", "latency_ms": None})
    b'{"tool":"add","args":[1,2],"result":"3","latency_ms":null}'
    """
    args = row.get("args")
    if isinstance(args, str) and args.lstrip().startswith(_JSON_BRACKETS):
        with suppress(ValueError):  # text that only looks like JSON is an argument as it stands
            row = {**row, "args": orjson.loads(args)}
    try:
        return orjson.dumps(row)
    except (TypeError, ValueError, RecursionError):
        return orjson.dumps(plain(dict(row)))


def _pyarrow_parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise ConfigurationError("reading Parquet needs pyarrow: pip install 'agentguard[parquet]'") from None
    return pyarrow.parquet
