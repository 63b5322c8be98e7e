"""Learn the weights: a logistic regression with coefficients that are not negative."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from detection.stream import GENUINE
from scipy.optimize import minimize

from .evidence import Row

__all__ = ["KNOT", "LOW", "Weights", "learned", "recalls", "scored"]

KNOT = 2.5  # nats, where a signal's weight may change
GENUINE_WEIGHT = 20.0  # of all genuine calls of a source beside all faults: false alarms are what users see
PENALTY = 1e-3
MOST = 1.5  # a weight; signals agree more often than the ratios of each suppose, and seldom less
#: Signals that no fault in training shows, since each is made of one call: a chart alarms at what lasts.
AS_THEY_STAND = frozenset({"spc_anomaly"})
LOW = (0.002, 0.005, 0.01, 0.02)  # rates of false positives over which recall is averaged

#: By signal the weight of silence, of what speaks against the call up to the knot, and of what does so beyond it.
Weights = dict[str, tuple[float, float, float]]


def pieces(nats: float) -> tuple[float, float, float]:
    """The three parts of a log ratio, each with a weight of its own: together a function that never falls.

    >>> pieces(-1.0), pieces(3.0)
    ((-1.0, 0.0, 0.0), (0.0, 2.5, 0.5))
    """
    return min(nats, 0.0), min(max(nats, 0.0), KNOT), max(nats - KNOT, 0.0)


def _matrix(rows: Sequence[Row], names: Sequence[str]) -> Any:
    return np.array([[part for name in names for part in pieces(row.nats.get(name, 0.0))] for row in rows])


def learned(by_source: Mapping[str, Sequence[Row]]) -> Weights:
    """The weights for the faults of these sources, all sources and all kinds of fault in one alike.

    Minimises the weighted logistic loss of ``logit(prior) + sum of weight times part``, with a small ridge on the
    standardised weights, by L-BFGS-B; the prior is the share of faults by weight, so that no constant is needed.
    """
    names = sorted({name for rows in by_source.values() for row in rows for name in row.nats} - AS_THEY_STAND)
    x = np.vstack([_matrix(rows, names) for rows in by_source.values()])
    y = np.array([row.kind != GENUINE for rows in by_source.values() for row in rows], float)
    w = np.array(_weights_of(by_source))
    spread = x.std(0) + 1e-6
    z, base = (
        x / spread,
        math.log(1.0 / GENUINE_WEIGHT)
        + np.array(
            [sum(row.nats.get(name, 0.0) for name in AS_THEY_STAND) for rows in by_source.values() for row in rows]
        ),
    )

    def loss(c: Any) -> tuple[float, Any]:
        odds = base + z @ c
        p = 1.0 / (1.0 + np.exp(-odds))
        value = float((w * np.logaddexp(0.0, np.where(y, -odds, odds))).sum() + PENALTY * (c**2).sum())
        return value, z.T @ (w * (p - y)) + 2.0 * PENALTY * c

    start = 0.5 * spread
    bounds = [(0.0, bound) for bound in MOST * spread]
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500})
    found = np.round(best.x / spread, 2).tolist()
    weights = {name: (found[3 * i], found[3 * i + 1], found[3 * i + 2]) for i, name in enumerate(names)}
    return {**weights, **dict.fromkeys(AS_THEY_STAND, (1.0, 1.0, 1.0))}


def _weights_of(by_source: Mapping[str, Sequence[Row]]) -> list[float]:
    """The weight of each row: genuine calls of all sources alike, and all kinds of fault alike, wherever they occur."""
    counts = {name: Counter(row.kind for row in rows) for name, rows in by_source.items()}
    having = Counter(kind for kinds in counts.values() for kind in kinds)
    kinds, whole = len(having) - 1, GENUINE_WEIGHT + 1.0
    return [
        (GENUINE_WEIGHT if row.kind == GENUINE else 1.0 / kinds) / having[row.kind] / counts[name][row.kind] / whole
        for name, rows in by_source.items()
        for row in rows
    ]


def scored(rows: Sequence[Row], weights: Weights) -> Any:
    """Log-odds of each row, without the prior."""
    flat = np.array([part for weight in weights.values() for part in weight])
    return _matrix(rows, list(weights)) @ flat


def recalls(rows: Sequence[Row], scores: Any) -> dict[str, float]:
    """By kind of fault the mean recall at .2, .5, 1 and 2% false positives."""
    genuine = np.sort(np.array([score for row, score in zip(rows, scores, strict=True) if row.kind == GENUINE]))[::-1]
    found: dict[str, float] = {}
    for kind in sorted({row.kind for row in rows} - {GENUINE}):
        faults = np.array([score for row, score in zip(rows, scores, strict=True) if row.kind == kind])
        found[kind] = float(np.mean([(faults > genuine[int(rate * len(genuine))]).mean() for rate in LOW]))
    return found
