"""What is counted of one tool's calls; see ``state.py``.

Counts are fields as in ``verification.census`` (``calls``, ``errors``, ``untimed``, ``latency``, ``kind``, ``size``).
What a schema says is counted here by a walk of its own: it needs the keys' very names, all elements of a list, and
bounds that do not depend on the order of calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final
from zlib import crc32

from agentguard.verification.arguments import Arguments
from agentguard.verification.census import bucket_of, field, parts
from agentguard.verification.document import Document, read
from agentguard.verification.sides import normal
from agentguard.verification.types import ToolCall
from agentguard.verification.walk import last_name

from .anatomy import CHOICES, FORMATS, TYPES, Anatomy, Place, parent_of
from .kept import Kept, rank_of

__all__ = ["PlaceCounts", "ToolState", "repeats"]

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


class PlaceCounts:
    """Results by what stands at one place of them.

    Attributes:
        results: with a value here.
        always: with a value here in each object that stands above.
        types: with a value of this type here, in the order of ``anatomy.TYPES``.
        formats: whose strings here all have this format, in the order of ``anatomy.FORMATS``.
        values: results by value here, as JSON; None where there are more than ``CHOICES`` or they are no labels.
        given: with a value here that an argument of the call has too.
    """

    __slots__ = ("always", "formats", "given", "results", "types", "values")

    def __init__(self) -> None:
        self.results = 0
        self.always = 0
        self.given = 0
        self.values: dict[str, int] | None = {}
        self.types = [0] * len(TYPES)
        self.formats = [0] * len(FORMATS)

    def push(self, place: Place, above: Place | None, arguments: frozenset[str]) -> None:
        self.results += 1
        self.always += above is not None and place.nodes == above.objects
        for bit in range(len(TYPES)):
            self.types[bit] += place.types >> bit & 1
        if place.formats and place.types & _STRING:
            for bit in range(len(FORMATS)):
                self.formats[bit] += place.formats >> bit & 1
        if place.values is not None:
            self.given += not arguments.isdisjoint(place.values.values())
        self._count(None if place.values is None else dict.fromkeys(place.values, 1))

    def _count(self, values: Mapping[str, int] | None) -> None:
        if values is None or self.values is None:
            self.values = None
            return
        for value, results in values.items():
            self.values[value] = self.values.get(value, 0) + results
        if len(self.values) > CHOICES:
            self.values = None

    def add(self, numbers: list[Any]) -> None:
        """Add what ``numbers`` gave."""
        results, always, given, types, formats, values = numbers
        self.results += results
        self.always += always
        self.given += given
        self.types = [a + b for a, b in zip(self.types, types, strict=True)]
        self.formats = [a + b for a, b in zip(self.formats, formats, strict=True)]
        self._count(values)

    def numbers(self) -> list[Any]:
        """All counts in a row."""
        return [self.results, self.always, self.given, self.types, self.formats, self.values]


_STRING: Final = 1 << TYPES.index("string")


class KeyCounts:
    """Calls with the same arguments: how many, how many instant, how many slower, and which answers they had."""

    __slots__ = ("answers", "calls", "instant", "slower")

    def __init__(self) -> None:
        self.calls = 0
        self.instant = 0
        self.slower = 0
        self.answers: list[int] = []  # the lowest digests: two tell that answers differ

    def add(self, calls: int, instant: int, slower: int, answers: list[int]) -> None:
        self.calls += calls
        self.instant += instant
        self.slower += slower
        self.answers = sorted({*self.answers, *answers})[:ANSWERS_KEPT]


class EchoCounts:
    """Results that have values at one place, by whether these repeat an argument.

    Attributes:
        repeated: a value equals the argument, or one of the two, of three characters or more, is in the other.
        passing: none does, and yet ``checks.echo`` has no objection, since one of the two is hardly any text.
        lacking: the values are others.
        several: results with more than one value here,
        every: and those of them in which every value repeats the argument.
        values: hashes of the distinct arguments, the lowest few.
    """

    __slots__ = ("every", "lacking", "passing", "repeated", "several", "values")

    def __init__(self) -> None:
        self.repeated = 0
        self.passing = 0
        self.lacking = 0
        self.several = 0
        self.every = 0
        self.values: list[int] = []

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
        self.values = sorted({*self.values, *values})[:VALUES_KEPT]

    def numbers(self) -> list[Any]:
        """All counts in a row."""
        return [self.repeated, self.passing, self.lacking, self.several, self.every, self.values]


def repeats(text: str, other: str) -> bool:
    """A value is the argument's, or one of the two, of three characters or more, is in the other."""
    if text == other:
        return True
    return (len(text) >= SHORTEST and text in other) or (len(other) >= SHORTEST and other in text)


