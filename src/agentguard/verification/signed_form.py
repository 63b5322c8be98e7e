"""The bytes that a value is signed by: one text for each JSON value, so that two that differ never share one.

That text is JSON without blanks, in UTF-8, the keys of objects in the order of their code points. For JSON of ordinary
numbers it is ``json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)``, so whoever has the value
can write it in any language. All of a value is written, or ``ReceiptError`` is raised.

===================================== ==================================================================
in Python                             counts as
===================================== ==================================================================
``None``, ``True``, ``False``         null, true, false
text                                  text: UTF-16 units as JSON has them, so half of a surrogate pair is
                                      kept as it is, and two halves are the one character
an integer                            its decimal digits; beyond 4,096 bits hexadecimal ones after ``0x``
a float                               the shortest digits that read back as this float, with a point or an
                                      exponent: 1.0 is not 1, and -0.0 not 0.0; ``NaN``, ``Infinity``
a list, a tuple                       an array
a dict, another ``Mapping``           an object, the order of keys aside; keys that are numbers, booleans or
                                      None are the texts that ``json`` makes of them: 1 is "1"
an instance of a dataclass            an object of its fields
a pydantic model                      its ``model_dump(mode="json")``
an ``Enum`` member                    its value
a UUID                                its text
===================================== ==================================================================

A subclass of these built-in types counts as what it holds. All else is refused: that JSON has no one form for it
(bytes, sets, dates, decimals), or that nobody can tell what it is.
"""

from __future__ import annotations

import dataclasses
import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from enum import Enum
from itertools import chain, count, islice, pairwise, repeat
from operator import itemgetter
from typing import Any, Final, NamedTuple, NoReturn
from uuid import UUID

import orjson
from pydantic import BaseModel

from agentguard.errors import ReceiptError
from agentguard.limits import LIMITS

__all__ = ["signed_form"]

# Decimal digits of longer integers take quadratic time, and Python refuses to make more than 4,300 of them.
MOST_BITS: Final = 4_096
LONGEST_PATH: Final = 200
ADVICE: Final = "hand over the text, or the JSON, that the model is shown"

_NOT_FINITE: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_UNWRAPPED: Final = frozenset({str, int, float, bool, type(None), list, tuple, dict})


def signed_form(value: Any, part: str) -> bytes:
    """The one text of a JSON value.

    Args:
        value: what is to be signed.
        part: what to call it in an error.

    Raises:
        ReceiptError: for what is no JSON value, holds itself, or is more than ``LIMITS.values`` values (a container is
            one) or ``LIMITS.bytes`` of text. It is the only error.

    >>> signed_form({"b": (1, 2.0), "a": None}, "shown")
    b'{"a":null,"b":[1,2.0]}'
    """
    found: bytes | str | None = None
    with suppress(Exception):  # somebody else may be changing the value: then the walk says so
        found = _short_way(value)
    if type(found) is str:
        raise ReceiptError(part, part, found)
    return found if type(found) is bytes else _Walk(part).written(value)


def _short_way(value: Any) -> bytes | str | None:
    """The form as ``orjson`` writes it, where that is the form; the reason where it is refused; None: to be walked.

    Everything in it must be of the very types of JSON. ``orjson`` raises on other keys than text, on integers over 64
    bits, on half surrogate pairs and beyond 254 levels. Floats it writes as Python does where Python uses no exponent.
    """
    pending, characters = [value], 0
    for item in pending:
        kind = type(item)
        if kind is str:
            characters += len(item)
        elif kind is float:
            if not (1e-4 <= item < 1e16 or -1e16 < item <= -1e-4 or item == 0.0):
                return None
        elif kind is list or kind is tuple:
            pending += item
        elif kind is dict:
            characters += len("".join(item))  # of keys that are text, which others are not
            pending += item.values()
        elif item is not None and kind is not int and kind is not bool:
            return None
        if len(pending) > LIMITS.values:
            return f"there are more than {LIMITS.values:,} values in it, or it holds itself; sign a shorter one"
        if characters > LIMITS.bytes:
            return f"there are more than {LIMITS.bytes:,} bytes in it; sign a shorter one"
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return text if len(text) <= LIMITS.bytes else None


