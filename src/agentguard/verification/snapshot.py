"""What was learned, as JSON and back: every number, every order, so that who goes on from it judges as before.

A record is an object with one key, ``"~"`` and its name, over its fields; what JSON has no form for (tuples, sets,
bytes, keys that are no text, infinities) is written likewise. Nothing is ever executed or looked up by a name that
stands in the text: a name that is not in the tables here is an error.

>>> from agentguard.verification.statistics import Rate
>>> rate = Rate()
>>> rate.push(True)
>>> encode({"errors": rate})
{'errors': {'~Rate': {'hits': 1.0, 'total': 1.0}}}
>>> decode(encode({"errors": rate}))["errors"].hits
1.0
"""

from __future__ import annotations

import math
import sys
from array import array
from base64 import b64decode, b64encode
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from agentguard.errors import DataError

from .baseline import ToolMemory
from .clocks import Clocks
from .drift import Drift, NumberChart, Stream, Stuck
from .keys import KeyHistory, Keys
from .layout import Layout, layout_of
from .pool import Owner, Pool
from .reference.baseline import Baseline, History
from .relations import FAMILIES, Constants, Counts, Deciders, Relations, Templates
from .running import RunningStats
from .sessions import SessionLog
from .shape import Shape
from .sides import Side
from .statistics import Categories, Level, Rate, Ring, Surprises
from .voice import Voice

__all__ = ["RECORDS", "decode", "encode", "restore"]

MARK: Final = "~"
MAX_DEPTH: Final = 60

#: The classes that learned state is made of, and what is written of each. A field that comes in here later is not in
#: what was written earlier: it stands as ``__init__`` leaves it then.
RECORDS: dict[type, tuple[str, ...]] = {
    Baseline: ("_histories", "_sessions", "calls", "fields", "latency", "size"),
    Categories: ("counts", "singles", "total"),
    Clocks: ("by_key", "overall", "standing"),
    Constants: ("places",),
    Counts: ("foreign_held", "foreign_tried", "held", "telling", "tried"),
    Deciders: ("counts", "places", "rows"),
    Drift: ("streams",),
    History: ("calls", "fields"),
    KeyHistory: ("changes", "clocks", "count", "marks", "means", "paths", "results", "size", "words"),
    Keys: ("by_key", "owners", "word_counts"),
    Level: ("count", "falls", "last", "least", "mean", "rises", "squares", "variance"),
    NumberChart: ("evidence", "lag", "last", "level", "power", "recent", "run", "slope", "spread"),
    Owner: ("results", "tool", "votes"),
    Pool: (
        "after_other", "after_shared", "broken", "calls", "changes", "errors", "foreign", "foreign_form",
        "foreign_sister", "foreign_tool", "forms", "owners", "results", "scores", "sessions", "surprises",
    ),
    Rate: ("hits", "total"),
    Ring: ("_arrived", "_oldest", "ordered", "size"),
    RunningStats: ("_kept", "_m2", "_next", "keep", "mean", "n"),
    Shape: (
        "_added_up", "_as_usual", "_names_left", "_novel", "_rigid", "_to_count", "_usual", "_usual_at",
        "_usual_within", "count", "facts", "formats", "keys",
    ),
    Stream: ("ewma", "lag", "last", "level", "power", "residuals"),
    Stuck: ("again", "evidence", "key", "rate", "result", "run"),
    Surprises: ("bins", "floor", "prior", "total"),
    Relations: ("calls", "constant_arguments", "constants", "deciders", "known", "recent", "templates"),
    **dict.fromkeys(FAMILIES, ("foreign_held", "foreign_tried", "held", "left", "right", "third", "tried")),
    SessionLog: ("calls",),
    Side: ("_marks", "_numbers", "_starts", "paths"),
    Templates: ("known",),
    ToolMemory: (
        "after", "broken", "charts", "clocks", "contracts", "count", "cut_objects", "cut_off", "drift", "echoed_rows",
        "empties", "endings", "error_forms", "errors", "foreign", "foreign_known", "foreign_sister", "foreign_tool",
        "forms", "keys", "kinds", "latency", "lengths", "levels", "quiet", "relations", "repeats", "reverts", "scores",
        "session_changes", "shapes", "stuck", "surprises", "suspects", "thinned", "unclosed", "voice", "within",
    ),
    Voice: ("characters", "count", "counts", "mean", "squares"),
}  # fmt: skip

