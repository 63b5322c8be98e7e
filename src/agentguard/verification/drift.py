"""A tool's slow drift: an EWMA chart on what is left of latency and size when their own inertia is taken out.

The four Western Electric rules on limits estimated from the data itself alarm every few dozen points on counters,
trends and caches. An EWMA chart (Roberts 1959; lambda .2, L 3.2) on the residuals of a first-order autoregression
runs about a thousand points between false alarms.
"""

from __future__ import annotations

import math
from typing import Final

from .charts import RUN_RULES
from .statistics import USUAL_P, Level, Rate, student_t4_tail

__all__ = ["ALARM", "Drift", "NumberChart", "Stream", "Stuck"]

LAMBDA: Final = 0.2
LIMIT: Final = 3.2
WARM_UP: Final = 30
SIGMA: Final = math.sqrt(LAMBDA / (2.0 - LAMBDA))  # asymptotic spread of the EWMA of standard normal scores
WINSOR: Final = 4.0
ALARM: Final = math.log(1_000.0)  # nats: an e-value that a run without a change reaches once in 1,000 runs
MOST: Final = ALARM + 1.0  # so that a change that ended is not told of for long
BET: Final = 0.5  # kappa of the calibrator
_LOG_BET: Final = math.log(BET)
# P(a rule holds | in control, normal) of one point with those before it: exact for rule 1, by simulation of the rest.
RULE_P: Final = {1: 0.0027, 2: 0.003, 3: 0.0055, 4: 0.0078}
VARIED: Final = 8.0  # answers other than the one before, after which repetition is something
LEAST_REPEATED: Final = 0.05  # a tool that never repeated itself may do so now and then all the same
MOST_INERTIA: Final = 0.95
LITTLE_INERTIA: Final = 0.3
FADING: Final = 0.99
CHART_WARM_UP: Final = 20.0


class Stream:
    """One number's autoregression and the chart on its residuals."""

    __slots__ = ("ewma", "lag", "last", "level", "power", "residuals")

    def __init__(self) -> None:
        self.level = Level()
        self.residuals = Level()
        self.last = 0.0
        self.lag = 0.0
        self.power = 1e-9
        self.ewma = 0.0

    def score(self, x: float) -> tuple[float, float, float]:
        """The distance of ``x`` from the level, its residual, and the EWMA as it would be with it, in its spreads."""
        away = x - self.level.mean if self.level.count else 0.0  # a first point is away from nothing
        slope = min(max(self.lag / self.power, -0.9), 0.9)
        residual = away - slope * self.last
        z = (residual - self.residuals.mean) / math.sqrt(self.residuals.variance)
        ewma = (1.0 - LAMBDA) * self.ewma + LAMBDA * min(max(z, -WINSOR), WINSOR)
        return away, residual, ewma

    def push(self, x: float) -> None:
        away, residual, ewma = self.score(x)
        if self.level.count >= WARM_UP // 2:
            self.ewma = 0.0 if abs(ewma) > 2.0 * LIMIT * SIGMA else ewma
        self.lag = 0.995 * self.lag + away * self.last
        self.power = 0.995 * self.power + self.last * self.last
        self.last = away
        self.level.push(x)
        self.residuals.push(residual)


