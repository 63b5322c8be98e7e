"""The parameters of a fit: which there are, what each is drawn to, and what a label's log-odds are made of."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from agentguard.verification.evidence import DEFAULT_RATIOS

from .in_force import InForce
from .labels import MOST_NATS, Label

__all__ = ["PRIOR", "Parameter", "Parameters", "evidence_of", "log_odds", "probability"]

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


class Parameter(NamedTuple):
    """One value to be fitted.

    Attributes:
        tool: whose it is; None: of all tools.
        name: a signal, or ``"prior"``.
        parent: the place of the parameter that it is drawn to; -1: none, it is drawn to ``centre``.
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
    """All parameters for these labels, in the order of their places.

    Args:
        labels: that are to be fitted.
        in_force: what the engine was set to when they were made.
        weights: of signals, by tool (None: of all) and name. Given, they are not parameters: only priors are.
    """

    def __init__(
        self, labels: Sequence[Label], in_force: InForce, weights: Mapping[tuple[str | None, str], float] | None = None
    ) -> None:
        self._in_force = in_force
        self._weights = weights or {}
        self._place: dict[tuple[str | None, str], int] = {}
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
        """Below that, a ratio has been switched off, and no power of it switches it on."""
        return self._in_force.ratio(tool, signal) > LEAST_RATIO

    def _add(self, tool: str | None, name: str, centre: float, spread: float, labels: int) -> None:
        parent = -1 if tool is None else self._place[None, name]
        if name == PRIOR:
            prior = self._in_force.prior
            low = log_odds(min(LEAST_PRIOR, prior))
            high = log_odds(max(MOST_PRIOR * self._in_force.block_at, prior))
        else:
            log_ratio = math.log(self._in_force.ratio(tool, name))
            low, high = math.log(LEAST_RATIO) / log_ratio, max(math.log(MOST_RATIO) / log_ratio, 1.0)
        self._place[tool, name] = len(self.all)
        self.all.append(Parameter(tool, name, parent, centre, spread, low, high, labels))

    def row(self, label: Label) -> tuple[dict[int, float], float]:
        """The factor of each parameter in the label's log-odds, and what is fixed in them, in nats."""
        row, fixed = {self._place.get((label.tool, PRIOR), 0): 1.0}, 0.0
        if label.nats is None:
            return row, evidence_of(label, self._in_force)
        for name, nats in label.nats.items():
            place = self._place.get((label.tool, name), self._place.get((None, name)))
            if (
                place is None
            ):  # with its known weight; one that hardly ever spoke has none, and stays as the guard had it
                fixed += nats * self._weights.get((label.tool, name), self._weights.get((None, name), 1.0))
            else:
                row[place] = nats
        return row, fixed


def evidence_of(label: Label, in_force: InForce) -> float:
    """What all signals together added to the prior's log-odds, in nats, where only the posterior is known."""
    return label.log_odds - log_odds(in_force.prior if label.prior is None else label.prior)


def log_odds(p: float) -> float:
    """``ln(p / (1 - p))`` of a probability in (0, 1)."""
    return math.log(p) - math.log1p(-p)


def probability(nats: float) -> float:
    """The probability with these log-odds, which are held within -30 and 30."""
    return 1.0 / (1.0 + math.exp(-min(max(nats, -MOST_NATS), MOST_NATS)))
