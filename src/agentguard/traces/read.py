"""Traces from a file, a folder or standard input, one line at a time.

Memory is constant: no more than one line is held, and of a line no more than ``MAX_LINE_BYTES``. Compressed input and
Parquet are known by their first bytes, whatever the name. A line that cannot be used is told, in its place, and never
fatal; what raises is a source that cannot be read at all.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from agentguard.errors import DataError

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
MAX_LINE_BYTES = 64 * 2**20
"""A longer line (64 MiB, its line feed not counted) is a broken line; it is passed over in pieces."""

_PIECE = 2**16
_SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")
_SAID = "*.jsonl, *.jsonl.gz or *.parquet"
_GZIP_MAGIC = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


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
        DataError: at once where there is nothing to read; while reading where a file cannot be opened or read.
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
            yield from parquet_lines(file, on_read)
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
    number = 0
    try:
        for raw in _lines(_plain(io.BufferedReader(_Counted(stream, on_read), _PIECE)), limit):
            number += 1
            if raw is None:
                yield BrokenLine(source, number, f"longer than {limit:,} bytes")
                continue
            if number == 1:
                raw = raw.removeprefix(BYTE_ORDER_MARK)
            raw = raw.strip()
            if raw:
                yield source, number, raw
    except (EOFError, zlib.error, gzip.BadGzipFile):
        yield BrokenLine(source, number + 1, "the compressed data is damaged or cut off: the file is not read beyond")
    except OSError as error:
        raise DataError(f"cannot read {source}: {reason_of(error)}") from None


def _plain(stream: io.BufferedReader) -> io.BufferedReader:
    """The stream, decompressed where it is gzip (no line of JSON can begin with gzip's first byte)."""
    first = stream.peek(2)[:2]
    if not first or not _GZIP_MAGIC.startswith(first):
        return stream
    return io.BufferedReader(gzip.GzipFile(fileobj=stream, mode="rb"), _PIECE)


def _lines(stream: io.BufferedReader, limit: int) -> Iterator[bytes | None]:
    """Each line with its line feed; None for one that is too long."""
    while line := stream.readline(limit + 1):
        if len(line) <= limit or line.endswith(b"\n"):
            yield line
            continue
        del line  # so that the piece held and the pieces passed over are not in memory together
        while (piece := stream.readline(_PIECE)) and not piece.endswith(b"\n"):
            pass
        yield None


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
