"""Mean and variance of a stream of numbers in one pass, and the last of the numbers themselves."""

from __future__ import annotations

import math
from array import array

__all__ = ["RunningStats"]

KEPT = 100
ROUNDING = 1e-9  # a spread this small beside the mean is rounding noise, not variation


class RunningStats:
    """Welford's running mean and variance over all values, with a circular buffer of the last ``keep`` of them.

    ``mean_n = mean_(n-1) + (x - mean_(n-1)) / n`` and ``m2_n = m2_(n-1) + (x - mean_(n-1)) * (x - mean_n)``; the
    variance is the sample variance ``m2 / (n - 1)``.

    Values must be finite; up to 1e150 in magnitude their squares are finite too. Any value is accepted, and none
    makes ``push`` raise, but a NaN or an infinity would stay in the mean for good.

    Source: B. P. Welford, "Note on a method for calculating corrected sums of squares and products",
    Technometrics 4 (1962).

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
        self._keep(x)

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
        """How many standard deviations a value lies above the mean; None where the values have no spread.

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
        if count is None:
            count = self.keep
        size = len(self._kept)
        start = max(size - count, 0)
        return tuple(self._kept[(self._next + place) % size] for place in range(start, size))

    def _keep(self, x: float) -> None:
        if len(self._kept) < self.keep:
            self._kept.append(x)
        elif self.keep:
            self._kept[self._next] = x
            self._next = (self._next + 1) % self.keep

    def __repr__(self) -> str:
        return f"RunningStats(n={self.n}, mean={self.mean:g}, std={self.std:g})"
