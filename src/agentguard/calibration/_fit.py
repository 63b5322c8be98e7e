"""The fit of the prior and of each signal's weight to labels: the most probable values, with intervals.

The model is logistic: log-odds of a call = a + sum of b_s x (nats of signal s). As the engine is set, a is the log-odds
of the prior and every b_s is 1; a fitted b_s makes a signal's ratio its ``ratio ** b_s``, which is exact at the point
at which ratios are given (p = .0027) and close to it elsewhere. Each value is drawn to where it was, by a normal
prior::

    a of all tools  ~ N(log-odds of the prior in force, 1)        b_s of all tools ~ N(1, .25²)
    a of a tool     ~ N(a of all tools, 1)                        b_s of a tool    ~ N(b_s of all tools, .25²)

so that few labels move little; a tool has values of its own only from a number of labels on. Priors stay within .001
and .9 ``block_at``, ratios within 1.05 and 22.

The fit has two steps. First all values, on the labels as they are: which calls are reviewed depends on the evidence,
and that is in the model, so it does not bias the weights of the signals. Then, with these weights, the priors anew on
labels that count for the calls they stand for: this makes the mean posterior the share that is fabricated, of *all*
calls, also where evidence and odds are not in line. The labels of a tool then count together as their effective number
(Kish 1965).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from agentguard.calibration._labels import MOST_NATS, Label
from agentguard.calibration._statistics import effective_size, needs_scipy
from agentguard.verification._calibration import Calibration
from agentguard.verification.evidence import DEFAULT_RATIOS
from agentguard.verification.statistics import log_odds
from agentguard.verification.types import Settings

PRIOR: Final = "prior"
PRIOR_SPREAD: Final = 1.0  # nats: the prior of all tools may well be a third or three times what was configured
TOOL_SPREAD: Final = 1.0
SIGNAL_SPREAD: Final = 0.25
LEAST_PRIOR: Final = 0.001
MOST_PRIOR: Final = 0.9  # of block_at, as at run time: a prior there would block calls with nothing against them
LEAST_RATIO: Final = 1.05
MOST_RATIO: Final = 22.0  # what the ratio of a p-value can be made to hold
SIGNAL_LABELS: Final = 10  # in which a signal spoke, before its weight is fitted
TOOL_LABELS: Final = 20  # before a tool has a prior of its own
OWN_RATIOS_LABELS: Final = 100  # and these, with 10 of each kind among them, before it has ratios of its own
OWN_RATIOS_KIND: Final = 10
MOST_TOOLS: Final = 200  # with values of their own: those with the most labels
FOLDS: Final = 5

_DEFAULTS = Settings()


class LabelSettings(NamedTuple):
    """The settings in force when labels were made, from which a fit starts: of all tools, and ratios of single ones.

    >>> LabelSettings.of(Calibration({"prior": 0.05})).prior
    0.05
    """

    prior: float = _DEFAULTS.prior
    accept_below: float = _DEFAULTS.accept_below
    block_at: float = _DEFAULTS.block_at
    ratios: Mapping[str, float] = DEFAULT_RATIOS
    tools: Mapping[str, Mapping[str, float]] = MappingProxyType({})

    @classmethod
    def of(cls, calibration: Calibration | None) -> LabelSettings:
        """The settings of a calibration file; None: the engine's defaults."""
        if calibration is None:
            return cls()
        given = calibration.everywhere
        thresholds = {name: given[name] for name in ("prior", "accept_below", "block_at") if name in given}
        ratios = {**DEFAULT_RATIOS, **given.get("likelihood_ratios", {})}
        own = {tool: values.get("likelihood_ratios", {}) for tool, values in calibration.tools.items()}
        return cls(**thresholds, ratios=ratios, tools=own)

    def ratio(self, tool: str | None, signal: str) -> float:
        """The likelihood ratio of a signal for a tool, or (None) for all."""
        own = self.tools.get(tool, {}) if tool is not None else {}
        return own.get(signal, self.ratios[signal])


# --- The parameters, and the log-odds of a label by them ---


