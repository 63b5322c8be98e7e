"""A stream of numbers as an individuals chart, in constant memory.

**Limits.** Centre and spread come from the first 100 values of accepted calls: their median, and the median of the
differences between neighbours (moving ranges) over 0.9539, the ratio of the two for a normal process (D. J. Wheeler,
D. S. Chambers, "Understanding Statistical Process Control", 1992). Medians, so that a few bad values among the first
hundred do not widen the limits that they are held against. Where more than half of the ranges are 0 the mean range
over 1.128 takes their place.

**Alarms.** Each value is held against the four Western Electric rules when it comes, before anything is put together:
an alarm is never lost in a mean.

**Points.** Up to 240 points each stand for one value; then neighbours are merged, and each stands for two, four, ….
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import Final

from agentguard.verification.statistics import western_electric

from .records import Chart, Limits, Point, Scale

__all__ = ["BASELINE", "LATELY", "LEAST", "POINTS", "Series", "limits_of"]

BASELINE: Final = 100
HELD: Final = 200  # values after which limits are set by what there is
LEAST: Final = 8
POINTS: Final = 240
LATELY: Final = 25
MEDIAN_RANGE: Final = 0.9539  # of two normal values, in their sigma
MEAN_RANGE: Final = 1.128  # the same of the mean range: d2 for two values


def limits_of(values: Sequence[float]) -> Limits | None:
    """Centre and spread of these values, in their order; None below eight of them, or without spread.

    >>> limits_of([10.0, 11.0, 10.0, 9.0, 10.0, 11.0, 10.0, 9.0, 10.0])
    Limits(centre=10.0, sigma=1.048327916972429, values=9)
    """
    if len(values) < LEAST:
        return None
    ranges = [abs(after - before) for before, after in pairwise(values)]
    sigma = median(ranges) / MEDIAN_RANGE or fmean(ranges) / MEAN_RANGE
    return Limits(median(values), sigma, len(values)) if sigma > 0.0 else None


class Series:
    """One number of a tool's calls, in their order.

    >>> series = Series()
    >>> for n in range(300):
    ...     series.push(float(n % 5))
    >>> chart = series.chart("latency", "ms", "log")
    >>> chart.values, len(chart.points), chart.points[0].size, chart.limits.centre
    (300, 150, 2, 2.0)
    """

    __slots__ = (
        "_alarms", "_bins", "_filled", "_first_alarm", "_held", "_highs", "_lately", "_limits", "_lows", "_marks",
        "_settled", "_sums", "_totals", "_width", "count",
    )  # fmt: skip

    def __init__(self) -> None:
        self.count = 0
        self._held: list[tuple[float, bool]] = []  # until the limits are set
        self._limits: Limits | None = None
        self._settled = 0  # values there were when the limits were set
        self._lately: deque[float] = deque(maxlen=LATELY)
        self._width, self._filled = 1, 0
        self._lows, self._highs, self._sums = array("d"), array("d"), array("d")
        self._marks, self._bins = array("B"), array("Q")  # bit n - 1 for rule n; engine alarms
        self._totals = [0, 0, 0]  # beyond the limits, other rules, engine alarms
        self._first_alarm: int | None = None

    def push(self, x: float, *, usable: bool = True, alarm: bool = False) -> None:
        """Take in a value.

        Args:
            x: on the chart's scale, finite.
            usable: the call was accepted: its value may be one of those that the limits rest on.
            alarm: the engine's own drift check fired on this number.
        """
        self.count += 1
        if alarm:
            self._totals[2] += 1
            self._first_alarm = self._first_alarm or self.count
        self._lately.append(x)
        self._add(x, alarm)
        if self._settled:
            self._mark(self._rules(tuple(self._lately)[-8:]))
            return
        self._held.append((x, usable))
        if len(self._held) >= HELD or sum(fit for _, fit in self._held) >= BASELINE:
            self._limits, marks, self._totals[:2] = self._first_marks()
            self._marks = array("B", marks)
            self._held, self._settled = [], self.count

    def _add(self, x: float, alarm: bool) -> None:
        if not self._filled:
            if len(self._sums) == POINTS:
                self._halve()
            for column, value in ((self._lows, x), (self._highs, x), (self._sums, x)):
                column.append(value)
            self._marks.append(0)
            self._bins.append(int(alarm))
        else:
            self._lows[-1], self._highs[-1] = min(self._lows[-1], x), max(self._highs[-1], x)
            self._sums[-1] += x
            self._bins[-1] += alarm
        self._filled = (self._filled + 1) % self._width

    def _halve(self) -> None:
        pairs = range(0, POINTS, 2)
        self._lows = array("d", [min(self._lows[k], self._lows[k + 1]) for k in pairs])
        self._highs = array("d", [max(self._highs[k], self._highs[k + 1]) for k in pairs])
        self._sums = array("d", [self._sums[k] + self._sums[k + 1] for k in pairs])
        self._marks = array("B", [self._marks[k] | self._marks[k + 1] for k in pairs])
        self._bins = array("Q", [self._bins[k] + self._bins[k + 1] for k in pairs])
        self._width *= 2

    def _rules(self, latest: Sequence[float]) -> int:
        if self._limits is None:
            return 0
        return _bits(latest, self._limits)

    def _mark(self, bits: int) -> None:
        if bits:
            self._marks[-1] |= bits
            self._totals[0 if bits & 1 else 1] += 1

    def _first_marks(self) -> tuple[Limits | None, list[int], list[int]]:
        """The limits by what is held, and of each value held the rules that hold at it, counted too."""
        limits = limits_of([x for x, usable in self._held if usable])
        values = [x for x, _ in self._held]
        marks = [0] * len(values)
        if limits is not None:
            marks = [_bits(values[max(k - 7, 0) : k + 1], limits) for k in range(len(values))]
        beyond = sum(bits & 1 for bits in marks)
        return limits, marks, [beyond, sum(bits > 0 for bits in marks) - beyond]

    def chart(self, name: str, unit: str, scale: Scale) -> Chart:
        """The chart as it stands now."""
        limits, marks, totals = self._limits, list(self._marks), self._totals[:2]
        if not self._settled:
            limits, marks, totals = self._first_marks()
        points = tuple(
            Point(
                1 + k * self._width, size := self._size(k), low, min(max(total / size, low), high), high,
                tuple(rule for rule in range(1, 5) if marks[k] >> (rule - 1) & 1), self._bins[k],
            )
            for k, (low, high, total) in enumerate(zip(self._lows, self._highs, self._sums, strict=True))
        )  # fmt: skip
        fresh = self._settled and self.count >= self._settled + LATELY
        return Chart(
            name, unit, scale, limits, points, self.count, totals[0], totals[1], self._totals[2], self._first_alarm,
            median(self._lately) if fresh else None,
        )  # fmt: skip

    def _size(self, k: int) -> int:
        return self._width if k < len(self._sums) - 1 or not self._filled else self._filled


def _bits(latest: Sequence[float], limits: Limits) -> int:
    return sum(1 << (rule.number - 1) for rule in western_electric(latest, limits.centre, limits.sigma))
