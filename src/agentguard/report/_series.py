"""Individuals charts over streams of numbers in constant memory, and drift in them.

**Limits.** Centre and spread come from the first 100 values of accepted calls: their median, and the median of the
differences between neighbours (moving ranges) over 0.9539, their ratio to sigma in a normal process (D. J. Wheeler,
D. S. Chambers, "Understanding Statistical Process Control", 1992). Medians are used so that a few bad values among the
first hundred do not widen their own limits. If more than half of the ranges are 0, sigma is the mean range over 1.128.

**Alarms.** Each value is tested by the four Western Electric rules as it comes, before neighbours are merged: no alarm
is lost in a mean.

**Points.** Up to 240 values are a point each; then neighbours are merged, and a point stands for two values, four, ….
"""

from __future__ import annotations

import re
from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import Final

from agentguard.report._records import Chart, Drifted, Limits, Point, Scale
from agentguard.verification.statistics import western_electric

BASELINE: Final = 100
HELD: Final = 200  # values after which limits are set in any case
LEAST: Final = 8  # values that limits rest on
POINTS: Final = 240
LATELY: Final = 25
MEDIAN_RANGE: Final = 0.9539  # median range of two normal values, in sigma
MEAN_RANGE: Final = 1.128  # mean range of two normal values, in sigma: d2 (Wheeler and Chambers)


def limits_of(values: Sequence[float]) -> Limits | None:
    """Estimate centre and sigma of values in their order; None below eight values, or without spread.

    >>> limits_of([10.0, 11.0, 10.0, 9.0, 10.0, 11.0, 10.0, 9.0, 10.0])
    Limits(centre=10.0, sigma=1.048327916972429, values=9)
    """
    if len(values) < LEAST:
        return None
    ranges = [abs(after - before) for before, after in pairwise(values)]
    sigma = median(ranges) / MEDIAN_RANGE or fmean(ranges) / MEAN_RANGE
    return Limits(median(values), sigma, len(values)) if sigma > 0.0 else None


class Series:
    """Values of one number, in the order of calls.

    >>> series = Series()
    >>> for n in range(300):
    ...     series.push(float(n % 5))
    >>> chart = series.chart("latency", "ms", "log")
    >>> chart.values, len(chart.points), chart.points[0].size, chart.limits.centre
    (300, 150, 2, 2.0)
    """

    __slots__ = (
        "_bins", "_filled", "_first_alarm", "_fit", "_held", "_highs", "_lately", "_limits", "_lows", "_marks",
        "_rules", "_settled", "_sums", "_totals", "_width", "count",
    )  # fmt: skip

    def __init__(self) -> None:
        self.count = 0
        self._held: list[tuple[float, bool]] = []  # until the limits are set
        self._fit = 0  # values among them that limits may rest on
        self._limits: Limits | None = None
        self._rules: _Rules | None = None  # at the latest value; None without limits
        self._settled = 0  # values there were when the limits were set
        self._lately: deque[float] = deque(maxlen=LATELY)
        self._width, self._filled = 1, 0
        self._lows, self._highs, self._sums = array("d"), array("d"), array("d")
        self._marks, self._bins = array("B"), array("Q")  # bit n - 1 for rule n; engine alarms
        self._totals = [0, 0, 0]  # beyond the limits, other rules, engine alarms
        self._first_alarm: int | None = None

    def push(self, x: float, *, usable: bool = True, alarm: bool = False) -> None:
        """Add a value.

        Args:
            x: on the chart's scale, finite.
            usable: whether the limits may rest on it; the values of accepted calls are.
            alarm: whether the engine's own drift check fired on this number.
        """
        self.count += 1
        if alarm:
            self._totals[2] += 1
            self._first_alarm = self._first_alarm or self.count
        self._lately.append(x)
        self._add(x, alarm)
        if self._settled:
            bits = 0 if self._rules is None else self._rules.push(x)
            if bits:
                self._marks[-1] |= bits
                self._totals[0 if bits & 1 else 1] += 1
            return
        self._held.append((x, usable))
        self._fit += usable
        if len(self._held) >= HELD or self._fit >= BASELINE:
            self._limits, marks, self._totals[:2] = self._first_marks()
            self._marks = array("B", marks)
            self._rules = None if self._limits is None else _Rules(self._limits, self._lately)
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
            if x < self._lows[-1]:
                self._lows[-1] = x
            elif x > self._highs[-1]:
                self._highs[-1] = x
            self._sums[-1] += x
            if alarm:
                self._bins[-1] += 1
        self._filled = (self._filled + 1) % self._width

    def _halve(self) -> None:
        """Merge neighbouring points."""
        pairs = range(0, POINTS, 2)
        self._lows = array("d", [min(self._lows[k], self._lows[k + 1]) for k in pairs])
        self._highs = array("d", [max(self._highs[k], self._highs[k + 1]) for k in pairs])
        self._sums = array("d", [self._sums[k] + self._sums[k + 1] for k in pairs])
        self._marks = array("B", [self._marks[k] | self._marks[k + 1] for k in pairs])
        self._bins = array("Q", [self._bins[k] + self._bins[k + 1] for k in pairs])
        self._width *= 2

    def _first_marks(self) -> tuple[Limits | None, list[int], list[int]]:
        """Limits from the held values, the rules that hold at each of these, and counts of both kinds of alarm."""
        limits = limits_of([x for x, usable in self._held if usable])
        values = [x for x, _ in self._held]
        marks = [0] * len(values)
        if limits is not None:
            marks = [_bits(values[max(k - 7, 0) : k + 1], limits) for k in range(len(values))]
        beyond = sum(bits & 1 for bits in marks)
        return limits, marks, [beyond, sum(bits > 0 for bits in marks) - beyond]

    def chart(self, name: str, unit: str, scale: Scale) -> Chart:
        """The chart of the values so far."""
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
    """The rules that hold at the last of these values: bit n - 1 for rule n."""
    return sum(1 << (rule.number - 1) for rule in western_electric(latest, limits.centre, limits.sigma))


