"""A tool's slow drift: an EWMA chart on what is left of latency and size when their own inertia is taken out.

The four Western Electric rules on limits estimated from the data itself alarm every few dozen points on counters,
trends and caches. An EWMA chart (Roberts 1959; lambda .2, L 3.2) on the residuals of a first-order autoregression
runs about a thousand points between false alarms.
"""

from __future__ import annotations

import math
from typing import Final

from .statistics import Level

__all__ = ["Drift", "Stream"]

LAMBDA: Final = 0.2
LIMIT: Final = 3.2
WARM_UP: Final = 30
SIGMA: Final = math.sqrt(LAMBDA / (2.0 - LAMBDA))  # asymptotic spread of the EWMA of standard normal scores
WINSOR: Final = 4.0


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