class _Open(NamedTuple):
    """A container that is being written.

    Attributes:
        value: the container, kept so that no other object gets its id.
        parts: what is left of it: for each part its place, what is written before it, and the part.
        end: its closing bracket.
    """

    value: Any
    parts: Iterator[tuple[int | str, bytes, Any]]
    end: bytes


class _Walk:
    """One value being written: part by part, without recursion, so that no depth is too much.

    What a container holds is counted when it is opened: what is held many times counts as often.
    """

    def __init__(self, part: str) -> None:
        self._part = part
        self._pieces: list[bytes] = []
        self._values = self._in_models = LIMITS.values
        self._bytes = LIMITS.bytes
        self._open: list[_Open] = []
        self._inside: set[int] = set()
        self._steps: list[int | str] = []

    def written(self, value: Any) -> bytes:
        """All of it."""
        try:
            self._count(1)
            self._begin(value)
            while self._open:
                found = next(self._open[-1].parts, None)
                if found is None:
                    self._close()
                else:
                    self._steps[-1], before, item = found
                    self._pieces.append(before)
                    self._begin(item)
        except ReceiptError:
            raise
        except Exception as error:  # properties, iterators and dump methods are foreign code
            self._refuse(f"reading it raised {_name(type(error))}; {ADVICE}")
        return b"".join(self._pieces)

    def _begin(self, value: Any) -> None:
        """Write a scalar; of a container the opening bracket."""
        value, kind = self._without_wrapping(value)
        if kind is str:
            self._put_text(value)
        elif value is None or kind is bool:
            self._put(b"null" if value is None else b"true" if value else b"false")
        elif issubclass(kind, str):
            self._put_text(str.__str__(value))
        elif issubclass(kind, int):
            self._put_integer(int.__int__(value))
        elif issubclass(kind, float):
            self._put(_digits(value).encode())
        elif kind is UUID:
            self._put_text(str(value))
        elif issubclass(kind, (list, tuple)):
            self._enter_array(value, list if issubclass(kind, list) else tuple)
        elif issubclass(kind, Mapping):
            self._enter_object(value, dict.items(value) if issubclass(kind, dict) else value.items())
        elif dataclasses.is_dataclass(kind):
            names = [field.name for field in dataclasses.fields(kind)]
            self._enter_object(value, ((name, getattr(value, name)) for name in names))
        else:
            self._refuse(f"{_a(kind)} is no JSON value; {ADVICE}")

    def _without_wrapping(self, value: Any) -> tuple[Any, type]:
        """What stands for a value, and its type: of a member of an enumeration its value, of a model its dump."""
        kind = type(value)
        while kind not in _UNWRAPPED and issubclass(kind, (Enum, BaseModel)):
            self._count(1)
            if issubclass(kind, Enum):
                value = value.value
            else:
                self._in_models -= _held_by(value, self._in_models + 1)
                if self._in_models < 0:
                    self._too_many()
                value = value.model_dump(mode="json", warnings=False)
            kind = type(value)
        return value, kind

    def _enter_array(self, value: Any, kind: type[list[Any]] | type[tuple[Any, ...]]) -> None:
        length = kind.__len__(value)
        self._count(length)
        self._spend(max(0, length - 1))
        items = [*kind.__iter__(value)]  # foreign code that is met below may change the list
        self._enter(value, b"[", zip(count(), chain((b"",), repeat(b",")), items), b"]")

    def _enter_object(self, value: Any, items: Iterable[tuple[Any, Any]]) -> None:
        pairs = []
        for key, item in islice(items, self._values + 1):
            name = self._key(key)
            written = b"%b:" % _text(name)
            self._spend(len(written))
            pairs.append((name.encode("utf-8", "surrogatepass"), name, written, item))
        self._count(len(pairs))
        self._spend(max(0, len(pairs) - 1))
        pairs.sort(key=itemgetter(0))
        for (one, _, _, _), (other, name, _, _) in pairwise(pairs):
            if one == other:
                self._steps.append(name)
                self._refuse(f"two keys are this one in JSON; {ADVICE}")
        commas = chain((b"",), repeat(b","))
        parts = ((name, comma + written, item) for comma, (_, name, written, item) in zip(commas, pairs))
        self._enter(value, b"{", parts, b"}")

    def _enter(self, value: Any, begin: bytes, parts: Iterator[tuple[int | str, bytes, Any]], end: bytes) -> None:
        if id(value) in self._inside:
            self._refuse(f"it holds itself; {ADVICE}")
        self._inside.add(id(value))
        self._open.append(_Open(value, parts, end))
        self._steps.append("")
        self._put(begin)

    def _close(self) -> None:
        closed = self._open.pop()
        self._steps.pop()
        self._inside.discard(id(closed.value))
        self._put(closed.end)

    def _key(self, key: Any) -> str:
        """The text that a key is in JSON."""
        key, kind = self._without_wrapping(key)
        if issubclass(kind, str):
            return _joined(str.__str__(key))
        if key is None or kind is bool:
            return json.dumps(key)
        if issubclass(kind, float):
            return _digits(key)
        if issubclass(kind, int) and int.bit_length(key) <= MOST_BITS:
            return int.__repr__(key)
        if kind is UUID:
            return str(key)
        self._refuse(f"{_a(kind)} as a key is no JSON; {ADVICE}")

    def _put_text(self, text: str) -> None:
        if len(text) > self._bytes:
            self._too_long()
        self._put(_text(text))

    def _put_integer(self, value: int) -> None:
        bits = value.bit_length()
        if bits // 4 > self._bytes:
            self._too_long()
        self._put((int.__repr__(value) if bits <= MOST_BITS else hex(value)).encode())

    def _put(self, text: bytes) -> None:
        self._spend(len(text))
        self._pieces.append(text)

    def _spend(self, length: int) -> None:
        self._bytes -= length
        if self._bytes < 0:
            self._too_long()

    def _count(self, values: int) -> None:
        self._values -= values
        if self._values < 0:
            self._too_many()

    def _too_long(self) -> NoReturn:
        self._refuse(f"there are more than {LIMITS.bytes:,} bytes up to here; sign a shorter one")

    def _too_many(self) -> NoReturn:
        self._refuse(f"there are more than {LIMITS.values:,} values up to here; sign a shorter one")

    def _refuse(self, reason: str) -> NoReturn:
        raise ReceiptError(self._part, self._path(), reason) from None

    def _path(self) -> str:
        path = self._part
        for step in self._steps:
            named = type(step) is str and step.isidentifier()
            path += f".{step}" if named else f"[{step!r}]"
            if len(path) > LONGEST_PATH:
                return f"{path[:LONGEST_PATH]}…"
        return path


