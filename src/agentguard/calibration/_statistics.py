"""Shares with intervals, reliability and thresholds, of labels that do not weigh alike.

All figures weigh each label by the calls it stands for. With equal weights the interval of a share is that of Clopper &
Pearson (1934), exactly. With unequal ones its Beta quantiles are taken at an *effective* number of labels,
n = p (1 - p) / Var(p), where Var is that of a ratio of inverse-probability weighted sums (Korn & Graubard 1998). Each
bound supposes one more label at its end of the scale, of the heaviest weight there is (Fay & Feuer 1997): no hit among
audited calls, of which one in fifty is reviewed, says less than no hit among calls that are all reviewed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from agentguard.calibration._labels import Label
from agentguard.errors import ConfigurationError

BINS = 10
STEP = 0.005  # between thresholds that are tried
_LEAST_LOSS_P = 1e-13  # exp(-30): a posterior of exactly 0 or 1 costs 30 nats where it is wrong, not infinitely many


def needs_scipy(error: ImportError) -> ConfigurationError:
    """The error to raise where scipy is missing, which is an extra."""
    return ConfigurationError(f"calibration needs scipy: pip install 'agentguard[calibrate]' ({error})")


class Share(NamedTuple):
    """A share in [0, 1] and its two-sided interval."""

    value: float
    low: float
    high: float


def effective_size(weights: Sequence[float]) -> float:
    """The number of equally weighted labels that are worth as much: (sum w)² / sum w² (Kish 1965).

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
    """The number of equally weighted labels, none of them a hit, that bounds a share by ``rate``.

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


# --- Reliability: whether of 100 calls with a posterior of 30% about 30 are fabricated, and how well it ranks them ---


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
    by_bin: list[list[int]] = [[] for _ in range(BINS)]
    for number, posterior in enumerate(given):
        by_bin[min(int(posterior * BINS), BINS - 1)].append(number)
    for index, members in enumerate(by_bin):
        weights = [labels[number].weight for number in members]
        observed = share_of(weights, [labels[number].fabricated for number in members], confidence)
        if observed is None:
            continue
        weight = math.fsum(weights)
        predicted = math.fsum(labels[number].weight * given[number] for number in members) / weight
        bins.append(Bin(index / BINS, (index + 1) / BINS, len(members), weight, predicted, observed))
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


# --- Thresholds ---


class Threshold(NamedTuple):
    """A threshold on the posterior, as far as the labels support one.

    Attributes:
        wished: the share of genuine calls that may reach it.
        value: the lowest that keeps to it; None where the labels support none.
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
    """The lowest threshold that genuine calls reach no more often than wished, with confidence.

    Thresholds are tried from the strictest down, and the search ends at the first whose upper confidence bound is above
    the wish. The share of genuine calls beyond a threshold only grows as it falls, so the result breaks the wish with a
    probability of at most 1 - confidence, however many were tried (Bates et al. 2021, risk-controlling prediction
    sets). Only the posterior is considered: the engine blocks less, for it also asks that the tool's genuine calls
    hardly ever look so (``max_false_block_rate``), unless a declaration is broken.

    Args:
        labels: of genuine and fabricated calls; the latter have no say.
        posteriors: one for each label, in [0, 1]; from a fit that has not seen the label, or the bound is too low.
        wished: in (0, 1).
        confidence: in (0, 1).
        floor: lowest threshold to try, in [0, 1].

    >>> calls = [Label("search", k / 1000, fabricated=False) for k in range(500)]
    >>> threshold = lowest_threshold(calls, [call.posterior for call in calls], 0.05)
    >>> threshold.value, round(threshold.bound, 4), threshold.needed
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
