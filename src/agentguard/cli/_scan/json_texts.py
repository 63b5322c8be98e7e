r"""Scanning JSON without its value, which takes fifty times the memory of the text.

The first part decides whether a text is JSON, and says what is at its top. Small texts are parsed; for larger ones the
grammar is followed, and nothing is kept but the open brackets. Both accept the same texts.

The second part makes one text of a JSON value, with a line for each of its strings, whole numbers and names of fields,
a value behind the name of its field: ``"email": "ada@example.org"`` becomes the line ``email: ada@example.org``. Each
leaf knows its place in the file, so that a finding can be located and replaced there. JSON in a string, as in the
results of many tools, is entered. A large value becomes a text for each few thousand of its lines, one at a time.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, NoReturn, TypeAlias

from agentguard.errors import DataError
from agentguard.traces._read import parse_json

PARSED: Final = 1 << 18  # characters
DEEPEST: Final = 1_000  # about as deep as parsers go

_SPACE: Final = r"[ \t\n\r]*"
_TEXT: Final = r'"[^"\\\x00-\x1f]*"'
_NUMBER: Final = r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|Infinity)"
_PLAIN: Final = rf"(?:{_TEXT}|{_NUMBER}|true|false|null|NaN)"
_SKIPPED: Final = re.compile(_SPACE)
_SCALAR: Final = re.compile(rf"(?:{_NUMBER}|true|false|null|NaN)")
# Many items are passed over in one step. Not all of them: a regex remembers each, in case that it has to go back.
_ITEMS: Final = re.compile(rf"(?:{_PLAIN}{_SPACE},{_SPACE}){{1,1000}}")
_FIELDS: Final = re.compile(rf"(?:{_TEXT}{_SPACE}:{_SPACE}{_PLAIN}{_SPACE},{_SPACE}){{1,500}}")
_FIRST_FIELDS: Final = re.compile(rf"(?:{_TEXT}{_SPACE}:{_SPACE}{_PLAIN}{_SPACE},{_SPACE}){{1,16}}")
_IN_TEXT: Final = re.compile(r'[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*){0,500}')

NESTED = 4  # JSON in a string in JSON …
WINDOW_LEAVES = 20_000
WINDOW_CHARACTERS = 1 << 20
LABEL_CHARACTERS = 200
STRETCHES = 32  # escapes between two offsets that are kept
UNESCAPED = 1 << 16  # characters at one time
TOKEN = re.compile(r'"([^"\\]*)"|(-?[0-9][0-9.eE+-]*)|[{}\[\],"]')
RUN = re.compile(r"(?:[^\\]+|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\[^u]){1,500}", re.DOTALL)
ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
BEFORE_JSON = ("{", "[", " ", "\n", "\r", "\t")
SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
# The fields of a call that are each a text of their own; the others of its row are one together.
CALL_PARTS = frozenset({"args", "result"})


class Outline(NamedTuple):
    """The top of a JSON text."""

    kind: Literal["object", "array", "scalar"]  # of the value
    is_call: bool = False  # an object with the fields ``tool`` and ``result``
    tool: str | None = None  # the value of its field ``tool``, where that is a string


def outline_of(text: str) -> Outline:
    """The outline of a JSON text; raises ``DataError`` where it is none, or nested too deeply.

    >>> outline_of('{"tool": "add", "result": [3]}')
    Outline(kind='object', is_call=True, tool='add')
    """
    if len(text) > PARSED:
        return _Following(text).outline()
    try:
        value = parse_json(text.encode())
    except UnicodeEncodeError:
        raise DataError("not UTF-8 text") from None
    if not isinstance(value, dict):
        return Outline("array" if isinstance(value, list) else "scalar")
    tool = value.get("tool")
    return Outline("object", "tool" in value and "result" in value, tool if isinstance(tool, str) else None)


def string_end(text: str, start: int) -> int:
    r"""The offset behind the string whose opening quotation mark is at ``start``.

    Raises:
        DataError: where nothing closes it, or it holds what a string may not.

    >>> string_end(r'["a\"b", 1]', 1)
    7
    """
    index = start + 1
    while True:
        match = _IN_TEXT.match(text, index)
        end = index if match is None else match.end()
        if text[end : end + 1] == '"':
            return end + 1
        if end == index:
            _refuse(index)
        index = end


def _refuse(index: int) -> NoReturn:
    raise DataError(f"not JSON (character {index + 1})")


class _Following:
    """One pass over a text by JSON's grammar.

    Each step passes one thing and returns what comes next: ``"value"``, ``"key"``, ``"after"`` a value, or ``""`` at
    the end.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._open = bytearray()  # brackets, the innermost last
        self._index = 0
        self._names: set[str] = set()  # of "tool" and "result", those that are fields at the top
        self._tool: str | None = None

    def outline(self) -> Outline:
        self._skip()
        first = self._next()
        state = self._value()
        while state:
            state = self._key() if state == "key" else self._value() if state == "value" else self._after()
        if first == "{":
            return Outline("object", {"tool", "result"} <= self._names, self._tool)
        return Outline("array" if first == "[" else "scalar")

    def _next(self) -> str:
        return self._text[self._index : self._index + 1]

    def _skip(self, passed: int = 0) -> None:
        match = _SKIPPED.match(self._text, self._index + passed)
        self._index = self._index + passed if match is None else match.end()

    def _value(self) -> str:
        sign = self._next()
        if sign and sign in "{[":
            self._open += sign.encode()
            if len(self._open) > DEEPEST:
                raise DataError("not usable JSON: nested too deeply")
            self._skip(1)
            if self._next() == ("}" if sign == "{" else "]"):
                return self._closed()
            return "key" if sign == "{" else "value"
        if self._open.endswith(b"["):  # many plain items in one step
            match = _ITEMS.match(self._text, self._index)
            if match is not None:
                self._index = match.end()
                return "value"
        if sign == '"':
            self._index = string_end(self._text, self._index)
            return "after"
        match = _SCALAR.match(self._text, self._index)
        if match is None:
            _refuse(self._index)
        self._index = match.end()
        return "after"

    def _key(self) -> str:
        at_top = len(self._open) == 1
        # Many plain fields in one step, unless a name among them is one to note.
        match = (_FIRST_FIELDS if at_top else _FIELDS).match(self._text, self._index)
        if match is not None and not (at_top and ('"tool"' in match[0] or '"result"' in match[0])):
            self._index = match.end()
            return "key"
        start = self._index
        if self._next() != '"':
            _refuse(start)
        self._index = string_end(self._text, start)
        name = self._text[start : self._index] if at_top and self._index - start <= 80 else ""
        self._skip()
        if self._next() != ":":
            _refuse(self._index)
        self._skip(1)
        if name:
            self._note(json.loads(name))
        return "value"

    def _note(self, name: str) -> None:
        if name in ("tool", "result"):
            self._names.add(name)
        if name == "tool":
            self._tool = None
            if self._next() == '"':
                self._tool = json.loads(self._text[self._index : string_end(self._text, self._index)])

    def _after(self) -> str:
        self._skip()
        sign = self._next()
        if not self._open:
            if sign:
                _refuse(self._index)
            return ""
        is_object = self._open.endswith(b"{")
        if sign == ",":
            self._skip(1)
            return "key" if is_object else "value"
        if sign != ("}" if is_object else "]"):
            _refuse(self._index)
        return self._closed()

    def _closed(self) -> str:
        self._open.pop()
        self._index += 1
        return "after"


