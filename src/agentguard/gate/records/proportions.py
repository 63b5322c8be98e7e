"""The statistics of risks: intervals of proportions, and exact tests by permutation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import NormalDist
from typing import Final

__all__ = ["difference_interval", "mann_kendall_p", "sign_flip_p", "wilson_interval"]

_MOST_EXACT: Final = 40  # runs, for which all orders are counted
_MOST_STEPS: Final = 50_000  # of a sum of differences, over all prompts


def wilson_interval(proportion: float, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The score interval of a proportion (Wilson, "Probable inference", JASA 22, 1927), without correction.

    Args:
        proportion: in [0, 1]; a mean of values in [0, 1] too, for which the interval is on the wide side.
        n: of how many, at least 1.
        confidence: between 0 and 1.

    >>> [round(end, 4) for end in wilson_interval(81 / 263, 263)]  # Newcombe 1998, table I of the first paper
    [0.2553, 0.3662]
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    centre = (proportion + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(proportion * (1 - proportion) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def difference_interval(p: float, n: int, q: float, m: int, confidence: float = 0.95) -> tuple[float, float]:
    """The hybrid score interval of p − q (Newcombe 1998, method 10).

    Args:
        p: a proportion.
        n: of how many.
        q: another, independent of it.
        m: of how many.
        confidence: between 0 and 1.

    >>> [round(end, 4) for end in difference_interval(56 / 70, 70, 48 / 80, 80)]  # Newcombe 1998, table II, example (a)
    [0.0524, 0.3339]
    """
    (low_p, high_p), (low_q, high_q) = wilson_interval(p, n, confidence), wilson_interval(q, m, confidence)
    difference = p - q
    return difference - math.hypot(p - low_p, high_q - q), difference + math.hypot(high_p - p, q - low_q)


def mann_kendall_p(values: Sequence[float]) -> float:
    """The two-sided p-value of a trend: of a Kendall's S as far from 0 as this one, were the order chance.

    Exact up to 40 values without ties; otherwise by the normal distribution, with the variance for ties and a
    correction for continuity (Kendall, "Rank Correlation Methods", 1975).

    >>> round(mann_kendall_p([1, 2, 3, 4, 5]), 6) == round(2 / 120, 6)  # one order of 5! rises always, one falls
    True
    """
    n = len(values)
    pairs = n * (n - 1) // 2
    s = sum((b > a) - (b < a) for i, a in enumerate(values) for b in values[i + 1 :])
    if s == 0:
        return 1.0
    ties = [count for count in Counter(values).values() if count > 1]
    if not ties and n <= _MOST_EXACT:
        # How many orders of n values have each number of inversions: the next value comes before 0 to n − 1 others.
        orders = [1]
        for size in range(2, n + 1):
            orders = [sum(orders[max(0, k - size + 1) : k + 1]) for k in range(len(orders) + size - 1)]
        fewest = (pairs - abs(s)) // 2
        return min(1.0, 2 * sum(orders[: fewest + 1]) / math.factorial(n))
    variance = (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)) / 18
    return 2 * NormalDist().cdf(-(abs(s) - 1) / math.sqrt(variance))


def sign_flip_p(differences: Sequence[float]) -> float:
    """The two-sided p-value of paired differences: of a sum as far from 0, were each sign the toss of a coin.

    Exact: the distribution of all 2ⁿ sums is computed, of differences that are rounded to a thousandth (coarser for
    more than 50 of them), which leaves the test valid (Fisher's randomisation test, "The Design of Experiments", 1935).

    Args:
        differences: in [-1, 1]; zeros say nothing.

    >>> sign_flip_p([0.5, 0.25, 1.0, 0.5, 0.5])  # of 32 ways only this one and its mirror are as far
    0.0625
    """
    grain = max(1, min(1000, _MOST_STEPS // max(1, len(differences))))
    steps = [step for step in (round(difference * grain) for difference in differences) if step]
    total = sum(steps)
    if total == 0:
        return 1.0
    import numpy as np

    # The probability of each sum of those steps whose coin shows heads; the others count negative.
    chances = np.ones(1)
    for step in map(abs, steps):
        longer = np.zeros(len(chances) + step)
        longer[: len(chances)] += chances / 2
        longer[step:] += chances / 2
        chances = longer
    sums = 2 * np.arange(len(chances)) - sum(map(abs, steps))
    return min(1.0, float(chances[np.abs(sums) >= abs(total)].sum()))
