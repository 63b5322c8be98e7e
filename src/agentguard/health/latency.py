"""Slower than the model usually is."""

from __future__ import annotations

from .types import EngineResult, usable

__all__ = ["check"]

METRIC = "latency"


def check(
    latency_ms: float | None,
    usual_ms: float | None,
    *,
    warn: float = 1.5,
    error: float = 3.0,
    metric: str = METRIC,
) -> EngineResult:
    """Compare a response time with the usual one.

    ``deviation = max(0, latency / usual − 1)``: below ``warn`` the value is 0, from there on ``deviation / error``, at
    most 1. A call of 2.5 times the usual is therefore the first to warn, and one of 4 times the first in error.

    Args:
        latency_ms: of this call, in milliseconds.
        usual_ms: of the calls before it.
        warn: the deviation from which the status is ``warn``.
        error: the deviation from which it is ``error``.
        metric: the result's name; the time to a first token is judged alike.

    >>> check(250.0, 100.0)
    EngineResult(metric='latency', value=0.5, status='warn', applicable=True, detail='250 ms, usually 100 ms')
    >>> check(249.0, 100.0).value, check(400.0, 100.0).status
    (0.0, 'error')
    """
    now, usual = usable(latency_ms), usable(usual_ms)
    if now is None:
        return EngineResult.abstain(metric, "no time was measured")
    if not usual:
        return EngineResult.abstain(metric, "no usual time to compare with")
    deviation = max(0.0, now / usual - 1.0)
    detail = f"{_shown(now)} ms, usually {_shown(usual)} ms"
    if deviation < warn:
        return EngineResult(metric, 0.0, "ok", True, detail)
    value = min(1.0, deviation / error) if error > 0 else 1.0
    return EngineResult(metric, value, "warn" if deviation < error else "error", True, detail)


def _shown(milliseconds: float) -> str:
    return f"{milliseconds:.0f}" if 100.0 <= milliseconds < 1e9 else f"{milliseconds:.3g}"
