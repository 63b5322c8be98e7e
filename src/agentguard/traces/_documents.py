"""JSON documents cut into their records: an array of gigabytes is read in constant memory, element by element.

A document is an array, or an object with a list of records (``resourceSpans`` of an OTLP file, ``data`` or ``runs`` of
a page of an API), or an object that is a record itself; several may follow one another. What is looked for is where a
record begins and ends, no more: its bytes are parsed by whoever parses lines, so a record that is no JSON spoils no
other, and the number of the line where it begins stays known. (A streaming parser, tried in its place, gives up at the
first ``NaN``, which loggers in Python write, and holds a path of each level: brackets alone, 100 kB of them, take all
memory there.)
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import orjson

from agentguard._line_files import BYTE_ORDER_MARK, DAMAGED, PIECE, Damaged

NOT_JSON: Final = "not JSON: the file is not read beyond"
UNCLOSED: Final = "not JSON: the file ends within it"

_LISTS: Final = frozenset({b"spans", b"data", b"runs"})
"""Names in an object whose arrays are lists of records."""

_AROUND: Final = frozenset({b"resourceSpans", b"resource_spans", b"scopeSpans", b"scope_spans"})
"""Names in an object whose arrays are lists of such objects."""

_STRUCTURE: Final = re.compile(rb'["{}\[\]]')
_IN_TEXT: Final = re.compile(rb'\\.|["\n]', re.DOTALL)
_LONG_OBJECT: Final = re.compile(rb'\{\s*"(resourceSpans|resource_spans|data|runs)"\s*:\s*\[')
_BEGINNING: Final = re.compile(rb"\{|\[\s*([\[{\]]|\Z)")  # lines of other logs begin with [INFO] or [2026-10-01]
_MAX_KEY: Final = 32  # bytes of a name that is looked at
_MAX_AROUND: Final = 16  # levels around records; OTLP has six
_SEPARATORS: Final = b" \t\r\n"


class Element(NamedTuple):
    """A record of a document.

    Attributes:
        root: the number of the document, from 1, whose list it is in; 0 where it is a document itself.
        line: the number of its first line.
        raw: its bytes; None where it is longer than the limit.
    """

    root: int
    line: int
    raw: bytes | None


class Fault(NamedTuple):
    """A place from where a document is no JSON."""

    line: int
    reason: str


def is_document(head: bytes) -> bool:
    r"""Whether a file is a document, by how it begins, rather than lines of JSON.

    >>> is_document(b'[\n  {"a": 1}'), is_document(b'{"a": 1}\n{"a": 2}\n'), is_document(b'{"a": "cut o\n')
    (True, False, False)
    """
    head = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    first, end, rest = head.partition(b"\n")
    first = first.rstrip()
    if not _BEGINNING.match(head):
        return False
    if not end:  # a line longer than what was looked at
        return first.startswith(b"[") or _LONG_OBJECT.match(first) is not None
    if first.startswith(b"{") and (rest.startswith(b"{") or not first.endswith((b"{", b"[", b",", b":"))):
        return False  # lines of JSON, the first of them whole or cut off
    if first.startswith(b"[") and not rest.strip():
        return True  # the only line
    try:
        orjson.loads(first)
    except ValueError:
        return True
    return False


def elements(stream: io.BufferedReader, name: str, limit: int) -> Iterator[Element | Fault]:
    """The records of the documents in a stream; after a ``Fault`` there are none.

    Args:
        stream: plain, or from ``unpacked``.
        name: what messages call it.
        limit: of a record's bytes.

    Raises:
        Damaged: where compressed data is.
        DataError: where it is bloated.
        OSError: where it cannot be read.
    """
    cutter = _Cutter(limit)
    try:
        while piece := stream.read1(PIECE):
            yield from cutter.push(piece)
            if cutter.is_lost:
                return
    except DAMAGED:
        raise Damaged(name, cutter.line) from None
    yield from cutter.end()


class _Cutter:
    """Follows texts and brackets, and keeps the bytes of the record that is open."""

    def __init__(self, limit: int) -> None:
        self.line = 1  # where it is
        self.is_lost = False
        self._limit = limit
        self._root = 0
        self._around: list[str] = []  # what is open around records: "object", "list" of objects, "records"
        self._depth = 0  # brackets open within the innermost of them
        self._held: bytearray | None = None  # of the record, or of an object at the top until it has a list
        self._too_long = False
        self._begun = 1  # line of the record
        self._key = b""  # the last text in the innermost object, cut
        self._in_text = self._escaped = False

    def push(self, piece: bytes) -> Iterator[Element | Fault]:
        position = since = counted = 0  # since: bytes before it were held or are of no use; counted: for the line
        if self._root == 0 and piece.startswith(BYTE_ORDER_MARK):
            position = since = len(BYTE_ORDER_MARK)
        if self._escaped:
            self._escaped, position = False, 1
        while True:
            if self._in_text:
                begin = position
                match = _IN_TEXT.search(piece, position)
                while match is not None and match[0][:1] == b"\\":
                    match = _IN_TEXT.search(piece, match.end())
                stop = len(piece) if match is None else match.start()
                if len(self._key) < _MAX_KEY and not self._depth:
                    self._key += piece[begin : min(stop, begin + _MAX_KEY)]
                if match is None:
                    self._escaped = _ends_escaped(piece[begin:])
                    break
                position = match.end()
                if match[0] == b"\n":
                    yield self._lost(self.line + piece.count(b"\n", counted, stop))
                    return
                self._in_text = False
                continue
            match = _STRUCTURE.search(piece, position)
            stop = len(piece) if match is None else match.start()
            if not self._around and piece[position:stop].strip(_SEPARATORS):
                yield self._lost(self.line + piece.count(b"\n", counted, stop))
                return
            if match is None:
                break
            position = match.end()
            token = match[0]
            if token == b'"':
                if not self._around:
                    yield self._lost(self.line + piece.count(b"\n", counted, stop))
                    return
                self._in_text = True
                if not self._depth:
                    self._key = b""
            elif token in b"{[":
                if not self._depth and (not self._around or self._around[-1] == "records"):
                    self.line += piece.count(b"\n", counted, stop)
                    counted, since = stop, stop
                    self._begun, self._held, self._too_long = self.line, bytearray(), False
                self._open(token)
                if self._held is None:
                    since = position
            else:
                whole = self._close()
                if whole:
                    self._hold(piece[since:position])
                    since = position
                    yield self._taken()
        self._hold(piece[since:])
        self.line += piece.count(b"\n", counted)

    def end(self) -> Iterator[Element | Fault]:
        """What is left where the stream ends."""
        if self._around:
            yield Fault(self._begun if self._held is not None else self.line, UNCLOSED)

    def _open(self, token: bytes) -> None:
        if self._depth:
            self._depth += 1
        elif not self._around:
            self._root += 1
            if token == b"[":
                self._around.append("records")
                self._held = None
            else:
                self._around.append("object")
        elif len(self._around) >= _MAX_AROUND:
            self._depth = 1
        elif self._around[-1] == "object" and token == b"[" and self._key in _LISTS | _AROUND:
            self._around.append("records" if self._key in _LISTS else "list")
            self._held = None
        elif self._around[-1] == "list" and token == b"{":
            self._around.append("object")
        else:
            self._depth = 1

    def _close(self) -> bool:
        """Close the innermost bracket; whether a record ends with it."""
        if self._depth:
            self._depth -= 1
            return not self._depth and self._around[-1] == "records"
        if self._around:
            self._around.pop()
        return not self._around and self._held is not None

    def _hold(self, more: bytes) -> None:
        if self._held is None or self._too_long:
            return
        self._held += more
        if len(self._held) > self._limit:
            self._held.clear()
            self._too_long = True

    def _taken(self) -> Element:
        held, self._held = self._held, None
        return Element(
            self._root if self._around else 0, self._begun, None if held is None or self._too_long else bytes(held)
        )

    def _lost(self, line: int) -> Fault:
        self.is_lost = True
        return Fault(line, NOT_JSON)


def _ends_escaped(text: bytes) -> bool:
    return (len(text) - len(text.rstrip(b"\\"))) % 2 == 1
