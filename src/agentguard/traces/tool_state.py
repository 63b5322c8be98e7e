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

from agentguard.verification.arguments import Arguments, normal
from agentguard.verification.census import bucket_of, field, parts
from agentguard.verification.document import Document, read
from agentguard.verification.echoes import SHORTEST
from agentguard.verification.types import ToolCall
from agentguard.verification.walk import last_name

from .anatomy import FORMATS, TYPES, Anatomy, Place, parent_of
from .kept import Kept, rank_of

__all__ = ["PlaceCounts", "ToolState"]

MAX_PLACES: Final = 1_000
MAX_RESULTS: Final = 512
MAX_KEYS: Final = 256
MAX_ECHOES: Final = 128
ANSWERS_KEPT: Final = 2
VALUES_KEPT: Final = 16
INSTANT_MS: Final = 2.0
LONGEST_MS: Final = 1e12


class PlaceCounts:
    """Results by what stands at one place of them.

    Attributes:
        results: with a value here.
        always: with a value here in each object that stands above.
        types: with a value of this type here, in the order of ``anatomy.TYPES``.
        formats: whose strings here all have this format, in the order of ``anatomy.FORMATS``.
    """

    __slots__ = ("always", "formats", "results", "types")

    def __init__(self) -> None:
        self.results = 0
        self.always = 0
        self.types = [0] * len(TYPES)
        self.formats = [0] * len(FORMATS)

    def push(self, place: Place, above: Place | None) -> None:
        self.results += 1
        self.always += above is not None and place.nodes == above.objects
        for bit in range(len(TYPES)):
            self.types[bit] += place.types >> bit & 1
        if place.formats and place.types & _STRING:
            for bit in range(len(FORMATS)):
                self.formats[bit] += place.formats >> bit & 1

    def add(self, numbers: list[int]) -> None:
        """Add what ``numbers`` gave."""
        results, always, *rest = numbers
        self.results += results
        self.always += always
        self.types = [a + b for a, b in zip(self.types, rest[: len(TYPES)], strict=True)]
        self.formats = [a + b for a, b in zip(self.formats, rest[len(TYPES) :], strict=True)]

    def numbers(self) -> list[int]:
        """All counts in a row."""
        return [self.results, self.always, *self.types, *self.formats]


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
        values: hashes of the distinct arguments, the lowest few.
    """

    __slots__ = ("lacking", "passing", "repeated", "values")

    def __init__(self) -> None:
        self.repeated = 0
        self.passing = 0
        self.lacking = 0
        self.values: list[int] = []

    def push(self, text: str, others: list[str]) -> None:
        """Hold an argument against the values that stand at the place."""
        repeated = text in others or any(
            len(a) >= SHORTEST and a in b for o in others for a, b in ((text, o), (o, text))
        )
        passing = not repeated and any(text in other or other in text for other in others)
        value = crc32(text.encode("utf-8", "replace"))
        self.add(int(repeated), int(passing), int(not repeated and not passing), [value])

    def add(self, repeated: int, passing: int, lacking: int, values: list[int]) -> None:
        self.repeated += repeated
        self.passing += passing
        self.lacking += lacking
        self.values = sorted({*self.values, *values})[:VALUES_KEPT]


class ToolState:
    """The counts of one tool.

    Attributes:
        counts: by field (see ``verification.census``), and ``("large",)`` and ``("cut",)``: answers that were not
            read, and not to their end.
        places: what stands where in answers, by place as in ``anatomy``.
        results: the digests of distinct answers, a sample of them.
        keys: the calls by key of arguments, a sample of them.
        echoes: by argument path and result path.
        extremes: least and most milliseconds, least and most bytes of an answer; None before the first.
    """

    __slots__ = ("counts", "echoes", "extremes", "keys", "places", "results")

    def __init__(self) -> None:
        self.counts: Counter[tuple[str | int, ...]] = Counter()
        self.places: Kept[str, PlaceCounts] = Kept(MAX_PLACES, PlaceCounts, _depth_and_rank)
        self.results: Kept[int, Any] = Kept(MAX_RESULTS, _nothing, _itself)
        self.keys: Kept[str, KeyCounts] = Kept(MAX_KEYS, KeyCounts, _itself)
        self.echoes: Kept[str, EchoCounts] = Kept(MAX_ECHOES, EchoCounts, rank_of)
        self.extremes: list[float | None] = [None, None, None, None]

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
        if document.is_error:
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
        for where, place in found.items():
            known = self.places.at(where)
            if known is not None:
                known.push(place, found[parent_of(where)] if where else None)
        self._push_echoes(arguments, document)

    def _push_echoes(self, arguments: Arguments, document: Document) -> None:
        if document.layout is None:
            return
        for argument, text in dict(arguments.values).items():
            for where in document.layout.named.get(last_name(argument), ()):
                others = [normal(value) for value in document.leaves[where]]
                known = self.echoes.at(field(argument, where)) if others else None
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
            "is_cut": [kept.is_cut for kept in (self.places, self.results, self.keys, self.echoes)],
            "places": {where: place.numbers() for where, place in sorted(self.places.entries.items())},
            "results": sorted(self.results.entries),
            "keys": {
                name: [key.calls, key.instant, key.slower, key.answers]
                for name, key in sorted(self.keys.entries.items())
            },
            "echoes": {
                name: [echo.repeated, echo.passing, echo.lacking, echo.values]
                for name, echo in sorted(self.echoes.entries.items())
            },
        }

    def read(self, data: Mapping[str, Any]) -> None:
        """Count all that is in the data of a state."""
        for name, times in data["counts"].items():
            self.counts[tuple(parts(name))] += times
        for place in (0, 2):
            for value in data["extremes"][place : place + 2]:
                if value is not None:
                    self._stretch(place, value)
        for kept, is_cut in zip((self.places, self.results, self.keys, self.echoes), data["is_cut"], strict=True):
            kept.is_cut |= is_cut  # type: ignore[attr-defined]  # what the four have in common is no type of its own
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
        for name, numbers in data["echoes"].items():
            echo = self.echoes.at(name)
            if echo is not None:
                echo.add(*numbers)


def _depth_and_rank(where: str) -> tuple[int, int]:
    """What is near the top stays, and with each place all above it."""
    return where.count("/"), rank_of(where)


def _itself(key: Any) -> Any:
    return key


def _nothing() -> object:
    return True
