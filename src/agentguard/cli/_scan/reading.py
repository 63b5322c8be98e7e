"""Files, folders and standard input, read in pieces that are scanned one by one.

Lines of JSON are a piece each, so that memory is constant; a document of JSON is one; other text comes in blocks of
whole lines, and only in a text larger than a block can a finding be cut in two. What is not read is told.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import IO, Any, NamedTuple

from agentguard._limits import LIMITS
from agentguard._line_files import (
    BLANK_SAID,
    BYTE_ORDER_MARK,
    DAMAGED,
    DAMAGED_SAID,
    FEW,
    PIECE,
    Bloated,
    blank_blocks,
    unpacked,
)
from agentguard.cli._scan.json_texts import outline_of
from agentguard.errors import DataError
from agentguard.traces import BrokenLine
from agentguard.traces._read import (
    MAX_LINE_BYTES,
    STDIN,
    CountedStream,
    find_files,
    is_parquet,
    parquet_lines,
    reason_of,
)

BLOCK_BYTES = 16 * 2**20
SUFFIXES = (".csv", ".json", ".jsonl", ".log", ".md", ".ndjson", ".parquet", ".txt", ".xml", ".yaml", ".yml")
LINES_SUFFIXES, DOCUMENT_SUFFIXES = (".jsonl", ".ndjson"), (".json",)


class Form(Enum):
    """The form of a piece."""

    text = "text"
    json = "JSON"


class Piece(NamedTuple):
    """A part of a file, to be scanned by itself."""

    source: str  # the file
    line: int  # the number of its first line, from 1
    raw: bytes  # its bytes, with whatever ends it
    form: Form  # the form that it is meant to have
    certain: bool = True  # whether the file's name or its first lines say so; else it may be text after all
    problem: str | None = None  # why it does not have that form; or None


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
        cannot be read: a line beyond ``MAX_LINE_BYTES``, the end of damaged compressed data, what comes behind more
        blank lines than anybody writes, and the rest of what unpacks to hundreds of times its size.

    Raises:
        DataError: where the file cannot be read.
    """
    if source == STDIN:
        yield from _of_stream(sys.stdin.buffer, "stdin", "", lines, on_read)
        return
    path = Path(source)
    if is_parquet(path):
        for name, number, raw in parquet_lines(path, on_read):
            whole = len(raw) <= MAX_LINE_BYTES
            yield Piece(name, number, raw + b"\n", Form.json) if whole else BrokenLine(name, number, _too_long())
        return
    try:
        with path.open("rb") as stream:
            yield from _of_stream(stream, str(path), path.name.lower().removesuffix(".gz"), lines, on_read)
    except OSError as error:
        raise DataError(f"cannot read {path}: {reason_of(error)}") from None


def _of_stream(
    stream: IO[bytes], source: str, name: str, lines: bool, on_read: Callable[[int], None] | None
) -> Iterator[Piece | BrokenLine]:
    reading = _Reading(unpacked(io.BufferedReader(CountedStream(stream, on_read), PIECE)), source)
    try:
        yield from reading.pieces(name, lines)
    except DAMAGED:
        yield BrokenLine(source, reading.line, DAMAGED_SAID)
    except Bloated as error:
        yield BrokenLine(source, reading.line, str(error))


class _Reading:
    """A file while it is read; ``line`` is the number of the next line."""

    def __init__(self, stream: Any, source: str) -> None:
        self.stream = stream
        self.source = source
        self.line = 1

    def pieces(self, name: str, lines: bool) -> Iterator[Piece | BrokenLine]:
        if self.stream.peek(len(BYTE_ORDER_MARK)).startswith(BYTE_ORDER_MARK):
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

    def _lines(self, first: bytes) -> Iterator[Piece | BrokenLine]:
        blank = again = 0  # bytes and lines since there was data
        while line := first or self.stream.readline(MAX_LINE_BYTES + 1):
            first = b""
            if line.isspace():
                blank, again = blank + len(line), again + 1
                yield Piece(self.source, self.line, line, Form.text)
                self.line += line.endswith(b"\n")
                for block in blank_blocks(self.stream) if again >= FEW else ():
                    blank += len(block)
                    yield Piece(self.source, self.line, block, Form.text)
                    self.line += block.count(b"\n")
                    if blank > LIMITS.blank_bytes:
                        break
                if blank > LIMITS.blank_bytes:
                    yield BrokenLine(self.source, self.line, BLANK_SAID)
                    return
                continue
            blank = again = 0
            if len(line) <= MAX_LINE_BYTES or line.endswith(b"\n"):
                yield Piece(self.source, self.line, line, Form.json)
            else:
                del line  # so that the piece held and the pieces passed over are not in memory together
                while (rest := self.stream.readline(PIECE)) and not rest.endswith(b"\n"):
                    pass
                yield BrokenLine(self.source, self.line, _too_long())
            self.line += 1

    def _document(self, first: bytes, *, certain: bool) -> Iterator[Piece]:
        held = bytearray(first)
        while len(held) < MAX_LINE_BYTES and (piece := self.stream.read1(PIECE)):
            held += piece
        document = bytes(held)
        del held, first
        if len(document) < MAX_LINE_BYTES:
            yield Piece(self.source, 1, document, Form.json, certain)
            self.line += document.count(b"\n")
        else:
            problem = f"JSON longer than {MAX_LINE_BYTES:,} bytes: looked through as text" if certain else None
            yield from self._blocks(document, problem)

    def _blocks(self, begin: bytes, problem: str | None = None) -> Iterator[Piece]:
        block = begin + self.stream.read(max(0, BLOCK_BYTES - len(begin)))
        del begin
        while block:
            block += self.stream.readline(BLOCK_BYTES)
            yield Piece(self.source, self.line, block, Form.text, problem=problem)
            self.line += block.count(b"\n")
            problem = None
            block = self.stream.read(BLOCK_BYTES)


def _too_long() -> str:
    return f"longer than {MAX_LINE_BYTES:,} bytes: not looked through"


def _is_object(line: bytes) -> bool:
    if line.lstrip()[:1] != b"{":
        return False
    try:
        return outline_of(line.decode()).kind == "object"
    except (DataError, UnicodeDecodeError):
        return False
