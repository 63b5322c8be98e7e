"""Learned state as JSON and back: every number, every order, so that who goes on from it judges as before.

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

import json
import logging
import math
import sys
import zlib
from array import array
from base64 import b64decode, b64encode
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from agentguard.errors import DataError
from agentguard.verification._baseline import ToolMemory
from agentguard.verification._causes import CLUES
from agentguard.verification._census import MAX_COUNT
from agentguard.verification._changes import STATES, Change
from agentguard.verification._incidents import (
    MAX_ANSWERS,
    MAX_INCIDENTS,
    MAX_SAME,
    MAX_TRAITS,
    Incident,
    Incidents,
    _Same,
)
from agentguard.verification._keys import KEY_LENGTH, MARKS, MAX_OWNERS, MAX_RESULTS, KeyHistory, Keys
from agentguard.verification._pool import MAX_CALLS, Owner, Pool, SessionLog
from agentguard.verification._reference import Baseline, History
from agentguard.verification._relations import (
    FAMILIES,
    MOST_PLACES,
    Constants,
    Counts,
    Deciders,
    Relation,
    Relations,
    Templates,
    is_whole,
)
from agentguard.verification._shape import Shape
from agentguard.verification._sides import Side
from agentguard.verification._voice import SLOTS, Voice
from agentguard.verification._walk import Layout, layout_of
from agentguard.verification.drift import MOST, MOST_INERTIA, Clocks, Drift, NumberChart, Stream, Stuck
from agentguard.verification.statistics import Categories, Level, Rate, Ring, RunningStats, Surprises
from agentguard.verification.types import VERDICTS, Trait

_log = logging.getLogger("agentguard")
MARK: Final = "~"
MAX_DEPTH: Final = 60  # levels of what is read; learned state has some twenty

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
    Keys: ("by_key", "heard", "owners", "word_counts"),
    Level: ("count", "falls", "last", "least", "mean", "rises", "squares", "variance"),
    NumberChart: ("evidence", "lag", "last", "level", "power", "slope", "spread"),
    Owner: ("results", "tool", "votes"),
    Pool: (
        "after_other", "after_shared", "broken", "calls", "changes", "errors", "foreign", "foreign_form",
        "foreign_sister", "foreign_tool", "forms", "met", "owners", "results", "scores", "sessions", "surprises",
    ),
    Rate: ("hits", "total"),
    Ring: ("_arrived", "_oldest", "ordered", "size"),
    RunningStats: ("_kept", "_m2", "_next", "keep", "mean", "n"),
    Shape: (
        "_added_up", "_as_usual", "_names_left", "_novel", "_rigid", "_to_count", "_usual", "_usual_at", "count",
        "facts", "formats", "keys",
    ),
    Stream: ("ewma", "lag", "last", "level", "power", "residuals"),
    Stuck: ("again", "evidence", "key", "rate", "result", "run", "runs"),
    Surprises: ("bins", "floor", "prior", "total"),
    Relations: ("calls", "constant_arguments", "constants", "deciders", "known", "looks", "recent", "templates"),
    **dict.fromkeys(FAMILIES, ("foreign_held", "foreign_tried", "held", "left", "right", "third", "tried")),
    SessionLog: ("calls",),
    Side: ("_marks", "_numbers", "_starts", "paths"),
    Templates: ("known",),
    ToolMemory: (
        "across", "after", "broken", "canned", "charts", "clocks", "contracts", "count", "cut_objects", "cut_off",
        "drift", "echoed_rows", "empties", "endings", "error_forms", "errors", "foreign", "foreign_known",
        "foreign_sister", "foreign_tool", "forms", "keys", "kinds", "latency", "lengths", "levels", "measured",
        "quiet", "relations", "repeats", "reverts", "scores", "session_changes", "shapes", "stuck", "surprises",
        "suspects", "thinned", "unclosed", "voice", "within",
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
        return {"~array": [value.typecode, _base64(value)]}
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
    return [_base64(part) for part in parts]


def _base64(numbers: array[Any]) -> str:
    """The bytes of an array in Base64, the lowest byte of each number first on every machine."""
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return b64encode(numbers).decode()


def decode(value: Any) -> Any:
    """Decode what ``encode`` gave.

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

    ``check`` raises a ``DataError`` where the record cannot be gone on with (see ``check_record``).

    Raises:
        DataError: where it is not that of this class, or damaged; the record is as it was then.
    """
    cls = type(record)
    if cls in (ToolMemory, Pool):  # which are not made anew: one has a pool, the other a lock
        body = written.get(MARK + cls.__name__) if isinstance(written, dict) else None
        if not isinstance(body, dict):
            raise DataError(f"learned state of a {cls.__name__} was expected, and there is none")
        fields = decode({name: body[name] for name in RECORDS[cls] if name in body})
    else:
        made = decode(written)
        if not isinstance(made, cls):
            raise DataError(f"learned state of a {cls.__name__} was expected, and is that of a {type(made).__name__}")
        fields = {name: getattr(made, name) for name in RECORDS[cls]}
    before = {name: getattr(record, name) for name in fields}
    _set(record, fields)
    try:
        if check is not None:
            check(record)
    except DataError:
        _set(record, before)
        raise


def _set(record: Any, fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        setattr(record, name, value)


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
            return {key: self._one(item) for key, item in zip(keys, values, strict=True)}
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


def _array(typecode: str, text: str) -> array[Any]:
    if typecode not in ("H", "I", "Q", "d", "f"):
        raise DataError(f"learned state holds an array of {typecode!r}, which this version does not know")
    made = array(typecode)
    made.frombytes(b64decode(text, validate=True))
    if sys.byteorder == "big":
        made.byteswap()
    return made


# --- Whether a record that was read can be gone on with ---
#
# A file of state may come from anywhere and a store may be damaged. A total below zero, a share above 1, a variance
# below zero, a ring out of its order or a number that is none would be reckoned with from then on, and the next genuine
# call be judged by it. What is held here is what ``__init__`` and the methods of each record keep by themselves,
# whatever calls come.

MAX_DIGEST: Final = 1 << 64  # digests have 64 bits
MAX_ITEMS: Final = 1 << 17  # of one container; the largest that is kept has 20,000
MAX_RING: Final = 1 << 12  # values of one ring; the largest that is made has 256
ROUNDING: Final = 1.0 + 1e-6  # of sums of weights

_GIVEN_UP: Final = type(None)
_FACT: Final = (str, tuple)

#: What stands in the dicts of a record: the types of the keys, and those of the values.
_ITEMS: Final[Mapping[tuple[type, str], tuple[frozenset[type], frozenset[type]]]] = {
    place: (frozenset(keys), frozenset(values))
    for place, (keys, values) in {
        (Baseline, "_histories"): ((bytes,), (History,)),
        (Baseline, "_sessions"): ((bytes,), (deque,)),
        (Baseline, "fields"): ((str,), (RunningStats,)),
        (Categories, "counts"): ((str, int, tuple), (int,)),
        (Clocks, "by_key"): ((str,), (Rate, _GIVEN_UP)),
        (Clocks, "overall"): ((str,), (Rate, _GIVEN_UP)),
        (Clocks, "standing"): ((str,), (float, int, str)),
        (Constants, "places"): ((str,), (dict, _GIVEN_UP)),
        (Deciders, "counts"): ((str,), (Counts,)),
        (Deciders, "places"): ((str,), (int,)),
        (Deciders, "rows"): ((int,), (bytes,)),
        (Drift, "streams"): ((str,), (Stream,)),
        (History, "fields"): ((str,), (RunningStats,)),
        (KeyHistory, "clocks"): ((str,), (float, int, str)),
        (Keys, "by_key"): ((bytes,), (KeyHistory,)),
        (Keys, "heard"): ((int,), (int,)),
        (Keys, "owners"): ((int,), (bytes,)),
        (Keys, "word_counts"): ((int,), (int,)),
        (Pool, "forms"): ((int,), (Owner,)),
        (Pool, "owners"): ((int,), (int,)),
        (Pool, "sessions"): ((int,), (int,)),
        (Pool, "surprises"): ((str,), (Surprises,)),
        (Relations, "known"): ((tuple,), FAMILIES),
        (Relations, "looks"): ((bytes,), (tuple,)),
        (SessionLog, "calls"): ((int,), (list,)),
        (Shape, "_to_count"): ((Layout,), (int,)),
        (Shape, "facts"): (_FACT, (int,)),
        (Shape, "formats"): ((str,), (Categories, _GIVEN_UP)),
        (Shape, "keys"): ((str,), (Categories,)),
        (Side, "_numbers"): ((str,), (tuple,)),
        (Side, "_starts"): ((str,), (int,)),
        (Side, "_marks"): ((str,), (tuple,)),
        (Stuck, "runs"): ((int,), (Rate,)),
        (ToolMemory, "after"): ((int,), (Rate,)),
        (ToolMemory, "charts"): ((str,), (NumberChart,)),
        (ToolMemory, "contracts"): ((str,), (Rate,)),
        (ToolMemory, "echoed_rows"): ((str,), (Rate,)),
        (ToolMemory, "endings"): ((str,), (Categories,)),
        (ToolMemory, "lengths"): ((str,), (Ring,)),
        (ToolMemory, "levels"): ((str,), (Level,)),
        (ToolMemory, "measured"): ((str,), (Ring,)),
        (ToolMemory, "shapes"): ((str,), (Shape,)),
        (ToolMemory, "surprises"): ((str,), (Surprises,)),
        (ToolMemory, "unclosed"): ((str,), (Rate,)),
        (ToolMemory, "within"): ((str,), (Level,)),
    }.items()
}

Held = Iterator[tuple[bool, str]]
"""Conditions of a record, each with the message of one that is broken."""


def check_record(record: Any) -> None:
    """Check that every field of a record, and of those in it, has a type, a size and a value that it can come to have.

    Raises:
        DataError: where that is not so, naming the place.
    """
    waiting: list[tuple[Any, str]] = [(record, "")]
    fresh: dict[type, Any] = {}
    while waiting:
        value, path = waiting.pop()
        try:
            waiting += _checked(value, path, fresh)
        except DataError as error:
            raise DataError(f"learned state is damaged: {path}{': ' * bool(path)}{error}") from None
        except Exception as error:  # of whatever stands there in the place of a record
            raise DataError(f"learned state is damaged: {type(error).__name__}") from None


def _checked(value: Any, path: str, fresh: dict[type, Any]) -> list[tuple[Any, str]]:
    """The values within a value that are to be checked themselves, where the value may stand."""
    cls = type(value)
    if cls in RECORDS:
        if cls not in fresh:
            fresh[cls] = _new(cls)
        usual, within = fresh[cls], []
        for name in RECORDS[cls]:
            field = getattr(value, name)
            _check_field(cls, name, field, getattr(usual, name))
            if type(field) not in _PLAIN:
                within.append((field, f"{path}.{name}" if path else name))
        for holds, message in _HELD[cls](value) if cls in _HELD else ():
            if not holds:
                raise DataError(f"a {cls.__name__} has {message}")
        return within
    if not isinstance(value, Mapping | list | tuple | deque):
        return []
    if len(value) > MAX_ITEMS:
        raise DataError(f"there are {len(value):,} things, more than {MAX_ITEMS:,}")
    items = value.values() if isinstance(value, Mapping) else value
    for item in items:
        if (type(item) is float and not math.isfinite(item)) or (type(item) is int and not _is_int(item)):
            raise DataError("a number is beyond all bounds")
    return [(item, path) for item in items if type(item) not in _PLAIN]


_SIMPLE: Final = frozenset({str, int, float, bytes, dict, tuple})
_PLAIN: Final = _SIMPLE - {dict, tuple} | {bool, type(None), array, frozenset, set, type}


def _check_field(cls: type, name: str, value: Any, usual: Any) -> None:
    kind = type(value)
    if not (kind is type(usual) and kind in _SIMPLE) and not _is_alike(value, usual):
        raise DataError(f"{name} of a {cls.__name__} is a {kind.__name__}")
    if kind is int:
        if not _is_int(value):
            raise DataError(f"{name} of a {cls.__name__} is beyond all bounds")
    elif kind is float or kind is array:
        # A level starts at -inf.
        if not (math.isfinite(value) or value == usual) if kind is float else not all(map(math.isfinite, value)):
            raise DataError(f"{name} of a {cls.__name__} is no finite number")
    elif (cls, name) in _ITEMS:
        keys, values = _ITEMS[cls, name]
        if not keys.issuperset(map(type, value)) or not values.issuperset(map(type, value.values())):
            raise DataError(f"{name} of a {cls.__name__} holds something else")


def _new(cls: type) -> Any:
    if cls is ToolMemory:
        return ToolMemory("", Pool())
    return Pool() if cls is Pool else decode({f"~{cls.__name__}": {}})


def _is_alike(value: Any, usual: Any) -> bool:
    if usual is None or value is None:
        return usual is None and (value is None or isinstance(value, array))
    if type(usual) is float:
        return type(value) in (int, float)
    return type(value) is type(usual) and getattr(value, "typecode", "") == getattr(usual, "typecode", "")


def _is_int(number: int) -> bool:
    return -MAX_COUNT <= number < MAX_DIGEST


def _are_digests(numbers: Iterable[Any]) -> bool:
    return all(type(number) is int and 0 <= number < MAX_DIGEST for number in numbers)


def _is_count(number: Any, least: int = 0) -> bool:
    return type(number) is int and least <= number <= MAX_COUNT


# --- What each record keeps by itself ---


def _rate(rate: Rate) -> Held:
    sound = 0.0 <= rate.hits <= rate.total * ROUNDING and rate.total <= MAX_COUNT
    yield sound, f"{rate.hits:g} hits of {rate.total:g}"


def _categories(categories: Categories) -> Held:
    known = sum(categories.counts.values())
    yield all(_is_count(count, 1) for count in categories.counts.values()), "a count that is none"
    total, singles = categories.total, categories.singles
    yield _is_count(total) and known <= total, f"counts that come to {known:,} of {total:,}"
    yield 0 <= singles <= total, f"{singles:,} that came once, of {total:,}"


def _surprises(surprises: Surprises) -> Held:
    bins = () if surprises.bins is None else surprises.bins
    weight = math.fsum(bins)
    yield len(bins) <= Surprises.BINS and all(count >= 0.0 for count in bins), "a histogram that is none"
    yield 0.0 <= surprises.total <= MAX_COUNT, f"a total of {surprises.total:g}"
    yield weight <= surprises.total * ROUNDING, f"a histogram of {weight:g} in a total of {surprises.total:g}"
    yield 0.0 <= surprises.floor <= 1.0 and 0.0 < surprises.prior <= MAX_COUNT, "a prior that is none"


def _ring(ring: Ring) -> Held:
    yield 1 <= ring.size <= MAX_RING, f"a size of {ring.size:,}"
    arrived = len(ring._arrived)
    yield arrived == len(ring.ordered) <= ring.size, f"{arrived:,} and {len(ring.ordered):,} values in {ring.size:,}"
    yield list(ring.ordered) == sorted(ring._arrived), "values that are out of their order"
    yield 0 <= ring._oldest < ring.size and (not ring._oldest or arrived == ring.size), "an oldest value that is none"


def _level(level: Level) -> Held:
    yield 0.0 <= level.count <= MAX_COUNT, f"a count of {level.count:g}"
    yield level.squares >= 0.0 and level.variance > 0.0, f"a variance of {level.variance:g}, of {level.squares:g}"
    yield _is_count(level.falls) and _is_count(level.rises, -1), "falls or rises below none"
    yield level.least <= 0.0, f"a least value below zero of {level.least:g}"


def _stream(stream: Stream) -> Held:
    yield stream.power > 0.0, f"a power of {stream.power:g}"


def _chart(chart: NumberChart) -> Held:
    yield 0.0 <= chart.evidence <= MOST, f"evidence of {chart.evidence:g}"
    yield chart.spread >= 0.0 and chart.power > 0.0, f"a spread of {chart.spread:g}, a power of {chart.power:g}"
    yield 0.0 <= chart.slope <= MOST_INERTIA, f"a slope of {chart.slope:g}"


def _stuck(stuck: Stuck) -> Held:
    yield 0 <= stuck.result < MAX_DIGEST, "a result that is none"
    yield _is_count(stuck.run), f"a run of {stuck.run:,}"
    yield 0.0 < stuck.rate <= 1.0, f"a rate of {stuck.rate:g}"
    yield 0.0 <= stuck.evidence <= MOST, f"evidence of {stuck.evidence:g}"


def _constants(constants: Constants) -> Held:
    counts = [count for known in constants.places.values() for count in (known or {}).values()]
    marks = [mark for known in constants.places.values() for mark in known or {}]
    yield all(type(count) is float and 0.0 < count <= MAX_COUNT for count in counts), "a count that is none"
    yield _are_digests(marks), "a value that is none"


def _counts(counts: Counts) -> Held:
    for held, tried in ((counts.held, counts.tried), (counts.foreign_held, counts.foreign_tried)):
        alike = len(held) == len(tried) == MOST_PLACES
        yield alike and all(map(_is_count, (*held, *tried))), "a count that is none"
        yield all(one <= of for one, of in zip(held, tried, strict=True)), "more that held than were tried"
    yield all(type(place) is int and 0 <= place < MOST_PLACES for place in counts.telling), "places that are none"


def _deciders(deciders: Deciders) -> Held:
    numbers = sorted(deciders.places.values())
    yield numbers == list(range(len(numbers))) and len(numbers) <= MOST_PLACES, "places that are none"
    yield all(map(is_whole, deciders.rows.values())), "rows that are cut off"


def _relation(relation: Relation) -> Held:
    for held, tried in ((relation.held, relation.tried), (relation.foreign_held, relation.foreign_tried)):
        yield _is_count(tried) and 0 <= held <= tried, f"{held:,} that held, of {tried:,}"


def _relations(relations: Relations) -> Held:
    yield _is_count(relations.calls), f"{relations.calls:,} calls"
    yield all(key == relation.key for key, relation in relations.known.items()), "a relation under another's name"
    recent = relations.recent
    calls = all(type(call) is tuple and [*map(type, call)] == [Side, Side, bytes] for call in recent)
    yield calls and recent.maxlen == Relations().recent.maxlen, "earlier calls that are none"
    looks = [[*map(type, look), *map(len, look)] for look in relations.looks.values()]
    yield all(look[:2] == [tuple, array] and look[2] == look[3] for look in looks), "looks that are none"


def _side(side: Side) -> Held:
    yield all(type(path) is str for path in side.paths), "paths that are none"
    marks = [mark for values in side._marks.values() for mark in values]
    yield _are_digests(marks), "a value that is none"
    numbers = [number for values in side._numbers.values() for number in values]
    yield all(type(number) is float and math.isfinite(number) for number in numbers), "a number that is none"
    yield all(type(start) is int and start >= 0 for start in side._starts.values()), "a beginning that is none"


def _session_log(log: SessionLog) -> Held:
    calls = [call for session in log.calls.values() for call in session]
    yield all(type(call) is tuple and [*map(type, call)] == [int, int, tuple] for call in calls), "calls that are none"
    yield all(_are_digests(call[:2]) for call in calls), "a tool or a result that is none"
    yield all(_are_digests(call[2]) for call in calls), "a value that is none"
    yield all(0 < len(session) <= MAX_CALLS for session in log.calls.values()), "more calls than are kept"


def _templates(templates: Templates) -> Held:
    marks = [mark for template in templates.known for mark in template] if isinstance(templates.known, list) else [""]
    yield _are_digests(marks), "a text that is none"


def _voice(voice: Voice) -> Held:
    yield len(voice.counts) in (0, SLOTS), f"{len(voice.counts):,} counts"
    yield bool(voice.counts) == (voice.characters > 0) and _is_count(voice.characters), "characters without counts"
    yield 0.0 <= voice.count <= MAX_COUNT and voice.squares >= 0.0, "a spread that is none"


def _key_history(history: KeyHistory) -> Held:
    bounded = _is_count(history.count) and len(history.results) <= min(history.count, MAX_RESULTS)
    yield bounded, "more results than calls"
    yield 0 <= history.changes <= max(history.count - 1, 0), f"{history.changes:,} changes in {history.count:,} calls"
    yield len(history.words) % 4 == 0 and len(history.marks) % 4 == 0, "checksums that are cut off"
    yield len(history.marks) <= 4 * len(MARKS) and _is_count(history.size), "more of a text than is kept"
    yield len(history.paths) == len(history.means), f"{len(history.means)} means of {len(history.paths)} numbers"
    yield all(type(path) is str for path in history.paths), "a path that is none"


def _keys(keys: Keys) -> Held:
    most = MAX_OWNERS * KEY_LENGTH
    whole = all(0 < len(owners) <= most and len(owners) % KEY_LENGTH == 0 for owners in keys.owners.values())
    yield whole, "keys that are cut off"
    yield all(_is_count(count, 1) for count in keys.word_counts.values()), "a count that is none"
    yield _are_digests(keys.heard) and _are_digests(keys.heard.values()), "an answer that is none"


def _owner(owner: Owner) -> Held:
    yield _is_count(owner.results) and 0 <= owner.votes <= owner.results, f"{owner.votes:,} votes of {owner.results:,}"
    yield 0 <= owner.tool < MAX_DIGEST, "a tool that is none"


def _pool(pool: Pool) -> Held:
    yield _is_count(pool.met), f"{pool.met:,} calls"
    yield _is_count(pool.results), f"{pool.results:,} results"


def _shape(shape: Shape) -> Held:
    added_up, waiting = shape._added_up, sum(shape._to_count.values())
    yield all(_is_count(count, 1) for count in shape._to_count.values()), "a count that is none"
    yield _is_count(added_up), f"{added_up:,} results"
    yield added_up + waiting == shape.count, f"{shape.count:,} results, {added_up:,} and {waiting:,} of them"
    most = max(shape.facts.values(), default=1)
    yield all(_is_count(count, 1) for count in shape.facts.values()), "a count that is none"
    yield not shape.facts or most <= added_up, f"a trait of {most:,} results, of {added_up:,}"
    yield 0 <= shape._usual_at <= shape.count, f"a stock of {shape._usual_at:,} results, of {shape.count:,}"
    yield all(map(_is_fact, shape.facts)) and all(map(_is_fact, shape._usual)), "a trait that is none"
    yield all(type(layout) is Layout for layout in shape._as_usual), "a layout that is none"
    yield all(type(path) is str for path in shape._rigid), "a path that is none"


def _is_fact(fact: Any) -> bool:
    """A word, or a path with a type."""
    if type(fact) is str:
        return True
    return type(fact) is tuple and len(fact) == 2 and type(fact[0]) is str and isinstance(fact[1], type)


def _tool_memory(memory: ToolMemory) -> Held:
    yield _is_count(memory.count), f"{memory.count:,} results"
    yield _is_count(memory.suspects) and memory.thinned >= 0.0, "suspects below none"
    kinds = memory.shapes.keys()
    alike = memory.lengths.keys() == memory.endings.keys() == memory.unclosed.keys() == kinds
    yield alike, "lengths or endings of other kinds of results than shapes"


def _running(stats: RunningStats) -> Held:
    kept = len(stats._kept)
    yield _is_count(stats.n), f"{stats.n:,} values"
    yield stats._m2 >= 0.0, f"a sum of squares of {stats._m2:g}"
    yield 0 <= stats.keep <= MAX_RING and kept <= min(stats.keep, stats.n), f"{kept:,} of {stats.n:,} values"
    yield 0 <= stats._next < max(stats.keep, 1) and (not stats._next or kept == stats.keep), "a next value that is none"


def _history(history: History) -> Held:
    yield _is_count(history.calls), f"{history.calls:,} calls"
    yield all(stats.n <= history.calls for stats in history.fields.values()), "more numbers than calls"


def _baseline(baseline: Baseline) -> Held:
    streams = (baseline.latency, baseline.size, *baseline.fields.values())
    yield _is_count(baseline.calls), f"{baseline.calls:,} calls"
    yield all(stats.n <= baseline.calls for stats in streams), "more numbers than calls"
    sessions = baseline._sessions.values()
    yield all(0 < (results.maxlen or 0) <= MAX_RING for results in sessions), "a session without a bound"
    numbers = [item for results in sessions for numbers in results for item in numbers.items()]
    yield all(type(path) is str and type(number) is float for path, number in numbers), "a number that is none"


_HELD: Final[Mapping[type, Callable[[Any], Held]]] = {
    **dict.fromkeys(FAMILIES, _relation),
    Baseline: _baseline, Categories: _categories, Constants: _constants, Counts: _counts, Deciders: _deciders,
    History: _history, KeyHistory: _key_history, Keys: _keys, Level: _level, NumberChart: _chart, Owner: _owner,
    Pool: _pool, Rate: _rate, Relations: _relations, Ring: _ring, RunningStats: _running, SessionLog: _session_log,
    Shape: _shape, Side: _side, Stream: _stream, Stuck: _stuck, Surprises: _surprises, Templates: _templates,
    ToolMemory: _tool_memory, Voice: _voice,
}  # fmt: skip


# --- Incidents, so that a process that is killed loses none of them ---
#
# What was seen of each, and the verdicts by which the same call is known again; by digests, as everywhere. The calls
# that are held back are left out: they have arguments and results, which no store is given.

#: What is kept of a change: all but the calls that are held back.
FIELDS: Final = (
    "id", "traits", "what", "verdict", "state", "reviewed", "why", "calls", "blocked", "judged", "clues", "runs", "run",
    "misses", "last", "told", "ends", "p_latest", "before", "answers",
)  # fmt: skip
MAX_BEFORE: Final = 1 << 24  # bytes of a memory that following can be undone to


def packed(memory: Any) -> bytes:
    """Pack a tool's memory as it is now, for ``undo``."""
    return zlib.compress(json.dumps(encode(memory), separators=(",", ":")).encode(), 1)


