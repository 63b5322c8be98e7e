"""The numbers of a fit: a convex, bounded minimum, and the width of it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

from .extra import needs_scipy
from .labels import Label
from .parameters import Parameters

__all__ = ["solve"]


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
        np.array([place for row, _ in rows for place in row], dtype=np.int64),
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
