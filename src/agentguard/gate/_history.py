"""The history of runs: where the risk goes, whether it got worse, and two models on one set of prompts."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations, pairwise
from statistics import NormalDist
from typing import Final, Literal

from agentguard.errors import ConfigurationError
from agentguard.gate._run import LABEL_RISKS, GateRun, GateState
from agentguard.gate._types import Label
from agentguard.gate.records._base import RunSummary

_MOST_EXACT: Final = 40  # runs, for which all orders are counted
_MOST_STEPS: Final = 50_000  # of a sum of differences, over all prompts


def wilson_interval(proportion: float, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The score interval of a proportion (Wilson, "Probable inference", JASA 22, 1927), without correction.

    Args:
        proportion: In [0, 1]; a mean of values in [0, 1] too, for which the interval is on the wide side.
        n: Of how many, at least 1.
        confidence: Between 0 and 1.

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
        p: A proportion.
        n: Of how many.
        q: Another, independent of it.
        m: Of how many.
        confidence: Between 0 and 1.

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
    s = _kendall_s(values)
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


def _kendall_s(values: Sequence[float]) -> int:
    """Kendall's S: the number of pairs that rise less the number of those that fall."""
    return sum((b > a) - (b < a) for i, a in enumerate(values) for b in values[i + 1 :])


def sign_flip_p(differences: Sequence[float]) -> float:
    """The two-sided p-value of paired differences: of a sum as far from 0, were each sign the toss of a coin.

    Exact: the distribution of all 2ⁿ sums is computed, of differences that are rounded to a thousandth (coarser for
    more than 50 of them), which leaves the test valid (Fisher's randomisation test, "The Design of Experiments", 1935).

    Args:
        differences: In [-1, 1]; zeros say nothing.

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


# --- Trend and regression ---

Direction = Literal["rising", "falling", "steady", "unknown"]

FEWEST_FOR_DIRECTION: Final = 5  # of four runs in any order one in twelve orders is monotone
FEWEST_FOR_LIMITS: Final = 8
ALPHA: Final = 0.05


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """One run of a trend.

    Attributes:
        run_id, at: The run, and when it started, in seconds since the epoch.
        risk: Its risk.
        low, high: The range in which a run with as many claims lies by chance, were there nothing but chance; None
            where there are too few runs, or no claims.
        is_outside: Whether its risk lies out of that range.
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
        points: The finished runs, the oldest first.
        mean: The risk of all their claims together; None if there are none.
        slope: By how much the risk rises from one run to the next: the median of the slopes between all pairs of runs
            (Sen 1968), which no single run can turn; None for fewer than two runs.
        p_value: Of a rank order as monotone as this one by chance, two-sided (Mann and Kendall); None for fewer than
            five runs.
        direction: ``rising`` or ``falling`` where that p-value is at most 0.05, ``steady`` where not, ``unknown``
            where there is none.
        explanation: The same in words.
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
        run_id: The run.
        against: The deployed run's id; None if there is none.
        difference: The run's risk minus the deployed one's; None if there is nothing to compare.
        low, high: Its confidence interval.
        confidence: Of that interval.
        is_regression: Whether the whole interval lies above 0.
        notes: What else differs between the two runs, which the difference may come from.
        explanation: The same in words.
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
    """Follow the risk of runs over time. Only finished runs with claims count.

    The limits are those of a p' chart: the risk of all claims ± 3 standard errors for the run's number of claims, wider
    by as much as the runs vary more than their claims explain (Laney, "Improved control charts for attributes", Quality
    Engineering 14, 2002; here never narrower). The standard error is that of a proportion, which is at least that of a
    risk, where weakly supported claims count half.

    Args:
        summaries: In any order; of one use case, unless risks of several are meant to be mixed.

    >>> runs = [RunSummary(f"r{n}", "finished", n, "help desk", "", "m", "rules", "", risk=n / 20, total_claims=40,
    ...                    decision="warn") for n in range(6)]
    >>> result = trend(runs)
    >>> result.direction, round(result.slope, 3), round(result.p_value, 4)
    ('rising', 0.05, 0.0028)
    """
    runs = sorted(filter(_is_counted, summaries), key=lambda run: (run.started, run.run_id))
    risks = [run.risk or 0.0 for run in runs]
    claims = [run.total_claims or 0 for run in runs]
    mean = math.fsum(risk * n for risk, n in zip(risks, claims, strict=True)) / sum(claims) if runs else None
    slope = None
    if len(runs) > 1:
        slope = statistics.median((risks[j] - risks[i]) / (j - i) for i, j in combinations(range(len(risks)), 2))
    p_value = mann_kendall_p(risks) if len(runs) >= FEWEST_FOR_DIRECTION else None
    direction: Direction = "unknown"
    if p_value is not None:
        direction = "steady" if p_value > ALPHA else "rising" if _kendall_s(risks) > 0 else "falling"
    points = _points(runs, risks, claims, mean)
    return Trend(points, mean, slope, p_value, direction, _trend_in_words(points, slope, p_value, direction))


