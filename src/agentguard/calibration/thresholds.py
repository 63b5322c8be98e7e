"""The lowest threshold that genuine calls reach no more often than wished, with confidence.

Thresholds are tried from the strictest down, and the search ends at the first whose upper confidence bound is above
the wish. The share of genuine calls beyond a threshold only grows as it falls, so the one that is found breaks the
wish with a probability of at most 1 - confidence, however many were tried (Bates et al. 2021, risk-controlling
prediction sets).

The posterior alone is looked at. The engine blocks less: it also asks that the tool's genuine calls hardly ever look
so (``max_false_block_rate``), unless a declaration is broken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .intervals import Share, attainable, needed, share_of, upper_bound_of_sums
from .labels import Label

__all__ = ["STEP", "Threshold", "lowest_threshold"]

STEP = 0.005
"""Thresholds are tried in steps of this."""


class Threshold(NamedTuple):
    """What the labels say about a threshold on the posterior.

    Attributes:
        wished: the share of genuine calls that may reach it.
        value: the lowest that keeps to it; None where the labels bear none out.
        bound: the one-sided upper bound of the share of genuine calls that reach ``value``.
        share: that share with its two-sided interval.
        genuine: how many labels are of genuine calls.
        attainable: the bound that these give where none of them reaches a threshold.
        needed: how many equally weighted ones the wish takes at least.
    """

    wished: float
    value: float | None
    bound: float | None
    share: Share | None
    genuine: int
    attainable: float
    needed: int


def lowest_threshold(
    labels: Sequence[Label],
    posteriors: Sequence[float],
    wished: float,
    confidence: float = 0.95,
    floor: float = 0.0,
) -> Threshold:
    """Search the threshold.

    Args:
        labels: of genuine and fabricated calls; the latter have no say.
        posteriors: one for each label, in [0, 1]; from a fit that has not seen the label, or the bound is too low.
        wished: in (0, 1).
        confidence: in (0, 1).
        floor: lowest threshold to try, in [0, 1].

    >>> calls = [Label("search", k / 1000, fabricated=False) for k in range(500)]
    >>> found = lowest_threshold(calls, [call.posterior for call in calls], 0.05)
    >>> found.value, round(found.bound, 4), found.needed
    (0.485, 0.0458, 59)
    """
    genuine = sorted(
        ((p, label.weight) for p, label in zip(posteriors, labels, strict=True) if not label.fabricated), reverse=True
    )
    weights = [weight for _, weight in genuine]
    total, squares = math.fsum(weights), math.fsum(weight * weight for weight in weights)
    value = bound = None
    count, hit, hit_squares, reached = -1, 0.0, 0.0, 1.0
    for step in range(round(1.0 / STEP), max(math.ceil(round(floor / STEP, 6)), 1) - 1, -1):
        tried, before = round(step * STEP, 4), count
        count = max(count, 0)
        while count < len(genuine) and genuine[count][0] >= tried:
            weight = genuine[count][1]
            count, hit, hit_squares = count + 1, hit + weight, hit_squares + weight * weight
        if count != before:  # the bound moves only where another label is reached
            reached = upper_bound_of_sums(hit, hit_squares, total, squares, max(weights, default=0.0), confidence)
        if reached > wished:
            break
        value, bound = tried, reached
    share = None if value is None else share_of(weights, [p >= value for p, _ in genuine], confidence)
    return Threshold(
        wished, value, bound, share, len(genuine), attainable(weights, confidence), needed(wished, confidence)
    )