class Parameter(NamedTuple):
    """One value to be fitted.

    Attributes:
        tool: whose it is; None: of all tools.
        name: a signal, or ``"prior"``.
        parent: the index of the parameter that it is drawn to; -1: none, it is drawn to ``centre``.
        centre: a constant, in nats for a prior, without unit for a signal's weight.
        spread: the standard deviation of its normal prior.
        low, high: its bounds.
        labels: how many labels bear on it.
    """

    tool: str | None
    name: str
    parent: int
    centre: float
    spread: float
    low: float
    high: float
    labels: int


class Parameters:
    """All parameters of a fit.

    Args:
        labels: that are to be fitted.
        in_force: the settings when they were made.
        weights: of signals, by tool (None: of all) and name. Given, they are not parameters: only priors are.
    """

    def __init__(
        self,
        labels: Sequence[Label],
        in_force: LabelSettings,
        weights: Mapping[tuple[str | None, str], float] | None = None,
    ) -> None:
        self._in_force = in_force
        self._weights = weights or {}
        self._index: dict[tuple[str | None, str], int] = {}
        self.all: list[Parameter] = []
        spoke = Counter(name for label in labels for name in label.nats or ())
        spoke_of = Counter((label.tool, name) for label in labels for name in label.nats or ())
        kinds = Counter((label.tool, label.fabricated) for label in labels)
        self._add(None, PRIOR, log_odds(in_force.prior), PRIOR_SPREAD, len(labels))
        signals = []
        if weights is None:
            signals = [name for name in DEFAULT_RATIOS if spoke[name] >= SIGNAL_LABELS and self._is_free(None, name)]
        for signal in signals:
            self._add(None, signal, 1.0, SIGNAL_SPREAD, spoke[signal])
        for tool, count in Counter(label.tool for label in labels).most_common(MOST_TOOLS):
            if count < TOOL_LABELS:
                break
            self._add(tool, PRIOR, 0.0, TOOL_SPREAD, count)
            if count < OWN_RATIOS_LABELS or min(kinds[tool, True], kinds[tool, False]) < OWN_RATIOS_KIND:
                continue
            for signal in signals:
                if spoke_of[tool, signal] >= SIGNAL_LABELS and self._is_free(tool, signal):
                    self._add(tool, signal, 0.0, SIGNAL_SPREAD, spoke_of[tool, signal])

    def _is_free(self, tool: str | None, signal: str) -> bool:
        """Tell whether a ratio is above the least one, at which a signal is switched off for good."""
        return self._in_force.ratio(tool, signal) > LEAST_RATIO

    def _add(self, tool: str | None, name: str, centre: float, spread: float, labels: int) -> None:
        parent = -1 if tool is None else self._index[None, name]
        if name == PRIOR:
            prior = self._in_force.prior
            low = log_odds(min(LEAST_PRIOR, prior))
            high = log_odds(max(MOST_PRIOR * self._in_force.block_at, prior))
        else:
            log_ratio = math.log(self._in_force.ratio(tool, name))
            low, high = math.log(LEAST_RATIO) / log_ratio, max(math.log(MOST_RATIO) / log_ratio, 1.0)
        self._index[tool, name] = len(self.all)
        self.all.append(Parameter(tool, name, parent, centre, spread, low, high, labels))

    def row(self, label: Label) -> tuple[dict[int, float], float]:
        """The factor of each parameter in the label's log-odds, and the fixed part of them, in nats."""
        row, fixed = {self._index.get((label.tool, PRIOR), 0): 1.0}, 0.0
        if label.nats is None:
            return row, evidence_of(label, self._in_force)
        for name, nats in label.nats.items():
            index = self._index.get((label.tool, name), self._index.get((None, name)))
            if index is not None:
                row[index] = nats
            else:  # with its known weight; one that hardly ever spoke has none, and stays as the guard had it
                fixed += nats * self._weights.get((label.tool, name), self._weights.get((None, name), 1.0))
        return row, fixed


