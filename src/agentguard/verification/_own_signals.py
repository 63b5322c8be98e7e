"""Signals of a user's own as checks among the engine's: held to what a signal is, and learned of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, Final, NamedTuple

from agentguard.errors import ConfigurationError
from agentguard.verification._baseline import OWN_FLOOR, OWN_PRIOR, ToolMemory
from agentguard.verification._calibration import DECLARED
from agentguard.verification._canonical import plain
from agentguard.verification._case import Case
from agentguard.verification._checks._base import AS_USUAL_DETAIL, FIRES_AT, LEAST_RATIO, labelled
from agentguard.verification._method import Check
from agentguard.verification.evidence import ratio_of
from agentguard.verification.signals import MOST_RATIO, Abstain, Broken, Kept, Measured, Past, Signal
from agentguard.verification.statistics import USUAL_P, Ring
from agentguard.verification.types import SignalResult, ToolCall, Trait, VerificationTier

NOT_LOOKED_AT: Final = "not looked at: tier 0 blocked"
WARM_UP: Final = 8  # numbers, as of latencies
MAX_DETAIL: Final = 1_000  # characters
MAX_TRAITS: Final = 16  # of one signal
MOST_VALUE: Final = 1e150  # sums of such numbers are finite
LEAST_SCALE: Final = 0.1  # of the spread of the past: no tail is steeper, however few its numbers are
EXTRAPOLATED: Final = 10.0  # times beyond the rank that the numbers themselves bear out (a judgement)


class OwnSignal:
    """A user's signal as a check.

    It stays within 1/20 and 20 as a likelihood ratio; a ratio that ``calibrate`` sets for it stands in place of its
    own.
    """

    def __init__(self, signal: Signal) -> None:
        self.signal = signal
        self.name = signal.name
        self.tier = signal.tier

    def __call__(self, case: Case, /) -> SignalResult:
        """The signal as the engine takes it.

        Raises:
            TypeError, ValueError: where the answer is none, or has a number out of range.
        """
        memory: Any = case.memory
        learns = isinstance(memory, ToolMemory)
        values = memory.measured.get(self.name) if learns else None
        call = case.plain_call
        if call is None:
            call = case.plain_call = _as_plain_data(case)
        seen = () if values is None else tuple(values.arrived)
        past = Past(memory.count if learns else memory.calls, seen, case.contract.profile, case.settings)
        answer: Any = self.signal(call, past)
        if isinstance(answer, Abstain):
            return self._abstain(str(answer.reason))
        if isinstance(answer, Broken):
            ratio = self._ratio(case, answer.ratio, 1.0)
            if learns and ratio > LEAST_RATIO:
                ratio = max(labelled(ratio, case.factors.get(DECLARED + self.name, 1.0), MOST_RATIO), LEAST_RATIO)
            return self._result(1.0, ratio, None, answer.detail, answer.traits)
        if isinstance(answer, Kept):
            ratio = max(_positive(answer.ratio, "at most", answer.ratio <= 1.0), 1.0 / MOST_RATIO)
            return SignalResult(
                self.name, True, False, 0.0, ratio, None, self.tier, str(answer.detail)[:MAX_DETAIL], self.name
            )
        if isinstance(answer, Measured):
            return self._measured(case, answer, values) if learns else self._abstain("reference mode has no p-values")
        raise TypeError("the signal returned no Broken, Kept, Measured or Abstain")

    def _abstain(self, reason: str) -> SignalResult:
        return SignalResult.abstain(self.name, self.tier, reason[:MAX_DETAIL], self.name)

    def _measured(self, case: Case, answer: Measured, values: Ring | None) -> SignalResult:
        if not isinstance(answer.value, Real) or not math.isfinite(answer.value):
            raise ValueError("the value of a measured signal is a finite number")
        value = min(max(float(answer.value), -MOST_VALUE), MOST_VALUE)
        ratio = self._ratio(case, answer.ratio, 1.0)
        case.measured = {**(case.measured or {}), self.name: value}  # for the engine to learn, where it learns
        if values is None or len(values) < WARM_UP:
            return self._abstain(f"{0 if values is None else len(values)} of {WARM_UP} numbers are known")
        surprise = surprise_of(values, value)
        p = case.memory.recalibrated(self.name, surprise, OWN_FLOOR, OWN_PRIOR)
        likelihood = max(ratio_of(p, ratio), 1.0)
        likelihood = min(labelled(likelihood, case.factors.get(self.name, 1.0)), MOST_RATIO)
        score = 1.0 - math.exp(-surprise)
        return self._result(score, likelihood, p, answer.detail, answer.traits)

    def _result(self, score: float, ratio: float, p: float | None, detail: str, traits: Iterable[str]) -> SignalResult:
        fired = p is None or p <= FIRES_AT
        told = str(detail)[:MAX_DETAIL] if fired else AS_USUAL_DETAIL
        names = tuple(map(str, traits))[:MAX_TRAITS] or (self.name,)
        odd = tuple([Trait("own", "", name) for name in names]) if ratio > 1.0 else ()
        return SignalResult(self.name, True, fired, score, ratio, p, self.tier, told, self.name, odd)

    def _ratio(self, case: Case, given: Any, least: float) -> float:
        """The ratio in force: as calibrated, else the signal's own."""
        own = _positive(given, "at least", given >= least)
        return min(max(case.settings.likelihood_ratios.get(self.name, own), 1.0 / MOST_RATIO), MOST_RATIO)