def _text(text: str) -> bytes:
    """A text in quotation marks, with nothing escaped that need not be."""
    try:
        return orjson.dumps(text)
    except TypeError:  # half a surrogate pair
        return json.dumps(_joined(text), ensure_ascii=False).encode("utf-8", "surrogatepass")


def _digits(number: float) -> str:
    """The shortest digits that read back as the float."""
    text = float.__repr__(number)
    return _NOT_FINITE.get(text, text)


def _joined(text: str) -> str:
    """The text with the two halves of a surrogate pair as the character that they are, in JSON as in UTF-16."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


def _held_by(model: BaseModel, most: int) -> int:
    """How many values a model holds, counted until there are too many: its dump would write all of them at once."""
    pending: list[Any] = [model]
    for item in pending:
        kind = type(item)
        held: Iterable[Any] = ()
        if issubclass(kind, BaseModel):
            held = [*vars(item).values(), item.__pydantic_extra__]
        elif dataclasses.is_dataclass(kind):
            held = [getattr(item, field.name) for field in dataclasses.fields(kind)]
        elif issubclass(kind, Mapping):
            held = item.values()
        elif issubclass(kind, (list, tuple, Set, deque)):
            held = item
        pending += islice(held, most)
        if len(pending) > most:
            break
    return len(pending)


def _a(kind: type) -> str:
    """A type's name with its article."""
    name = _name(kind)
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _name(kind: type) -> str:
    """A type's name, also of one whose own code hides it."""
    return str(type.__dict__["__name__"].__get__(kind))
