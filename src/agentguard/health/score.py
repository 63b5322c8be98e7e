"""One figure of a call from what the engines say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from .types import EngineResult, Health

__all__ = ["WEIGHTS", "label_of", "score_of"]

WEIGHTS: Final[Mapping[str, float]] = MappingProxyType(
    {"latency": 0.25, "token_rate": 0.25, "fingerprint": 0.30, "structure": 0.20}
)


def score_of(results: Iterable[EngineResult], weights: Mapping[str, float] = WEIGHTS) -> float | None:
    """The mean of the applicable results' values, by the weights of those that are there; None where none is.

    A metric without a weight is reported and not counted, the time to the first token among them unless it is given
    one.

    >>> slow = EngineResult("latency", 0.8, "warn", True, "")
    >>> round(score_of([slow, EngineResult("fingerprint", 0.25, "ok", True, "")]), 9)
    0.5
    """
    weighed = [(result.value, weights.get(result.metric, 0.0)) for result in results if result.applicable]
    total = sum(weight for _, weight in weighed)
    if total <= 0:
        return None
    return min(1.0, sum(value * weight for value, weight in weighed) / total)


def label_of(score: float | None, *, stable: float = 0.25, minor: float = 0.50, degraded: float = 0.75) -> Health:
    """The name of a score; each limit belongs to the better side.

    >>> label_of(0.25), label_of(0.26), label_of(None)
    ('stable', 'minor_variation', 'unknown')
    """
    if score is None:
        return "unknown"
    if score <= stable:
        return "stable"
    if score <= minor:
        return "minor_variation"
    return "degraded" if score <= degraded else "unstable"