class ToolState:
    """The counts of one tool.

    Attributes:
        counts: by field (see ``verification.census``), and ``("large",)`` and ``("cut",)``: answers that were not
            read, and not to their end.
        places: what stands where in answers, by place as in ``anatomy``.
        results: the digests of distinct answers, a sample of them.
        keys: the calls by key of arguments, a sample of them.
        echoes: by argument path and result path, where both end in the same name.
        renamed: by argument path and result path, where a value is the argument's under another name: how often it
            was, with the rest of the results that have the place left to ``leaves``.
        leaves: results by the paths of the values in them.
        extremes: least and most milliseconds, least and most bytes of an answer; None before the first.
    """

    __slots__ = ("counts", "echoes", "extremes", "keys", "leaves", "places", "renamed", "results")

    def __init__(self) -> None:
        self.counts: Counter[tuple[str | int, ...]] = Counter()
        self.places: Kept[str, PlaceCounts] = Kept(MAX_PLACES, PlaceCounts, _depth_and_rank)
        self.results: Kept[int, Any] = Kept(MAX_RESULTS, _nothing, _itself)
        self.keys: Kept[str, KeyCounts] = Kept(MAX_KEYS, KeyCounts, _itself)
        self.echoes: Kept[str, EchoCounts] = Kept(MAX_ECHOES, EchoCounts, rank_of)
        self.renamed: Kept[str, EchoCounts] = Kept(MAX_ECHOES, EchoCounts, rank_of)
        self.leaves: Kept[str, list[int]] = Kept(MAX_PLACES, lambda: [0], rank_of)
        self.extremes: list[float | None] = [None, None, None, None]

    def _kept(self) -> tuple[Kept[Any, Any], ...]:
        return self.places, self.results, self.keys, self.echoes, self.renamed, self.leaves

    def push(self, call: ToolCall) -> None:
        """Count one call."""
        document, arguments, counts = read(call.result), Arguments(call.args), self.counts
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
        found = anatomy.places
        given = frozenset(text for _, text in arguments.values)
        for where, place in found.items():
            known = self.places.at(where)
            if known is not None:
                known.push(place, found[parent_of(where)] if where else None, given)
        self._push_echoes(arguments, document)

    def _push_echoes(self, arguments: Arguments, document: Document) -> None:
        if document.layout is None:
            return
        values = {where: [normal(value) for value in found] for where, found in document.leaves.items() if found}
        for where in values:
            if (results := self.leaves.at(where)) is not None:
                results[0] += 1
        for argument, text in dict(arguments.values).items():
            name = last_name(argument)
            for where in document.layout.named.get(name, ()):
                known = self.echoes.at(field(argument, where)) if where in values else None
                if known is not None:
                    known.push(text, values[where])
            if len(text) < (SHORTEST_NUMBER if text.isdigit() else SHORTEST):
                continue  # equal to something by chance
            for where, others in values.items():
                if text in others and last_name(where) != name:
                    known = self.renamed.at(field(argument, where))
                    if known is not None:
                        known.push(text, others)

    def _stretch(self, place: int, value: float) -> None:
        least, most = self.extremes[place : place + 2]
        self.extremes[place : place + 2] = [
            value if least is None else min(least, value),
            value if most is None else max(most, value),
        ]

    def add(self, other: ToolState) -> None:
        """Count all that another state of the same tool has counted."""
        self.read(other.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, ready for JSON; equal states have equal data."""
        return {
            "counts": dict(sorted((field(*name), times) for name, times in self.counts.items())),
            "extremes": list(self.extremes),
            "is_cut": [kept.is_cut for kept in self._kept()],
            "places": {where: place.numbers() for where, place in sorted(self.places.entries.items())},
            "results": sorted(self.results.entries),
            "keys": {
                name: [key.calls, key.instant, key.slower, key.answers]
                for name, key in sorted(self.keys.entries.items())
            },
            "echoes": {name: echo.numbers() for name, echo in sorted(self.echoes.entries.items())},
            "renamed": {name: echo.numbers() for name, echo in sorted(self.renamed.entries.items())},
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
        for where, numbers in data["places"].items():
            known = self.places.at(where)
            if known is not None:
                known.add(numbers)
        for digest in data["results"]:
            self.results.at(digest)
        for name, numbers in data["keys"].items():
            key = self.keys.at(name)
            if key is not None:
                key.add(*numbers)
        for echoes, counted in ((self.echoes, data["echoes"]), (self.renamed, data["renamed"])):
            for name, numbers in counted.items():
                echo = echoes.at(name)
                if echo is not None:
                    echo.add(*numbers)
        for where, times in data["leaves"].items():
            results = self.leaves.at(where)
            if results is not None:
                results[0] += times


def _depth_and_rank(where: str) -> tuple[int, int]:
    """What is near the top stays, and with each place all above it."""
    return where.count("/"), rank_of(where)


def _itself(key: Any) -> Any:
    return key


def _nothing() -> object:
    return True
