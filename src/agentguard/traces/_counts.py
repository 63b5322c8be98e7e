"""Counts of a log from which profiles can be inferred, in constant memory.

``partial`` counts a batch of calls, ``merge`` adds two counts. Both are exact: all numbers are integers, and of what
could grow without bound (tools, places in results, arguments) the entries with the lowest hashes are kept, so that the
counts of a log do not depend on how it was divided or in which order its parts were merged.

>>> from agentguard.traces._read import parse_line
>>> rows = [parse_line(b'{"tool": "add", "result": {"sum": %d}}' % n, "calls.jsonl", n) for n in range(9)]
>>> merge(partial(rows[:4]), partial(rows[4:])) == partial(rows)
True
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from dataclasses import field as dataclass_field
from functools import lru_cache
from hashlib import blake2b
from heapq import heappush, heappushpop
from itertools import repeat
from json.encoder import encode_basestring
from typing import Any, Final, Generic, TypeVar
from zlib import crc32

from agentguard.errors import DataError
from agentguard.traces._read import BrokenLine, TraceRow
from agentguard.verification._arguments import Arguments
from agentguard.verification._canonical import as_name
from agentguard.verification._census import bucket_of, field, parts
from agentguard.verification._document import Document, read
from agentguard.verification._sides import normal
from agentguard.verification._walk import last_name
from agentguard.verification.types import ToolCall

K = TypeVar("K", str, int)
V = TypeVar("V")


def rank_of(text: str) -> int:
    """64 bits of a name: in this order, the first k names are a sample of all of them."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")


class Kept(Generic[K, V]):
    """At most ``limit`` entries, those whose keys rank lowest (a bottom-k sample, Cohen & Kaplan 2007).

    A key that is among the lowest of all is among the lowest of every part that it occurs in, so it was never left out
    on the way: what is counted of it is complete. Parts of a log may therefore be counted anywhere and merged in any
    order. ``new`` makes the value of a key that is new.

    >>> kept = Kept(2, list, rank=lambda number: number)
    >>> for number in (5, 1, 3, 1):
    ...     if (seen := kept.at(number)) is not None:
    ...         seen.append("seen")
    >>> kept.entries, kept.is_cut
    ({1: ['seen', 'seen'], 3: ['seen']}, True)
    """

    __slots__ = ("_heap", "_new", "_rank", "entries", "is_cut", "limit")

    def __init__(self, limit: int, new: Callable[[], V], rank: Callable[[K], Any]) -> None:
        self.limit = limit
        self.entries: dict[K, V] = {}
        self.is_cut = False  # more than ``limit`` distinct keys were there
        self._new = new
        self._rank: Callable[[Any], Any] = rank
        self._heap: list[_Last] = []

    def at(self, key: K) -> V | None:
        """The value under a key, a new one where it is new; None where it is left out."""
        value = self.entries.get(key)
        if value is not None:
            return value
        place = _Last(self._rank(key), key)
        if len(self.entries) < self.limit:
            heappush(self._heap, place)
        else:
            self.is_cut = True
            if place < self._heap[0]:
                return None
            del self.entries[heappushpop(self._heap, place).key]
        value = self.entries[key] = self._new()
        return value


@dataclass(slots=True, eq=False)
class _Last:
    """A key in the reverse order of the ranks, so that the heap gives up the last one first."""

    rank: Any
    key: Any

    def __lt__(self, other: _Last) -> bool:
        return bool((self.rank, self.key) > (other.rank, other.key))


# --- The anatomy of one result: the facts, place by place, that JSON Schema can express ---
#
# A place is a JSON pointer whose steps stand for all elements of a list (``~2``) and for all values under keys that are
# data (``~3``); a key's own ``~`` and ``/`` are ``~0`` and ``~1`` as in RFC 6901. Unlike the paths of
# ``verification.walk`` it keeps the exact key, which is what a schema declares.

MAX_NODES: Final = 20_000  # of one result
MAX_DEPTH: Final = 12
MAX_FORMATTED: Final = 200  # characters; a longer string is text
CHOICES: Final = 8  # distinct values; more are no choice from a list
_LABEL_LENGTH: Final = 40
_LABEL_WORDS: Final = 3
EACH: Final = "~2"
UNDER_ANY: Final = "~3"

