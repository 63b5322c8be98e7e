"""From a p-value to a likelihood ratio, and from the ratios of all signals to the posterior.

**Ratio.** ``LR(p) = (1 - w) + w xi p^(xi - 1)``: among fabricated calls a share ``w`` disturbs the signal, and its
p-value there has the density ``xi p^(xi - 1)`` (Sellke, Bayarri & Berger 2001). ``xi`` is fixed by the documented
ratio, which holds at three sigma, p = .0027; it cannot be made to hold more than about 23, however large the share. A
signal that is silent (p = 1) is evidence too, for the call.

**Combination.** The evidence of all signals adds up in log-odds. What one adds is a function of its ratio that never
falls: ``ln LR`` times a weight for silence, another for what speaks against the call up to 2.5 nats, a third for what
goes beyond. The weights are learned from faults of all kinds (``make weights``), together, so that signals of the same
trait share what it is worth; a declared signal and a user's own count as they stand. Silence does not excuse a broken
declaration.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from .types import SignalResult
from .weights import KNOT, WEIGHTS

__all__ = [
    "DEFAULT_RATIOS", "OWN_RATIO", "OWN_RULE_RATIO", "breaks_a_declaration", "combine", "ratio_of", "weighed",
]  # fmt: skip

REFERENCE_P: Final = 0.0027  # beyond three sigma, two-sided

#: The likelihood ratio of each signal at p = .0027 (the document's for its eight; a judgement for the others).
DEFAULT_RATIOS: Mapping[str, float] = MappingProxyType(
    {
        "schema_mismatch": 12.0,
        "pattern_mismatch": 6.0,
        "latency_anomaly": 3.5,
        "length_anomaly": 2.0,
        "truncated_result": 18.0,
        "historical_inconsistency": 4.5,
        "session_inconsistency": 4.0,
        "spc_anomaly": 3.0,
        "value_plausibility": 3.0,
        "structure_mismatch": 14.0,
        "format_mismatch": 14.0,
        "echo_mismatch": 16.0,
        "duplicate_result": 16.0,
        "novel_value": 14.0,
        "moved_value": 4.5,
        "stale_result": 8.0,
        "relation_mismatch": 16.0,
        "injection_found": 30.0,  # of what the profile has looked for in the text; as they stand, at no p-value
        "secret_found": 2.0,
        "pii_found": 1.5,
        "confirm_mismatch": 30.0,  # of a profile's second call: it looks at what was done, and not at how it reads
        "against_mismatch": 20.0,
    }
)


#: Of a signal of the user's own that says no other: of a number at p = .0027, and of a broken rule. A judgement: as
#: ``historical_inconsistency`` and ``schema_mismatch`` have them.
OWN_RATIO: Final = 4.5
OWN_RULE_RATIO: Final = 12.0


@lru_cache(maxsize=1_024)
def _exponent(ratio: float, share: float) -> tuple[float, float]:
    """``(w, xi)`` such that LR(.0027) is the ratio; the share is raised where it is too small to reach it."""

    def at_reference(w: float, xi: float) -> float:
        return (1.0 - w) + w * xi * math.pow(REFERENCE_P, xi - 1.0)

    steepest = -1.0 / math.log(REFERENCE_P)
    while at_reference(share, steepest) < ratio and share < 0.99:
        share = min(share + 0.02, 0.99)
    low, high = steepest, 1.0
    for _ in range(60):  # LR falls from the steepest xi to 1 at xi = 1
        middle = (low + high) / 2.0
        low, high = (middle, high) if at_reference(share, middle) > ratio else (low, middle)
    return share, high


def ratio_of(p: float, ratio: float, share: float = 0.5) -> float:
    """The likelihood ratio of a p-value, for a signal with this documented ratio.

    >>> round(ratio_of(0.0027, 4.5), 2), round(ratio_of(1.0, 4.5), 2)
    (4.5, 0.77)
    """
    w, xi = _exponent(ratio, share)
    return (1.0 - w) + w * xi * math.pow(p, xi - 1.0)


def breaks_a_declaration(signals: dict[str, SignalResult]) -> bool:
    """A contract is violated: its signal fires without a p-value.

    Content is no contract: of what is found there the profile says itself whether it is to be flagged or blocked.
    """
    return any(signal.fired and signal.p_value is None and signal.group != "content" for signal in signals.values())


def weighed(name: str, ratio: float) -> float:
    """Weigh the likelihood ratio of a learned signal: nats that it adds to the log-odds.

    >>> weighed("a check of a user's", 1.0), round(weighed("a check of a user's", math.exp(3.0)), 9)
    (0.0, 3.0)
    """
    nats = math.log(ratio)
    weights = _weights.get(name)
    if weights is None:  # a check of the user's: as it stands
        return nats
    silence, against, beyond = weights
    if nats <= 0.0:
        return silence * nats
    return against * nats if nats <= KNOT else against * KNOT + beyond * (nats - KNOT)


def combine(signals: dict[str, SignalResult]) -> dict[str, float]:
    """The nats that each signal adds to the log-odds; a signal left out adds nothing."""
    return added(signals, silence_counts=not breaks_a_declaration(signals))


def added(signals: dict[str, SignalResult], *, silence_counts: bool) -> dict[str, float]:
    """``combine``, where it is known whether a declaration is broken: then silence does not count."""
    contributions: dict[str, float] = {}
    for name, signal in signals.items():
        ratio = signal.likelihood_ratio
        if ratio == 1.0 or (ratio < 1.0 and not silence_counts):
            continue
        nats = math.log(ratio) if signal.p_value is None else weighed(name, ratio)
        if nats != 0.0:
            contributions[name] = nats
    return contributions


_weights: Final = dict(WEIGHTS)  # faster to look up in than what the proxy stands before
