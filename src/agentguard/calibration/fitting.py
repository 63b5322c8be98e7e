"""What the labels say about the prior and about the weight of each signal: the most probable values, and intervals.

The model is logistic: log-odds of a call = a + sum of b_s x (nats of signal s). As the engine is set, a is the prior's
log-odds and every b_s is 1; a fitted b_s makes a signal's ratio its ``ratio ** b_s``, which is exact at the point at
which ratios are given (p = .0027) and close to it elsewhere. Each value is drawn to where it stood, by a normal prior::

    a of all tools  ~ N(log-odds of the prior in force, 1)        b_s of all tools ~ N(1, .25²)
    a of a tool     ~ N(a of all tools, 1)                        b_s of a tool    ~ N(b_s of all tools, .25²)

so that few labels move little; a tool has values of its own only from a number of labels on. Priors stay within .001
and .9 ``block_at``, ratios within 1.05 and 22.

It is fitted in two steps. First all values, on the labels as they lie: which calls are reviewed hangs on the evidence,
and that is in the model, so it does not bend the weights of the signals. Then, with these weights, the priors anew on
labels that count for the calls they stand for: this makes the mean posterior the share that is fabricated, of *all*
calls, also where evidence and odds are not in line. The labels of a tool then count together as their effective number
(Kish 1965).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .in_force import InForce
from .intervals import effective_size
from .labels import Label
from .parameters import PRIOR, Parameter, Parameters, evidence_of, log_odds, probability
from .solving import solve

__all__ = ["Estimate", "Fit", "Fitted", "cross_posteriors", "fit", "parts_of"]

FOLDS = 5


class Estimate(NamedTuple):
    """A fitted value with its interval, and the number of labels that bear on it."""

    value: float
    low: float
    high: float
    labels: int


class Fitted(NamedTuple):
    """What was fitted for all tools, or for one.

    Attributes:
        prior: P(fabricated) before any signal.
        ratios: the likelihood ratio of each signal that spoke often enough.
        weights: the factor by which the nats of each of these signals count.
    """

    prior: Estimate
    ratios: Mapping[str, Estimate]
    weights: Mapping[str, float]


class Fit(NamedTuple):
    """What was fitted for all tools, and what some have of their own."""

    everywhere: Fitted
    tools: Mapping[str, Fitted]
    in_force: InForce

    def posterior(self, label: Label) -> float:
        """P(fabricated) of a call by the fitted values, in (0, 1)."""
        own = self.tools.get(label.tool)
        prior = log_odds((own or self.everywhere).prior.value)
        if label.nats is None:
            return probability(prior + evidence_of(label, self.in_force))
        weights = self.everywhere.weights if own is None else {**self.everywhere.weights, **own.weights}
        return probability(prior + sum(nats * weights.get(name, 1.0) for name, nats in label.nats.items()))


def fit(labels: Sequence[Label], in_force: InForce | None = None, confidence: float = 0.95) -> Fit:
    """Fit prior and ratios to labels.

    Args:
        labels: any number; without any, everything stays as it was.
        in_force: what the engine was set to when they were made; None: its defaults.
        confidence: of the intervals, in (0, 1).

    >>> calls = [Label("search", 0.15, fabricated=k % 20 == 0, nats={}) for k in range(400)]
    >>> found = fit(calls)
    >>> round(found.everywhere.prior.value, 2), round(found.tools["search"].prior.value, 2)
    (0.09, 0.05)
    """
    in_force = InForce() if in_force is None else in_force
    first = Parameters(labels, in_force)
    alike = solve(labels, [1.0] * len(labels), first, confidence)
    solved = [found for found in zip(first.all, *alike, strict=True) if found[0].name != PRIOR]
    second = Parameters(labels, in_force, {(one.tool, one.name): value for one, value, _ in solved})
    solved += zip(second.all, *solve(labels, _calls(labels), second, confidence), strict=True)

    def of(tool: str | None) -> Fitted:
        mine = {one.name: (one, value, reach) for one, value, reach in solved if one.tool == tool}
        prior = _estimate(*mine.pop(PRIOR), in_force)
        ratios = {name: _estimate(*found, in_force) for name, found in mine.items()}
        return Fitted(prior, ratios, {name: value for name, (_, value, _) in mine.items()})

    tools = [one.tool for one in second.all if one.tool is not None]
    return Fit(of(None), {tool: of(tool) for tool in tools}, in_force)


def _calls(labels: Sequence[Label]) -> list[float]:
    """How often each label counts: by the calls it stands for, a tool's together as their effective number."""
    by_tool: dict[str, list[float]] = {}
    for label in labels:
        by_tool.setdefault(label.tool, []).append(label.weight)
    worth = {tool: effective_size(weights) / sum(weights) for tool, weights in by_tool.items()}
    return [label.weight * worth[label.tool] for label in labels]


def _estimate(one: Parameter, value: float, reach: float, in_force: InForce) -> Estimate:
    low, high = max(value - reach, one.low), min(value + reach, one.high)
    if one.name == PRIOR:
        return Estimate(probability(value), probability(low), probability(high), one.labels)
    ratio = in_force.ratio(one.tool, one.name)
    return Estimate(ratio**value, ratio**low, ratio**high, one.labels)


def cross_posteriors(labels: Sequence[Label], in_force: InForce | None = None) -> list[float]:
    """P(fabricated) of each label by a fit to the other ``parts_of`` the labels: what a fit is worth on new calls."""
    parts, found = parts_of(labels), [0.0] * len(labels)
    for fold in set(parts):
        fitted = fit([label for label, part in zip(labels, parts, strict=True) if part != fold], in_force)
        for number, part in enumerate(parts):
            if part == fold:
                found[number] = fitted.posterior(labels[number])
    return found


def parts_of(labels: Sequence[Label]) -> list[int]:
    """Which of five parts each label belongs to; they are alike in kinds and tools, and the same every time."""
    order = sorted(range(len(labels)), key=lambda number: (labels[number].fabricated, labels[number].tool, number))
    parts = [0] * len(labels)
    for place, number in enumerate(order):
        parts[number] = place % FOLDS
    return parts
