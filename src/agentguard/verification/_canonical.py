"""Any Python object as compact JSON, and the keys made from it.

Plain JSON values go straight through ``orjson``. Whatever it refuses (sets, bytes, models, cycles, integers over
64 bits, lone surrogates, deep nesting) is first made plain here, so that a defined value stands for every object.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Set
from datetime import date, datetime, time
from enum import Enum
from hashlib import blake2b
from typing import Any, Final, NamedTuple
from zlib import crc32

import orjson

from agentguard._foreign import raised_by
from agentguard._limits import LIMITS

MAX_DEPTH: Final = LIMITS.depth
MAX_NODES: Final = LIMITS.values
MAX_SCANNED: Final = 1 << 20  # characters of a text of a foreign object, or of one that is searched for its form
CHARACTERS_A_NODE: Final = 1_000  # of the budget of nodes
MOST_DIGITS: Final = 1 << 12  # bits: decimal digits of longer integers take quadratic time
FULLY_HASHED: Final = 4_096  # bytes
MAX_NAME_LENGTH: Final = 1_000  # characters

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # of an object in memory: another one at every call

_DEFAULT_TEXTS = {object.__str__, object.__repr__}

# Passing subclasses and dataclasses through makes orjson refuse them, so that what is walked is what was serialised.
_OPTIONS: Final = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
_SORTED: Final = _OPTIONS | orjson.OPT_SORT_KEYS


class Plain(NamedTuple):
    """The JSON value that stands for an object; ``cut`` says what is left out (too deep, too much), "" for nothing."""

    value: Any
    cut: str


class Serialised(NamedTuple):
    """Compact JSON of an object, the value that it is the JSON of, and ``cut`` as in ``Plain``."""

    text: bytes
    value: Any
    cut: str


def serialise(value: Any) -> tuple[bytes, Any]:
    """Compact JSON of any object, and the value that it is the JSON of.

    What ``orjson`` writes as it stands is returned as it stands, also where JSON has no such thing: tuples, UUIDs,
    enums, and the non-finite floats that are written as null.

    >>> serialise({"b": 1, "a": {3}})
    (b'{"b":1,"a":[3]}', {'b': 1, 'a': [3]})
    """
    text, made, _ = serialised(value)
    return text, made


def serialised(value: Any) -> Serialised:
    """``serialise``, and what was left out of it."""
    try:
        return Serialised(orjson.dumps(value, option=_OPTIONS), value, "")
    except (TypeError, ValueError, RecursionError):
        made, cut = made_plain(value)
        return Serialised(orjson.dumps(made), made, cut)


def args_key(args: Any) -> bytes:
    """16 bytes that are equal for equal arguments, whatever the order of their keys.

    >>> args_key({"a": 1, "b": 2}) == args_key({"b": 2, "a": 1})
    True
    >>> args_key({"a": None}) == args_key({"a": float("nan")})
    False
    """
    try:
        # What holds the same object many times over would be written without end.
        text = orjson.dumps(plain(args) if weighs_too_much(args, MAX_NODES) else args, option=_SORTED)
        if text.find(b"null") >= 0:  # orjson writes NaN as null too; ``in`` would first read the bytes as a number
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


def plain(value: Any) -> Any:
    """The JSON value that stands for any object. Never raises; cost and depth are bounded.

    Non-finite numbers become their names, integers over 64 bits their digits' string, sets lists, bytes text where
    they are UTF-8, dataclasses and pydantic models dicts; a cycle or too deep a value becomes a marker.

    >>> plain({1: float("inf"), "big": 2**70, "raw": b"ok"})
    {'1': 'Infinity', 'big': '1180591620717411303424', 'raw': 'ok'}
    """
    return _Plainer(MAX_NODES).convert(value, 0)


def made_plain(value: Any, most: int = MAX_NODES) -> Plain:
    """``plain`` with what was left out, taking ``most`` values: a container counts as one, and so do 1,000 characters.

    >>> made_plain({"a": [1, 2]}, 3)
    Plain(value={'a': [1]}, cut='more than 3 values')
    """
    plainer = _Plainer(most)
    made = plainer.convert(value, 0)
    return Plain(made, plainer.cut)


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
    """One conversion: remembers the containers it is inside of (cycles), how many nodes it has spent, what it cut."""

    def __init__(self, most: int) -> None:
        self._inside: set[int] = set()
        self._nodes = 0
        self._most = most
        self.cut = ""

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
            if -(2**63) <= value < 2**64:
                return value
            # Decimal digits take long for large integers, and Python refuses to make many of them.
            return str(value) if value.bit_length() <= MOST_DIGITS else hex(value)
        if kind is float:
            if math.isfinite(value):
                return value
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        if depth >= MAX_DEPTH:
            self.cut = f"nested more than {MAX_DEPTH} levels deep"
            return f"<deeper than {MAX_DEPTH}>"
        if self._nodes >= self._most:
            self._spent()
            return f"<more than {self._most} nodes>"
        if id(value) in self._inside:
            return "<cycle>"
        self._inside.add(id(value))
        try:
            return self._convert_object(value, depth + 1)
        except BaseException as error:
            # Properties, iterators and dump methods are foreign code: a result whose own code fails is still a result,
            # also where that code would end the process.
            if not raised_by(value, error):
                raise
            return f"<{kind.__name__}: {type(error).__name__}>"
        finally:
            self._inside.discard(id(value))

    def _spent(self) -> None:
        self.cut = f"more than {self._most:,} values"

    def _convert_object(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is dict or kind is set:
            value = value.copy()  # at one blow: another thread may be changing it
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
        if isinstance(value, (list, tuple, deque)):
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
        text = str.__str__(str(value))
        if len(text) > MAX_SCANNED:
            text, self.cut = text[:MAX_SCANNED], f"a text of more than {MAX_SCANNED:,} characters"
        return _encodable(_ADDRESS.sub("", text))

    def _key(self, key: Any, depth: int) -> str:
        if type(key) is str:
            return _encodable(key)
        try:
            if isinstance(key, bytes):
                return bytes.decode(key, "utf-8", "replace")
        except BaseException as error:  # of a foreign key's own code, which ``isinstance`` may ask
            if not raised_by(key, error):
                raise
        return str(self.convert(key, depth))

    def _some(self, items: Iterable[Any]) -> Iterable[Any]:
        """The items, until the budget of nodes is spent."""
        for item in items:
            if self._nodes >= self._most:
                self._spent()
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


def _bytes_as_text(value: bytes) -> str:
    """UTF-8 as text; a checksum for other bytes."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"<{len(value)} bytes {blake2b(value, digest_size=8).hexdigest()}>"