def _as_plain_data(case: Case) -> ToolCall:
    call, document = case.call, case.document
    return call._replace(
        args=plain(call.args),
        result=document.value,
        execution_time_ms=case.milliseconds,
        is_error=document.is_error,
    )


def _positive(ratio: Any, bound: str, is_within: bool) -> float:
    if not (math.isfinite(ratio) and ratio > 0.0 and is_within):
        raise ValueError(f"a ratio of this kind is a positive number, {bound} 1")
    return float(ratio)


def surprise_of(values: Ring, value: float) -> float:
    """``-ln P(a number of the past is at least this large)``, in nats; 0 where that is usual.

    By rank, and beyond the 90% quantile by an exponential tail: never below the share of numbers that were at least as
    large, and at most ten times below the least rank that so many numbers have. Of numbers that were all the same
    nothing is known of the tail: there the rank stands.

    >>> ring = Ring(256)
    >>> for x in range(100):
    ...     ring.push(float(x))
    >>> surprise_of(ring, 50.0), round(surprise_of(ring, 97.0), 1), round(surprise_of(ring, 150.0), 1)
    (0.0, 2.9, 6.9)
    """
    ordered, count = values.ordered, len(values)
    spread = ordered[-1] - ordered[0]
    as_large = values.at_least(value)
    if spread > 0.0:
        least = max(as_large, 1.0 / EXTRAPOLATED) / (count + 2)
        p = max(values.upper_p(value, LEAST_SCALE * spread), least)
    else:
        p = (as_large + 1) / (count + 2)
    return 0.0 if p > USUAL_P else -math.log(p)


class Lineup(NamedTuple):
    """The checks of an engine.

    Attributes:
        tiers: those of the method, and after them the user's that are run on every call.
        named: those that are run for the tools whose profile names them, by name.
    """

    tiers: tuple[tuple[VerificationTier, tuple[Check, ...]], ...]
    named: Mapping[str, OwnSignal]

    @property
    def names(self) -> set[str]:
        """The names of all of them."""
        return {check.name for _, checks in self.tiers for check in checks} | self.named.keys()

    def with_signal(self, signal: OwnSignal) -> Lineup:
        """These checks with one more that is run on every call."""
        tiers = tuple((tier, (*checks, signal) if tier is signal.tier else checks) for tier, checks in self.tiers)
        return self._replace(tiers=tiers)

    def with_named(self, name: str, signal: OwnSignal) -> Lineup:
        """These checks with one more that profiles may name.

        Raises:
            ConfigurationError: where the signal has another name.
        """
        if signal.name != name:
            raise ConfigurationError(f"the signal that is offered as {name!r} calls itself {signal.name!r}")
        return self._replace(named={**self.named, signal.name: signal})

    def not_looked_at(self, names: Sequence[str]) -> dict[str, SignalResult]:
        """The signals of the tiers after tier 0, where that was the last; ``names`` are those of the profile."""
        later = [
            check
            for tier, checks in self.tiers
            if tier is not VerificationTier.TIER_0
            for check in (*checks, *self.in_tier(tier, names))
        ]
        return {
            check.name: SignalResult.abstain(check.name, check.tier, NOT_LOOKED_AT, getattr(check, "group", check.name))
            for check in later
        }

    def in_tier(self, tier: VerificationTier, names: Sequence[str]) -> list[Check]:
        """Those of a tier that a profile names."""
        return [signal for name in names if (signal := self.named[name]).tier is tier]


def own_signal(signal: Any, taken: Iterable[str]) -> OwnSignal:
    """A user's signal, ready to be run; it may not have a name that is ``taken``.

    Raises:
        ConfigurationError: for what is no signal, or has the name of another one.
    """
    name, tier = getattr(signal, "name", None), getattr(signal, "tier", None)
    if not isinstance(name, str) or not name or not name.isprintable() or name.startswith(DECLARED):
        written = f"which is text and does not begin with {DECLARED!r}"
        raise ConfigurationError(f"a signal has a name, {written}, and {signal!r} has {name!r}")
    if not isinstance(tier, VerificationTier):
        raise ConfigurationError(f"signal {name!r} has a tier, which is a VerificationTier, not {tier!r}")
    if not callable(signal) or isinstance(signal, type):
        raise ConfigurationError(f"signal {name!r} is called with a call and its past, and {signal!r} cannot be called")
    if name in set(taken):
        raise ConfigurationError(f"there is a signal {name!r} already; give yours another name")
    return OwnSignal(signal)