Node: TypeAlias = "tuple[Node | None, str | int]"
"""A position in a value: the container's, and the key or the number in it. A chain, since depth has no bound."""


@dataclass(slots=True, eq=False)
class Leaf:
    """A string, a whole number or the name of a field."""

    text: str
    raw: str  # what it was read from, and where in that it begins and ends, without quotation marks
    start: int
    end: int
    outer: Leaf | None = None  # the string that ``raw`` is; None where it is the piece of the file itself
    node: Node | None = None  # its position in the value; None for a value that is a text itself
    is_key: bool = False
    is_number: bool = False
    _shifts: tuple[array[int], array[int]] | None = None

    def origin(self, offset: int) -> int:
        """The offset of its character in the piece of the file; of the one after the last, that of its end."""
        if self.end - self.start == len(self.text):
            index = self.start + offset
        else:
            if self._shifts is None:  # worked out only where something is found
                self._shifts = _shifts(self.raw, self.start, self.end)
            starts, origins = self._shifts
            number = bisect_right(starts, offset) - 1
            index = _beyond(self.raw, self.end, offset, starts[number], origins[number])
        return index if self.outer is None else self.outer.origin(index)

    @property
    def depth(self) -> int:
        """The number of strings that it is nested in."""
        return 0 if self.outer is None else 1 + self.outer.depth