def regression(summary: RunSummary, history: Iterable[RunSummary], *, confidence: float = 0.95) -> Regression:
    """Compare a run's risk with that of the last run of its use case that was deployed before it.

    The interval is Newcombe's hybrid score interval for the difference of two independent proportions, from the Wilson
    intervals of both ("Interval estimation for the difference between independent proportions: comparison of eleven
    methods", Statistics in Medicine 17, 1998, method 10). A risk, in which weakly supported claims count half, varies
    no more than a proportion: for it the interval is on the wide side. It takes claims as independent of each other,
    which claims of one answer are not quite: for them it is on the narrow side.

    Args:
        summary: A finished run.
        history: Summaries in any order; others than deployed runs of the same use case are passed over.
        confidence: Of the interval, between 0 and 1.

    Raises:
        ConfigurationError: If the run is not finished, or the confidence is none.
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
    after, before = summary.risk, last.risk or 0.0
    low, high = difference_interval(after, summary.total_claims or 0, before, last.total_claims or 0, confidence)
    notes = _differences(last, summary)
    outcome = "worse" if low > 0 else "better" if high < 0 else "no more apart"
    compared = f"risk {after:.3f} against {before:.3f} of run {last.run_id}, which was deployed: {after - before:+.3f}"
    interval = f"({confidence:.0%} interval {low:+.3f} to {high:+.3f}), {outcome} than chance explains"
    words = "; ".join((f"{compared} {interval}", *notes))
    return Regression(summary.run_id, last.run_id, after - before, low, high, confidence, low > 0, notes, words)


def _is_counted(run: RunSummary) -> bool:
    return run.status == "finished" and run.risk is not None and bool(run.total_claims)


def _points(
    runs: Sequence[RunSummary], risks: Sequence[float], claims: Sequence[int], mean: float | None
) -> tuple[TrendPoint, ...]:
    """The runs with their control limits: see ``trend``."""
    if mean is None or len(runs) < FEWEST_FOR_LIMITS:
        return tuple(TrendPoint(run.run_id, run.started, run.risk or 0.0, None, None, False) for run in runs)
    errors = [math.sqrt(mean * (1 - mean) / n) for n in claims]
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


def _of_prompts(before: RunSummary, after: RunSummary) -> str:
    """How the prompts of two runs differ, if they do, by what their sets are called."""
    old, new = before.prompt_sets, after.prompt_sets
    if old and old == new:
        return f"the prompts differ, though both are {new}: a changed set needs another version"
    return (
        f"the prompts differ ({old or 'generated'}, now {new or 'generated'})" if old or new else "the prompts differ"
    )


def _differences(before: RunSummary, after: RunSummary) -> tuple[str, ...]:
    """Differences between two runs, in words; empty digests are not compared."""
    notes = {
        "config_digest": "the configuration differs",
        "prompts_digest": _of_prompts(before, after),
        "evidence_digest": "the documents differ",
        "target": f"the model differs ({before.target}, now {after.target})",
        "judge": f"the judge differs ({before.judge}, now {after.judge})",
    }
    pairs = {name: (getattr(before, name), getattr(after, name)) for name in notes}
    return tuple(notes[name] for name, (old, new) in pairs.items() if old and new and old != new)


# --- Comparison of two runs ---

Lower = Literal["a", "b"]

ALIKE: Final = 0.7  # of a ratio of matching characters: "lasts two years" and "lasts five years" are one claim, changed
CHANGES_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class PromptRisk:
    """One prompt in both runs.

    Attributes:
        prompt_id: As run a calls it.
        prompt: Its text.
        risk_a, risk_b: Of the claims in the answers; None if an answer claims nothing.
    """

    prompt_id: str
    prompt: str
    risk_a: float | None
    risk_b: float | None


@dataclass(frozen=True, slots=True)
class LabelChange:
    """A claim in two answers to a prompt, judged differently or made in one of them only.

    Attributes:
        prompt_id: As run a calls it.
        prompt: Its text.
        claim, label_a: The claim in run a, and how it was judged; empty and None where only run b makes it.
        claim_b, label_b: The same in run b, in its own words; empty and None where only run a makes it.
    """

    prompt_id: str
    prompt: str
    claim: str
    label_a: Label | None
    claim_b: str
    label_b: Label | None

    @property
    def is_worse(self) -> bool:
        """Tell whether run b has the greater risk by it; a claim that a run does not make adds no risk to it."""
        return _risk_of(self.label_b) > _risk_of(self.label_a)

    def __str__(self) -> str:
        labels = (("not said" if label is None else label.replace("_", " ")) for label in (self.label_a, self.label_b))
        return f"{self.prompt_id} {(self.claim_b or self.claim)!r}: {' → '.join(labels)}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs beside each other.

    Attributes:
        run_a, run_b: Their summaries.
        prompts: Those that both have, in the order of run a.
        compared: How many of them both models made claims in answer to.
        difference: The mean of risk_b − risk_a over these; None if there are none.
        p_value: Of a difference as large, were it chance which model gave which answer to a prompt, two-sided.
        lower: The run with the lower risk, where that p-value is at most 0.05; None if chance explains it.
        changes: Claims that were judged differently, or that one answer makes and the other does not where they are
            not supported, in the order of the prompts.
        notes: What else differs between the runs, which the difference may come from.
        explanation: The same in words.
    """

    run_a: RunSummary
    run_b: RunSummary
    prompts: tuple[PromptRisk, ...]
    compared: int
    difference: float | None
    p_value: float | None
    lower: Lower | None
    changes: tuple[LabelChange, ...]
    notes: tuple[str, ...]
    explanation: str

    @property
    def worse(self) -> tuple[LabelChange, ...]:
        """The changes by which run b has the greater risk."""
        return tuple(change for change in self.changes if change.is_worse)


