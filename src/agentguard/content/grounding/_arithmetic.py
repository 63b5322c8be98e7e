"""What can be calculated from the numbers of tool results, within bounds: nothing that would explain every number.

Operands belong together: they share a list, or a record, or the answer itself names them. Each operation has its words
(*total*, *average*, *more*); a number that an operation gives is believed where the answer says such a word, or where
it has so many digits that chance does not give it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from itertools import combinations, islice
from operator import itemgetter
from typing import Final, NamedTuple

from agentguard.content.grounding._reading import Read
from agentguard.content.grounding._sources import GIVEN, SPAN, NumberIndex, Sources
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
        "leave extra increased decreased changed later earlier than between duration long last lasting "
        "night day".split()
    ),
    "percentage": frozenset("percent percentage share % proportion fraction".split()),
    "quotient": frozenset("per each time average fold factor".split()),
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


Placed = tuple[int, Derived]
"""A derived number behind its place: the numbers are in the order of their places."""

Operand = tuple[int, float, Unit | None]
"""A number to calculate with, behind its leaf."""


class Calculations:
    """The numbers that the lists and records of results give by calculation; at most ``MAX_DERIVED``.

    Args:
        sources: the results.

    Attributes:
        numbers: the derived numbers by their places.
        index: their values, by the same places.
        alike: their operations, counted.

    >>> found = Calculations(Sources([{"rows": [{"price": 20.5}, {"price": 30.25}, {"price": 10}]}])).numbers.values()
    >>> sorted({(number.operation, number.value) for number in found if number.operation in ("sum", "count")})
    [('count', 3.0), ('sum', 60.75)]
    """

    def __init__(self, sources: Sources) -> None:
        self.numbers: dict[int, Derived] = {}
        self.index = NumberIndex()
        self.alike: Counter[str] = Counter()
        self._sources = sources
        self._results: dict[int, _OfResult] = {}
        self._columns: dict[str, list[Operand]] = {}  # numbers of a field that several results have
        self._of_columns: dict[str, list[Placed]] = {}
        self._taken: dict[tuple[int, int | str], tuple[list[Placed], int]] = {}
        self.settle()

    def settle(self) -> None:
        """Calculate with the results that are there now: with what came since, and without what went."""
        reads = dict(self._sources.reads)
        gone = [place for place, result in self._results.items() if reads.get(place) is not result.read]
        for place in gone:
            self._forget(self._results.pop(place))
        come = [place for place in reads if place not in self._results]
        if not gone and not come:
            return
        for place in come:
            self._take(place, _OfResult(reads[place], place))
        self._results = {place: self._results[place] for place in reads}
        self._show({key: (numbers, count) for key, numbers, count in self._within_limits()})

    def giving(self, value: float) -> Iterator[Derived]:
        """The derived numbers that have a value."""
        return (self.numbers[place] for place in self.index.at(value))

    def _take(self, place: int, result: _OfResult) -> None:
        self._results[place] = result
        for field, operands in result.fields.items():
            for operand in operands:
                insort(self._columns.setdefault(field, []), operand, key=itemgetter(0))
            self._of_columns.pop(field, None)

    def _forget(self, result: _OfResult) -> None:
        for field, operands in result.fields.items():
            leaves = {leaf for leaf, _, _ in operands}
            left = [operand for operand in self._columns[field] if operand[0] not in leaves]
            self._columns[field] = left
            self._of_columns.pop(field, None)
            if not left:
                del self._columns[field]

    def _show(self, wanted: dict[tuple[int, int | str], tuple[list[Placed], int]]) -> None:
        """Take the first so many of some numbers, and none of others."""
        go: list[int] = []
        come: list[Placed] = []
        for key, (numbers, count) in self._taken.items():
            new, most = wanted.get(key, ([], 0))
            go += [place for place, _ in numbers[most if new is numbers else 0 : count]]
        for key, (numbers, count) in wanted.items():
            old, least = self._taken.get(key, ([], 0))
            come += numbers[least if old is numbers else 0 : count]
        self._taken = wanted
        self.index.drop(go)
        self.alike.subtract(self.numbers.pop(place).operation for place in go)
        self.numbers.update(come)
        self.alike.update(number.operation for _, number in come)
        self.index.add({place: (number.value, number.unit) for place, number in come})

    def _within_limits(self) -> Iterator[tuple[tuple[int, int | str], list[Placed], int]]:
        """The numbers by where they come from, each with how many of them there is room for."""
        left = MAX_DERIVED
        for part in (_LISTS, _COLUMNS, _SHARES, _RECORDS, _PRODUCTS, _SPANS):
            if part == _COLUMNS:
                found = list(self._all_columns())
                if sum(len(numbers) for _, numbers in found) > left:
                    end = sorted(place for _, numbers in found for place, _ in numbers)[left]
                else:
                    end = _place(_SHARES, 0, 0)
                for key, numbers in found:
                    count = bisect_left(numbers, end, key=itemgetter(0))
                    yield key, numbers, count
                    left -= count
                continue
            most = MAX_RECORDS
            for place, result in self._results.items():
                if left <= 0 or most <= 0:
                    break
                if part not in result.parts:
                    continue
                numbers, used = result.part(part, most)
                count = min(len(numbers), left)
                most, left = most - used, left - count
                if count:
                    yield (part, place), numbers, count

    def _all_columns(self) -> Iterator[tuple[tuple[int, int | str], list[Placed]]]:
        for place, result in self._results.items():
            if _RECORDS in result.parts and result.columns:
                yield (_COLUMNS, place), result.columns
        for field, operands in self._columns.items():
            numbers = self._of_columns.get(field)
            if numbers is None:
                first, last = divmod(operands[0][0], SPAN)
                numbers = self._of_columns[field] = [
                    (_place(_COLUMNS, first, 2 * last << 8 | at), number)
                    for at, number in enumerate(_column(field, operands))
                ]
            yield (_COLUMNS, field), numbers


_LISTS, _COLUMNS, _SHARES, _RECORDS, _PRODUCTS, _SPANS = range(6)


def _place(part: int, place: int, at: int) -> int:
    """The place of a number of a part: in the order of the results, and then of where it stands in one."""
    return part << 120 | place << 60 | at


class _OfResult:
    """The numbers that one result gives by calculation; what is not asked for is not calculated.

    Args:
        read: the result.
        place: its place.

    Attributes:
        read: the result.
        fields: the numbers that stand in no list, by their fields.
        parts: those that there may be numbers of.
    """

    def __init__(self, read: Read, place: int) -> None:
        self.read, self._at, self._base = read, place, place * SPAN
        self._is_given = place > GIVEN
        self._parts: dict[tuple[int, int], list[Placed]] = {}
        self.fields: dict[str, list[Operand]] = {}
        for leaf, value, unit in self._whole():
            place_of = read.leaves[leaf - self._base]
            if place_of.group and not _INDEX.search(place_of.path):
                self.fields.setdefault(place_of.group, []).append((leaf, value, unit))
        there = {
            _LISTS: bool(read.listings),
            _SHARES: not self._is_given and any("[]" in leaf.group for leaf in read.leaves),
            _RECORDS: not self._is_given and bool(read.whole),
            _PRODUCTS: not self._is_given and bool(read.whole),
            _SPANS: bool(read.moments),
        }
        self.parts = frozenset(part for part, is_there in there.items() if is_there)

    def part(self, part: int, most: int) -> tuple[list[Placed], int]:
        """The numbers of a part, made of so many lists or records at most, and of how many they were made."""
        count = min(most, self._count(part))
        numbers = self._parts.get((part, count))
        if numbers is None:
            numbers = self._parts[part, count] = [
                (_place(part, self._at, at), number)
                for at, number in enumerate(islice(self._of_part(part, count), MAX_DERIVED))
            ]
        return numbers, count

    @cached_property
    def columns(self) -> list[Placed]:
        """Numbers of what stands at one place of a list's elements."""
        columns: dict[str, tuple[int, list[Operand]]] = {}
        for leaf, value, unit in self._whole():
            place = self.read.leaves[leaf - self._base]
            *_, last = (None, *_INDEX.finditer(place.path))
            if last is not None:
                along = place.path[: last.start()] + "[]" + place.path[last.end() :]
                for number, name in enumerate(dict.fromkeys((place.group, along))):
                    first = 2 * (leaf - self._base) + number
                    columns.setdefault(name, (first, []))[1].append((leaf, value, unit))
        return [
            (_place(_COLUMNS, self._at, first << 8 | at), number)
            for path, (first, operands) in columns.items()
            for at, number in enumerate(_column(path, operands))
        ]

    def _whole(self) -> Iterator[Operand]:
        """The numbers that are all their leaf says; none of what was only given."""
        if not self._is_given:
            for number in self.read.whole:
                yield self._base + number.leaf, number.value, number.unit

    def _count(self, part: int) -> int:
        """How many lists or records there are that a part is made of; 0 for what has no such limit."""
        if part == _LISTS:
            return len(self.read.listings)
        if part == _SPANS:
            return len(self._stamps)
        return len(self._of_records) if part in (_RECORDS, _PRODUCTS) else 0

    def _of_part(self, part: int, most: int) -> Iterator[Derived]:
        if part == _LISTS:
            return self._lists(most)
        if part == _SHARES:
            return self._shares()
        if part == _RECORDS:
            return self._records(most)
        return self._products(most) if part == _PRODUCTS else self._spans(most)

    def _lists(self, most: int) -> Iterator[Derived]:
        for listing in self.read.listings[:most]:
            where = listing.path or "the result"
            words = frozenset(stem(word) for word in re.findall(r"[A-Za-z]+", listing.path))
            yield Derived(float(listing.length), None, "count", f"elements of {where}", (), words)

    def _shares(self) -> Iterator[Derived]:
        """How many elements of a list say one thing, and which share of them does."""
        columns: dict[str, Counter[str]] = {}
        for leaf in () if self._is_given else self.read.leaves:
            if "[]" in leaf.group and 0 < len(leaf.text) <= 40:
                columns.setdefault(leaf.group, Counter())[leaf.text.strip().casefold()] += 1
        for group, column in columns.items():
            size = sum(column.values())
            if size < 2 or len(column) == size or len(column) > 50:
                continue
            for text, count in column.items():
                words = frozenset(stem(word) for word in re.findall(r"[^\W_]+", text))
                yield Derived(float(count), None, "count", f"elements with {group} = {text}", (), words, True)
                share = 100 * count / size
                yield Derived(share, _PERCENT, "percentage", f"share with {group} = {text}", (), words, True)

    @cached_property
    def _of_records(self) -> list[list[Operand]]:
        """The numbers of each record that are fields of it."""
        records: dict[int, list[Operand]] = {}
        for leaf, value, unit in self._whole():
            place = self.read.leaves[leaf - self._base]
            if not place.path.endswith("]"):
                records.setdefault(place.record, []).append((leaf, value, unit))
        return list(records.values())

    def _records(self, most: int) -> Iterator[Derived]:
        """Products, sums, differences and ratios of two fields of one record."""
        for fields in self._of_records[:most]:
            for (first, one, unit), (second, two, other) in combinations(fields[:MAX_FIELDS], 2):
                names = [self.read.leaves[leaf - self._base].path for leaf in (first, second)]
                operands, both = f"{names[0]} and {names[1]}", (first, second)
                yield Derived(one * two, unit or other, "product", f"product of {operands}", both)
                if unit == other:
                    yield Derived(one + two, unit, "sum", f"sum of {operands}", both)
                    yield from _pair(one, two, unit, operands, both)
            alike = [value for _, value, unit in fields if unit == fields[0][2]]
            if 3 <= len(alike) <= MAX_FIELDS:
                yield Derived(sum(alike), fields[0][2], "sum", "sum of a record's fields", (fields[0][0],))

    def _products(self, most: int) -> Iterator[Derived]:
        """The sums of the products of two fields over a list."""
        products: dict[tuple[str, str], list[float]] = {}
        for fields in self._of_records[:most]:
            for (first, one, _), (second, two, _) in combinations(fields[:MAX_FIELDS], 2):
                groups = (self.read.leaves[first - self._base].group, self.read.leaves[second - self._base].group)
                products.setdefault(groups, []).append(one * two)
        for (one_group, other_group), values in products.items():
            if len(values) > 1:
                yield Derived(sum(values), None, "sum", f"sum of {one_group} times {other_group}", ())

    @cached_property
    def _stamps(self) -> list[list[tuple[datetime, int]]]:
        """The dates and hours of each record that has any."""
        records: dict[int, list[tuple[datetime, int]]] = {}
        for moment, leaf in self.read.moments:
            stamp = moment.stamp or (
                datetime(2000, 1, 1, moment.hour, moment.minute or 0)
                if moment.hour is not None and moment.day is None
                else None
            )
            if stamp is not None:
                records.setdefault(self.read.leaves[leaf].record, []).append((stamp, self._base + leaf))
        return list(records.values())

    def _spans(self, most: int) -> Iterator[Derived]:
        """The time from one date or hour of a record to another."""
        for stamps in self._stamps[:most]:
            for (one, first), (two, second) in combinations(stamps[:MAX_FIELDS], 2):
                seconds = abs((two - one).total_seconds())
                if seconds:
                    between = "time between two moments of a record"
                    yield Derived(seconds, _SECONDS, "difference", between, (first, second))


