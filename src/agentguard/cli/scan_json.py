"""Whether a text is JSON, and what stands at its top: without its value, which takes fifty times the text's memory.

Small texts are parsed. Of larger ones the grammar is followed, and nothing is kept but the open brackets; what is taken
for JSON is the same.
"""

from __future__ import annotations

import json
import re
from typing import Final, Literal, NamedTuple, NoReturn

from agentguard.errors import DataError
from agentguard.traces._read import parse_json

__all__ = ["Outline", "outline_of", "string_end"]

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


class Outline(NamedTuple):
    """What stands at the top of a JSON text.

    Attributes:
        kind: what it is.
        is_call: an object with the fields ``tool`` and ``result``.
        tool: the name of the tool, where it is an object that has one.
    """

    kind: Literal["object", "array", "scalar"]
    is_call: bool = False
    tool: str | None = None


def outline_of(text: str) -> Outline:
    """The outline of a JSON text.

    Raises:
        DataError: where it is none, or nested too deeply.

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
    r"""Where the string ends that begins with the quotation mark at ``start``: behind the one that closes it.

    Raises:
        DataError: where nothing closes it, or it holds what a string may not.

    >>> string_end(r'["a\"b", 1]', 1)
    7
    """
    place = start + 1
    while True:
        found = _IN_TEXT.match(text, place)
        end = place if found is None else found.end()
        if text[end : end + 1] == '"':
            return end + 1
        if end == place:
            _refuse(place)
        place = end


def _refuse(place: int) -> NoReturn:
    raise DataError(f"not JSON (character {place + 1})")


class _Following:
    """One pass over a text by JSON's grammar."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._open = bytearray()  # the brackets that are
        self._place = 0
        self._names: set[str] = set()  # of the fields at the top, as far as they matter
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
        return self._text[self._place : self._place + 1]

    def _skip(self, passed: int = 0) -> None:
        found = _SKIPPED.match(self._text, self._place + passed)
        self._place = self._place + passed if found is None else found.end()

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
        if self._open.endswith(b"["):
            found = _ITEMS.match(self._text, self._place)
            if found is not None:
                self._place = found.end()
                return "value"
        if sign == '"':
            self._place = string_end(self._text, self._place)
            return "after"
        found = _SCALAR.match(self._text, self._place)
        if found is None:
            _refuse(self._place)
        self._place = found.end()
        return "after"

    def _key(self) -> str:
        at_top = len(self._open) == 1
        found = (_FIRST_FIELDS if at_top else _FIELDS).match(self._text, self._place)
        if found is not None and not (at_top and self._matters(self._place, found.end())):
            self._place = found.end()
            return "key"
        start = self._place
        if self._next() != '"':
            _refuse(start)
        self._place = string_end(self._text, start)
        name = self._text[start : self._place] if at_top and self._place - start <= 80 else ""
        self._skip()
        if self._next() != ":":
            _refuse(self._place)
        self._skip(1)
        if name:
            self._note(json.loads(name))
        return "value"

    def _matters(self, start: int, end: int) -> bool:
        return any(self._text.find(name, start, end) >= 0 for name in ('"tool"', '"result"'))

    def _note(self, name: str) -> None:
        if name in ("tool", "result"):
            self._names.add(name)
        if name == "tool":
            self._tool = None
            if self._next() == '"':
                self._tool = json.loads(self._text[self._place : string_end(self._text, self._place)])

    def _after(self) -> str:
        self._skip()
        sign = self._next()
        if not self._open:
            if sign:
                _refuse(self._place)
            return ""
        is_object = self._open.endswith(b"{")
        if sign == ",":
            self._skip(1)
            return "key" if is_object else "value"
        if sign != ("}" if is_object else "]"):
            _refuse(self._place)
        return self._closed()

    def _closed(self) -> str:
        self._open.pop()
        self._place += 1
        return "after"
