"""From numbers to places in a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from agentguard.report._records import Scale, on_scale

__all__ = ["Axis", "spread", "ticks"]

MOST_TICKS: Final = 5
LEAST: Final = 1e-300  # between two numbers beside an axis


class Axis(NamedTuple):
    """The numbers from ``low`` to ``high`` laid on the places from ``start`` to ``end``.

    >>> axis = Axis(0.0, 10.0, start=200.0, end=0.0)
    >>> axis.at(10.0), axis.at(2.5)
    (0.0, 150.0)
    """

    low: float
    high: float
    start: float
    end: float

    def at(self, x: float) -> float:
        """The place of a number; of one beyond the ends, the end."""
        share = (min(max(x, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places for labels: as near to these as may be, in their order, ``gap`` apart, within ``low`` and ``high``.

    >>> spread([10.0, 12.0, 50.0], gap=10.0, low=0.0, high=60.0)
    [10.0, 20.0, 50.0]
    """
    order = sorted(range(len(places)), key=lambda k: places[k])
    found = [0.0] * len(places)
    lowest = low
    for k in order:
        found[k] = lowest = max(places[k], lowest)
        lowest += gap
    highest = high
    for k in reversed(order):
        found[k] = highest = min(found[k], highest)
        highest -= gap
    return found


def ticks(low: float, high: float, scale: Scale) -> list[float]:
    """Round numbers between two ends on a scale, two to five of them where there are any; not on the scale.

    >>> ticks(math.log(80.0), math.log(1300.0), "log")
    [100.0, 200.0, 500.0, 1000.0]
    >>> ticks(math.log1p(17.0), math.log1p(24.0), "signed log")
    [18.0, 20.0, 22.0, 24.0]
    """
    first, last = on_scale(scale, low), on_scale(scale, high)
    if first > 0.0 and last / first > 8.0:
        return _decades(first, last)
    apart = (last - first) / (MOST_TICKS - 1)
    if not LEAST <= apart < math.inf:
        return []
    step = _round(apart)
    start = math.ceil(first / step - 1e-9)
    places = [float(f"{k * step:.12g}") for k in range(start, start + MOST_TICKS + 1) if k * step <= last + 1e-9 * step]
    return places if scale == "signed log" else [x for x in places if x > 0.0]


def _decades(first: float, last: float) -> list[float]:
    from_, to = math.floor(math.log10(first)), math.ceil(math.log10(last))
    for digits in ((1, 2, 5), (1, 3), (1,)):
        found = [float(f"{digit}e{k}") for k in range(from_, to + 1) for digit in digits]
        found = [x for x in found if first <= x <= last]
        if len(found) <= MOST_TICKS:
            return found
    return found[:: math.ceil(len(found) / MOST_TICKS)]


def _round(x: float) -> float:
    """The least of 1, 2, 2.5, 5 and 10 times a power of ten that is at least ``x``."""
    power = 10.0 ** math.floor(math.log10(x))
    return next(power * digit for digit in (1.0, 2.0, 2.5, 5.0, 10.0, 20.0) if power * digit >= x * (1 - 1e-9))
