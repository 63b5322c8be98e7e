"""From a p-value to a likelihood ratio, and from the ratios of all signals to the posterior.

**Ratio.** ``LR(p) = (1 - w) + w xi p^(xi - 1)``: among fabricated calls a share ``w`` disturbs the signal, and its
p-value there has the density ``xi p^(xi - 1)`` (Sellke, Bayarri & Berger 2001). ``xi`` is fixed by the documented
ratio, which holds at three sigma, p = .0027; it cannot be made to hold more than about 23, however large the share. A
signal that is silent (p = 1) is evidence too, for the call.

**Combination.** Signals of a group look at the same trait and are correlated: a group counts its strongest evidence
against the call in full and a third of the rest of it. Where nothing speaks against a call, the silence of each group
counts, by its strongest signal. A fault disturbs some traits and leaves the others whole: the more speaks against the
call, the less the silence of the rest says, and from 1.5 nats on only the strongest silence counts, and half. It does
not excuse a broken declaration.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from .types import SignalResult

__all__ = ["DEFAULT_RATIOS", "breaks_a_declaration", "combine", "ratio_of"]

REFERENCE_P: Final = 0.0027
REST: Final = 0.33
OVERHEARD: Final = 1.5  # nats against the call, from which on only the strongest silence counts
STRONGEST_SILENCE: Final = 0.5  # the share of it that counts then

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
        "injection_found": 30.0,  # of what the profile has looked for in the text; as they stand, at no p-value
        "secret_found": 2.0,
        "pii_found": 1.5,
    }
)


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
    for signal in signals.values():  # noqa: SIM110 - on every call's path, where a generator is the slower
        if signal.fired and signal.p_value is None and signal.group != "content":
            return True
    return False


def combine(signals: dict[str, SignalResult]) -> dict[str, float]:
    """What each signal adds to the log-odds, in nats; a signal left out adds nothing."""
    against: dict[str, list[tuple[float, str]]] = {}
    silent: dict[str, tuple[float, str]] = {}  # the strongest ratio below 1 of each group
    for name, signal in signals.items():
        ratio: float = signal.likelihood_ratio
        if ratio > 1.0:
            against.setdefault(signal.group or name, []).append((ratio, name))
        elif ratio < 1.0:
            group = signal.group or name
            if group not in silent or ratio < silent[group][0]:
                silent[group] = (ratio, name)
    contributions: dict[str, float] = {}
    spoken = 0.0
    for members in against.values():
        members.sort(reverse=True)
        for place, (ratio, name) in enumerate(members):
            nats = REST * math.log(ratio) if place else math.log(ratio)
            contributions[name] = nats
            spoken += nats
    if not breaks_a_declaration(signals):
        heard = max(1.0 - spoken / OVERHEARD, 0.0)
        weight = max(heard, STRONGEST_SILENCE)
        for ratio, name in sorted([found for group, found in silent.items() if group not in against]):
            if weight > 0.0:
                contributions[name] = weight * math.log(ratio)
            weight = heard
    return contributions
