"""What ``agentguard scan`` reads: files, folders and standard input, in pieces that are looked through one by one.

Lines of JSON are a piece each, so that memory is constant; a document of JSON is one; other text comes in blocks of
whole lines, and only in a text larger than a block can a finding be cut in two.
"""

from __future__ import annotations

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import IO, Any, NamedTuple

from agentguard.errors import DataError
from agentguard.traces import BrokenLine
from agentguard.traces.files import find_files, reason_of
from agentguard.traces.parquet import is_parquet, parquet_lines
from agentguard.traces.read import BYTE_ORDER_MARK, MAX_LINE_BYTES, STDIN
from agentguard.traces.row import parse_json

__all__ = ["Form", "Piece", "find_scanned", "read_pieces"]

BLOCK_BYTES = 16 * 2**20
SUFFIXES = (".csv", ".json", ".jsonl", ".log", ".md", ".ndjson", ".parquet", ".txt", ".xml", ".yaml", ".yml")
LINES_SUFFIXES, DOCUMENT_SUFFIXES = (".jsonl", ".ndjson"), (".json",)
PASSED_OVER = 2**16
_GZIP_MAGIC = b"\x1f\x8b"


class Form(Enum):
    """What a piece is."""

    text = "text"
    json = "JSON"


class Piece(NamedTuple):
    """A part of a file, to be looked through by itself.

    Attributes:
        source: the file.
        line: the number of its first line, from 1.
        raw: its bytes, with whatever ends it.
        form: what it is meant to be.
        certain: whether the file's name or its first lines say so; else it may be text after all.
    """

    source: str
    line: int
    raw: bytes
    form: Form
    certain: bool = True


def find_scanned(source: str) -> tuple[Path, ...]:
    """A file, or those of a folder and its sub-folders by their suffixes, plain or ``.gz``, sorted by path.

    Raises:
        DataError: where there is no such path, no such file in the folder, or no permission.
    """
    absent = f"nothing to scan in the folder {{}}: it has no {', '.join(SUFFIXES)} file"
    return find_files(source, lambda name: name.removesuffix(".gz").endswith(SUFFIXES), absent)


def read_pieces(
    source: str | Path, *, lines: bool = False, on_read: Callable[[int], None] | None = None
) -> Iterator[Piece | BrokenLine]:
    """Read a file, plain or gzipped, or standard input.

    Args:
        source: the file, or ``"-"``.
        lines: it has JSON in lines, whatever its name and its beginning.
        on_read: told how many bytes were just taken from the file as it is stored.

    Yields:
        Pieces which, one after another, are the whole file but for a byte-order mark; and a ``BrokenLine`` for what
        cannot be read: a line beyond ``MAX_LINE_BYTES``, or the end of damaged compressed data.

    Raises:
        DataError: where the file cannot be read.
    """
    tell = on_read or (lambda read: None)
    if source == STDIN:
        yield from _of_stream(sys.stdin.buffer, "stdin", "", lines, tell)
        return
    path = Path(source)
    if is_parquet(path):
        for name, number, raw in parquet_lines(path, tell):
            yield Piece(name, number, raw + b"\n", Form.json)
        return
    try:
        with path.open("rb") as stream:
            yield from _of_stream(stream, str(path), path.name.lower().removesuffix(".gz"), lines, tell)
    except OSError as error:
        raise DataError(f"cannot read {path}: {reason_of(error)}") from None


def _of_stream(
    stream: IO[bytes], source: str, name: str, lines: bool, tell: Callable[[int], None]
) -> Iterator[Piece | BrokenLine]:
    counted = io.BufferedReader(_Counted(stream, tell), PASSED_OVER)
    packed = counted.peek(2)[:2] == _GZIP_MAGIC
    plain: Any = io.BufferedReader(gzip.GzipFile(fileobj=counted, mode="rb"), PASSED_OVER) if packed else counted
    reading = _Reading(plain, source)
    try:
        yield from reading.pieces(name, lines)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        reason = "the compressed data is damaged or cut off: the file is not read beyond"
        yield BrokenLine(source, reading.line, reason)


