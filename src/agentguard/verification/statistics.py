"""Statistics of streams of numbers or events in constant memory, and the p-values read from them.

Every p-value here is for a *new* observation under "the tool behaves as it did": small where the observation is
unusual, never 0, and near 1 while little is known.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

__all__ = [
    "RUN_RULES", "Categories", "EwmaChart", "Level", "Rate", "Ring", "RunRule", "RunningStats", "Surprises", "log_odds",
    "new_scores", "signed_log", "student_t4_tail", "western_electric",
]  # fmt: skip

#: A p-value above it is taken as 1: it cannot speak against a call, and most of what is looked at lies there.
USUAL_P: Final = 0.3
_USUAL_T_SQUARED: Final = 1.4161  # of Student's t with 4 degrees of freedom: P(|T| >= 1.19) = .3


def signed_log(value: float) -> float:
    """``sign(x) ln(1 + |x|)``: a scale on which prices, counts and temperatures are all of one size.

    >>> round(signed_log(-9.0), 4)
    -2.3026
    """
    return math.log(1.0 + value) if value >= 0.0 else -math.log(1.0 - value)


def log_odds(probability: float) -> float:
    """``ln(p / (1 - p))`` in nats; infinite at 0 and 1.

    >>> round(log_odds(0.15), 4)
    -1.7346
    """
    if probability <= 0.0:
        return -math.inf
    return math.inf if probability >= 1.0 else math.log(probability) - math.log1p(-probability)


def student_t4_tail(t: float) -> float:
    """Two-sided tail P(|T| >= |t|) of Student's t with 4 degrees of freedom, in closed form.

    ``F(t) = 1/2 + (3/8) u (1 - u²/12)`` with ``u = t / sqrt(1 + t²/4)`` (Abramowitz & Stegun 26.7.4).

    >>> round(student_t4_tail(2.776445), 4), round(student_t4_tail(0.0), 4)
    (0.05, 1.0)
    """
    t = min(abs(t), 1e6)  # far beyond the floor, and its square is finite
    u = t / math.sqrt(1.0 + t * t / 4.0)
    return max(1.0 - 0.75 * u * (1.0 - u * u / 12.0), 1e-12)


class Rate:
    """The rate of an event: ``hits`` of ``total``, halved together so that old calls fade."""

    __slots__ = ("hits", "total")

    def __init__(self) -> None:
        self.hits = 0.0
        self.total = 0.0

    def push(self, hit: bool, weight: float = 1.0) -> None:
        self.total += weight
        if hit:
            self.hits += weight
        if self.total > 1024.0:
            self.hits *= 0.5
            self.total *= 0.5

    def mean(self, prior: float = 1 / 3, strength: float = 1.5) -> float:
        """Posterior mean under a Beta prior; the default is ``(hits + ½) / (total + 1½)``.

        >>> Rate().mean(prior=0.1, strength=4)
        0.1
        """
        return (self.hits + prior * strength) / (self.total + strength)


class Categories:
    """Counts of distinct values with the chance of a value at most as frequent (Good 1953 for the unseen ones)."""

    __slots__ = ("counts", "singles", "total")

    LIMIT: Final = 64

    def __init__(self) -> None:
        self.counts: dict[Any, int] = {}
        self.total = 0
        self.singles = 0

    def p(self, value: Any) -> float:
        """Mass of all values at most as frequent as this one; for an unseen one the Good-Turing mass of the unseen.

        A value that makes up more than a twentieth of all is usual: 1.
        """
        count = self.counts.get(value, 0)
        if count == 0:
            return (self.singles + 0.5) / (self.total + 1.5)
        if count * 20 > self.total:
            return 1.0
        return (sum(other for other in self.counts.values() if other <= count) + 0.5) / (self.total + 1)

    def push(self, value: Any, times: int = 1, *, keep: bool = True) -> None:
        """Count a value; a new one is kept only where ``keep`` is set, and as long as there is room."""
        count = self.counts.get(value, 0)
        self.total += times
        self.singles += (count + times == 1) - (count == 1)
        if count or (keep and len(self.counts) < self.LIMIT):
            self.counts[value] = count + times


class Surprises:
    """The distribution of a signal's raw surprise (``-ln p``) over genuine calls: the conformal recalibration.

    A histogram of 48 bins of a quarter nat. ``p`` is the share of past surprises at least as large, with ``prior``
    calls that behave as the raw p-value claims, but never below ``floor`` (Vovk, Gammerman & Shafer 2005; Bates et
    al. 2021 for the conservative form).
    """

    __slots__ = ("bins", "floor", "prior", "total")

    BINS: Final = 48
    WIDTH: Final = 0.25
    MEMORY: Final = 512.0

    def __init__(self, floor: float, prior: float = 8.0) -> None:
        self.bins: array[float] | None = None
        self.total = 0.0
        self.floor = floor
        self.prior = prior

    def tail(self, surprise: float) -> float:
        """Weight of the past surprises that are at least this large (to the width of a bin)."""
        if self.bins is None:
            return 0.0
        return sum(self.bins[min(int(surprise / self.WIDTH), self.BINS - 1) :])  # up to the largest that came

    def p(self, surprise: float, expected: float | None = None) -> float:
        """Conformal p-value in (0, 1]; ``expected`` is the tail that the prior calls have (default ``exp(-x)``).

        >>> Surprises(floor=0.01).p(0.0)
        1.0
        """
        if surprise <= 0.0:
            return 1.0
        tail = math.exp(-surprise) if expected is None else expected
        if tail < self.floor:
            tail = self.floor
        p = (self.tail(surprise) + self.prior * tail) / (self.total + self.prior)
        return p if p < 1.0 else 1.0

    def push(self, surprise: float, weight: float = 1.0) -> None:
        self.total += weight
        if surprise > 0.0:  # a surprise of nothing is in no tail
            index = min(int(surprise / self.WIDTH), self.BINS - 1)
            if self.bins is None:
                self.bins = array("d")
            if index >= len(self.bins):
                self.bins.frombytes(bytes(8 * (index + 1 - len(self.bins))))
            self.bins[index] += weight
        if self.total > self.MEMORY:
            self.total *= 0.5
            if self.bins is not None:
                self.bins = array("d", [0.5 * count for count in self.bins])


class Ring:
    """The last ``size`` observations, also in order: rank p-values with exponential tails beyond the deciles."""

    __slots__ = ("_arrived", "_oldest", "ordered", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self._arrived = array("d")  # in a circle, from ``_oldest`` on
        self._oldest = 0
        self.ordered = array("d")

    def __len__(self) -> int:
        return len(self.ordered)

    @property
    def arrived(self) -> array[float]:
        """The observations in the order in which they came."""
        return self._arrived[self._oldest :] + self._arrived[: self._oldest]

    def is_usual(self, value: float) -> bool:
        """Among the middle 70% of what was observed: its two-sided p-value is above ``USUAL_P``."""
        ordered = self.ordered
        outside = len(ordered) * 3 // 20
        return bool(ordered) and ordered[outside] <= value <= ordered[-1 - outside]

    def at_least(self, value: float) -> int:
        """How many of the observations are at least this."""
        return len(self.ordered) - bisect_left(self.ordered, value)

    def push(self, value: float) -> None:
        insort(self.ordered, value)
        if len(self._arrived) < self.size:
            self._arrived.append(value)
            return
        del self.ordered[bisect_left(self.ordered, self._arrived[self._oldest])]
        self._arrived[self._oldest] = value
        self._oldest = (self._oldest + 1) % self.size

    def lower_p(self, value: float, least_scale: float) -> float:
        """P(an observation is at most this).

        Below the 10% quantile u it is ``(k+1)/(n+2) exp(-(u - x)/s)``, with s the mean distance of the k observations
        up to u from it, at least ``least_scale``.
        """
        ordered = self.ordered
        count = len(ordered)
        below = max(count // 10, 1)
        u = ordered[below - 1] if count else value
        if value >= u:
            return (bisect_right(ordered, value) + 1) / (count + 2)
        scale = max(u - sum(ordered[:below]) / below, least_scale)
        return max((below + 1) / (count + 2) * math.exp(-(u - value) / scale), 1e-6)

    def upper_p(self, value: float, least_scale: float) -> float:
        """P(an observation is at least this), by the same rule above the 90% quantile."""
        ordered = self.ordered
        count = len(ordered)
        above = max(count // 10, 1)
        u = ordered[-above] if count else value
        if value <= u:
            return (count - bisect_left(ordered, value) + 1) / (count + 2)
        scale = max(sum(ordered[-above:]) / above - u, least_scale)
        return max((above + 1) / (count + 2) * math.exp(-(value - u) / scale), 1e-6)


class Level:
    """Mean and spread of one number on the signed-log scale, with a memory of about 200 observations.

    The spread is shrunk to ``PRIOR_SD``, as if two observations of that spread had been seen: few observations that
    happen to be alike are no ground for certainty. A number that has only ever grown is a counter or a clock.
    """

    __slots__ = ("count", "falls", "last", "least", "mean", "rises", "squares", "variance")

    MEMORY: Final = 200.0
    PRIOR_SD: Final = 0.3
    PRIOR_COUNT: Final = 2.0
    WINSOR: Final = 4.0

    def __init__(self) -> None:
        self.count = 0.0
        self.mean = 0.0
        self.squares = 0.0
        self.variance = _PRIOR_SQUARES / Level.PRIOR_COUNT
        self.last = -math.inf
        self.falls = 0
        self.rises = -1  # the first value rises from nothing
        self.least = 0.0  # the lowest value, where that is below 0

    @property
    def only_grows(self) -> bool:
        """Rose, and never fell, in eight or more observations: any growth is as usual, whatever its level."""
        return self.falls == 0 and self.rises > 0 and self.count >= 8.0

    def p(self, x: float) -> float:
        """Two-sided p-value of a new level ``x`` (signed log), by Student's t with 4 degrees of freedom.

        1 where it is above ``USUAL_P``, or where too little is known.
        """
        count = self.count
        if count < 3.0:
            return 1.0
        away = x - self.mean
        t_squared = away * away / (self.variance * (1.0 + 1.0 / count))
        if t_squared <= _USUAL_T_SQUARED or (self.falls == 0 and x >= self.last and self.only_grows):
            return 1.0
        return student_t4_tail(math.sqrt(t_squared))

    def sign_p(self, x: float) -> float:
        """P(the next genuine value is the first one below 0), ``(0 + 1/2) / (n + 3/2)``.

        1 where ``x`` is none, or where fewer than 50 values are known: a difference may take its time to be negative.
        """
        return 0.5 / (self.count + 1.5) if x < 0.0 and self.least == 0.0 and self.count >= SIGNED else 1.0

    def push(self, x: float) -> None:
        count, away = self.count, x - self.mean
        if x < self.least:
            self.least = x
        if count >= 8.0:  # an outlier moves the level by no more than 4 of its spreads
            furthest = _WINSOR_SQUARED * self.variance
            if away * away > furthest and not self.only_grows:
                away = math.copysign(math.sqrt(furthest), away)
                x = self.mean + away
        if x < self.last:
            self.falls += 1
        elif x > self.last:
            self.rises += 1
        self.last = x
        if count >= Level.MEMORY:
            count *= 0.5
            self.squares *= 0.5
        count += 1.0
        step = away / count
        self.count = count
        self.mean += step
        self.squares += away * (away - step)
        self.variance = (self.squares + _PRIOR_SQUARES) / (count - 1.0 + Level.PRIOR_COUNT)


SIGNED: Final = 50.0  # values, before which a first one below 0 says nothing
_PRIOR_SQUARES: Final = Level.PRIOR_SD**2 * Level.PRIOR_COUNT
_WINSOR_SQUARED: Final = Level.WINSOR**2


TOOL_WEIGHT: Final = 20.0  # calls of a tool that behave as calls do over all tools


def new_scores() -> Surprises:
    """An empty record of the total log-odds of past calls."""
    return Surprises(floor=0.0, prior=TOOL_WEIGHT)


# --- Mean and variance of a stream of numbers in one pass, and the last of the numbers themselves ---

KEPT = 100
ROUNDING = 1e-9  # a spread this small beside the mean is rounding noise, not variation


class RunningStats:
    """Welford's running mean and variance over all values, with a circular buffer of the last ``keep`` of them.

    ``mean_n = mean_(n-1) + (x - mean_(n-1)) / n`` and ``m2_n = m2_(n-1) + (x - mean_(n-1)) * (x - mean_n)``; the
    variance is the sample variance ``m2 / (n - 1)`` (B. P. Welford, "Note on a method for calculating corrected sums of
    squares and products", Technometrics 4, 1962). Values must be finite, and up to 1e150 in magnitude: none makes
    ``push`` raise, but a NaN or an infinity would stay in the mean for good.

    >>> stats = RunningStats()
    >>> for x in (2, 4, 4, 4, 5, 5, 7, 9):
    ...     stats.push(x)
    >>> stats.n, stats.mean, round(stats.variance, 4), stats.recent(3)
    (8, 5.0, 4.5714, (5.0, 7.0, 9.0))
    """

    __slots__ = ("_kept", "_m2", "_next", "keep", "mean", "n")

    def __init__(self, keep: int = KEPT) -> None:
        self.keep = keep
        self.n = 0
        self.mean = 0.0
        self._m2 = 0.0
        self._kept = array("d")
        self._next = 0  # where the buffer, once full, takes the next value

    def push(self, x: float) -> None:
        """Take in one value."""
        self.n += 1
        before = x - self.mean
        self.mean += before / self.n
        self._m2 += before * (x - self.mean)
        if len(self._kept) < self.keep:
            self._kept.append(x)
        elif self.keep:
            self._kept[self._next] = x
            self._next = (self._next + 1) % self.keep

    @property
    def variance(self) -> float:
        """Sample variance, with n - 1 in the denominator; 0.0 below two values."""
        return self._m2 / (self.n - 1) if self.n > 1 else 0.0

    @property
    def std(self) -> float:
        """Sample standard deviation, in the unit of the values; 0.0 below two values."""
        return math.sqrt(self.variance)

    @property
    def spread(self) -> float:
        """``std``, or 0.0 where it is no more than the rounding error of values that are all the same."""
        std = self.std
        return std if std > ROUNDING * abs(self.mean) else 0.0

    def z(self, x: float) -> float | None:
        """The standard deviations by which a value lies above the mean; None where the values have no spread.

        >>> constant = RunningStats()
        >>> for _ in range(8):
        ...     constant.push(0.1)
        >>> constant.z(650.0) is None
        True
        """
        spread = self.spread
        return (x - self.mean) / spread if spread > 0.0 else None

    def recent(self, count: int | None = None) -> tuple[float, ...]:
        """The last ``count`` values, oldest first; all that are kept where no count is given."""
        size = len(self._kept)
        start = 0 if count is None else max(size - count, 0)
        return tuple(self._kept[(self._next + index) % size] for index in range(start, size))

    def __repr__(self) -> str:
        return f"RunningStats(n={self.n}, mean={self.mean:g}, std={self.std:g})"


# --- Control charts: is the process that makes these values still the one that was learned? ---


class RunRule(NamedTuple):
    """``points`` of the last ``of`` values lie more than ``beyond`` standard deviations from the mean, on one side."""

    number: int
    points: int
    of: int
    beyond: float
    weight: float


RUN_RULES = (
    RunRule(1, points=1, of=1, beyond=3.0, weight=0.40),
    RunRule(2, points=2, of=3, beyond=2.0, weight=0.25),
    RunRule(3, points=4, of=5, beyond=1.0, weight=0.20),
    RunRule(4, points=8, of=8, beyond=0.0, weight=0.15),
)


def western_electric(recent: Sequence[float], mean: float, std: float) -> tuple[RunRule, ...]:
    """The Western Electric rules that hold of a series' newest values ("Statistical Quality Control Handbook", 1956).

    Only the last eight values are looked at. The odd point of rules 2 and 3 may lie anywhere, also at the end. A
    point exactly on a line is not beyond it. A rule that needs more points than there are does not hold, and without
    spread (``std`` of 0) there are no zones and no rule holds. For independent N(mean, std) values an alarm of any rule
    comes on average every 91.75 points (C. W. Champ, W. H. Woodall, "Exact results for Shewhart control charts with
    supplementary runs rules", Technometrics 29, 1987).

    Args:
        recent: the values, oldest first, in any unit.
        mean: the mean of the process, in the same unit.
        std: its standard deviation, in the same unit, at least 0.

    >>> [rule.number for rule in western_electric([0.3, -0.2, 2.2, 0.1, 2.4], mean=0.0, std=1.0)]
    [2]
    """
    if not std > 0.0:
        return ()
    deviations = [(x - mean) / std for x in recent[-8:]]
    return tuple(rule for rule in RUN_RULES if _holds(rule, deviations[-rule.of :]))


def _holds(rule: RunRule, deviations: Sequence[float]) -> bool:
    above = below = 0
    for deviation in deviations:
        if deviation > rule.beyond:
            above += 1
        elif deviation < -rule.beyond:
            below += 1
    return above >= rule.points or below >= rule.points


class EwmaChart:
    """An exponentially weighted moving average held against its control limits: slow to start, sure on small shifts.

    ``z_i = weight * x_i + (1 - weight) * z_(i-1)`` with ``z_0 = mean``; its variance is
    ``std^2 * weight / (2 - weight) * (1 - (1 - weight)^(2 i))``. The chart alarms where ``z_i`` lies more than
    ``width`` of its own standard deviations from the mean, from the first value on.

    Args:
        mean: the mean of the process, in the unit of the values.
        std: its standard deviation, in the same unit; the chart never alarms at 0.
        weight: of the newest value, in (0, 1]; smaller remembers longer.
        width: of the limits, in standard deviations of the average.

    Source: S. W. Roberts, "Control chart tests based on geometric moving averages", Technometrics 1 (1959).

    >>> chart = EwmaChart(mean=0.0, std=1.0)
    >>> [chart.push(1.8) for _ in range(6)]
    [False, False, False, True, True, True]
    >>> round(chart.statistic, 2)
    4.13
    """

    __slots__ = ("_fade", "average", "mean", "n", "std", "weight", "width")

    def __init__(self, mean: float, std: float, weight: float = 0.2, width: float = 3.2) -> None:
        self.mean = mean
        self.std = std
        self.weight = weight
        self.width = width
        self.average = mean
        self.n = 0
        self._fade = 1.0  # (1 - weight)^(2 n)

    def push(self, x: float) -> bool:
        """Take in one value; True where the average is now beyond the limits."""
        self.n += 1
        self.average += self.weight * (x - self.average)
        self._fade *= (1.0 - self.weight) * (1.0 - self.weight)
        return abs(self.statistic) > self.width

    @property
    def statistic(self) -> float:
        """The average's distance from the mean in its own standard deviations; 0.0 without values or spread."""
        if self.n == 0 or not self.std > 0.0:
            return 0.0
        variance = self.weight / (2.0 - self.weight) * (1.0 - self._fade)
        return (self.average - self.mean) / (self.std * math.sqrt(variance))
