"""Fewer tokens a second than the model usually gives."""

from __future__ import annotations

from .types import EngineResult, Status, usable

__all__ = ["check", "rate_of"]

METRIC = "token_rate"


def rate_of(tokens: float | None, latency_ms: float | None) -> float | None:
    """Tokens per second; None where either figure is missing, or the time is 0.

    >>> rate_of(50, 2000.0)
    25.0
    """
    count, time = usable(tokens), usable(latency_ms)
    return usable(count / time * 1000.0) if count is not None and time else None


def check(
    rate: float | None, usual: float | None, *, warn: float = 0.3, error: float = 0.6, unit: str = "tokens"
) -> EngineResult:
    """Compare a rate with the usual one: the value is the deficit, ``max(0, 1 − rate / usual)``.

    A short response varies much: its fixed costs weigh more.

    Args:
        rate: of this call, in tokens (or words) per second.
        usual: of the calls before it, in the same unit.
        warn: the deficit from which the status is ``warn``.
        error: the deficit from which it is ``error``.
        unit: of the detail.

    >>> check(20.0, 40.0)
    EngineResult(metric='token_rate', value=0.5, status='warn', applicable=True, detail='20 tokens/s, usually 40')
    """
    now, before = usable(rate), usable(usual)
    if now is None:
        return EngineResult.abstain(METRIC, "no tokens or no time were measured")
    if not before:
        return EngineResult.abstain(METRIC, "no usual rate to compare with")
    deficit = max(0.0, 1.0 - now / before)
    status: Status = "ok" if deficit < warn else "warn" if deficit < error else "error"
    return EngineResult(METRIC, deficit, status, True, f"{now:.3g} {unit}/s, usually {before:.3g}")
