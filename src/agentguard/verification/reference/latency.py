"""How long the call took, against the declared range and the tool's past."""

from __future__ import annotations

import math

from ..case import Case
from ..contract import INSTANT_MS
from .baseline import MIN_CALLS, SIGMAS, Baseline, latency_ms
from .finding import Finding

__all__ = ["latency"]

FIRES_FROM = 0.3

Part = tuple[float, str]


def latency(case: Case) -> Finding:
    """The largest score of what is out of order; t is the time in milliseconds.

    - t < 2 for a tool with network I/O: 1 - t/2.
    - t below the declared minimum: √(1 - t/minimum), from 0.3 on.
    - t above the declared maximum: min(1, log10(t/maximum)).
    - against at least 8 earlier times, |z| > 3: min(1, (|z| - 3)/3); not where these have no spread.

    A cacheable tool may be as fast as it likes, so it is held to no lower bound, neither declared nor learned. Both
    bounds hold with network I/O and without. Where a profile says nothing the range is 50 ms - 30 s, over a network; an
    unregistered tool has 2 ms - 60 s. These defaults are the document's own, and are evidence in this mode alone.
    Unknown times, and what cannot be a time, are not judged.
    """
    elapsed = latency_ms(case.call)
    if elapsed is None:
        return Finding(None, "execution time unknown")
    parts = (_instant(case, elapsed), _too_fast(case, elapsed), _too_slow(case, elapsed), _unlike_before(case, elapsed))
    found = [part for part in parts if part is not None]
    if not found:
        return Finding(0.0, f"{elapsed:.3g} ms is plausible")
    return Finding(max(score for score, _ in found), f"{elapsed:.3g} ms is {' and '.join(said for _, said in found)}")


def _instant(case: Case, elapsed: float) -> Part | None:
    profile = case.contract.profile
    if elapsed >= INSTANT_MS or profile.cacheable or not profile.has_network_io:
        return None
    return 1.0 - elapsed / INSTANT_MS, "instant for a call over a network"


def _too_fast(case: Case, elapsed: float) -> Part | None:
    low = case.contract.latency_ms[0]
    if elapsed >= low or case.contract.profile.cacheable:
        return None
    score = math.sqrt(1.0 - elapsed / low)
    return (score, f"below the minimum of {low:g} ms") if score >= FIRES_FROM else None


def _too_slow(case: Case, elapsed: float) -> Part | None:
    high = case.contract.latency_ms[1]
    if elapsed <= high:
        return None
    return min(1.0, math.log10(elapsed / high)), f"above the maximum of {high:g} ms"


def _unlike_before(case: Case, elapsed: float) -> Part | None:
    memory: Baseline = case.memory
    if memory.latency.n < MIN_CALLS:
        return None
    z = memory.latency.z(elapsed)
    if z is None or abs(z) <= SIGMAS or (z < 0.0 and case.contract.profile.cacheable):
        return None
    return min(1.0, (abs(z) - SIGMAS) / SIGMAS), f"{abs(z):.1f} sigma {'above' if z > 0.0 else 'below'} its mean"
