"""What can be calculated from the numbers of tool results, within bounds: nothing that would explain every number.

Operands belong together: they share a list, or a record, or the answer itself names them. Each operation has its words
(*total*, *average*, *more*); a number that an operation gives is believed where the answer says such a word, or where
it has so many digits that chance does not give it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from agentguard.content.grounding._sources import Sources
from agentguard.content.grounding._values import UNITS, Unit, stem

MAX_DERIVED: Final = 20_000
MAX_RECORDS: Final = 2_000
MAX_FIELDS: Final = 12
_PERCENT: Final = UNITS["%"][0]
_SECONDS: Final = UNITS["s"][1] if UNITS["s"][0].dimension != "time" else UNITS["s"][0]
_INDEX = re.compile(r"\[\d+\]")

# Stems of the words by which an answer names an operation.
CUES: Final = {
    "sum": frozenset("total sum altogether combined overall together both all cumulative aggregate amount".split()),
    "average": frozenset("average mean typical typically averaging averaged avg per median".split()),
    "difference": frozenset(
        "difference more less fewer higher lower cheaper gap save saving saved remaining left change increase decrease "
        "drop dropped rise rose risen fell fall grew growth shrank gain loss lost gained longer shorter older younger "
        "extra increased decreased changed later earlier than between duration long last lasting night day".split()
    ),
    "percentage": frozenset("percent percentage share % proportion fraction".split()),
    "product": frozenset("total cost price amount altogether worth time each".split()),
    "count": frozenset("there found find count number result match matching have has list listed total of".split()),
}


class Derived(NamedTuple):
    """One number that results give by calculation.

    Attributes:
        operation: a key of ``CUES``.
        detail: what was calculated, for a reader.
        leaves: the leaves that it rests on, or the first few of them.
        words: stems that go with it.
        narrow: whether the answer must say one of ``words``.
    """

    value: float
    unit: Unit | None
    operation: str
    detail: str
    leaves: tuple[int, ...]
    words: frozenset[str] = frozenset()
    narrow: bool = False


def derived(sources: Sources) -> list[Derived]:
    """What the lists and records of results give by calculation; at most ``MAX_DERIVED`` numbers.

    >>> found = derived(Sources([{"rows": [{"price": 20.5}, {"price": 30.25}, {"price": 10}]}]))
    >>> sorted({(number.operation, number.value) for number in found if number.operation in ("sum", "count")})
    [('count', 3.0), ('sum', 60.75)]
    """
    numbers: list[Derived] = []
    for part in (_lists(sources), _columns(sources), _shares(sources), _records(sources), _spans(sources)):
        for number in part:
            if len(numbers) >= MAX_DERIVED:
                return numbers
            numbers.append(number)
    return numbers


def _whole(sources: Sources) -> Iterator[tuple[int, float, Unit | None]]:
    """The numbers that are all their leaf says, each once."""
    seen = -1
    for number in sources.numbers:
        if number.whole and number.leaf != seen and sources.leaves[number.leaf].source >= 0:
            seen = number.leaf
            yield number.leaf, number.value, number.unit


def _lists(sources: Sources) -> Iterator[Derived]:
    for listing in sources.listings[:MAX_RECORDS]:
        where = listing.path or "the result"
        words = frozenset(stem(word) for word in re.findall(r"[A-Za-z]+", listing.path))
        yield Derived(float(listing.length), None, "count", f"elements of {where}", (), words)


def _columns(sources: Sources) -> Iterator[Derived]:
    """Sums, averages and, in short ones, differences of the numbers that stand at one place of a list's elements."""
    columns: dict[tuple[int, str], list[tuple[int, float, Unit | None]]] = {}
    for leaf, value, unit in _whole(sources):
        place = sources.leaves[leaf]
        names = {(place.source, place.group)}
        *_, last = (None, *_INDEX.finditer(place.path))
        if last is not None:
            names.add((place.source, place.path[: last.start()] + "[]" + place.path[last.end() :]))
        if not last:
            names = {(-1, place.group)}  # the same field of several results
        for name in names:
            columns.setdefault(name, []).append((leaf, value, unit))
    for (_, path), column in columns.items():
        if len(column) < 2 or not path:
            continue
        values, unit = [value for _, value, _ in column], column[0][2]
        leaves = tuple(leaf for leaf, _, _ in column[:8])
        operands = f"{len(values)} values at {path}"
        total = sum(values)
        yield Derived(total, unit, "sum", f"sum of {operands}", leaves)
        yield Derived(total / len(values), unit, "average", f"average of {operands}", leaves)
        middle = sorted(values)
        half = len(middle) // 2
        median = middle[half] if len(middle) % 2 else (middle[half - 1] + middle[half]) / 2
        yield Derived(median, unit, "average", f"median of {operands}", leaves)
        yield Derived(middle[-1] - middle[0], unit, "difference", f"range of {operands}", leaves)
        if len(values) <= 4:
            for at, (first, one, _) in enumerate(column):
                for second, two, _ in column[at + 1 :]:
                    yield from _pair(one, two, unit, f"two values at {path}", (first, second))