def compare(run_a: GateRun, run_b: GateRun, *, allow_different_prompts: bool = False) -> Comparison:
    """Compare two runs on the same prompts, prompt by prompt.

    Prompts count equally, however many claims an answer makes. The p-value is that of an exact permutation test in
    which the two answers to each prompt may change places (``sign_flip_p``).

    Args:
        run_a: A finished run, as ``read_run`` gives it.
        run_b: Another one.
        allow_different_prompts: Compare the prompts that both have, where they do not have all in common.

    Raises:
        ConfigurationError: If a run is not finished, or the prompts differ and that is not allowed.
    """
    a, b = run_a.summary, run_b.summary
    for run in (a, b):
        if run.status != "finished":
            raise ConfigurationError(f"run {run.run_id} is {run.status}: only finished runs can be compared")
    same_prompts = a.prompts_digest == b.prompts_digest
    if not same_prompts and not allow_different_prompts:
        raise ConfigurationError(
            f"runs {a.run_id} and {b.run_id} asked different prompts; run both models on one prompt set "
            "(evaluation.prompts), or allow different prompts to compare those that both have"
        )
    labels_a, labels_b = _labels(run_a.state), _labels(run_b.state)
    ids_a, ids_b = _prompt_ids(run_a.state), _prompt_ids(run_b.state)
    prompts, changes = [], list[LabelChange]()
    for key, id_a in ids_a.items():
        if key not in ids_b:
            continue
        of_a, of_b = labels_a[id_a], labels_b[ids_b[key]]
        prompts.append(PromptRisk(id_a, key[0], _mean_risk(of_a), _mean_risk(of_b)))
        changes += _changes(id_a, key[0], of_a, of_b)
    differences = [p.risk_b - p.risk_a for p in prompts if p.risk_a is not None and p.risk_b is not None]
    difference = math.fsum(differences) / len(differences) if differences else None
    p_value = sign_flip_p(differences) if differences else None
    lower: Lower | None = None
    if difference and p_value is not None and p_value <= ALPHA:
        lower = "a" if difference > 0 else "b"
    notes = _notes(a, b, same_prompts, len(prompts))
    words = _in_words(a, b, len(differences), difference, p_value, lower) + "".join(f"; {note}" for note in notes)
    worse = [change for change in changes if change.is_worse]
    if worse:
        named = "; ".join(map(str, worse[:CHANGES_NAMED]))
        more = f"; and {len(worse) - CHANGES_NAMED} more" if len(worse) > CHANGES_NAMED else ""
        words += f". {len(worse)} claim{'s' * (len(worse) != 1)} got worse: {named}{more}"
    return Comparison(a, b, tuple(prompts), len(differences), difference, p_value, lower, tuple(changes), notes, words)