def undo(incident: Incident, memory: Any) -> None:
    """Go back, in place, to a tool's memory from before a change was taken for genuine; a failure is logged."""
    try:
        written = json.loads(zlib.decompressobj().decompress(incident.before, MAX_BEFORE))
        restore(memory, written, check_record)
    except (DataError, RecursionError, ValueError, zlib.error) as error:
        _log.error("what following change %s has taught stays learned: %s", incident.id, type(error).__name__)
    incident.before = b""


def encode_incidents(incidents: Incidents) -> Any:
    """Encode changes for ``restore_incidents``; None where there is nothing to keep.

    >>> encode_incidents(Incidents())
    """
    kept = [{name: getattr(incident, name) for name in FIELDS} for incident in incidents]
    if not kept and not incidents._same:
        return None
    for fields in kept:
        fields["traits"] = [list(trait) for trait in fields["traits"]]
    same = [
        (*key, None if one.incident is None else one.incident.id, one.verdict, one.session, one.number, one.asked)
        for key, one in incidents._same.items()
        if one.incident is None or incidents.find(one.incident.id) is one.incident
    ]
    return encode({"incidents": kept, "same": same, "number": incidents._number})


def restore_incidents(incidents: Incidents, data: Any) -> None:
    """Take in what ``encode_incidents`` gave; what is known here already stays as it is.

    Raises:
        DataError: where it is nothing of the kind; nothing is taken in then.
    """
    try:
        kept = decode(data)
        restored = [_incident(fields) for fields in kept["incidents"][-MAX_INCIDENTS:]]
        by_id = {incident.id: incident for incident in restored}
        same = [_same(*fields, by_id=by_id) for fields in kept["same"][-MAX_SAME:]]
        number = _number(kept.get("number", 0))
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"its incidents cannot be read: {type(error).__name__}") from None
    incidents._number = max(incidents._number, number)
    for incident in restored:
        if incidents.find(incident.id) is None:
            incidents.remember(incident)
    for key, one in same:
        if one.incident is None or incidents.find(one.incident.id) is one.incident:
            incidents._same[key] = one


