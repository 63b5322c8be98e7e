"""All that several tool results say, looked up by value and by word; results may come, and go again.

A result is read once (``_reading.py``). A leaf, a record, a number or a date of it has the number that it has in the
result, and before it the place of the result: they are in order, and stay the same while other results come and go.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeVar

from agentguard.content.grounding._reading import Budget, Leaf, Listing, Number, Read, Texts
from agentguard.content.grounding._values import (
    COUNTED,
    PERCENT,
    Moment,
    Quantity,
    Reading,
    Unit,
    window,
)

Key = TypeVar("Key")

# --- Numbers by value, and how likely one is met by chance ---


_NUMBERED = re.compile(r"[a-z](?:[\w/#-]{0,80}[^\W\d])?[-_#/]?(\d{1,12})")
UNSAID: Final = frozenset({"data", "time"})  # dimensions of numbers that are bytes or seconds without saying so
FEW: Final = 32  # times as many sorted numbers as new ones, from which on each of these is put in by itself


class Match(NamedTuple):
    """A number that a quantity can stand for.

    Attributes:
        place: its place in the numbers that were indexed.
        reading: the reading of the quantity that it fits.
        how: ``""`` as it stands, or ``"converted"``, ``"as a percentage"``, ``"without its sign"``.
    """

    place: int
    reading: Reading
    how: str


class NumberIndex:
    """Numbers with their units (or None), sorted by value, and by base value for each dimension.

    Attributes:
        numbers: the numbers by their places; those that were given at once have the places from 0 on.
    """

    def __init__(self, numbers: Iterable[tuple[float, Unit | None]] = ()) -> None:
        self.numbers: dict[int, tuple[float, Unit | None]] = {}
        self._pairs: list[tuple[float, int]] = []
        self._bases: dict[str, list[tuple[float, int]]] = {}
        self.add(dict(enumerate(numbers)))

    def __len__(self) -> int:
        return len(self.numbers)

    def add(self, numbers: Mapping[int, tuple[float, Unit | None]]) -> None:
        """Take numbers, each at a place where none is."""
        self.numbers.update(numbers)
        for pairs, new in self._sorted(numbers):
            if len(new) * FEW > len(pairs):
                pairs.extend(new)
                pairs.sort()
            else:
                for pair in new:
                    insort(pairs, pair)

    def drop(self, places: Iterable[int]) -> None:
        """Forget the numbers at these places."""
        numbers = {place: self.numbers.pop(place) for place in places}
        for pairs, old in self._sorted(numbers):
            if len(old) * FEW > len(pairs):
                gone = set(old)
                pairs[:] = [pair for pair in pairs if pair not in gone]
            else:
                for pair in old:
                    del pairs[bisect_left(pairs, pair)]

    def _sorted(
        self, numbers: Mapping[int, tuple[float, Unit | None]]
    ) -> list[tuple[list[tuple[float, int]], list[tuple[float, int]]]]:  # fmt: skip
        """The sorted numbers that some belong to, each with what these are there."""
        values: list[tuple[float, int]] = []
        bases: dict[str, list[tuple[float, int]]] = {}
        for place, (value, unit) in numbers.items():
            if math.isnan(value):  # what two sums without bounds give; it is in no order, and nothing stands for it
                continue
            values.append((value, place))
            if unit is not None:
                bases.setdefault(unit.dimension, []).append((value * unit.factor + unit.offset, place))
        parts = [(self._pairs, values)]
        return parts + [(self._bases.setdefault(name, []), pairs) for name, pairs in bases.items()]

    def at(self, value: float) -> Iterator[int]:
        """The places of a value, the first one first."""
        for number in range(bisect_left(self._pairs, (value, -1)), len(self._pairs)):
            if self._pairs[number][0] != value:
                return
            yield self._pairs[number][1]

    def within(self, quantity: Quantity, most: int = 200) -> Iterator[Match]:
        """The numbers that a quantity can stand for, as they stand first; at most so many of each reading.

        >>> from agentguard.content.grounding._values import UNITS
        >>> from agentguard.content.grounding._values import read
        >>> index = NumberIndex([(21.37, UNITS["°c"][0]), (0.125, None)])
        >>> [match.how for text in ("21.4", "70.5 °F", "12.5%") for match in index.within(read(text).quantities[0])]
        ['', 'converted', 'as a percentage']
        """
        for reading in quantity.readings:
            low, high = window(quantity, reading)
            unit = reading.unit
            for index in self._raw(low, high, most):
                if _fits(unit, quantity.noun, self.numbers[index][1]):
                    yield Match(index, reading, "")
            if unit is not None:
                for index in self._converted(unit, low, high, most):
                    if self.numbers[index][1] != unit:
                        yield Match(index, reading, "converted")
                if unit.dimension in UNSAID:
                    for index in self._raw(low * unit.factor, high * unit.factor, most):
                        if self.numbers[index][1] is None:
                            yield Match(index, reading, "converted")
            if unit is not None and unit.dimension == PERCENT:
                for index in self._raw(low / 100, high / 100, most):
                    if self.numbers[index][1] is None and abs(self.numbers[index][0]) <= 1:
                        yield Match(index, reading, "as a percentage")
            if reading.value > 0:
                for index in self._raw(-high, -low, most):
                    if _fits(unit, quantity.noun, self.numbers[index][1]):
                        yield Match(index, reading, "without its sign")

    def nearest(self, value: float) -> int | None:
        """The number closest to a value; None where there is none."""
        at = bisect_left(self._pairs, (value, -1))
        near = range(max(0, at - 1), min(len(self._pairs), at + 1))
        best = min(near, key=lambda number: abs(self._pairs[number][0] - value), default=None)
        return None if best is None else self._pairs[best][1]

    def _raw(self, low: float, high: float, most: int) -> list[int]:
        return _between(self._pairs, low, high, _slack(low, high), most)

    def _converted(self, unit: Unit, low: float, high: float, most: int) -> list[int]:
        slack = _slack(low, high) * unit.factor
        low, high = (value * unit.factor + unit.offset for value in (low, high))
        return _between(self._bases.get(unit.dimension, []), low, high, slack, most)


def _between(pairs: Sequence[tuple[float, int]], low: float, high: float, slack: float, most: int) -> list[int]:
    """The places of the first values in an interval, and a little around it."""
    first = bisect_left(pairs, (low - slack, -1))
    last = bisect_right(pairs, (high + slack, math.inf), first)
    return [place for _, place in pairs[first : min(first + most, last)]]


def _fits(unit: Unit | None, noun: str, own: Unit | None) -> bool:
    """Tell whether a claimed number and one of the results can be the same quantity, by their units.

    A bare number can be any; one that counts days and one that counts rooms are not the same.

    Args:
        unit: The claimed number's unit.
        noun: What the claimed number counts where it has no unit; empty if that is not said.
        own: The unit of the number in the results.
    """
    if own is None or own == unit:
        return True
    return unit is None and (own == COUNTED or not noun)


def _slack(low: float, high: float) -> float:
    """What floating point may add to a bound."""
    return 1e-14 * max(abs(low), abs(high)) + 1e-9 * (high - low)


def chance(quantity: Quantity, tried: int) -> float:
    """How many of so many unrelated numbers a quantity is expected to meet by chance.

    The digits of unrelated numbers are taken as spread evenly over the logarithm (Benford's law), within one order of
    magnitude: a window of relative width w is met by about w / ln 10 of them.

    >>> from agentguard.content.grounding._values import read
    >>> round(chance(read("650").quantities[0], 100), 3), round(chance(read("7").quantities[0], 10), 2)
    (0.067, 0.62)
    """
    widest = 0.0
    for reading in quantity.readings[:4]:
        low, high = window(quantity, reading)
        size = abs(reading.value)
        widest = max(widest, 1.0 if size == 0 else min(1.0, (high - low) / size / math.log(10)))
    return widest * tried


# --- Results ---


SPAN: Final = 1 << 24  # numbers that the parts of one result may have
GIVEN: Final = 1 << 40  # the places of texts that are known beside the results come behind it
APART: Final = 1 << 20  # places between two of these: others may come between them
MAX_TEXTS: Final = 20_000  # short texts that are known again while results come, a judgement


class Sources:
    """All that several results say, indexed by value and by word.

    Args:
        results: the results, in the order of their calls.
        given: further texts that are known (the question, messages).

    Attributes:
        index: the numbers by value.
        tokens: the leaves of each identifier, number as written and short text, by its ``plain`` form.
        words: the leaves of each word, by its stem.
        lists: the lists by the stems of their names.
        days, months, clocks, years: the dates and times by day, by month, by time of day, and by year.
        key_words: the stems of the words of all keys, counted.
        lengths: the lengths of the lists, counted.
        units: the dimensions of the numbers' units, counted.
    """

    def __init__(self, results: Iterable[Any] = (), given: Iterable[str] = ()) -> None:
        self.index = NumberIndex()
        self.tokens: dict[str, list[int]] = {}
        self.words: dict[str, list[int]] = {}
        self.lists: dict[tuple[str, ...], list[int]] = {}
        self.days: dict[tuple[int | None, int | None], list[int]] = {}
        self.months: dict[int | None, list[int]] = {}
        self.clocks: dict[tuple[int | None, int | None], list[int]] = {}
        self.years: dict[int | None, list[int]] = {}
        self.key_words: Counter[str] = Counter()
        self.lengths: Counter[int] = Counter()
        self.units: Counter[str] = Counter()
        self._contents: dict[int, Any] = {}
        self._reads: dict[int, Read] = {}
        self._order: list[int] = []
        self._given: dict[int, int] = {}  # how the known texts count, by their places
        self._used = Budget(0, 0, 0, 0)
        self._partly = 0  # results that were not read to their ends
        self._texts: Texts = {}
        self.change(dict(enumerate(results)), (), given)

    # Results come and go

    def change(self, come: Mapping[int, Any], go: Iterable[int], given: Iterable[str]) -> None:
        """Take results, and forget others.

        Args:
            come: by their places, later ones at greater ones; the results that are there have places without gaps. What
                stood at the place of one is forgotten.
            go: the places of those to forget.
            given: the texts that are known beside the results from now on.
        """
        texts = self._placed(list(given))
        self._given = {place: -number for number, place in enumerate(texts, 1)}
        unknown = [place for place in self._order if place > GIVEN and self._contents[place] != texts.get(place)]
        for place in (*go, *unknown, *(place for place in come if place in self._contents)):
            del self._contents[place]
            self._drop(place)
        new = {**come, **{place: text for place, text in texts.items() if place not in self._contents}}
        if len(self._texts) > MAX_TEXTS:
            self._texts.clear()
        self._contents |= new
        self._order = sorted(self._contents)
        self.__dict__.pop("bare", None)
        self.__dict__.pop("numbered", None)
        # 1. What is new is read.
        left = Budget().less(self._used)
        for place in sorted(new):
            self._add(place, left)
            left = left.less(self._reads[place].used)
        # 2. Where there was not room for all, what comes first is read first.
        if self._partly or not all(left):
            left = Budget()
            for place in self._order:
                if not self._reads[place].is_as_with(left):
                    self._drop(place)
                    self._add(place, left)
                left = left.less(self._reads[place].used)

    def _placed(self, given: Sequence[str]) -> dict[int, str]:
        """The known texts by their places; those that were there keep theirs, as far as their order allows."""
        old = [place for place in self._order if place > GIVEN]
        same = SequenceMatcher(None, [self._contents[place] for place in old], given, autojunk=False)
        placed: dict[int, str] = {}
        number, last = 0, GIVEN
        for block in same.get_matching_blocks():  # the last one is empty, and stands at the ends of both
            end = old[block.a] if block.size else last + (len(given) - number + 1) * APART
            step = (end - last) // (block.b - number + 1)
            if not step:  # there is no place between them any more
                return {GIVEN + at * APART: text for at, text in enumerate(given, 1)}
            placed |= {last + step * at: text for at, text in enumerate(given[number : block.b], 1)}
            placed |= {old[block.a + at]: given[block.b + at] for at in range(block.size)}
            number = block.b + block.size
            last = old[block.a + block.size - 1] if block.size else last
        return placed

    def _add(self, place: int, budget: Budget) -> None:
        read = self._reads[place] = Read(self._contents[place], budget, self._texts, is_text=place > GIVEN)
        base = place * SPAN
        self._used = Budget(*(own + other for own, other in zip(self._used, read.used, strict=True)))
        self._partly += not read.complete
        self.index.add({base + at: (number.value, number.unit) for at, number in enumerate(read.numbers)})
        for index, key, numbers in self._indexed(read):
            there = index.setdefault(key, [])
            new = [base + number for number in numbers]
            if not there or there[-1] < base:
                there += new
            else:
                at = bisect_left(there, base)
                there[at:at] = new
        for counter, keys in self._counted(read):
            counter.update(keys)

    def _drop(self, place: int) -> None:
        read, base = self._reads.pop(place), place * SPAN
        self._used = Budget(*(own - other for own, other in zip(self._used, read.used, strict=True)))
        self._partly -= not read.complete
        self.index.drop(range(base, base + len(read.numbers)))
        for index, key, _ in self._indexed(read):
            there = index[key]
            first = bisect_left(there, base)
            del there[first : bisect_left(there, base + SPAN, first)]
            if not there:
                del index[key]
        for counter, keys in self._counted(read):
            counter.subtract(keys)
            for key in keys:
                if not counter[key]:
                    del counter[key]

    def _indexed(self, read: Read) -> Iterator[tuple[dict[Any, list[int]], Any, list[int]]]:
        """The leaves, lists and dates of a result by what they are looked up by, each with the index."""
        yield from ((self.tokens, token, leaves) for token, leaves in read.tokens.items())
        yield from ((self.words, word, leaves) for word, leaves in read.words.items())
        yield from _grouped(self.lists, (listing.name for listing in read.listings))
        moments = [moment for moment, _ in read.moments]
        yield from _grouped(self.days, ((moment.month, moment.day) for moment in moments))
        yield from _grouped(self.months, (moment.month for moment in moments))
        yield from _grouped(self.clocks, ((moment.hour, moment.minute) for moment in moments))
        yield from _grouped(self.years, (moment.year for moment in moments))

    def _counted(self, read: Read) -> Iterator[tuple[Counter[Any], list[Any]]]:
        yield self.key_words, list(read.key_words)
        yield self.lengths, [listing.length for listing in read.listings]
        yield self.units, [number.unit.dimension for number in read.numbers if number.unit is not None]

    # What is asked of them

    @property
    def complete(self) -> bool:
        """Tell whether all was read.

        False beyond ``MAX_LEAVES`` leaves, ``LIMITS.values`` values or ``MAX_CHARACTERS`` of text.
        """
        return not self._partly

    @property
    def reads(self) -> Iterator[tuple[int, Read]]:
        """The results as they were read, in order, each behind its place."""
        return ((place, self._reads[place]) for place in self._order)

    def leaf(self, leaf: int) -> Leaf:
        """A leaf; its record has the number that it has in its result."""
        return self._reads[leaf // SPAN].leaves[leaf % SPAN]

    def number(self, number: int) -> Number:
        """A number, with its leaf."""
        found = self._reads[number // SPAN].numbers[number % SPAN]
        return Number(found.value, found.unit, number // SPAN * SPAN + found.leaf, found.whole)

    def moment(self, moment: int) -> tuple[Moment, int]:
        """A date or time, with its leaf."""
        found, leaf = self._reads[moment // SPAN].moments[moment % SPAN]
        return found, moment // SPAN * SPAN + leaf

    def listing(self, listing: int) -> Listing:
        """A list."""
        return self._reads[listing // SPAN].listings[listing % SPAN]

    def source(self, leaf: int) -> int:
        """The position of a leaf's result; -1 for what was asked, and other negative ones for what else is known."""
        place = leaf // SPAN
        return self._given[place] if place > GIVEN else place - self._order[0]

    def is_given(self, leaf: int) -> bool:
        """Tell whether a leaf is of what was known beside the results."""
        return leaf // SPAN > GIVEN

    def token(self, token: str) -> int | None:
        """The first leaf that says a token; None where none does."""
        leaves = self.tokens.get(token)
        return leaves[0] if leaves else None

    def is_repeated(self, token: str) -> bool:
        """Tell whether more than one record says a token."""
        leaves = self.tokens.get(token, [])
        return any(self.record(leaf) != self.record(leaves[0]) for leaf in leaves)

    def in_order(self) -> Iterator[tuple[str, int]]:
        """All tokens, each with its first leaf, in the order of these."""
        for place, read in self.reads:
            for token, leaves in read.tokens.items():
                if self.tokens[token][0] == place * SPAN + leaves[0]:
                    yield token, place * SPAN + leaves[0]

    @cached_property
    def bare(self) -> dict[str, int]:
        """The first leaf of each token without its punctuation."""
        bare: dict[str, int] = {}
        for token, leaf in self.in_order():
            bare.setdefault(re.sub(r"[\W_]", "", token), leaf)
        return bare

    @cached_property
    def numbered(self) -> dict[str, int]:
        """The first leaf of each identifier by its last digits: of ``pr-88`` by ``88``."""
        numbered: dict[str, int] = {}
        for token, leaf in self.in_order():
            match = _NUMBERED.fullmatch(token)
            if match:
                numbered.setdefault(match[1], leaf)
        return numbered

    def moments(self) -> Iterator[tuple[Moment, int]]:
        """All dates and times in their order, each with its leaf."""
        for place, read in self.reads:
            for moment, leaf in read.moments:
                yield moment, place * SPAN + leaf

    def common(self, words: set[str], leaf: int) -> int:
        """How many stems stand with a leaf: in its path, in its record, or in the records that this one is part of."""
        return self._reads[leaf // SPAN].common(words, leaf % SPAN)

    def said(self, leaf: int) -> list[str]:
        """The stems of what a leaf says, in their order."""
        return self._reads[leaf // SPAN].said(leaf % SPAN)

    def record(self, leaf: int) -> int:
        """The record of a leaf."""
        return leaf // SPAN * SPAN + self.leaf(leaf).record

    def own_words(self, record: int) -> set[str]:
        """Stems of the words of one record alone."""
        return self._reads[record // SPAN].records[record % SPAN].words

    def line(self, leaf: int) -> list[int]:
        """The record of a leaf and those that it is part of, innermost first."""
        base = leaf // SPAN * SPAN
        return [base + record for record in self._reads[leaf // SPAN].line(self.leaf(leaf).record)]

    def clocks_beside(self, leaf: int) -> set[tuple[int | None, int | None]]:
        """The times of day of a leaf's record."""
        return self._reads[leaf // SPAN].clocks.get(self.leaf(leaf).record, set())


def _grouped(
    index: dict[Key, list[int]], keys: Iterable[Key]
) -> Iterator[tuple[dict[Key, list[int]], Key, list[int]]]:  # fmt: skip
    """The numbers of some things by their keys, each behind the index."""
    numbers: dict[Key, list[int]] = {}
    for number, key in enumerate(keys):
        numbers.setdefault(key, []).append(number)
    return ((index, key, those) for key, those in numbers.items())
