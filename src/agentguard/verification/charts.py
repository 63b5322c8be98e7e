"""Control charts: is the process that makes these values still the one that was learned?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["RUN_RULES", "EwmaChart", "RunRule", "western_electric"]


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
    """The Western Electric rules that hold of a series' newest values.

    Only the last eight values are looked at. The odd point of rules 2 and 3 may lie anywhere, also at the end. A
    point exactly on a line is not beyond it. A rule that needs more points than there are does not hold, and without
    spread (``std`` of 0) there are no zones and no rule holds.

    For independent N(mean, std) values an alarm of any rule comes on average every 91.75 points (C. W. Champ,
    W. H. Woodall, "Exact results for Shewhart control charts with supplementary runs rules", Technometrics 29, 1987).

    Args:
        recent: the values, oldest first, in any unit.
        mean: the mean of the process, in the same unit.
        std: its standard deviation, in the same unit, at least 0.

    Source: Western Electric Company, "Statistical Quality Control Handbook" (1956), tests for instability.

    >>> [rule.number for rule in western_electric([0.3, -0.2, 2.2, 0.1, 2.4], mean=0.0, std=1.0)]
    [2]
    """
    if not std > 0.0:
        return ()
    deviations = [(x - mean) / std for x in recent[-8:]]
    return tuple(rule for rule in RUN_RULES if _holds(rule, deviations))


def _holds(rule: RunRule, deviations: Sequence[float]) -> bool:
    above = below = 0
    for deviation in deviations[-rule.of :]:
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
        """How many of its own standard deviations the average lies above the mean; 0.0 without values or spread."""
        if self.n == 0 or not self.std > 0.0:
            return 0.0
        variance = self.weight / (2.0 - self.weight) * (1.0 - self._fade)
        return (self.average - self.mean) / (self.std * math.sqrt(variance))
