"""Signals of a user's own, run and weighed among the engine's.

A check has a ``name``, a ``tier``, and is called with the case: ``check(case) -> SignalResult``. Of a ``Case`` these
are for users and stay as they are::

    case.call                 ToolCall: tool, args, result, session_id, call_id, execution_time_ms, is_error
    case.document.value       the result as plain data: parsed where it was JSON text
    case.document.text        its compact JSON, or the text, as UTF-8 bytes
    case.document.kind        "object", "array", "prose", "empty", ...; see ``Document``
    case.document.is_error    it reports a failure instead of an answer
    case.contract.profile     the ToolProfile that the tool is held to
    case.milliseconds         the execution time; None where it is unknown
    case.settings             the thresholds in force

>>> class NegativeTotal:
...     name = "negative_total"
...     tier = VerificationTier.TIER_0
...
...     def __call__(self, case):
...         value = case.document.value
...         if not isinstance(value, dict) or "total" not in value:
...             return SignalResult.abstain(self.name, self.tier, "no total")
...         negative = value["total"] < 0
...         detail = "total is negative" if negative else "total is not negative"
...         return SignalResult(self.name, True, negative, 1.0 if negative else 0.0,
...                             15.0 if negative else 1.0, None, self.tier, detail)
>>> from agentguard.verification import VerificationEngine
>>> engine = VerificationEngine(signals=[NegativeTotal()])
>>> engine.verify("get_order", result={"order_id": "W7", "total": -4.0}).verdict
'block'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any, Final

from agentguard.errors import ConfigurationError
from agentguard.verification._case import Case
from agentguard.verification._method import Check

from .types import SignalResult, VerificationTier

__all__ = ["MOST_RATIO", "OwnSignal", "own_signals", "with_own"]

MOST_RATIO: Final = 20.0  # and 1/20 the other way: no check of a user's outweighs all that the engine knows
MAX_DETAIL: Final = 1_000  # characters
MAX_TRAITS: Final = 16  # of one signal


class OwnSignal:
    """A user's check, held to what a signal is.

    The signal has the check's name and tier, and its name for a group where it gives none. It stays within 1/20 and 20
    as a likelihood ratio; a ratio that ``calibrate`` sets for it stands in place of the one given where it fires. Fired
    without a ``p_value`` it counts as a broken declaration, which is blocked on the posterior alone; with one, under
    the bound on false blocks. Calls in which it fires are known to each other by its name, unless it gives traits.
    """

    def __init__(self, check: Check) -> None:
        self.check = check
        self.name: str = check.name
        self.tier: VerificationTier = check.tier

    def __call__(self, case: Case, /) -> SignalResult:
        """The signal as the engine takes it.

        Raises:
            TypeError, ValueError: where the check returned no signal, or one with numbers out of range.
        """
        signal: Any = self.check(case)
        if not isinstance(signal, SignalResult):
            raise TypeError("the check returned no SignalResult")
        ratio, score, p = signal.likelihood_ratio, signal.score, signal.p_value
        if not (isfinite(ratio) and ratio > 0.0 and 0.0 <= score <= 1.0 and (p is None or 0.0 < p <= 1.0)):
            raise ValueError("the check returned a score, ratio or p-value out of range")
        group, detail = str(signal.group or self.name), str(signal.detail)[:MAX_DETAIL]
        if not signal.applicable:
            return SignalResult.abstain(self.name, self.tier, detail, group)
        fired = bool(signal.fired)
        if fired:
            ratio = case.settings.likelihood_ratios.get(self.name, ratio)
        ratio = min(max(float(ratio), 1.0 / MOST_RATIO), MOST_RATIO)
        traits = (tuple(map(str, signal.traits))[:MAX_TRAITS] or (self.name,)) if fired else ()
        p = None if p is None else float(p)
        return SignalResult(self.name, True, fired, float(score), ratio, p, self.tier, detail, group, traits)


def own_signals(checks: Iterable[Check], taken: Iterable[str]) -> tuple[OwnSignal, ...]:
    """The user's checks, ready to be run; none may have the name of a signal that is ``taken``.

    Raises:
        ConfigurationError: for a check that is none, or whose name another signal has.
    """
    known = set(taken)
    signals = []
    for check in checks:
        name, tier = getattr(check, "name", None), getattr(check, "tier", None)
        if not isinstance(name, str) or not name or not name.isprintable():
            raise ConfigurationError(f"a signal has a name, which is text, and {check!r} has {name!r}")
        if not isinstance(tier, VerificationTier):
            raise ConfigurationError(f"signal {name!r} has a tier, which is a VerificationTier, not {tier!r}")
        if not callable(check):
            raise ConfigurationError(f"signal {name!r} is called with a case, and {check!r} cannot be called")
        if name in known:
            raise ConfigurationError(f"there is a signal {name!r} already; give yours another name")
        known.add(name)
        signals.append(OwnSignal(check))
    return tuple(signals)


def with_own(
    tiers: Iterable[tuple[VerificationTier, Sequence[Check]]], own: Sequence[Check]
) -> tuple[tuple[VerificationTier, tuple[Check, ...]], ...]:
    """A method's tiers with the user's checks after its own."""
    return tuple((tier, (*checks, *[check for check in own if check.tier is tier])) for tier, checks in tiers)