TYPES: Final = ("null", "boolean", "integer", "number", "string", "array", "object")
"""``integer`` is what was written as one; 20.0 is a ``number``, since the next may be 20.5."""

_DATE: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME: Final = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.][0-9]+)?"
#: Printable ASCII only, so that every engine of regular expressions reads them alike.
FORMATS: Final = {
    "date": _DATE,
    "date-time": rf"{_DATE}[Tt]{_TIME}(?:[Zz]|[+-][0-9]{{2}}:[0-9]{{2}})",
    "timestamp": rf"{_DATE}[ Tt][0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:[.][0-9]+)?)?",
    "uuid": r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    "email": r"[!-.0-9;-?A-~]+@[A-Za-z0-9-]+(?:[.][A-Za-z0-9-]+)+",
    "uri": r"[A-Za-z][A-Za-z0-9+.-]*://[!-~]+",
}
"""Regular expressions of which a string matches at most one; ``timestamp`` (no zone) is no format of JSON Schema."""

_FORMAT = re.compile("|".join(f"({pattern})" for pattern in FORMATS.values()))
_ALL_FORMATS: Final = (1 << len(FORMATS)) - 1
_NULL, _BOOLEAN, _INTEGER, _NUMBER, _STRING, _ARRAY, _OBJECT = (1 << bit for bit in range(len(TYPES)))
_SCALARS: Final = {type(None): _NULL, bool: _BOOLEAN, int: _INTEGER, float: _NUMBER}
_LONGEST_NAME: Final = 80
_DATA = re.compile(r"(?=.*[0-9])[\W\d_]+|.*[0-9]{4}.*|.*@.*[.].*|.*://.*|(?=.*[0-9])[0-9a-fA-F-]{12,}|<<", re.DOTALL)


@lru_cache(maxsize=4_096)
def is_data(key: str) -> bool:
    """The key is no field's name but data itself: an id, a date, an address (or ``<<``, which YAML has a use for).

    >>> [key for key in ("id", "temperature_2m", "2024-05-01", "17", "card_4421", "ann@example.org") if is_data(key)]
    ['2024-05-01', '17', 'card_4421', 'ann@example.org']
    """
    return len(key) > _LONGEST_NAME or not key or _DATA.fullmatch(key) is not None


_CALENDAR: Final = frozenset(
    "mon tue wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday jan feb mar apr may jun jul"
    " aug sep sept oct nov dec january february march april june july august september october november december"
    " today tomorrow yesterday".split()
)
"""Of these a log of some days or months has had no more than a part."""


def is_label(text: str) -> bool:
    """The text may be one of few that a field can have: a state, a unit, a code; no id, date, address or sentence.

    >>> [text for text in ("EUR", "in transit", "°C", "A-1042", "2024-05-01", "ann@x.org", "May 7") if is_label(text)]
    ['EUR', 'in transit', '°C']
    """
    if len(text) > _LABEL_LENGTH or not text.isprintable() or is_data(text):
        return False
    words = text.lower().replace(",", " ").split()
    return 0 < len(words) <= _LABEL_WORDS and not _CALENDAR.intersection(words)


@lru_cache(maxsize=4_096)
def step_to(key: str) -> str:
    """The step to the value under a key."""
    if is_data(key):
        return UNDER_ANY
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key


def name_of(step: str) -> str:
    """The key that a step was made from."""
    return step.replace("~1", "/").replace("~0", "~")


@dataclass(slots=True)
class Place:
    """The values at one place of one result.

    Attributes:
        values: the values as JSON, each with the text by which it is compared with arguments; None where they are
            more than ``CHOICES``, or one of them is neither a label nor a number, a boolean or null.
    """

    above: Place | None = None  # what these values stand in; None of the result itself
    nodes: int = 0  # how many values
    objects: int = 0  # how many of them are objects
    types: int = 0  # their types, a bit each in the order of ``TYPES``
    formats: int = _ALL_FORMATS  # the formats that all strings here have, a bit each in the order of ``FORMATS``
    values: dict[str, str] | None = dataclass_field(default_factory=dict)

    def take(self, value: Any) -> None:
        """Note a scalar, as long as there are few."""
        values = self.values
        if values is None:
            return
        if type(value) is str:
            label = _label(value) if len(value) <= _LABEL_LENGTH else None
            if label is None:
                self.values = None
                return
            values[label[0]] = label[1]
        else:
            try:
                values[_written(value)] = normal(value)
            except (TypeError, ValueError):  # no scalar of JSON, NaN, or a number of thousands of digits
                self.values = None
                return
        if len(values) > CHOICES:
            self.values = None


