"""A share with its interval, counted in labels that do not weigh alike.

With equal weights this is the interval of Clopper & Pearson (1934), exactly. With unequal ones their Beta quantiles are
taken at an *effective* number of labels, n = p (1 - p) / Var(p), where Var is that of a ratio of inverse-probability
weighted sums (Korn & Graubard 1998). Each bound supposes one more label at its end of the scale, of the heaviest
weight there is (Fay & Feuer 1997): that nothing was seen among audited calls, of which one in fifty is looked at, says
less than that nothing was seen among calls that are all looked at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .extra import needs_scipy

__all__ = [
    "Share",
    "attainable",
    "effective_size",
    "lower_bound",
    "needed",
    "share_of",
    "upper_bound",
    "upper_bound_of_sums",
]


class Share(NamedTuple):
    """A share in [0, 1] and its two-sided interval."""

    value: float
    low: float
    high: float


def effective_size(weights: Sequence[float]) -> float:
    """How many equally weighted labels say as much: (sum w)² / sum w² (Kish 1965).

    >>> effective_size([1.0, 1.0, 1.0, 1.0]), round(effective_size([1.0, 1.0, 1.0, 50.0]), 2)
    (4.0, 1.12)
    """
    squares = math.fsum(weight * weight for weight in weights)
    return math.fsum(weights) ** 2 / squares if squares else 0.0


def upper_bound(weights: Sequence[float], hits: Sequence[bool], confidence: float) -> float:
    """The one-sided upper confidence bound of the weighted share of hits, in (0, 1].

    Args:
        weights: how many calls each label stands for, positive.
        hits: of each label, whether it counts.
        confidence: in (0, 1).

    >>> round(upper_bound([1.0] * 300, [False] * 300, 0.95), 5)  # 1 - 0.05 ** (1 / 300)
    0.00994
    """
    on = [weight for weight, hit in zip(weights, hits, strict=True) if hit]
    return upper_bound_of_sums(
        math.fsum(on),
        math.fsum(weight * weight for weight in on),
        math.fsum(weights),
        math.fsum(weight * weight for weight in weights),
        max(weights, default=0.0),
        confidence,
    )


def lower_bound(weights: Sequence[float], hits: Sequence[bool], confidence: float) -> float:
    """The one-sided lower confidence bound of the weighted share of hits, in [0, 1)."""
    return 1.0 - upper_bound(weights, [not hit for hit in hits], confidence)


def share_of(weights: Sequence[float], hits: Sequence[bool], confidence: float) -> Share | None:
    """The weighted share of hits with its two-sided interval; None without labels.

    >>> share = share_of([1.0] * 10, [True] * 3 + [False] * 7, 0.95)
    >>> round(share.value, 3), round(share.low, 3), round(share.high, 3)
    (0.3, 0.067, 0.652)
    """
    total = math.fsum(weights)
    if not total:
        return None
    value = math.fsum(weight for weight, hit in zip(weights, hits, strict=True) if hit) / total
    side = (1.0 + confidence) / 2.0
    return Share(value, lower_bound(weights, hits, side), upper_bound(weights, hits, side))


def attainable(weights: Sequence[float], confidence: float) -> float:
    """The bound that these labels give where not one of them is a hit: about 3/n at 95% (the rule of three)."""
    return upper_bound(weights, [False] * len(weights), confidence)


def needed(rate: float, confidence: float) -> int:
    """How many equally weighted labels, none of them a hit, bound a share by ``rate``.

    >>> needed(0.01, 0.95), needed(0.001, 0.95)
    (299, 2995)
    """
    return math.ceil(round(math.log1p(-confidence) / math.log1p(-rate), 9)) if rate < 1.0 else 1


def upper_bound_of_sums(
    hit: float, hit_squares: float, total: float, squares: float, heaviest: float, confidence: float
) -> float:
    """``upper_bound`` of the sums of weights and of their squares, over hits and over all labels."""
    try:
        from scipy.special import betaincinv  # the quantile of scipy.stats.beta, which takes longer to load
    except ImportError as error:
        raise needs_scipy(error) from error
    if not total:
        return 1.0
    hit, total = hit + heaviest, total + heaviest
    hit_squares, squares = hit_squares + heaviest**2, squares + heaviest**2
    p = hit / total
    if p >= 1.0:
        return 1.0
    variance = (hit_squares * (1.0 - 2.0 * p) + squares * p * p) / (total * total)
    effective = p * (1.0 - p) / variance
    return float(betaincinv(effective * p, effective * (1.0 - p), confidence))