# --- How long the JSON of a value would be, known without writing it ---

MAX_WEIGHT: Final = 1 << 28  # characters
MOST_WRITTEN: Final = 254  # levels: orjson writes no more


def weighs_too_much(value: Any, most: int = MAX_WEIGHT) -> bool:
    """Whether the JSON of a value is far longer than the value in memory: lists that hold the same object many times.

    Each container is looked at once, however often it is met, and at most ``most`` of them; of more it is not known,
    and they weigh too much.
    """
    scales = _Scales(most)
    return scales.weigh(value, 0) > MAX_WEIGHT or scales.left < 0


class _Scales:
    """One weighing: the weight of each container met, and how many more may be met."""

    def __init__(self, most: int) -> None:
        self.left = most
        self._known: dict[int, int] = {}

    def weigh(self, value: Any, depth: int) -> int:
        """Characters of the JSON, roughly."""
        kind = type(value)
        if kind is str:
            return len(value)
        if (kind is not dict and kind is not list and kind is not tuple) or depth >= MOST_WRITTEN:
            return 4
        weight = self._known.get(id(value), -1)
        if weight >= 0 or self.left < 0:
            return weight
        self.left -= 1
        self._known[id(value)] = 0  # of a cycle
        weight = len(value)
        if kind is dict:
            for key in value:
                weight += len(key) if type(key) is str else 4
        for item in value.values() if kind is dict else value:
            inner = type(item)
            if inner is str:
                weight += len(item)
            elif inner is dict or inner is list or inner is tuple:
                weight += self.weigh(item, depth + 1)
            else:
                weight += 4
        self._known[id(value)] = weight
        return weight