_NAMES: Final = {MARK + cls.__name__: cls for cls in RECORDS}
_EMPTY: dict[type, Callable[[], Any]] = {
    KeyHistory: lambda: KeyHistory(frozenset()),
    Owner: lambda: Owner(0),
    Ring: lambda: Ring(1),
    Side: lambda: Side({}),
    **{family: partial(family, "", "") for family in FAMILIES},
    Surprises: lambda: Surprises(0.0),
}
_TYPES: Final = {cls.__name__: cls for cls in (str, float, bool, type(None), dict, list)}
_CONTAINERS: Final = {
    "~tuple": tuple, "~set": set, "~frozenset": frozenset, "~Counter": Counter, "~OrderedDict": OrderedDict,
}  # fmt: skip


def encode(value: Any) -> Any:
    """The value as JSON's own objects, arrays, texts and numbers.

    Raises:
        TypeError: for a value of a class that learned state is not made of.
    """
    cls = type(value)
    if cls is float:
        return value if math.isfinite(value) else {"~float": repr(value)}
    if cls is int or cls is str or cls is bool or value is None:
        return value
    fields = RECORDS.get(cls)
    if fields is not None:
        return {MARK + cls.__name__: {name: encode(getattr(value, name)) for name in fields}}
    if cls is dict:
        return _encode_dict(value)
    if cls is list:
        return [encode(item) for item in value]
    if cls is tuple:
        return {"~tuple": [encode(item) for item in value]}
    if cls is frozenset or cls is set:  # in an order that is the same in every process
        return {MARK + cls.__name__: sorted([encode(item) for item in value], key=repr)}
    if cls is Counter or cls is OrderedDict:
        return {MARK + cls.__name__: [[encode(key), encode(item)] for key, item in value.items()]}
    if cls is bytes:
        return {"~bytes": b64encode(value).decode()}
    if cls is array:
        return {"~array": [value.typecode, b64encode(_little(value)).decode()]}
    if cls is deque:
        return {"~deque": [value.maxlen, [encode(item) for item in value]]}
    if cls is Layout:
        return {"~Layout": [encode(part) for part in value.described]}
    if isinstance(value, type) and value.__name__ in _TYPES:
        return {"~type": value.__name__}
    raise TypeError(f"learned state holds a {cls.__name__}, which has no written form")


def _encode_dict(value: dict[Any, Any]) -> dict[str, Any]:
    for key in value:
        if type(key) is not str or key[:1] == MARK:
            break
    else:
        return {key: encode(item) for key, item in value.items()}
    packed = _packed(value)
    if packed is not None:
        return {"~digests": packed}
    return {"~dict": [[encode(key), encode(item)] for key, item in value.items()]}


def _packed(value: dict[Any, Any]) -> list[str] | None:
    """The keys and values of a dict from digests to digests: there are tens of thousands of them."""
    try:
        parts = array("Q", list(value)), array("Q", list(value.values()))
    except (TypeError, OverflowError):
        return None
    return [b64encode(_little(part)).decode() for part in parts]


def decode(value: Any) -> Any:
    """What was encoded, anew.

    Raises:
        DataError: for anything that ``encode`` does not write.
    """
    try:
        return _Decoder().value(value, 0)
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"learned state is damaged: {type(error).__name__}") from None