def evidence_of(label: Label, in_force: LabelSettings) -> float:
    """The contribution of all signals together to the log-odds, in nats, where only the posterior is known."""
    return label.log_odds - log_odds(in_force.prior if label.prior is None else label.prior)


def probability(nats: float) -> float:
    """The probability with these log-odds, which are held within -30 and 30."""
    return 1.0 / (1.0 + math.exp(-min(max(nats, -MOST_NATS), MOST_NATS)))


# --- The numbers: a convex, bounded minimum, and its width ---


def solve(
    labels: Sequence[Label], counts: Sequence[float], parameters: Parameters, confidence: float
) -> tuple[list[float], list[float]]:
    """The most probable values of the parameters, and half the width of each one's interval.

    Minimised is the negative log-likelihood of the labels, each counted as often as ``counts`` says, plus for each
    parameter half the square of its distance from what it is drawn to, in standard deviations. The intervals are those
    of the normal approximation (Laplace): the inverse of the curvature at the minimum.
    """
    try:
        import numpy as np
        from scipy.optimize import minimize
        from scipy.sparse import csr_array
        from scipy.special import expit
    except ImportError as error:
        raise needs_scipy(error) from error
    rows = [parameters.row(label) for label in labels]
    of_rows = (
        np.array([factor for row, _ in rows for factor in row.values()], dtype=float),
        np.array([index for row, _ in rows for index in row], dtype=np.int64),
        np.cumsum([0, *(len(row) for row, _ in rows)]),
    )
    factors = csr_array(of_rows, shape=(len(labels), len(parameters.all)))
    fixed = np.array([nats for _, nats in rows], dtype=float)
    truth = np.array([label.fabricated for label in labels], dtype=float)
    weights = np.array(counts, dtype=float)
    parents = np.array([one.parent for one in parameters.all])
    centres = np.array([one.centre for one in parameters.all])
    precisions = np.array([one.spread**-2 for one in parameters.all])
    lows, highs = np.array([(one.low, one.high) for one in parameters.all]).T
    children = np.flatnonzero(parents >= 0)
    above = parents[children]

    def loss(values: Any) -> tuple[float, Any]:
        nats = factors @ values + fixed
        apart = values - np.where(parents >= 0, values[parents], centres)
        pull = precisions * apart
        slope = factors.T @ (weights * (expit(nats) - truth)) + pull
        np.subtract.at(slope, above, pull[children])
        surprise = np.logaddexp(0.0, nats) - truth * nats
        return float(weights @ surprise + 0.5 * precisions @ apart**2), slope

    start = np.clip(np.where(parents >= 0, centres[parents], centres), lows, highs)
    options: Any = {"maxiter": 2_000, "ftol": 1e-11, "gtol": 1e-6}
    limits = list(zip(lows, highs, strict=True))
    values = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits, options=options).x
    p = expit(factors @ values + fixed)
    curvature = (factors.T @ (factors * (weights * p * (1.0 - p))[:, None])).toarray()
    curvature += np.diag(precisions)
    np.add.at(curvature, (above, above), precisions[children])
    np.subtract.at(curvature, (children, above), precisions[children])
    np.subtract.at(curvature, (above, children), precisions[children])
    spreads = np.sqrt(np.diag(np.linalg.inv(curvature)))
    return values.tolist(), (NormalDist().inv_cdf((1.0 + confidence) / 2.0) * spreads).tolist()


# --- The fit, and what it is worth on labels that it has not seen ---


class Estimate(NamedTuple):
    """A fitted value with its interval, and the number of labels that bear on it."""

    value: float
    low: float
    high: float
    labels: int


class Fitted(NamedTuple):
    """The fitted values of all tools, or of one.

    Attributes:
        prior: P(fabricated) before any signal.
        ratios: the likelihood ratio of each signal that spoke often enough.
        weights: the factor by which the nats of each of these signals count.
    """

    prior: Estimate
    ratios: Mapping[str, Estimate]
    weights: Mapping[str, float]