class _Rules:
    """The rules at each value of a long series, from what is kept of the seven values before it; as ``_bits``.

    Of the last three and the last five values a bit each says whether they lie beyond two sigma and beyond one, above
    and below; and a count says how many in a row lie above the centre, or below.
    """

    __slots__ = ("_above", "_below", "_centre", "_high1", "_high2", "_low1", "_low2", "_sigma")

    def __init__(self, limits: Limits, values: Iterable[float]) -> None:
        self._centre, self._sigma = limits.centre, limits.sigma
        self._high1 = self._high2 = self._low1 = self._low2 = self._above = self._below = 0
        for x in values:
            self.push(x)

    def push(self, x: float) -> int:
        """The rules that hold at the next value: bit n - 1 for rule n."""
        away = (x - self._centre) / self._sigma
        high1 = self._high1 = (self._high1 << 1 | (away > 1.0)) & 0b11111
        low1 = self._low1 = (self._low1 << 1 | (away < -1.0)) & 0b11111
        high2 = self._high2 = (self._high2 << 1 | (away > 2.0)) & 0b111
        low2 = self._low2 = (self._low2 << 1 | (away < -2.0)) & 0b111
        self._above = self._above + 1 if away > 0.0 else 0
        self._below = self._below + 1 if away < 0.0 else 0
        bits = 1 if away > 3.0 or away < -3.0 else 0
        if high2 in _TWO_OF_THREE or low2 in _TWO_OF_THREE:
            bits |= 2
        if high1 in _FOUR_OF_FIVE or low1 in _FOUR_OF_FIVE:
            bits |= 4
        if self._above >= 8 or self._below >= 8:
            bits |= 8
        return bits


_TWO_OF_THREE: Final = frozenset(bits for bits in range(8) if bits.bit_count() >= 2)
_FOUR_OF_FIVE: Final = frozenset(bits for bits in range(32) if bits.bit_count() >= 4)


# --- Drift: the latest values of a number against those that its limits rest on ---


LEAST_SIGMAS: Final = 1.0  # judgement: a median of 25 values strays by about a quarter of one
MOST_DRIFTED: Final = 12
_EWMA = re.compile(r"the EWMA of (latency|size) ")
_RULE = re.compile(r"(latency|size|field '.{0,300}'): rule ")


def drift_alarms(detail: str) -> frozenset[str]:
    """Parse the numbers that a fired ``spc_anomaly`` names, in either mode: ``latency``, ``size``, ``field 'price'``.

    >>> drift_alarms("the EWMA of latency is beyond its control limit")
    frozenset({'latency'})
    >>> sorted(drift_alarms("size: rule 1; field 'price': rule 1 and 2"))
    ["field 'price'", 'size']
    """
    rules = map(_RULE.match, detail.split("; "))
    return frozenset(match[1] for match in (*_EWMA.finditer(detail), *rules) if match is not None)


def drifted_of(charts: Iterable[Chart]) -> tuple[Drifted, ...]:
    """The numbers whose latest values lie a sigma or more from the centre, or on which the engine raised an alarm.

    The farthest first, at most twelve.
    """
    result = []
    for chart in charts:
        sigmas = None
        if chart.limits is not None and chart.lately is not None:
            sigmas = (chart.lately - chart.limits.centre) / chart.limits.sigma
        if chart.alarms or (sigmas is not None and abs(sigmas) >= LEAST_SIGMAS):
            learned = None if chart.limits is None else chart.number(chart.limits.centre)
            lately = None if chart.lately is None else chart.number(chart.lately)
            result.append(
                Drifted(chart.name, chart.unit, learned, lately, sigmas, chart.alarms, chart.first_alarm, None)
            )
    result.sort(key=lambda drifted: (-abs(drifted.sigmas or 0.0), drifted.what))
    return tuple(result[:MOST_DRIFTED])