def _pair(one: float, two: float, unit: Unit | None, operands: str, leaves: tuple[int, ...]) -> Iterator[Derived]:
    yield Derived(abs(one - two), unit, "difference", f"difference of {operands}", leaves)
    for part, base in ((one, two), (two, one)):
        if base:
            yield Derived(100 * (part - base) / abs(base), _PERCENT, "difference", f"change between {operands}", leaves)
            yield Derived(100 * part / base, _PERCENT, "percentage", f"ratio of {operands}", leaves)


def _shares(sources: Sources) -> Iterator[Derived]:
    """How many elements of a list say one thing, and which share of them does."""
    columns: dict[tuple[int, str], Counter[str]] = {}
    for leaf in sources.leaves:
        if "[]" in leaf.group and 0 < len(leaf.text) <= 40 and leaf.source >= 0:
            columns.setdefault((leaf.source, leaf.group), Counter())[leaf.text.strip().casefold()] += 1
    for (_, group), column in columns.items():
        size = sum(column.values())
        if size < 2 or len(column) == size or len(column) > 50:
            continue
        for text, count in column.items():
            words = frozenset(stem(word) for word in re.findall(r"[^\W_]+", text))
            yield Derived(float(count), None, "count", f"elements with {group} = {text}", (), words, True)
            yield Derived(100 * count / size, _PERCENT, "percentage", f"share with {group} = {text}", (), words, True)


def _records(sources: Sources) -> Iterator[Derived]:
    """Products, sums, differences and ratios of two fields of one record; the sum of products over a list."""
    records: dict[int, list[tuple[int, float, Unit | None]]] = {}
    for leaf, value, unit in _whole(sources):
        place = sources.leaves[leaf]
        if not place.path.endswith("]"):
            records.setdefault(place.record, []).append((leaf, value, unit))
    products: dict[tuple[int, str, str], list[float]] = {}
    for _, fields in list(records.items())[:MAX_RECORDS]:
        for at, (first, one, unit) in enumerate(fields[:MAX_FIELDS]):
            for second, two, other in fields[at + 1 : MAX_FIELDS]:
                names = (sources.leaves[first], sources.leaves[second])
                operands, both = f"{names[0].path} and {names[1].path}", (first, second)
                yield Derived(one * two, unit or other, "product", f"product of {operands}", both)
                products.setdefault((names[0].source, names[0].group, names[1].group), []).append(one * two)
                if unit == other:
                    yield Derived(one + two, unit, "sum", f"sum of {operands}", both)
                    yield from _pair(one, two, unit, operands, both)
        alike = [value for _, value, unit in fields if unit == fields[0][2]]
        if 3 <= len(alike) <= MAX_FIELDS:
            yield Derived(sum(alike), fields[0][2], "sum", "sum of a record's fields", (fields[0][0],))
    for (_, one_group, other_group), values in products.items():
        if len(values) > 1:
            yield Derived(sum(values), None, "sum", f"sum of {one_group} times {other_group}", ())


def _spans(sources: Sources) -> Iterator[Derived]:
    """The time from one date or hour of a record to another."""
    records: dict[int, list[tuple[datetime, int]]] = {}
    for moment, leaf in sources.moments:
        stamp = moment.stamp or (
            datetime(2000, 1, 1, moment.hour, moment.minute or 0)
            if moment.hour is not None and moment.day is None
            else None
        )
        if stamp is not None:
            records.setdefault(sources.leaves[leaf].record, []).append((stamp, leaf))
    for stamps in list(records.values())[:MAX_RECORDS]:
        for at, (one, first) in enumerate(stamps[:MAX_FIELDS]):
            for two, second in stamps[at + 1 : MAX_FIELDS]:
                seconds = abs((two - one).total_seconds())
                if seconds:
                    yield Derived(
                        seconds, _SECONDS, "difference", "time between two moments of a record", (first, second)
                    )


def combined(operands: Sequence[tuple[float, Unit | None]]) -> list[Derived]:
    """What numbers that the answer itself names give: their sum, each neighbourhood's, and two at a time.

    >>> sorted({number.value for number in combined([(120.0, None), (35.0, None)]) if number.operation == "sum"})
    [155.0]
    """
    numbers: list[Derived] = []
    values = [value for value, _ in operands]
    for first in range(len(operands)):
        for last in range(first + 2, len(operands) + 1):
            part, unit = values[first:last], operands[first][1]
            operands_text = f"{len(part)} numbers of the answer"
            numbers.append(Derived(sum(part), unit, "sum", f"sum of {operands_text}", ()))
            numbers.append(Derived(sum(part) / len(part), unit, "average", f"average of {operands_text}", ()))
    for at, (one, unit) in enumerate(operands):
        for two, other in operands[at + 1 :]:
            numbers.append(Derived(one * two, unit or other, "product", "product of two numbers of the answer", ()))
            numbers.append(Derived(one + two, unit or other, "sum", "sum of two numbers of the answer", ()))
            numbers.extend(_pair(one, two, unit or other, "two numbers of the answer", ()))
    return numbers