def _changes(
    prompt_id: str, prompt: str, of_a: list[tuple[str, Label]], of_b: list[tuple[str, Label]]
) -> Iterator[LabelChange]:
    """Pair the claims of two answers: equal ones first, then those most alike; what is left stands alone."""
    left_b = dict(enumerate(of_b))
    pairs: list[tuple[tuple[str, Label], tuple[str, Label]]] = []
    alone: list[tuple[str, Label]] = []
    for claim in of_a:
        equal = next((n for n, other in left_b.items() if _folded(other[0]) == _folded(claim[0])), None)
        if equal is None:
            alone.append(claim)
        else:
            pairs.append((claim, left_b.pop(equal)))
    for claim in alone:
        likeness = {
            n: SequenceMatcher(None, _folded(claim[0]), _folded(other[0])).ratio() for n, other in left_b.items()
        }
        near = max(likeness, key=lambda n: likeness[n], default=None)
        if near is not None and likeness[near] >= ALIKE:
            pairs.append((claim, left_b.pop(near)))
        elif claim[1] != "supported":
            yield LabelChange(prompt_id, prompt, claim[0], claim[1], "", None)
    for claim, other in pairs:
        if claim[1] != other[1]:
            yield LabelChange(prompt_id, prompt, claim[0], claim[1], other[0], other[1])
    for text, label in left_b.values():
        if label != "supported":
            yield LabelChange(prompt_id, prompt, "", None, text, label)


def _risk_of(label: Label | None) -> float:
    return 0.0 if label is None else LABEL_RISKS[label]


def _prompt_ids(state: GateState) -> dict[tuple[str, int], str]:
    """The id of each prompt, by its text and how often that came before."""
    seen: Counter[str] = Counter()
    ids = {}
    for prompt in state.prompts:
        ids[prompt.text, seen[prompt.text]] = prompt.id
        seen[prompt.text] += 1
    return ids


def _labels(state: GateState) -> defaultdict[str, list[tuple[str, Label]]]:
    """Claims and their labels, by prompt."""
    verdicts = {verdict.claim_id: verdict.label for verdict in state.verdicts}
    labels: defaultdict[str, list[tuple[str, Label]]] = defaultdict(list)
    for claim in state.claims:
        labels[claim.prompt_id].append((claim.text, verdicts[claim.id]))
    return labels


def _mean_risk(labels: list[tuple[str, Label]]) -> float | None:
    return math.fsum(LABEL_RISKS[label] for _, label in labels) / len(labels) if labels else None


def _folded(claim: str) -> str:
    return " ".join(claim.casefold().split()).rstrip(".")


def _notes(a: RunSummary, b: RunSummary, same_prompts: bool, common: int) -> tuple[str, ...]:
    notes = []
    if not same_prompts:
        notes.append(f"the prompts differ, and {common} of them are common to both")
    if a.evidence_digest != b.evidence_digest:
        notes.append("the documents differ")
    if a.judge != b.judge:
        notes.append(f"the judges differ ({a.judge}, {b.judge})")
    return tuple(notes)


def _in_words(
    a: RunSummary, b: RunSummary, compared: int, difference: float | None, p_value: float | None, lower: Lower | None
) -> str:
    if difference is None or p_value is None:
        return f"{a.target} and {b.target} made no claims in answer to the same prompt; there is nothing to compare"
    over = f"over {compared} prompt{'s' * (compared != 1)}"
    if lower is None:
        return (
            f"{over} the mean risks of {a.target} and {b.target} are {abs(difference):.3f} apart, which chance "
            f"explains (p = {p_value:.3f})"
        )
    better, worse = (a.target, b.target) if lower == "a" else (b.target, a.target)
    return f"{over} the mean risk of {better} is {abs(difference):.3f} below that of {worse} (p = {p_value:.3f})"