@lru_cache(maxsize=4_096)
def _label(text: str) -> tuple[str, str] | None:
    """A label as JSON, and the text by which it is compared; None for text that is none."""
    return (encode_basestring(text), normal(text)) if is_label(text) else None


def _written(value: Any) -> str:
    """A scalar as JSON; raises ``TypeError`` or ``ValueError`` where it is none. What ``json.dumps`` writes, sooner.

    >>> [_written(value) for value in (7, 0.5, True, None)]
    ['7', '0.5', 'true', 'null']
    """
    kind = type(value)
    if kind is int:
        return int.__repr__(value)
    if kind is float and math.isfinite(value):
        return float.__repr__(value)
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


class Anatomy:
    """The places of one result.

    >>> sorted(Anatomy({"rows": [{"id": 1}, {"id": 2}]}).places)
    ['', '/rows', '/rows/~2', '/rows/~2/id']
    """

    __slots__ = ("_left", "is_whole", "places")

    def __init__(self, value: Any) -> None:
        self.places: dict[str, Place] = {}  # what stands where; ``""`` is the result itself
        self.is_whole = True  # False where the result has more values, or is nested deeper, than is looked at
        self._left = MAX_NODES
        self._visit(value, "", None, 0)

    def _visit(self, value: Any, where: str, above: Place | None, depth: int) -> None:
        self._left -= 1
        if self._left < 0:
            self.is_whole = False
            return
        place = self.places.get(where)
        if place is None:
            place = self.places[where] = Place(above)
        place.nodes += 1
        kind = type(value)
        if kind is str:
            place.types |= _STRING
            if place.formats:
                place.formats &= _format_of(value)
            place.take(value)
        elif kind is dict or kind is list:
            place.values = None
            place.types |= _OBJECT if kind is dict else _ARRAY
            place.objects += kind is dict
            if depth >= MAX_DEPTH:
                self.is_whole = self.is_whole and not value
                return
            items = ((step_to(key), item) for key, item in value.items()) if kind is dict else zip(repeat(EACH), value)
            for step, item in items:
                self._visit(item, f"{where}/{step}", place, depth + 1)
                if self._left < 0:
                    return
        else:
            place.types |= _SCALARS.get(kind, 0)
            place.take(value)


_BITS: Final = tuple(tuple(bit for bit in range(len(TYPES)) if bits >> bit & 1) for bits in range(1 << len(TYPES)))


def _format_of(text: str) -> int:
    if len(text) > MAX_FORMATTED:
        return 0
    match = _FORMAT.fullmatch(text)
    return 0 if match is None or match.lastindex is None else 1 << (match.lastindex - 1)


# --- One tool ---
#
# Counts are fields as in ``verification.census`` (``calls``, ``errors``, ``untimed``, ``latency``, ``kind``, ``size``).
# Schemas need exact keys, all elements of a list and bounds that do not depend on the order of calls, hence their own
# walk.

MAX_PLACES: Final = 1_000
MAX_RESULTS: Final = 512
MAX_KEYS: Final = 256
MAX_ECHOES: Final = 128
ANSWERS_KEPT: Final = 2
VALUES_KEPT: Final = 16
SHORTEST: Final = 3  # characters; shorter ones are found by chance
SHORTEST_NUMBER: Final = 4  # digits
INSTANT_MS: Final = 2.0
LONGEST_MS: Final = 1e12


