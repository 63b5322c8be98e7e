"""Whether a posterior of 30% means that 30 of 100 such calls are wrong, and how well it tells them apart.

All figures weigh each label by the calls it stands for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from .intervals import Share, effective_size, share_of
from .labels import Label

__all__ = ["BINS", "Bin", "Reliability", "reliability"]

BINS = 10
_LEAST_LOSS_P = 1e-13  # exp(-30): a posterior of exactly 0 or 1 costs 30 nats where it is wrong, not infinitely many


class Bin(NamedTuple):
    """The labels with a posterior in [low, high), or up to 1 in the last bin.

    Attributes:
        low, high: the bin's ends.
        labels: how many there are.
        weight: how many calls they stand for.
        predicted: their mean posterior.
        observed: the share that is fabricated, with its two-sided interval.
    """

    low: float
    high: float
    labels: int
    weight: float
    predicted: float
    observed: Share


class Reliability(NamedTuple):
    """Calibration and separation of one set of posteriors.

    Attributes:
        bins: ten of equal width, without the empty ones.
        error: expected calibration error: the mean over calls of |mean posterior - share fabricated| of their bin.
        by_chance: about the error that these labels would show of posteriors without any.
        brier: mean squared error of the posterior, in [0, 1].
        log_loss: mean negative log-likelihood, in nats.
        auroc: P(a fabricated call has the higher posterior than a genuine one); None without labels of both kinds.
    """

    bins: tuple[Bin, ...]
    error: float
    by_chance: float
    brier: float
    log_loss: float
    auroc: float | None


def reliability(
    labels: Sequence[Label],
    posteriors: Sequence[float] | None = None,
    confidence: float = 0.95,
    parts: Sequence[int] | None = None,
) -> Reliability:
    """The figures of these labels.

    Args:
        labels: at least one.
        posteriors: in [0, 1], one for each label; None: those that the guard gave.
        confidence: of the intervals, in (0, 1).
        parts: of each label, the part of a cross-validation that it was foretold in. Those of one part are ranked
            against one another, for each part has a fit of its own, and posteriors of two fits are not comparable.

    >>> of_two = [Label("search", 0.2, fabricated=False), Label("search", 0.8, fabricated=True)]
    >>> figures = reliability(of_two)
    >>> round(figures.error, 3), round(figures.brier, 3), figures.auroc
    (0.2, 0.04, 1.0)
    """
    given = [label.posterior for label in labels] if posteriors is None else posteriors
    total = math.fsum(label.weight for label in labels)
    brier = math.fsum(w.weight * (p - w.fabricated) ** 2 for w, p in zip(labels, given, strict=True)) / total
    loss = math.fsum(w.weight * _loss(p, w.fabricated) for w, p in zip(labels, given, strict=True)) / total
    bins, error, by_chance = [], 0.0, 0.0
    by_place: list[list[int]] = [[] for _ in range(BINS)]
    for number, posterior in enumerate(given):
        by_place[min(int(posterior * BINS), BINS - 1)].append(number)
    for place, members in enumerate(by_place):
        weights = [labels[number].weight for number in members]
        observed = share_of(weights, [labels[number].fabricated for number in members], confidence)
        if observed is None:
            continue
        weight = math.fsum(weights)
        predicted = math.fsum(labels[number].weight * given[number] for number in members) / weight
        bins.append(Bin(place / BINS, (place + 1) / BINS, len(members), weight, predicted, observed))
        error += weight / total * abs(predicted - observed.value)
        spread = math.sqrt(predicted * (1.0 - predicted) / effective_size(weights))
        by_chance += weight / total * spread * math.sqrt(2.0 / math.pi)  # E|x| of a normal x is sd sqrt(2 / pi)
    return Reliability(tuple(bins), error, by_chance, brier, loss, _auroc(labels, given, parts or [0] * len(labels)))


def _loss(posterior: float, fabricated: bool) -> float:
    return -math.log(max(posterior if fabricated else 1.0 - posterior, _LEAST_LOSS_P))


def _auroc(labels: Sequence[Label], posteriors: Sequence[float], parts: Sequence[int]) -> float | None:
    """The area under the curve by ranks; equal posteriors count half."""
    above = pairs = 0.0
    by_rank = sorted(zip(parts, posteriors, labels, strict=True), key=lambda one: one[:2])
    for _, part in groupby(by_rank, key=lambda one: one[0]):
        genuine = fabricated = 0.0
        for _, tied in groupby(part, key=lambda one: one[1]):
            at = [0.0, 0.0]
            for _, _, label in tied:
                at[label.fabricated] += label.weight
            above += at[True] * (genuine + at[False] / 2.0)
            genuine, fabricated = genuine + at[False], fabricated + at[True]
        pairs += genuine * fabricated
    return above / pairs if pairs else None