def restore(record: Any, written: Any, check: Callable[[Any], None] | None = None) -> None:
    """Put what was written of a record into one of the same class, in place.

    Args:
        record: is as new, or what it knows is replaced.
        written: what ``encode`` gave.
        check: raises a ``DataError`` where the record cannot be gone on with (see ``record_checks``).

    Raises:
        DataError: where it is not that of this class, or damaged; the record is as it was then.
    """
    cls = type(record)
    found = decode(written) if cls not in (ToolMemory, Pool) else _fields_of(cls, written)
    if isinstance(found, cls):
        found = {name: getattr(found, name) for name in RECORDS[cls]}
    elif cls not in (ToolMemory, Pool):
        raise DataError(f"learned state of a {cls.__name__} was expected, and is that of a {type(found).__name__}")
    before = {name: getattr(record, name) for name in found}
    try:
        for name, item in found.items():
            setattr(record, name, item)
        if check is not None:
            check(record)
    except (DataError, TypeError) as error:  # compiled classes hold their fields to their types
        for name, item in before.items():
            setattr(record, name, item)
        if isinstance(error, DataError):
            raise
        raise DataError(f"learned state is damaged: {error}") from None


def _fields_of(cls: type, written: Any) -> dict[str, Any]:
    body = written.get(MARK + cls.__name__) if isinstance(written, dict) else None
    if not isinstance(body, dict):
        raise DataError(f"learned state of a {cls.__name__} was expected, and there is none")
    decoder = _Decoder()
    try:
        return {name: decoder.value(body[name], 1) for name in RECORDS[cls] if name in body}
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"learned state is damaged: {type(error).__name__}") from None


class _Decoder:
    """One reading. Equal paths and numbers that stand in it many times are kept once."""

    def __init__(self) -> None:
        self._seen: dict[Any, Any] = {}

    def value(self, written: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise DataError("learned state is nested too deeply")
        cls = type(written)
        if cls is dict:
            if len(written) == 1:
                name, body = next(iter(written.items()))
                if name[:1] == MARK:
                    return self._marked(name, body, depth + 1)
            return {self._one(key): self.value(item, depth + 1) for key, item in written.items()}
        if cls is list:
            return [self.value(item, depth + 1) for item in written]
        if cls is str or (cls is int and written > 256):
            return self._one(written)
        return written

    def _one(self, value: Any) -> Any:
        return self._seen.setdefault(value, value)

    def _marked(self, name: str, body: Any, depth: int) -> Any:
        cls: Any = _NAMES.get(name)
        if cls is not None:
            made = _EMPTY.get(cls, cls)()
            for field in RECORDS[cls]:
                if field in body:
                    setattr(made, field, self.value(body[field], depth))
            return made
        if name in ("~tuple", "~set", "~frozenset"):
            made = _CONTAINERS[name]([self.value(item, depth) for item in body])
            paths = name == "~tuple" and all(type(item) is str for item in made)
            return self._one(made) if paths else made
        if name in ("~dict", "~Counter", "~OrderedDict"):
            pairs = {self.value(key, depth): self.value(item, depth) for key, item in body}
            return _CONTAINERS.get(name, dict)(pairs)
        if name == "~digests":
            keys, values = (_array("Q", part) for part in body)
            return {key: self._one(item) for key, item in zip(keys, values)}
        if name == "~float":
            return float(body)
        if name == "~bytes":
            return b64decode(body, validate=True)
        if name == "~array":
            return _array(*body)
        if name == "~deque":
            return deque([self.value(item, depth) for item in body[1]], maxlen=body[0])
        if name == "~Layout":
            forms, typed = (self.value(part, depth) for part in body)
            return layout_of(forms, typed)
        if name == "~type":
            return _TYPES[body]
        raise DataError(f"learned state holds a {name[1:40]!r}, which this version does not know")


def _little(values: array[Any]) -> bytes:
    """The array's bytes, the lowest first on every machine."""
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values.tobytes()


def _array(typecode: str, text: str) -> array[Any]:
    if typecode not in ("H", "I", "Q", "d", "f"):
        raise DataError(f"learned state holds an array of {typecode!r}, which this version does not know")
    made = array(typecode)
    made.frombytes(b64decode(text, validate=True))
    if sys.byteorder == "big":
        made.byteswap()
    return made