@dataclass(slots=True)
class PlaceCounts:
    """Results by what stands at one place of them.

    Attributes:
        types: with a value of this type here, in the order of ``TYPES``.
        formats: whose strings here all have this format, in the order of ``FORMATS``.
        values: results by value here, as JSON; None where there are more than ``CHOICES`` or they are no labels.
    """

    results: int = 0  # with a value here
    always: int = 0  # with a value here in each object that stands above
    given: int = 0  # with a value here that an argument of the call has too
    types: list[int] = dataclass_field(default_factory=lambda: [0] * len(TYPES))
    formats: list[int] = dataclass_field(default_factory=lambda: [0] * len(FORMATS))
    values: dict[str, int] | None = dataclass_field(default_factory=dict)

    def push(self, place: Place, arguments: frozenset[str]) -> None:
        """Count what stands here in one more result, of a call with these arguments."""
        above = place.above
        self.results += 1
        self.always += above is not None and place.nodes == above.objects
        for bit in _BITS[place.types]:
            self.types[bit] += 1
        if place.formats and place.types & _STRING:
            for bit in _BITS[place.formats]:
                self.formats[bit] += 1
        values = place.values
        if values is None:
            self.values = None
            return
        self.given += not arguments.isdisjoint(values.values())
        if self.values is not None:
            self._count(dict.fromkeys(values, 1))

    def _count(self, values: Mapping[str, int] | None) -> None:
        if values is None or self.values is None:
            self.values = None
            return
        for value, results in values.items():
            self.values[value] = self.values.get(value, 0) + results
        if len(self.values) > CHOICES:
            self.values = None

    def add(self, *numbers: Any) -> None:
        """Add the counts of other results, in the order of the fields."""
        results, always, given, types, formats, values = numbers
        self.results += results
        self.always += always
        self.given += given
        self.types = [a + b for a, b in zip(self.types, types, strict=True)]
        self.formats = [a + b for a, b in zip(self.formats, formats, strict=True)]
        self._count(values)


@dataclass(slots=True)
class KeyCounts:
    """Calls with the same arguments: their number, how many were instant, how many slower, and their answers."""

    calls: int = 0
    instant: int = 0
    slower: int = 0
    answers: list[int] = dataclass_field(default_factory=list)  # the lowest digests: two tell that answers differ

    def add(self, calls: int, instant: int, slower: int, answers: list[int]) -> None:
        """Add the counts of other calls."""
        self.calls += calls
        self.instant += instant
        self.slower += slower
        self.answers = _lowest(self.answers, answers, ANSWERS_KEPT)


@dataclass(slots=True)
class EchoCounts:
    """Results that have values at one place, by whether these repeat an argument."""

    repeated: int = 0  # a value equals the argument, or one of the two, of three characters or more, is in the other
    passing: int = 0  # none does, and yet ``checks.echo`` has no objection, since one of the two is hardly any text
    lacking: int = 0  # the values are others
    several: int = 0  # results with more than one value here,
    every: int = 0  # and those of them in which every value repeats the argument
    values: list[int] = dataclass_field(default_factory=list)  # hashes of the distinct arguments, the lowest few

    def push(self, text: str, others: list[str]) -> None:
        """Hold an argument against the values that stand at the place."""
        hits = [repeats(text, other) for other in others]
        passing = not any(hits) and any(text in other or other in text for other in others)
        several = len(others) > 1
        value = crc32(text.encode("utf-8", "replace"))
        self.add(any(hits), passing, not any(hits) and not passing, several, several and all(hits), [value])

    def add(self, repeated: int, passing: int, lacking: int, several: int, every: int, values: list[int]) -> None:
        self.repeated += repeated
        self.passing += passing
        self.lacking += lacking
        self.several += several
        self.every += every
        self.values = _lowest(self.values, values, VALUES_KEPT)


def _lowest(kept: list[int], more: list[int], most: int) -> list[int]:
    """The lowest distinct numbers of both, in order.

    >>> _lowest([1, 5], [3, 5], 2)
    [1, 3]
    """
    if all(number in kept for number in more):  # as of most calls
        return kept
    return sorted({*kept, *more})[:most]


def repeats(text: str, other: str) -> bool:
    """A value is the argument's, or one of the two, of three characters or more, is in the other."""
    if text == other:
        return True
    return (len(text) >= SHORTEST and text in other) or (len(other) >= SHORTEST and other in text)


_pair = lru_cache(maxsize=4_096)(field)  # of paths, which are the same call after call


