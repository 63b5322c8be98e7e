"""Numbers found by value, whatever unit they stand in, and how likely a number is met by chance."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .grounding_units import PERCENT, Unit
from .grounding_values import Quantity, Reading, window

__all__ = ["Match", "NumberIndex", "chance"]


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
    """Numbers with their units (or None), sorted by value, and by base value for each dimension."""

    def __init__(self, numbers: Sequence[tuple[float, Unit | None]]) -> None:
        self._numbers = numbers
        pairs = sorted((value, index) for index, (value, _) in enumerate(numbers))
        self._values, self._order = [value for value, _ in pairs], [index for _, index in pairs]
        bases: dict[str, list[tuple[float, int]]] = {}
        for index, (value, unit) in enumerate(numbers):
            if unit is not None:
                bases.setdefault(unit.dimension, []).append((value * unit.factor + unit.offset, index))
        self._bases = {name: sorted(found) for name, found in bases.items()}

    def __len__(self) -> int:
        return len(self._numbers)

    def within(self, quantity: Quantity, most: int = 200) -> Iterator[Match]:
        """The numbers that a quantity can stand for, as they stand first; at most so many of each reading.

        >>> from agentguard.content.grounding_units import UNITS
        >>> from agentguard.content.grounding_values import read
        >>> index = NumberIndex([(21.37, UNITS["°c"][0]), (0.125, None)])
        >>> [match.how for text in ("21.4", "70.5 °F", "12.5%") for match in index.within(read(text).quantities[0])]
        ['', 'converted', 'as a percentage']
        """
        for reading in quantity.readings:
            low, high = window(quantity, reading)
            unit = reading.unit
            for index in self._raw(low, high, most):
                own = self._numbers[index][1]
                if unit is None or own is None or own == unit:
                    yield Match(index, reading, "")
            if unit is not None:
                for index in self._converted(unit, low, high, most):
                    if self._numbers[index][1] != unit:
                        yield Match(index, reading, "converted")
            if unit is not None and unit.dimension == PERCENT:
                for index in self._raw(low / 100, high / 100, most):
                    if self._numbers[index][1] is None and abs(self._numbers[index][0]) <= 1:
                        yield Match(index, reading, "as a percentage")
            if reading.value > 0:
                for index in self._raw(-high, -low, most):
                    own = self._numbers[index][1]
                    if unit is None or own is None or own == unit:
                        yield Match(index, reading, "without its sign")

    def nearest(self, value: float) -> int | None:
        """The number closest to a value; None where there is none."""
        at = bisect_left(self._values, value)
        near = range(max(0, at - 1), min(len(self._values), at + 1))
        best = min(near, key=lambda place: abs(self._values[place] - value), default=None)
        return None if best is None else self._order[best]

    def _raw(self, low: float, high: float, most: int) -> list[int]:
        slack = _slack(low, high)
        first = bisect_left(self._values, low - slack)
        return self._order[first : min(first + most, bisect_right(self._values, high + slack))]

    def _converted(self, unit: Unit, low: float, high: float, most: int) -> list[int]:
        pairs = self._bases.get(unit.dimension, [])
        slack = _slack(low, high) * unit.factor
        first = bisect_left(pairs, (low * unit.factor + unit.offset - slack, -1))
        last = bisect_right(pairs, (high * unit.factor + unit.offset + slack, len(self._numbers)))
        return [index for _, index in pairs[first : min(first + most, last)]]


def _slack(low: float, high: float) -> float:
    """What floating point may add to a bound."""
    return 1e-14 * max(abs(low), abs(high)) + 1e-9 * (high - low)


def chance(quantity: Quantity, tried: int) -> float:
    """How many of so many unrelated numbers a quantity is expected to meet by chance.

    The digits of unrelated numbers are taken as spread evenly over the logarithm (Benford's law), within one order of
    magnitude: a window of relative width w is met by about w / ln 10 of them.

    >>> from agentguard.content.grounding_values import read
    >>> round(chance(read("650").quantities[0], 100), 3), round(chance(read("7").quantities[0], 10), 2)
    (0.067, 0.62)
    """
    widest = 0.0
    for reading in quantity.readings[:4]:
        low, high = window(quantity, reading)
        size = abs(reading.value)
        widest = max(widest, 1.0 if size == 0 else min(1.0, (high - low) / size / math.log(10)))
    return widest * tried