def follow_changes(incidents: Incidents, changes: Iterable[Change], memory: Any) -> None:
    """Go along with what the log of changes says beyond what was restored; what a rejected one taught is unlearned."""
    for change in changes:
        incident = incidents.find(change.id)
        if incident is None:
            incidents.remember(incident_of(change))
            continue
        incident.told = True
        incident.reviewed = change.reviewed
        if incident.state != change.state:
            if change.state == "fault" and incident.before:
                undo(incident, memory)
            incidents.decide(incident, change.state, reviewed=change.reviewed)
            incident.run = int(change.state == "open")


def incident_of(change: Change) -> Incident:
    """The change on record, to be gone on with."""
    incident = Incident(change.id, change.traits, change.what, "flag")
    incident.state, incident.reviewed, incident.told = change.state, change.reviewed, True
    incident.run = incident.runs = int(change.state == "open")
    return incident


def _incident(fields: Any) -> Incident:
    id_, what, verdict = fields["id"], fields["what"], fields["verdict"]
    traits = tuple([Trait.read(trait) for trait in fields["traits"]])
    texts = isinstance(id_, str) and isinstance(what, str)
    if not texts or not 0 < len(traits) <= MAX_TRAITS or verdict not in VERDICTS or fields["state"] not in STATES:
        raise ValueError("a change is damaged")
    incident = Incident(id_, traits, what, verdict)
    for name in FIELDS:
        if name in fields and name != "traits":  # what a later version has besides stands as it is at first
            value, fresh = fields[name], getattr(incident, name)
            if type(value) is not type(fresh) or (type(value) is int and not 0 <= value <= MAX_COUNT):
                raise ValueError("a change is damaged")
            setattr(incident, name, value)
    sums = [one for one in incident.clues if type(one) is float and 0.0 <= one <= incident.judged]
    answers = [type(digest) is int and type(key) is bytes for digest, key in incident.answers.items()]
    if (
        not 0.0 <= incident.p_latest <= 1.0
        or len(sums) != len(incident.clues)
        or not all(answers)
        or len(answers) > MAX_ANSWERS
    ):
        raise ValueError("a change is damaged")
    if incident.blocked > incident.calls or incident.judged > incident.calls:
        raise ValueError("a change is damaged")
    if len(sums) != len(CLUES):  # of a version with other clues: what it is, is judged anew
        incident.clues, incident.judged = [0.0] * len(CLUES), 0
    return incident


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MAX_COUNT:
        raise ValueError("a number is damaged")
    return value


def _same(
    key: Any, digest: Any, id_: Any, verdict: Any, session: Any, number: Any, asked: Any, *, by_id: Any
) -> tuple[tuple[bytes, int], _Same]:
    sound = type(key) is bytes and type(digest) is int and verdict in VERDICTS
    if not sound or not (session is None or type(session) is str):
        raise ValueError("a call is damaged")
    incident = None if id_ is None else by_id[id_]
    return (key, digest), _Same(verdict, incident, session, _number(number), _number(asked))
