"""Any Python object as compact JSON, and the keys made from it.

Plain JSON values go straight through ``orjson``. Whatever it refuses (sets, bytes, models, cycles, integers over
64 bits, lone surrogates, deep nesting) is first made plain here, so that a defined value stands for every object.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Mapping, Set
from datetime import date, datetime, time
from enum import Enum
from hashlib import blake2b
from typing import Any, Final
from zlib import crc32

import orjson

__all__ = ["args_key", "as_name", "digest", "plain", "serialise", "weighs_too_much"]

MAX_DEPTH: Final = 64
MAX_NODES: Final = 200_000
MAX_SCANNED: Final = 1 << 20
MAX_WEIGHT: Final = 1 << 28
CHARACTERS_A_NODE: Final = 1_000  # of the budget of nodes
MOST_DIGITS: Final = 1 << 12  # bits: decimal digits of longer integers take quadratic time
FULLY_HASHED: Final = 4_096
MAX_NAME_LENGTH: Final = 1_000

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # of an object in memory: another one at every call

_DEFAULT_TEXTS = {object.__str__, object.__repr__}

# Passing subclasses and dataclasses through makes orjson refuse them, so that what is walked is what was serialised.
_OPTIONS: Final = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
_SORTED: Final = _OPTIONS | orjson.OPT_SORT_KEYS


def serialise(value: Any) -> tuple[bytes, Any]:
    """Compact JSON of any object, and the value that it is the JSON of.

    What ``orjson`` writes as it stands is returned as it stands, also where JSON has no such thing: tuples, UUIDs,
    enums, and the non-finite floats that are written as null.

    >>> serialise({"b": 1, "a": {3}})
    (b'{"b":1,"a":[3]}', {'b': 1, 'a': [3]})
    """
    try:
        return orjson.dumps(value, option=_OPTIONS), value
    except (TypeError, ValueError, RecursionError):
        made_plain = plain(value)
        return orjson.dumps(made_plain), made_plain


def args_key(args: Any) -> bytes:
    """16 bytes that are equal for equal arguments, whatever the order of their keys.

    >>> args_key({"a": 1, "b": 2}) == args_key({"b": 2, "a": 1})
    True
    >>> args_key({"a": None}) == args_key({"a": float("nan")})
    False
    """
    try:
        # What holds the same object many times over would be written without end.
        text = orjson.dumps(plain(args) if weighs_too_much(args) else args, option=_SORTED)
        if b"null" in text:  # orjson writes NaN as null too
            text = orjson.dumps(plain(args), option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError, RecursionError):
        text = orjson.dumps(plain(args), option=orjson.OPT_SORT_KEYS)
    return blake2b(text, digest_size=16).digest()


def digest(text: bytes) -> int:
    """64 bits that tell results apart.

    Of more than 4 KiB the head, the tail and the length go into BLAKE2b together with the CRC-32 of the whole, which
    costs a sixth of it.
    """
    if len(text) > FULLY_HASHED:
        half = FULLY_HASHED // 2
        text = b"%d:%d:%b%b" % (len(text), crc32(text), text[:half], text[-half:])
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")


def weighs_too_much(value: Any) -> bool:
    """The JSON of a value would be far longer than the value is in memory: lists that hold the same object many times.

    Each container is looked at once, however often it is met, so the time is that of the value in memory.
    """
    return _weight(value, {}, 0) > MAX_WEIGHT


def _weight(value: Any, known: dict[int, int], depth: int) -> int:
    """Characters of the JSON, roughly."""
    kind = type(value)
    if kind is str:
        return len(value)
    if (kind is not dict and kind is not list and kind is not tuple) or depth >= MAX_DEPTH:
        return 4
    weight = known.get(id(value), -1)
    if weight < 0:
        known[id(value)] = 0  # of a cycle
        items = value.values() if kind is dict else value
        weight = known[id(value)] = len(value) + sum([_weight(item, known, depth + 1) for item in items])
    return weight


def plain(value: Any) -> Any:
    """The JSON value that stands for any object. Never raises; cost and depth are bounded.

    Non-finite numbers become their names, integers over 64 bits their digits' string, sets lists, bytes text where
    they are UTF-8, dataclasses and pydantic models dicts; a cycle or too deep a value becomes a marker.

    >>> plain({1: float("inf"), "big": 2**70, "raw": b"ok"})
    {'1': 'Infinity', 'big': '1180591620717411303424', 'raw': 'ok'}
    """
    return _Plainer().convert(value, 0)


def as_name(value: Any) -> str:
    """A name, of a tool, a session or a call, as text; what is no text, as the plain value that stands for it.

    Names are remembered, so beyond 1,000 characters a checksum stands for the rest.

    >>> as_name("search"), as_name(7)
    ('search', '7')
    """
    if type(value) is str and len(value) <= MAX_NAME_LENGTH:
        return value
    made = plain(value)
    text = made if type(made) is str else str(made)
    if len(text) <= MAX_NAME_LENGTH:
        return text
    return f"{text[: MAX_NAME_LENGTH - 17]} {digest(text.encode()):016x}"


class _Plainer:
    """One conversion: remembers the containers it is inside of (cycles) and how many nodes it has spent."""

    def __init__(self) -> None:
        self._inside: set[int] = set()
        self._nodes = 0

    def convert(self, value: Any, depth: int) -> Any:
        self._nodes += 1
        if value is None or value is True or value is False:
            return value
        kind = type(value)
        if kind is str:
            self._nodes += len(value) // CHARACTERS_A_NODE
            return _encodable(value)
        if kind is int:
            self._nodes += value.bit_length() // (4 * CHARACTERS_A_NODE)
            return value if -(2**63) <= value < 2**64 else _digits(value)
        if kind is float:
            return value if math.isfinite(value) else _name_of(value)
        if depth >= MAX_DEPTH:
            return f"<deeper than {MAX_DEPTH}>"
        if self._nodes >= MAX_NODES:
            return f"<more than {MAX_NODES} nodes>"
        if id(value) in self._inside:
            return "<cycle>"
        self._inside.add(id(value))
        try:
            return self._convert_object(value, depth + 1)
        except Exception as error:
            # Properties, iterators and dump methods are foreign code: a result whose own code fails is still a result.
            return f"<{kind.__name__}: {type(error).__name__}>"
        finally:
            self._inside.discard(id(value))

    def _convert_object(self, value: Any, depth: int) -> Any:
        if isinstance(value, Mapping):
            pairs = [(self._key(key, depth), self.convert(item, depth)) for key, item in self._some(value.items())]
            made = dict(pairs)
            if len(made) < len(pairs):  # 1 and "1" are one key in JSON; which of them stands must not hang on order
                made = dict(sorted(pairs, key=lambda pair: (pair[0], _sorted_json(pair[1]))))
            return made
        if isinstance(value, Enum):
            return self.convert(value.value, depth)
        if isinstance(value, str):
            return _encodable(str.__str__(value))
        if isinstance(value, int):
            return self.convert(int(value), depth)
        if isinstance(value, float):
            return self.convert(float(value), depth)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return _bytes_as_text(bytes(value))
        if isinstance(value, (list, tuple)):
            return [self.convert(item, depth) for item in self._some(value)]
        if isinstance(value, Set):
            items = [self.convert(item, depth) for item in self._some(value)]
            return sorted(items, key=_sorted_json)
        if isinstance(value, (datetime, date, time)):
            return self.convert(value.isoformat(), depth)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: self.convert(getattr(value, field.name), depth) for field in dataclasses.fields(value)}
        dump: Callable[[], Any] | None = getattr(value, "model_dump", None)
        if callable(dump) and not isinstance(value, type):
            return self.convert(dump(), depth)
        if {type(value).__str__, type(value).__repr__} <= _DEFAULT_TEXTS:
            return f"<{type(value).__name__}>"  # the default repr carries an address: new at every call
        return _encodable(_ADDRESS.sub("", str.__str__(str(value))[:MAX_SCANNED]))

    def _key(self, key: Any, depth: int) -> str:
        if isinstance(key, str):
            return _encodable(str.__str__(key))
        return bytes.decode(key, "utf-8", "replace") if isinstance(key, bytes) else str(self.convert(key, depth))

    def _some(self, items: Iterable[Any]) -> Iterable[Any]:
        """The items, until the budget of nodes is spent."""
        for item in items:
            if self._nodes >= MAX_NODES:
                return
            yield item


def _sorted_json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _encodable(text: str) -> str:
    """Lone surrogates cannot be encoded; a question mark stands for each."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _digits(value: int) -> str:
    """Decimal digits, or hexadecimal ones where those would take long or where Python refuses to make so many."""
    return str(value) if value.bit_length() <= MOST_DIGITS else hex(value)


def _name_of(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _bytes_as_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"<{len(value)} bytes {blake2b(value, digest_size=8).hexdigest()}>"