class NumberChart:
    """A field's values as a sequence: many small surprises in a row are one large one.

    Two tests. The four Western Electric rules on the last eight points, in spreads from the level. And an e-process: with
    p the two-sided p-value of a point against the level *as it stood before the run began*, ``log e`` grows by
    ``ln(kappa p^(kappa - 1))`` with kappa 1/2 (Vovk & Wang 2021, a calibrator: its mean is 1 where p is uniform), and a
    run ends where that falls to 0. By Ville's inequality a run in which nothing has changed reaches 1/alpha with
    probability alpha at most; the test that begins again after each run alarms on average no more often than once in
    1/alpha points (Shin, Ramdas & Rinaldo 2022). Both hold for independent values; numbers that move with what came
    before are taken as a first-order autoregression, whose residuals are tested, and alarms are held against how often this tool has had such.
    """

    __slots__ = ("above", "below", "beyond", "evidence", "lag", "last", "level", "power", "slope", "spread", "under")

    def __init__(self) -> None:
        self.above = 0  # the last eight points above the level, as bits, the newest lowest
        self.below = 0
        self.beyond = 0  # more than one and more than two spreads above, two bits a point
        self.under = 0
        self.evidence = 0.0  # log e of the run that is under way
        self.level = 0.0  # as it stood before the run began
        self.spread = 1.0
        self.slope = 0.0  # of the autoregression, as it stood then
        self.last = 0.0  # the last point, in spreads from the level
        self.lag = 0.0  # sums of the products of neighbours, and of squares
        self.power = 4.0

    def surprise(self, x: float, level: Level) -> tuple[float, bool]:
        """``-ln p`` of what the point completes, and whether it lies above; (0, ...) where it completes nothing."""
        if level.count < CHART_WARM_UP or level.only_grows:
            return 0.0, True
        z, p = self._place(x, level)
        evidence = self._grown(p)
        found = evidence if evidence >= ALARM and p < USUAL_P else 0.0
        if self._inertia() > LITTLE_INERTIA and self.evidence <= 0.0:
            return found, z > 0.0  # the rules are for independent points
        above, below, beyond, under = self._with(z)
        points, zones = (above, beyond) if z > 0.0 else (below, under)
        for rule in RUN_RULES:
            bits = points if rule.beyond == 0.0 else _bits(zones, int(rule.beyond)) if rule.beyond < 3.0 else int(abs(z) > 3.0)
            if (bits & ((1 << rule.of) - 1)).bit_count() >= rule.points and bits & 1:
                found = max(found, -math.log(RULE_P[rule.number]))
        return found, z > 0.0

    def push(self, x: float, level: Level) -> None:
        """Take in a point; the level does not have it yet."""
        if level.count < CHART_WARM_UP or level.only_grows:
            return
        z, p = self._place(x, level)
        before, self.evidence = self.evidence, min(self._grown(p), MOST)
        if before <= 0.0 < self.evidence:
            self.level, self.spread, self.slope = level.mean, math.sqrt(level.variance), self._inertia()
        else:
            self.lag = FADING * self.lag + z * self.last
            self.power = FADING * self.power + z * z
        self.last = min(max(z, -WINSOR), WINSOR)
        self.above, self.below, self.beyond, self.under = self._with(z)

    def _place(self, x: float, level: Level) -> tuple[float, float]:
        """The point in spreads from the level, and the p-value of what its inertia does not explain."""
        if self.evidence > 0.0:
            mean, spread, slope = self.level, self.spread, self.slope
        else:
            mean, spread, slope = level.mean, math.sqrt(level.variance), self._inertia()
        z = (x - mean) / (spread or 1.0)
        residual = (z - slope * self.last) / math.sqrt(1.0 - slope * slope)
        return z, student_t4_tail(residual / math.sqrt(1.0 + 1.0 / level.count))

    def _inertia(self) -> float:
        """The slope of a first-order autoregression: near 1 for what walks on from where it was."""
        return min(max(self.lag / self.power, 0.0), MOST_INERTIA)

    def _grown(self, p: float) -> float:
        return max(self.evidence + _LOG_BET + (BET - 1.0) * math.log(p), 0.0)

    def _with(self, z: float) -> tuple[int, int, int, int]:
        far = 0 if abs(z) <= 1.0 else 1 if abs(z) <= 2.0 else 3
        return (
            (self.above << 1 | (z > 0.0)) & 0xFF,
            (self.below << 1 | (z < 0.0)) & 0xFF,
            (self.beyond << 2 | (far if z > 0.0 else 0)) & 0xFFFF,
            (self.under << 2 | (far if z < 0.0 else 0)) & 0xFFFF,
        )


class Stuck:
    """How long a tool has given one and the same result to calls with other arguments: a cache that is stuck.

    With r the share of such repetitions among this tool's calls when the run began, a run of k has the likelihood ratio
    ``r^-k`` against a tool that repeats itself by chance: an e-process, as in ``NumberChart``.
    """

    __slots__ = ("again", "evidence", "key", "rate", "result", "run")

    def __init__(self) -> None:
        self.again = Rate()  # of calls with other arguments than the one before: the same result
        self.result = 0
        self.key = b""
        self.run = 0
        self.rate = 1.0  # as it stood before the run began
        self.evidence = 0.0

    def grown(self, result: int, key: bytes) -> float:
        """``log e`` with this call in; 0 where it is no repetition."""
        if result != self.result or key == self.key:
            return 0.0
        rate = self.rate if self.run else self._usual()
        return self.evidence - math.log(max(rate, LEAST_REPEATED))

    def _usual(self) -> float:
        """How often it repeats itself; always, as far as is known, until it has given other answers a few times."""
        return self.again.mean() if self.again.total - self.again.hits >= VARIED else 1.0

    def push(self, result: int, key: bytes) -> None:
        """Take in a call."""
        if key == self.key:
            if result != self.result:
                self.result, self.run, self.evidence = result, 0, 0.0
            return
        if result == self.result:
            grown = min(self.grown(result, key), MOST)
            if not self.run:
                self.rate = self._usual()
            self.run += 1
            if grown < ALARM:
                self.again.push(True)
            self.evidence = grown
        else:
            self.again.push(False)
            self.run, self.evidence = 0, 0.0
        self.result, self.key = result, key


def _bits(zones: int, beyond: int) -> int:
    """Of two bits a point, one: more than one spread (the lower bit) or more than two (the upper)."""
    found = 0
    for place in range(8):
        found |= ((zones >> (2 * place + beyond - 1)) & 1) << place
    return found


class Drift:
    """The charts of one tool, by name of the number.

    >>> drift = Drift()
    >>> drift.statistic("latency", 1.0) is None
    True
    """

    __slots__ = ("streams",)

    def __init__(self) -> None:
        self.streams: dict[str, Stream] = {}

    def count(self, name: str) -> int:
        stream = self.streams.get(name)
        return 0 if stream is None else int(stream.level.count)

    def statistic(self, name: str, x: float) -> float | None:
        """|EWMA| over its control limit with this point in: 1 and more is an alarm. None during warm-up (30 points)."""
        stream = self.streams.get(name)
        if stream is None or stream.level.count < WARM_UP:
            return None
        return abs(stream.score(x)[2]) / (LIMIT * SIGMA)

    def push(self, name: str, x: float) -> None:
        stream = self.streams.get(name)
        if stream is None:
            stream = self.streams[name] = Stream()
        stream.push(x)