def _column(path: str, column: Sequence[Operand]) -> Iterator[Derived]:
    """Sums, averages and, of few, differences of numbers that stand at one place."""
    if len(column) < 2 or not path:
        return
    values, unit = [value for _, value, _ in column], column[0][2]
    leaves = tuple(leaf for leaf, _, _ in column[:8])
    operands = f"{len(values)} values at {path}"
    total = sum(values)
    yield Derived(total, unit, "sum", f"sum of {operands}", leaves)
    yield Derived(total / len(values), unit, "average", f"average of {operands}", leaves)
    # Several calls say one amount more than once: as an argument, as a result, and where one was made again.
    for times in range(2, len(values) if len(set(values)) == 1 else 0):
        yield Derived(times * values[0], unit, "sum", f"sum of {times} of {operands}", leaves)
    if 1 < len(set(values)) < len(values):
        yield Derived(sum(set(values)), unit, "sum", f"sum of what differs of {operands}", leaves)
    middle = sorted(values)
    half = len(middle) // 2
    median = middle[half] if len(middle) % 2 else (middle[half - 1] + middle[half]) / 2
    yield Derived(median, unit, "average", f"median of {operands}", leaves)
    yield Derived(middle[-1] - middle[0], unit, "difference", f"range of {operands}", leaves)
    if len(values) <= 4:
        for (first, one, _), (second, two, _) in combinations(column, 2):
            yield from _pair(one, two, unit, f"two values at {path}", (first, second))


def _pair(one: float, two: float, unit: Unit | None, operands: str, leaves: tuple[int, ...]) -> Iterator[Derived]:
    yield Derived(abs(one - two), unit, "difference", f"difference of {operands}", leaves)
    for part, base in ((one, two), (two, one)):
        if base:
            yield Derived(100 * (part - base) / abs(base), _PERCENT, "difference", f"change between {operands}", leaves)
            yield Derived(100 * part / base, _PERCENT, "percentage", f"ratio of {operands}", leaves)
            yield Derived(part / base, None, "quotient", f"quotient of {operands}", leaves)


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