def _shifts(raw: str, start: int, end: int) -> tuple[array[int], array[int]]:
    """Offsets of every 32nd escape's end: in the unescaped text, and in what it was read from."""
    starts, origins = array("Q", [0]), array("Q", [start])
    offset, origin = 0, start
    for number, escape in enumerate(ESCAPE.finditer(raw, start, end), 1):
        # An escape stands for one character, which ends the stretch before.
        offset, origin = offset + escape.start() - origin + 1, escape.end()
        if number % STRETCHES == 0:
            starts.append(offset)
            origins.append(origin)
    return starts, origins


def _beyond(raw: str, end: int, offset: int, known: int, origin: int) -> int:
    """The offset of a character, counted from a known one before it, escape by escape."""
    for escape in ESCAPE.finditer(raw, origin, end):
        after = known + escape.start() - origin + 1
        if after > offset:
            break
        known, origin = after, escape.end()
    return origin + offset - known


class Part(NamedTuple):
    """Leaves joined to one text, which is scanned as a whole."""

    text: str
    leaves: list[Leaf]
    starts: list[int]
    is_result: bool = False

    def within(self, start: int, end: int) -> Iterator[tuple[Leaf, int, int]]:
        """The leaves that a span of the text lies in, with its begin and end in each."""
        number = max(0, bisect_right(self.starts, start) - 1)
        while number < len(self.leaves) and self.starts[number] < end:
            leaf, begin = self.leaves[number], self.starts[number]
            inside = max(start, begin) - begin, min(end - begin, len(leaf.text))
            if inside[0] < inside[1]:
                yield leaf, *inside
            number += 1


def plain_part(text: str) -> Part:
    """A text that is no JSON."""
    return Part(text, [Leaf(text, text, 0, len(text))], [0])


class Window(NamedTuple):
    """Parts that are scanned together."""

    parts: list[Part]  # each by itself
    last: Leaf | None = None  # the leaf that is last in the piece of the file; None where the piece ends with it


def json_windows(raw: str, outline: Outline, fields: Collection[str] = ()) -> Iterator[Window]:
    r"""The parts of a JSON value that are scanned by themselves, a few thousand leaves at a time.

    Of a call with ``tool`` and ``result``: its arguments, its result, and the rest; of an array: each element, numbers
    together; of the object where ``fields`` at its top are named: each of these, and nothing else. Any other value is
    one.

    >>> raw = r'{"tool": "mail", "result": "{\"to\": \"\\u0061da\"}"}'
    >>> [[part.text for part in window.parts] for window in json_windows(raw, outline_of(raw))]
    [['tool\ntool: mail\nresult\n', 'to\nto: ada\n']]
    """
    grouped: dict[str | int, list[tuple[str, Leaf]]] = {}
    held = length = 0
    for top, label, leaf in _leaves(raw):
        if fields or outline.is_call:
            named = top in (fields or CALL_PARTS)
            if named and leaf.is_key and leaf.node is not None and leaf.node[0] is None:
                named = False  # the name of the field itself
            if fields and not named:
                continue
            top = top if named else ""
        elif outline.kind != "array" or (leaf.is_number and leaf.node is not None and leaf.node[0] is None):
            top = ""
        grouped.setdefault(top, []).append((label, leaf))
        held, length = held + 1, length + len(label) + len(leaf.text)
        if held >= WINDOW_LEAVES or length >= WINDOW_CHARACTERS:
            yield Window(_parts(grouped, outline), leaf)
            grouped, held, length = {}, 0, 0
    yield Window(_parts(grouped, outline))


