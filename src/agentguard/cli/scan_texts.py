r"""The texts in JSON, each with its place in the file, so that what is found can be pointed at and replaced there.

A JSON value is looked through as one text, made of a line for each of its strings, whole numbers and names of fields,
a value behind the name of its field: ``"email": "ada@example.org"`` becomes the line ``email: ada@example.org``. JSON
that stands in a string, as the results of many tools do, is gone into. Of a large value that is a text for each
thousands of its lines: a few of them are held at one time, and neither the value nor all that it says.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterator
from typing import NamedTuple, TypeAlias

from agentguard.errors import DataError

from .scan_json import Outline, outline_of, string_end

__all__ = ["Leaf", "Node", "Part", "Window", "json_windows", "keys_above", "plain_part"]

NESTED = 4  # JSON in a string in JSON …
WINDOW_LEAVES = 20_000
WINDOW_CHARACTERS = 1 << 20
LABEL_CHARACTERS = 200
STRETCHES = 32  # escapes, after each of which a place is kept
UNESCAPED = 1 << 16  # characters at one time
TOKEN = re.compile(r'"([^"\\]*)"|(-?[0-9][0-9.eE+-]*)|[{}\[\],"]')
RUN = re.compile(r"(?:[^\\]+|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\[^u]){1,500}", re.DOTALL)
ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
BEFORE_JSON = ("{", "[", " ", "\n", "\r", "\t")
SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
# The fields of a call that are each a text of their own; the others of its row are one together.
CALL_PARTS = frozenset({"args", "result"})

Node: TypeAlias = "tuple[Node | None, str | int]"
"""A place in a value: the container's, and the key or the number within it. A chain, since depth has no bound."""


class Leaf:
    """A string, a whole number or the name of a field.

    Attributes:
        text: what it says.
        raw, start, end: what it was read from, and where in that it stands, without quotation marks.
        outer: the string that ``raw`` is; None where it is the piece of the file itself.
        node: where it stands in the value; None for a value that is a text itself.
        is_key: it is the name of a field.
        is_number: it is a whole number.
    """

    __slots__ = ("_shifts", "end", "is_key", "is_number", "node", "outer", "raw", "start", "text")

    def __init__(
        self,
        text: str,
        raw: str,
        start: int,
        end: int,
        outer: Leaf | None = None,
        node: Node | None = None,
        is_key: bool = False,
        is_number: bool = False,
    ) -> None:
        self.text = text
        self.raw = raw
        self.start = start
        self.end = end
        self.outer = outer
        self.node = node
        self.is_key = is_key
        self.is_number = is_number
        self._shifts: tuple[array[int], array[int]] | None = None

    def origin(self, offset: int) -> int:
        """Where a character of it stands in the piece of the file; of the one after the last, where it ends."""
        if self.end - self.start == len(self.text):
            place = self.start + offset
        else:
            if self._shifts is None:  # worked out only where something is found
                self._shifts = _shifts(self.raw, self.start, self.end)
            starts, origins = self._shifts
            number = bisect_right(starts, offset) - 1
            place = _beyond(self.raw, self.end, offset, starts[number], origins[number])
        return place if self.outer is None else self.outer.origin(place)

    @property
    def depth(self) -> int:
        """In how many strings it stands."""
        return 0 if self.outer is None else 1 + self.outer.depth


def _shifts(raw: str, start: int, end: int) -> tuple[array[int], array[int]]:
    """Where some of the stretches between escapes begin: in what the string says, and in what it was read from."""
    starts, origins = array("Q", [0]), array("Q", [start])
    said, origin = 0, start
    for number, escape in enumerate(ESCAPE.finditer(raw, start, end), 1):
        # An escape stands for one character, which ends the stretch before.
        said, origin = said + escape.start() - origin + 1, escape.end()
        if number % STRETCHES == 0:
            starts.append(said)
            origins.append(origin)
    return starts, origins


def _beyond(raw: str, end: int, offset: int, said: int, origin: int) -> int:
    """Where a character stands that comes so many escapes after a known place."""
    for escape in ESCAPE.finditer(raw, origin, end):
        after = said + escape.start() - origin + 1
        if after > offset:
            break
        said, origin = after, escape.end()
    return origin + offset - said


class Part(NamedTuple):
    """What is looked through as one text.

    Attributes:
        text: the text.
        leaves: what it is made of.
        starts: where each leaf begins in it, ascending.
        is_result: it is what a tool returned.
    """

    text: str
    leaves: list[Leaf]
    starts: list[int]
    is_result: bool = False

    def within(self, start: int, end: int) -> Iterator[tuple[Leaf, int, int]]:
        """The leaves that a part of the text lies in, and from where to where in each."""
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
    """What is looked through at one time.

    Attributes:
        parts: each by itself.
        last: what comes last of it in the piece of the file; None where the piece ends with it.
    """

    parts: list[Part]
    last: Leaf | None = None


def json_windows(raw: str, outline: Outline, fields: Collection[str] = ()) -> Iterator[Window]:
    r"""What of a JSON value is looked through by itself, a few thousand texts of it at one time.

    Of a call with ``tool`` and ``result``: its arguments, its result, and the rest; of an array: each element, numbers
    together; of the object where fields are named: each of these, and nothing else. Any other value is one.

    Args:
        raw: the JSON as it was written.
        outline: its own.
        fields: names of fields at the top.

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
    return [_joined(found, is_result=outline.is_call and top == "result") for top, found in grouped.items()]


def _joined(found: list[tuple[str, Leaf]], *, is_result: bool) -> Part:
    lines, starts, length = [], [], 0
    for label, leaf in found:
        starts.append(length + len(label))
        lines.append(f"{label}{leaf.text}\n")
        length += len(lines[-1])
    return Part("".join(lines), [leaf for _, leaf in found], starts, is_result)


def keys_above(node: Node | None, most: int) -> list[str | int]:
    """The last keys and numbers that lead to a place, the outermost first."""
    found: list[str | int] = []
    while node is not None and len(found) < most:
        found.append(node[1])
        node = node[0]
    return found[::-1]


class _Level:
    """A container that is being walked through."""

    __slots__ = ("is_object", "key", "label", "node", "number")

    def __init__(self, node: Node | None, is_object: bool, label: str) -> None:
        self.node = node
        self.is_object = is_object
        self.label = label  # what stands before a value: the name of the field that it, or its array, is in
        self.key: str | None = None  # None where an object's next string is a key
        self.number = 0


def _leaves(
    raw: str, outer: Leaf | None = None, label: str = "", top: str | int = "", depth: int = 0
) -> Iterator[tuple[str | int, str, Leaf]]:
    """The leaves in their order, each with the key or number at the top that it lies under, and its field's name."""
    root = None if outer is None else outer.node
    level = _Level(root, False, label)
    above: list[_Level] = []
    place = 0
    while (token := TOKEN.search(raw, place)) is not None:
        place = token.end()
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
            place = string_end(raw, token.start())
            start, end = token.end(), place - 1
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
    """What a string says; a long one bit by bit."""
    if len(text) <= UNESCAPED:
        return ESCAPE.sub(_said, text)
    return "".join(ESCAPE.sub(_said, run.group()) for run in RUN.finditer(text))


def _said(found: re.Match[str]) -> str:
    """The one character that an escape stands for."""
    escape = found.group()
    if escape[1] != "u":
        return SHORT.get(escape[1], escape[1])
    first = int(escape[2:6], 16)
    if len(escape) == 6:
        return chr(first)
    return chr(0x10000 + (first - 0xD800 << 10) + int(escape[8:], 16) - 0xDC00)
