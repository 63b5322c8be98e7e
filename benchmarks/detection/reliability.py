"""Whether a posterior of 30% means that 30 of 100 such calls are wrong, at several base rates of wrong calls."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .faults import FAULTS
from .intervals import middle_95, resamples
from .trials import Judged

__all__ = ["BASE_RATES", "DEFAULT_PRIOR", "Bin", "Reliability", "reliability"]

BASE_RATES = (0.02, 0.05, 0.15)
DEFAULT_PRIOR = 0.15
BINS = 10


class Bin(NamedTuple):
    """Calls with a posterior from ``low`` to ``high``: their share of all, mean posterior, share that is wrong."""

    low: float
    high: float
    share: float
    posterior: float
    wrong: float


class Reliability(NamedTuple):
    """Calibration at one base rate.

    Attributes:
        base_rate: share of wrong calls, in (0, 1).
        error: expected calibration error: the mean over calls of |mean posterior − share wrong| of their bin.
        low, high: its 95% interval, by bootstrap over families.
        bins: the ten bins of equal width, without the empty ones.
    """

    base_rate: float
    error: float
    low: float
    high: float
    bins: tuple[Bin, ...]


class _Sums(NamedTuple):
    """Of one family's genuine or wrong calls, by bin: how many, and the sum of their posteriors."""

    counts: list[float]
    posteriors: list[float]


def reliability(judged: Sequence[Judged], base_rate: float, *, prior: float = DEFAULT_PRIOR) -> Reliability:
    """Weigh genuine and wrong calls so that the wrong ones are this share; families and their faults count alike.

    Args:
        judged: calls as judged with the default prior.
        base_rate: share of wrong calls, in (0, 1).
        prior: the prior to give the posteriors in the default one's place, in (0, 1).
    """
    by_family = _summed(judged, _log_odds(prior) - _log_odds(DEFAULT_PRIOR))
    families = list(by_family)
    bins = _bins([by_family[family] for family in families], base_rate)
    low, high = middle_95(
        _error(_bins([by_family[name] for name in drawn], base_rate)) for drawn in resamples(families)
    )
    return Reliability(base_rate, _error(bins), low, high, tuple(one for one in bins if one.share))


def _summed(judged: Iterable[Judged], shift: float) -> dict[str, tuple[_Sums, _Sums]]:
    found: defaultdict[str, tuple[_Sums, _Sums]] = defaultdict(
        lambda: (_Sums([0.0] * BINS, [0.0] * BINS), _Sums([0.0] * BINS, [0.0] * BINS))
    )
    for one in judged:
        if one.genuine or one.kind in FAULTS:
            posterior = _shifted(one.score.posterior, shift)
            sums = found[one.family][not one.genuine]
            place = min(int(posterior * BINS), BINS - 1)
            sums.counts[place] += 1.0
            sums.posteriors[place] += posterior
    return dict(found)


def _bins(families: Sequence[tuple[_Sums, _Sums]], base_rate: float) -> list[Bin]:
    shares, posteriors, wrong = [0.0] * BINS, [0.0] * BINS, [0.0] * BINS
    for pair in families:
        for sums, rate, is_wrong in zip(pair, (1.0 - base_rate, base_rate), (False, True), strict=True):
            weight = rate / len(families) / (sum(sums.counts) or 1.0)
            for place in range(BINS):
                shares[place] += weight * sums.counts[place]
                posteriors[place] += weight * sums.posteriors[place]
                wrong[place] += weight * sums.counts[place] * is_wrong
    return [
        Bin(place / BINS, (place + 1) / BINS, share, posteriors[place] / (share or 1.0), wrong[place] / (share or 1.0))
        for place, share in enumerate(shares)
    ]


def _error(bins: Iterable[Bin]) -> float:
    return sum(one.share * abs(one.posterior - one.wrong) for one in bins)


def _log_odds(p: float) -> float:
    return math.log(p) - math.log1p(-p)


def _shifted(p: float, shift: float) -> float:
    return 1.0 / (1.0 + math.exp(-(_log_odds(p) + shift))) if 0.0 < p < 1.0 and shift else p