def _parts(grouped: dict[str | int, list[tuple[str, Leaf]]], outline: Outline) -> list[Part]:
    return [_joined(labelled, is_result=outline.is_call and top == "result") for top, labelled in grouped.items()]


def _joined(labelled: list[tuple[str, Leaf]], *, is_result: bool) -> Part:
    lines, starts, length = [], [], 0
    for label, leaf in labelled:
        starts.append(length + len(label))
        lines.append(f"{label}{leaf.text}\n")
        length += len(lines[-1])
    return Part("".join(lines), [leaf for _, leaf in labelled], starts, is_result)


def keys_above(node: Node | None, most: int) -> list[str | int]:
    """The last keys and numbers on the way to a node, the outermost first."""
    keys: list[str | int] = []
    while node is not None and len(keys) < most:
        keys.append(node[1])
        node = node[0]
    return keys[::-1]


@dataclass(slots=True, eq=False)
class _Level:
    """A container that is being traversed."""

    node: Node | None
    is_object: bool
    label: str  # before a value: the name of the field that it, or its array, is in
    key: str | None = None  # None where an object's next string is a key
    number: int = 0


def _leaves(
    raw: str, outer: Leaf | None = None, label: str = "", top: str | int = "", depth: int = 0
) -> Iterator[tuple[str | int, str, Leaf]]:
    """The leaves in order, each with the key or number at the top that it lies under, and its field's name."""
    root = None if outer is None else outer.node
    level = _Level(root, False, label)
    above: list[_Level] = []
    index = 0
    while (token := TOKEN.search(raw, index)) is not None:
        index = token.end()
        kind = token.lastindex
        if kind is None and token.group() != '"':
            sign = token.group()
            if sign == ",":
                if level.is_object:
                    level.key = None
                else:
                    level.number += 1
                    if len(above) == 1 and depth == 0:
                        top = level.number
            elif sign in "{[":
                node = _node(level) if above else root
                above.append(level)
                level = _Level(node, sign == "{", level.label)
                if len(above) == 1 and depth == 0:
                    top = 0
            else:
                level = above.pop()
            continue
        if kind is None:  # a string with escapes
            index = string_end(raw, token.start())
            start, end = token.end(), index - 1
            text = _unescaped(raw[start:end])
        else:
            start, end = token.span(kind)
            text = raw[start:end]
        if kind == 2:
            if text.removeprefix("-").isdecimal():
                yield top, level.label, Leaf(text, raw, start, end, outer, _node(level) if above else root, False, True)
            continue
        if level.is_object and level.key is None:
            level.key = text
            level.label = f"{text[-LABEL_CHARACTERS:]}: "
            if len(above) == 1 and depth == 0:
                top = text
            yield top, "", Leaf(text, raw, start, end, outer, (level.node, text), True)
            continue
        leaf = Leaf(text, raw, start, end, outer, _node(level) if above else root)
        if depth < NESTED and _is_json(text):
            yield from _leaves(text, leaf, level.label, top, depth + 1)
        else:
            yield top, level.label, leaf


def _node(level: _Level) -> Node:
    return level.node, level.number if level.key is None else level.key


def _is_json(text: str) -> bool:
    if text[:1] not in BEFORE_JSON or text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        return outline_of(text).kind != "scalar"
    except DataError:
        return False


def _unescaped(text: str) -> str:
    """The characters of a JSON string; a long one is unescaped bit by bit."""
    if len(text) <= UNESCAPED:
        return ESCAPE.sub(_character, text)
    return "".join(ESCAPE.sub(_character, run.group()) for run in RUN.finditer(text))


def _character(match: re.Match[str]) -> str:
    """The one character that an escape stands for."""
    escape = match.group()
    if escape[1] != "u":
        return SHORT.get(escape[1], escape[1])
    first = int(escape[2:6], 16)
    if len(escape) == 6:
        return chr(first)
    return chr(0x10000 + (first - 0xD800 << 10) + int(escape[8:], 16) - 0xDC00)
