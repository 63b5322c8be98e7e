"""What the history of runs tells: where the risk goes, and whether it is worse than what was deployed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from agentguard.errors import ConfigurationError

from .base import RunSummary
from .proportions import difference_interval, mann_kendall_p

__all__ = ["Direction", "Regression", "Trend", "TrendPoint", "regression", "trend"]

Direction = Literal["rising", "falling", "steady", "unknown"]

FEWEST_FOR_DIRECTION: Final = 5  # of four runs in any order one in twelve orders is monotone
FEWEST_FOR_LIMITS: Final = 8
ALPHA: Final = 0.05


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """One run of a trend.

    Attributes:
        run_id, at: the run, and when it started, in seconds since the epoch.
        risk: its risk.
        low, high: the range in which a run with as many claims lies by chance, were there nothing but chance; None
            where there are too few runs, or no claims.
        is_outside: whether its risk lies out of that range.
    """

    run_id: str
    at: float
    risk: float
    low: float | None
    high: float | None
    is_outside: bool


@dataclass(frozen=True, slots=True)
class Trend:
    """The risk over time.

    Attributes:
        points: the finished runs, the oldest first.
        mean: the risk of all their claims together; None where there are none.
        slope: by how much the risk rises from one run to the next: the median of the slopes between all pairs of runs
            (Sen 1968), which no single run can turn; None for fewer than two runs.
        p_value: of a rank order as monotone as this one by chance, two-sided (Mann and Kendall); None for fewer than
            five runs.
        direction: ``rising`` or ``falling`` where that p-value is at most 0.05, ``steady`` where not, ``unknown``
            where there is none.
        explanation: the same in words.
    """

    points: tuple[TrendPoint, ...]
    mean: float | None
    slope: float | None
    p_value: float | None
    direction: Direction
    explanation: str


@dataclass(frozen=True, slots=True)
class Regression:
    """A run beside the last that was deployed.

    Attributes:
        run_id: the run.
        against: the deployed run's id; None where there is none.
        difference: the run's risk minus the deployed one's; None where there is nothing to compare.
        low, high: its confidence interval.
        confidence: of that interval.
        is_regression: whether the whole interval lies above 0.
        notes: what else differs between the two runs, which the difference may come from.
        explanation: the same in words.
    """

    run_id: str
    against: str | None
    difference: float | None
    low: float | None
    high: float | None
    confidence: float
    is_regression: bool
    notes: tuple[str, ...]
    explanation: str


def trend(summaries: Iterable[RunSummary]) -> Trend:
    """The risk of runs over time. Only finished runs with claims count.

    The limits are those of a p' chart: the risk of all claims ± 3 standard errors for the run's number of claims, wider
    by as much as the runs vary more than their claims explain (Laney, "Improved control charts for attributes", Quality
    Engineering 14, 2002; here never narrower). The standard error is that of a proportion, which is at least that of a
    risk, where weakly supported claims count half.

    Args:
        summaries: in any order; of one use case, unless risks of several are meant to be mixed.

    >>> runs = [RunSummary(f"r{n}", "finished", n, "help desk", "", "m", "rules", "", risk=n / 20, total_claims=40,
    ...                    decision="warn") for n in range(6)]
    >>> found = trend(runs)
    >>> found.direction, round(found.slope, 3), round(found.p_value, 4)
    ('rising', 0.05, 0.0028)
    """
    runs = sorted(filter(_is_counted, summaries), key=lambda run: (run.started, run.run_id))
    risks = [_risk(run) for run in runs]
    claims = [run.total_claims or 0 for run in runs]
    mean = math.fsum(risk * n for risk, n in zip(risks, claims, strict=True)) / sum(claims) if runs else None
    slope = None
    if len(runs) > 1:
        slope = statistics.median(
            (risks[j] - risks[i]) / (j - i) for i in range(len(risks)) for j in range(i + 1, len(risks))
        )
    p_value = mann_kendall_p(risks) if len(runs) >= FEWEST_FOR_DIRECTION else None
    direction: Direction = "unknown"
    if p_value is not None:
        rise = sum((b > a) - (b < a) for i, a in enumerate(risks) for b in risks[i + 1 :])
        direction = "steady" if p_value > ALPHA else "rising" if rise > 0 else "falling"
    points = _points(runs, risks, claims, mean)
    return Trend(points, mean, slope, p_value, direction, _trend_in_words(points, slope, p_value, direction))


def regression(summary: RunSummary, history: Iterable[RunSummary], *, confidence: float = 0.95) -> Regression:
    """A run's risk beside that of the last run of its use case that was deployed before it.

    The interval is Newcombe's hybrid score interval for the difference of two independent proportions, from the Wilson
    intervals of both ("Interval estimation for the difference between independent proportions: comparison of eleven
    methods", Statistics in Medicine 17, 1998, method 10). A risk, in which weakly supported claims count half, varies
    no more than a proportion: for it the interval is on the wide side. It takes claims as independent of each other,
    which claims of one answer are not quite: for them it is on the narrow side.

    Args:
        summary: a finished run.
        history: summaries in any order; others than deployed runs of the same use case are passed over.
        confidence: of the interval, between 0 and 1.

    Raises:
        ConfigurationError: where the run is not finished, or the confidence is none.
    """
    if not 0 < confidence < 1:
        raise ConfigurationError(f"confidence must lie between 0 and 1, not {confidence!r}")
    if summary.status != "finished" or summary.risk is None:
        raise ConfigurationError(f"run {summary.run_id} is {summary.status}: only a finished run has a risk to compare")
    deployed = [
        run
        for run in history
        if run.use_case == summary.use_case
        and run.decision == "deploy"
        and _is_counted(run)
        and run.run_id != summary.run_id
        and (run.started, run.run_id) < (summary.started, summary.run_id)
    ]
    if not deployed or not _is_counted(summary):
        why = "has no claims" if deployed else "is the first: no earlier run of this use case was deployed"
        words = f"run {summary.run_id} {why}; there is nothing to compare"
        return Regression(summary.run_id, None, None, None, None, confidence, False, (), words)
    last = max(deployed, key=lambda run: (run.started, run.run_id))
    after, before = _risk(summary), _risk(last)
    low, high = difference_interval(after, summary.total_claims or 0, before, last.total_claims or 0, confidence)
    notes = _differences(last, summary)
    is_worse = low > 0
    said = (
        "worse than chance explains"
        if is_worse
        else "better than chance explains"
        if high < 0
        else "no more apart than chance explains"
    )
    words = (
        f"risk {after:.3f} against {before:.3f} of run {last.run_id}, which was deployed: {after - before:+.3f} "
        f"({confidence:.0%} interval {low:+.3f} to {high:+.3f}), {said}" + "".join(f"; {note}" for note in notes)
    )
    return Regression(summary.run_id, last.run_id, after - before, low, high, confidence, is_worse, notes, words)


def _is_counted(run: RunSummary) -> bool:
    return run.status == "finished" and run.risk is not None and bool(run.total_claims)


def _risk(run: RunSummary) -> float:
    return run.risk or 0.0


def _points(
    runs: Sequence[RunSummary], risks: Sequence[float], claims: Sequence[int], mean: float | None
) -> tuple[TrendPoint, ...]:
    errors = [0.0 if mean is None else math.sqrt(mean * (1 - mean) / n) for n in claims]
    if mean is None or len(runs) < FEWEST_FOR_LIMITS:
        return tuple(
            TrendPoint(run.run_id, run.started, risk, None, None, False) for run, risk in zip(runs, risks, strict=True)
        )
    scores = [(risk - mean) / error if error else 0.0 for risk, error in zip(risks, errors, strict=True)]
    # 1.128 is the mean range of two draws from a standard normal distribution.
    wider = max(1.0, statistics.fmean(abs(b - a) for a, b in pairwise(scores)) / 1.128)
    points = []
    for run, risk, error in zip(runs, risks, errors, strict=True):
        low, high = max(0.0, mean - 3 * error * wider), min(1.0, mean + 3 * error * wider)
        points.append(TrendPoint(run.run_id, run.started, risk, low, high, not low <= risk <= high))
    return tuple(points)


def _trend_in_words(
    points: Sequence[TrendPoint], slope: float | None, p_value: float | None, direction: Direction
) -> str:
    if not points:
        return "no run is finished yet"
    if p_value is None or slope is None:
        return (
            f"{len(points)} finished run{'s' * (len(points) > 1)}, and a direction shows from {FEWEST_FOR_DIRECTION} on"
        )
    words = {
        "rising": f"the risk rises by {slope:.3f} a run",
        "falling": f"the risk falls by {-slope:.3f} a run",
        "steady": "the risk goes neither up nor down beyond chance",
    }[direction]
    outside = [point.run_id for point in points if point.is_outside]
    beyond = f"; out of the range of chance: {', '.join(outside)}" if outside else ""
    return f"over {len(points)} runs {words} (p = {p_value:.3f}){beyond}"


def _differences(before: RunSummary, after: RunSummary) -> tuple[str, ...]:
    """What else differs, in words; digests that nobody has say nothing."""
    said = {
        "config_digest": "the configuration differs",
        "prompts_digest": "the prompts differ",
        "evidence_digest": "the documents differ",
        "target": f"the model differs ({before.target}, now {after.target})",
        "judge": f"the judge differs ({before.judge}, now {after.judge})",
    }
    pairs = {name: (getattr(before, name), getattr(after, name)) for name in said}
    return tuple(said[name] for name, (old, new) in pairs.items() if old and new and old != new)