class ToolState:
    """The counts of one tool."""

    __slots__ = ("counts", "echoes", "extremes", "keys", "leaves", "places", "renamed", "results")

    def __init__(self) -> None:
        # By field (see ``verification.census``); ("large",) and ("cut",): answers not read, and not to their end.
        self.counts: Counter[tuple[str | int, ...]] = Counter()
        # What stands where in answers; of distinct answers and arguments a sample, by digest and by key.
        self.places: Kept[str, PlaceCounts] = Kept(MAX_PLACES, PlaceCounts, _depth_and_rank)
        self.results: Kept[int, object] = Kept(MAX_RESULTS, object, _itself)
        self.keys: Kept[str, KeyCounts] = Kept(MAX_KEYS, KeyCounts, _itself)
        # By argument path and result path: where both end in the same name, and where a value is the argument's under
        # another name. Of the latter the results that do not have it are left to ``leaves``: results by path.
        self.echoes: Kept[str, EchoCounts] = Kept(MAX_ECHOES, EchoCounts, rank_of)
        self.renamed: Kept[str, EchoCounts] = Kept(MAX_ECHOES, EchoCounts, rank_of)
        self.leaves: Kept[str, list[int]] = Kept(MAX_PLACES, lambda: [0], rank_of)
        # Least and most milliseconds, least and most bytes of an answer; None before the first.
        self.extremes: list[float | None] = [None, None, None, None]

    def _kept(self) -> tuple[Kept[Any, Any], ...]:
        return self.places, self.results, self.keys, self.echoes, self.renamed, self.leaves

    def _rows(self) -> dict[str, Kept[str, Any]]:
        """The counts that are written as rows of numbers, by the names that they have there."""
        return {"places": self.places, "keys": self.keys, "echoes": self.echoes, "renamed": self.renamed}

    def push(self, call: ToolCall, document: Document, arguments: Arguments) -> None:
        """Count one call, whose result and arguments were read."""
        counts = self.counts
        counts["calls",] += 1
        milliseconds = call.milliseconds
        if milliseconds is None:
            counts["untimed",] += 1
        else:
            counts["latency", bucket_of(min(milliseconds, LONGEST_MS))] += 1
            self._stretch(0, milliseconds)
        if document.is_error or call.is_error:
            counts["errors",] += 1
            return
        counts["kind", document.kind] += 1
        counts["size", document.kind, bucket_of(document.size or 1)] += 1
        self._stretch(2, document.size)
        self.results.at(document.digest)
        key = self.keys.at(arguments.key.hex())
        if key is not None:
            instant = milliseconds is not None and milliseconds < INSTANT_MS
            key.add(1, int(instant), int(milliseconds is not None and not instant), [document.digest])
        if document.kind == "large":
            counts["large",] += 1
            return
        anatomy = Anatomy(document.value)
        if not anatomy.is_whole:
            counts["cut",] += 1
        given = frozenset(text for _, text in arguments.values)
        for path, place in anatomy.places.items():
            if (known := self.places.at(path)) is not None:
                known.push(place, given)
        self._push_echoes(arguments, document)

    def _push_echoes(self, arguments: Arguments, document: Document) -> None:
        if document.layout is None:
            return
        values = {where: [normal(value) for value in leaf] for where, leaf in document.leaves.items() if leaf}
        for where in values:
            if (results := self.leaves.at(where)) is not None:
                results[0] += 1
        for argument, text in dict(arguments.values).items():
            name = last_name(argument)
            for where in document.layout.named.get(name, ()):
                if where in values and (known := self.echoes.at(_pair(argument, where))) is not None:
                    known.push(text, values[where])
            if len(text) < (SHORTEST_NUMBER if text.isdigit() else SHORTEST):
                continue  # equal to something by chance
            for where, others in values.items():
                if text not in others or last_name(where) == name:
                    continue
                if (known := self.renamed.at(_pair(argument, where))) is not None:
                    known.push(text, others)

    def _stretch(self, place: int, value: float) -> None:
        least, most = self.extremes[place : place + 2]
        self.extremes[place : place + 2] = [
            value if least is None else min(least, value),
            value if most is None else max(most, value),
        ]

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, ready for JSON; equal states have equal data."""
        return {
            "counts": dict(sorted((field(*name), times) for name, times in self.counts.items())),
            "extremes": list(self.extremes),
            "is_cut": [kept.is_cut for kept in self._kept()],
            "results": sorted(self.results.entries),
            **{
                kind: {name: _numbers(counts) for name, counts in sorted(kept.entries.items())}
                for kind, kept in self._rows().items()
            },
            "leaves": {where: results[0] for where, results in sorted(self.leaves.entries.items())},
        }

    def read(self, data: Mapping[str, Any]) -> None:
        """Count all that is in the data of a state."""
        for name, times in data["counts"].items():
            self.counts[tuple(parts(name))] += times
        for place in (0, 2):
            for value in data["extremes"][place : place + 2]:
                if value is not None:
                    self._stretch(place, value)
        for kept, is_cut in zip(self._kept(), data["is_cut"], strict=True):
            kept.is_cut |= is_cut
        for digest in data["results"]:
            self.results.at(digest)
        for kind, rows in self._rows().items():
            for name, numbers in data[kind].items():
                if (counts := rows.at(name)) is not None:
                    counts.add(*numbers)
        for where, times in data["leaves"].items():
            if (results := self.leaves.at(where)) is not None:
                results[0] += times


def _depth_and_rank(where: str) -> tuple[int, int]:
    """Rank places near the top first, so that with each place all above it stay."""
    return where.count("/"), rank_of(where)


def _itself(key: Any) -> Any:
    return key


def _numbers(counts: PlaceCounts | KeyCounts | EchoCounts) -> list[Any]:
    """All counts in a row, as ``add`` takes them."""
    return [getattr(counts, one.name) for one in fields(counts)]


# --- All tools ---

MAX_TOOLS: Final = 2_000
VERSION: Final = 2


class State:
    """The counts of a log.

    Attributes:
        calls: all calls, also those of tools beyond the bound.
        broken: lines that held no call.
        tools: what was counted of each tool.
    """

    __slots__ = ("broken", "calls", "tools")

    def __init__(self) -> None:
        self.calls = 0
        self.broken = 0
        self.tools: Kept[str, ToolState] = Kept(MAX_TOOLS, ToolState, rank_of)

    def push(self, row: TraceRow | BrokenLine) -> None:
        """Count one line of a log."""
        if isinstance(row, BrokenLine):
            self.broken += 1
            return
        self.push_read(row.call, read(row.call.result), Arguments(row.call.args))

    def push_read(self, call: ToolCall, document: Document, arguments: Arguments) -> None:
        """Count one call, whose result and arguments were read."""
        self.calls += 1
        tool = self.tools.at(as_name(call.tool))
        if tool is not None:
            tool.push(call, document, arguments)

    def add(self, other: State) -> None:
        """Count all that another state has counted; that one stays as it is."""
        self.calls += other.calls
        self.broken += other.broken
        self.tools.is_cut |= other.tools.is_cut
        for name, counted in other.tools.entries.items():
            if (tool := self.tools.at(name)) is not None:
                tool.read(counted.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, ready for JSON; equal states have equal data."""
        return {
            "version": VERSION,
            "calls": self.calls,
            "broken": self.broken,
            "is_cut": self.tools.is_cut,
            "tools": {name: tool.as_dict() for name, tool in sorted(self.tools.entries.items())},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> State:
        """The state that ``as_dict`` gave.

        Raises:
            DataError: for what ``as_dict`` did not write, or another version of it did.
        """
        if not isinstance(data, Mapping) or data.get("version") != VERSION:
            raise DataError(f"no counts of a log of version {VERSION}: count the log again")
        state = cls()
        try:
            state.calls, state.broken = int(data["calls"]), int(data["broken"])
            state.tools.is_cut = bool(data["is_cut"])
            for name, counted in data["tools"].items():
                if (tool := state.tools.at(name)) is not None:
                    tool.read(counted)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise DataError(f"damaged counts of a log ({type(error).__name__}): count the log again") from None
        return state

    def __eq__(self, other: object) -> bool:
        return self.as_dict() == other.as_dict() if isinstance(other, State) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # what changes has no hash


def partial(rows: Iterable[TraceRow | BrokenLine]) -> State:
    """The counts of one batch, of any size."""
    state = State()
    for row in rows:
        state.push(row)
    return state


def merge(one: State, other: State) -> State:
    """The counts of both together; neither is changed. ``merge(State(), one) == one``."""
    merged = State()
    merged.add(one)
    merged.add(other)
    return merged