class Fit(NamedTuple):
    """The fitted values of all tools, and those that single tools have of their own."""

    everywhere: Fitted
    tools: Mapping[str, Fitted]
    in_force: LabelSettings

    def posterior(self, label: Label) -> float:
        """P(fabricated) of a call by the fitted values, in (0, 1)."""
        own = self.tools.get(label.tool)
        prior = log_odds((own or self.everywhere).prior.value)
        if label.nats is None:
            return probability(prior + evidence_of(label, self.in_force))
        weights = self.everywhere.weights if own is None else {**self.everywhere.weights, **own.weights}
        return probability(prior + sum(nats * weights.get(name, 1.0) for name, nats in label.nats.items()))


def fit(labels: Sequence[Label], in_force: LabelSettings | None = None, confidence: float = 0.95) -> Fit:
    """Fit prior and ratios to labels.

    Args:
        labels: any number; without any, everything stays as it was.
        in_force: the settings when they were made; None: the engine's defaults.
        confidence: of the intervals, in (0, 1).

    >>> calls = [Label("search", 0.15, fabricated=k % 20 == 0, nats={}) for k in range(400)]
    >>> fitted = fit(calls)
    >>> round(fitted.everywhere.prior.value, 2), round(fitted.tools["search"].prior.value, 2)
    (0.09, 0.05)
    """
    in_force = LabelSettings() if in_force is None else in_force
    # First all values, on the labels as they are; of these the weights of the signals are taken.
    first = Parameters(labels, in_force)
    alike = solve(labels, [1.0] * len(labels), first, confidence)
    solved = [row for row in zip(first.all, *alike, strict=True) if row[0].name != PRIOR]
    # Then the priors, on labels that count for the calls they stand for.
    second = Parameters(labels, in_force, {(one.tool, one.name): value for one, value, _ in solved})
    solved += zip(second.all, *solve(labels, _calls(labels), second, confidence), strict=True)

    def of(tool: str | None) -> Fitted:
        mine = {one.name: (one, value, reach) for one, value, reach in solved if one.tool == tool}
        prior = _estimate(*mine.pop(PRIOR), in_force)
        ratios = {name: _estimate(*row, in_force) for name, row in mine.items()}
        return Fitted(prior, ratios, {name: value for name, (_, value, _) in mine.items()})

    tools = [one.tool for one in second.all if one.tool is not None]
    return Fit(of(None), {tool: of(tool) for tool in tools}, in_force)


def _calls(labels: Sequence[Label]) -> list[float]:
    """The weight of each label: by the calls it stands for, a tool's together as their effective number."""
    by_tool: dict[str, list[float]] = {}
    for label in labels:
        by_tool.setdefault(label.tool, []).append(label.weight)
    worth = {tool: effective_size(weights) / sum(weights) for tool, weights in by_tool.items()}
    return [label.weight * worth[label.tool] for label in labels]


def _estimate(one: Parameter, value: float, reach: float, in_force: LabelSettings) -> Estimate:
    low, high = max(value - reach, one.low), min(value + reach, one.high)
    if one.name == PRIOR:
        return Estimate(probability(value), probability(low), probability(high), one.labels)
    ratio = in_force.ratio(one.tool, one.name)
    return Estimate(ratio**value, ratio**low, ratio**high, one.labels)


def cross_posteriors(labels: Sequence[Label], in_force: LabelSettings | None = None) -> list[float]:
    """P(fabricated) of each label by a fit to the other ``parts_of`` the labels: what a fit is worth on new calls."""
    parts, posteriors = parts_of(labels), [0.0] * len(labels)
    for fold in set(parts):
        fitted = fit([label for label, part in zip(labels, parts, strict=True) if part != fold], in_force)
        for number, part in enumerate(parts):
            if part == fold:
                posteriors[number] = fitted.posterior(labels[number])
    return posteriors


def parts_of(labels: Sequence[Label]) -> list[int]:
    """The part of five that each label belongs to; they are alike in kinds and tools, and the same every time."""
    order = sorted(range(len(labels)), key=lambda number: (labels[number].fabricated, labels[number].tool, number))
    parts = [0] * len(labels)
    for rank, number in enumerate(order):
        parts[number] = rank % FOLDS
    return parts