class _Reading:
    """One file as it is read; ``line`` is the number of the line that comes next."""

    def __init__(self, stream: Any, source: str) -> None:
        self.stream = stream
        self.source = source
        self.line = 1

    def pieces(self, name: str, lines: bool) -> Iterator[Piece | BrokenLine]:
        begin = self.stream.peek(4)[:4]
        if begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            yield from self._utf16(name, lines)
            return
        if begin.startswith(BYTE_ORDER_MARK):
            self.stream.read(len(BYTE_ORDER_MARK))
        if lines or name.endswith(LINES_SUFFIXES):
            yield from self._lines(b"")
            return
        first = self.stream.readline(BLOCK_BYTES)
        if _is_object(first):
            yield from self._lines(first)
        elif name.endswith(DOCUMENT_SUFFIXES) or first.lstrip()[:1] in (b"{", b"["):
            yield from self._document(first, certain=name.endswith(DOCUMENT_SUFFIXES))
        else:
            yield from self._blocks(first)

    def _utf16(self, name: str, lines: bool) -> Iterator[Piece | BrokenLine]:
        """As UTF-8: as it stands, there would be nothing in it that any pattern knows."""
        rest, text = self.stream, self.stream.read(MAX_LINE_BYTES).decode("utf-16", "replace")
        self.stream = io.BufferedReader(io.BytesIO(text.encode("utf-8", "replace")))
        yield from self.pieces(name, lines)
        if rest.read(1):
            reason = f"UTF-16, of which no more than {MAX_LINE_BYTES:,} bytes are read: not looked through beyond"
            yield BrokenLine(self.source, self.line, reason)

    def _lines(self, first: bytes) -> Iterator[Piece | BrokenLine]:
        while line := first or self.stream.readline(MAX_LINE_BYTES + 1):
            first = b""
            if len(line) <= MAX_LINE_BYTES or line.endswith(b"\n"):
                yield Piece(self.source, self.line, line, Form.json)
            else:
                del line  # so that the piece held and the pieces passed over are not in memory together
                while (rest := self.stream.readline(PASSED_OVER)) and not rest.endswith(b"\n"):
                    pass
                yield BrokenLine(self.source, self.line, f"longer than {MAX_LINE_BYTES:,} bytes: not looked through")
            self.line += 1

    def _document(self, first: bytes, *, certain: bool) -> Iterator[Piece]:
        document = first + self.stream.read(MAX_LINE_BYTES)
        if len(document) < MAX_LINE_BYTES:
            yield Piece(self.source, 1, document, Form.json, certain)
            self.line += document.count(b"\n")
        else:
            yield from self._blocks(document)

    def _blocks(self, begin: bytes) -> Iterator[Piece]:
        block = begin + self.stream.read(max(0, BLOCK_BYTES - len(begin)))
        while block:
            block += self.stream.readline(BLOCK_BYTES)
            yield Piece(self.source, self.line, block, Form.text)
            self.line += block.count(b"\n")
            block = self.stream.read(BLOCK_BYTES)


class _Counted(io.RawIOBase):
    """A raw stream that tells how much was read from it."""

    def __init__(self, stream: IO[bytes], tell: Callable[[int], None]) -> None:
        # ``read`` of a buffered pipe waits until all it was asked for is there; ``read1`` hands over what has come.
        self._read: Callable[[int], bytes | None] = getattr(stream, "read1", stream.read)
        self._tell = tell

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self._read(len(buffer)) or b""
        buffer[: len(data)] = data
        if data:
            self._tell(len(data))
        return len(data)


def _is_object(line: bytes) -> bool:
    if line.lstrip()[:1] != b"{":
        return False
    try:
        return isinstance(parse_json(line), dict)
    except DataError:
        return False
