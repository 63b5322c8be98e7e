"""Traces from a file, a folder or standard input, one line at a time.

Memory is constant: no more than one line is held, and of a line no more than ``MAX_LINE_BYTES``. Compressed input and
Parquet are known by their first bytes, whatever the name. A line that cannot be used is told, in its place, and never
fatal; what raises is a source that cannot be read at all, or that holds nothing for as long as one goes on reading.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from agentguard.errors import DataError
from agentguard.limits import LIMITS
from agentguard.line_files import BYTE_ORDER_MARK, DAMAGED_SAID, PIECE, Damaged, lines_of, unpacked

from .files import find_files, reason_of
from .parquet import is_parquet, parquet_lines
from .row import BrokenLine, TraceRow, parse_line

if TYPE_CHECKING:
    from os import PathLike

    from _typeshed import WriteableBuffer

__all__ = ["BYTE_ORDER_MARK", "MAX_LINE_BYTES", "STDIN", "Line", "find_traces", "parse", "read_lines", "read_traces"]

Line: TypeAlias = "tuple[str, int, bytes] | BrokenLine"
"""Source, number (from 1) and bytes of a line, not yet parsed; plain, for it is what other processes are sent."""

STDIN = "-"
MAX_LINE_BYTES = LIMITS.line_bytes
"""A longer line (64 MiB, its line feed not counted) is a broken line; it is passed over in pieces."""

_SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")
_SAID = "*.jsonl, *.jsonl.gz or *.parquet"


def find_traces(source: str | PathLike[str]) -> tuple[Path, ...]:
    """The files of a trace: the file itself, or a folder's ``.jsonl``, ``.jsonl.gz`` and ``.parquet``, sorted by path.

    Sub-folders are searched too (links to folders are not followed); names that begin with a dot are left out.

    Raises:
        DataError: where there is no such path, no such file in the folder, or no permission.
    """
    return find_files(
        source, lambda name: name.endswith(_SUFFIXES), f"no traces in the folder {{}}: it has no {_SAID} file"
    )


def read_traces(
    source: str | PathLike[str] | BinaryIO,
    *,
    on_read: Callable[[int], None] | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[TraceRow | BrokenLine]:
    """Read calls in recorded order, lazily.

    Args:
        source: a file, a folder, ``"-"`` for standard input, or an open binary stream.
        on_read: told how many bytes were just taken from the source (as stored: compressed), for progress bars.
        max_line_bytes: the longest line to be read.

    Yields:
        A ``TraceRow`` for each line that holds a call, a ``BrokenLine`` for each that does not. Blank lines are
        passed over. Damaged compressed data ends its file with one ``BrokenLine``.

    Raises:
        DataError: at once where there is nothing to read; while reading where a file cannot be opened or read, where
            it has more than ``LIMITS.blank_bytes`` without data, and where it unpacks to hundreds of times its size.
    """
    return parse(read_lines(source, on_read=on_read, max_line_bytes=max_line_bytes))


def parse(lines: Iterable[Line]) -> Iterator[TraceRow | BrokenLine]:
    """What the lines say.

    >>> [row.call.result for row in parse([("calls.jsonl", 1, b'{"tool": "add", "result": 3}')])]
    [3]
    """
    for line in lines:
        yield line if isinstance(line, BrokenLine) else parse_line(line[2], line[0], line[1])


def read_lines(
    source: str | PathLike[str] | BinaryIO,
    *,
    on_read: Callable[[int], None] | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Line]:
    """The lines of a log as they stand in it, for whoever leaves it to others to parse them; as ``read_traces``.

    Rows of Parquet are the lines of JSON that they would be.

    Raises:
        DataError: at once where there is nothing to read; while reading where a file cannot be opened or read.
    """
    if not isinstance(source, (str, os.PathLike)):
        return _of_stream(source, "stream", on_read, max_line_bytes)
    if source == STDIN:
        return _of_stream(sys.stdin.buffer, "stdin", on_read, max_line_bytes)
    return _of_files(find_traces(source), on_read, max_line_bytes)


def _of_files(files: tuple[Path, ...], on_read: Callable[[int], None] | None, limit: int) -> Iterator[Line]:
    for file in files:
        if is_parquet(file):
            for source, number, raw in parquet_lines(file, on_read):
                yield (source, number, raw) if len(raw) <= limit else _too_long(source, number, limit)
            continue
        try:
            stream = file.open("rb", buffering=0)
        except OSError as error:
            raise DataError(f"cannot read {file}: {reason_of(error)}") from None
        with stream:
            yield from _of_stream(stream, str(file), on_read, limit)


def _of_stream(
    stream: BinaryIO | io.FileIO, source: str, on_read: Callable[[int], None] | None, limit: int
) -> Iterator[Line]:
    try:
        plain = unpacked(io.BufferedReader(_Counted(stream, on_read), PIECE))
        for number, raw in lines_of(plain, source, limit):
            if raw is None:
                yield _too_long(source, number, limit)
            else:
                yield source, number, raw
    except Damaged as damaged:
        yield BrokenLine(source, damaged.line, DAMAGED_SAID)
    except OSError as error:
        raise DataError(f"cannot read {source}: {reason_of(error)}") from None


def _too_long(source: str, number: int, limit: int) -> BrokenLine:
    return BrokenLine(source, number, f"longer than {limit:,} bytes")


class _Counted(io.RawIOBase):
    """A raw stream that tells how much was read from it, over anything that has ``read``."""

    def __init__(self, stream: BinaryIO | io.FileIO, on_read: Callable[[int], None] | None) -> None:
        # ``read`` of a buffered pipe waits until all it was asked for is there; ``read1`` hands over what has come.
        self._read: Callable[[int], bytes | None] = getattr(stream, "read1", stream.read)
        self._on_read = on_read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        data = self._read(len(view)) or b""
        view[: len(data)] = data
        if self._on_read is not None and data:
            self._on_read(len(data))
        return len(data)
