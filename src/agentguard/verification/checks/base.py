"""What the checks of the calibrated method have in common: how a finding becomes a signal."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import ClassVar, NamedTuple

from agentguard.verification.baseline import ToolMemory
from agentguard.verification.evidence import DEFAULT_RATIOS, ratio_of
from agentguard.verification.method import Case
from agentguard.verification.statistics import Rate, Surprises
from agentguard.verification.types import SignalResult, VerificationTier

__all__ = ["Finding", "LearnedCheck", "broken_contract", "kept_contract"]

FIRES_AT = 0.05
AS_USUAL = "as usual"
MOST_SURPRISE = 11.9
MOST_DIRECT = 20.0
CONTRACT_STRENGTH = 10.0
LEAST_RATIO = 1.5  # labels soften a declaration down to this, and do not switch it off

abstain = lru_cache(maxsize=2_048)(SignalResult.abstain)  # the reasons are few: each is built once


class Finding(NamedTuple):
    """What a check found.

    Attributes:
        surprise: ``-ln p`` under this tool's past, in nats, before recalibration.
        detail: what it is about.
        most: the most that it may weigh against the call, in nats.
        direct: a likelihood ratio known from a rate, P(event | fabricated) / rate; stands where it is the larger, as
            far as the recalibration bears it out (at most 1 / 2p).
    """

    surprise: float
    detail: str
    most: float = math.inf
    direct: float = 0.0


class LearnedCheck:
    """A check whose evidence is how unusual a call is for its tool.

    A subclass gives ``examine``; what it finds is recalibrated on how often this tool's genuine calls looked as
    unusual, and weighed. In the signal, ``score`` is 1 - p before the recalibration and ``p_value`` is p after it.

    Attributes:
        floor: the p-value that a surprise without precedent is trusted to, as a conformal prior.
        share: w of the likelihood ratio, the share of fabricated results that disturb this signal.
        cap: the most that the signal may say against a call, as a likelihood ratio.
    """

    name: ClassVar[str]
    tier: ClassVar[VerificationTier] = VerificationTier.TIER_1
    group: ClassVar[str]
    floor: ClassVar[float] = 0.005
    share: ClassVar[float] = 0.5
    cap: ClassVar[float] = math.inf

    def examine(self, case: Case) -> Finding | str:
        """The finding, or the reason to abstain."""
        raise NotImplementedError

    def __call__(self, case: Case, /) -> SignalResult:
        found = self.examine(case)
        if isinstance(found, str):
            return abstain(self.name, self.tier, found, self.group)
        return self.weigh(case, found)

    def weigh(self, case: Case, found: Finding) -> SignalResult:
        """The finding as a signal."""
        ratio = case.settings.likelihood_ratios.get(self.name, DEFAULT_RATIOS[self.name])
        surprise, detail, most, direct = found
        if surprise <= 0.0:
            return self._as_usual(ratio, detail)
        surprise = min(surprise, MOST_SURPRISE)
        memory: ToolMemory = case.memory
        past = memory.surprises.get(self.name) or Surprises(self.floor)
        p = past.p(surprise)
        fired = p <= FIRES_AT
        likelihood = min(ratio_of(p, ratio, self.share), self.cap)
        likelihood = max(likelihood, min(direct, MOST_DIRECT, 0.5 / p))
        if likelihood > 1.0 and math.log(likelihood) > most:
            likelihood = math.exp(most)
        said = detail if fired else AS_USUAL
        score = 1.0 - math.exp(-surprise)
        return SignalResult(self.name, True, fired, score, likelihood, p, self.tier, said, self.group)

    @classmethod
    @lru_cache(maxsize=512)
    def _as_usual(cls, ratio: float, detail: str) -> SignalResult:
        likelihood = ratio_of(1.0, ratio, cls.share)
        return SignalResult(cls.name, True, False, 0.0, likelihood, 1.0, cls.tier, detail or AS_USUAL, cls.group)

    @classmethod
    def remember(cls, memory: ToolMemory, signal: SignalResult, weight: float) -> None:
        """Note how unusual a call was, weighted by its probability of being genuine."""
        if signal.p_value is None:
            return
        past = memory.surprises.get(cls.name)
        if past is None:
            past = memory.surprises[cls.name] = Surprises(cls.floor)
        past.push(-math.log1p(-signal.score) if signal.score > 0.0 else 0.0, weight)


def _genuine_rate(memory: ToolMemory, name: str, fabricated: float, ratio: float) -> float:
    """P(contract broken | genuine).

    A Beta of strength 10 around what the documented ratio implies, moved only by trusted and labelled calls.
    """
    rate = memory.contracts.get(name) or Rate()
    return min(
        rate.mean(fabricated / max(ratio, 1.0), CONTRACT_STRENGTH), fabricated / min(LEAST_RATIO, max(ratio, 1.0))
    )


def broken_contract(
    check: type[LearnedCheck], case: Case, fabricated: float, score: float, detail: str
) -> SignalResult:
    """The signal of a violated declaration; ``fabricated`` is P(violated | fabricated). It carries no p-value."""
    ratio = case.settings.likelihood_ratios.get(check.name, DEFAULT_RATIOS[check.name])
    likelihood = max(fabricated / _genuine_rate(case.memory, check.name, fabricated, ratio), min(ratio, 1.0))
    return SignalResult(check.name, True, True, score, likelihood, None, check.tier, detail, check.group)


def kept_contract(check: type[LearnedCheck], case: Case, fabricated: float, detail: str) -> SignalResult:
    """The signal of a declaration that holds."""
    ratio = case.settings.likelihood_ratios.get(check.name, DEFAULT_RATIOS[check.name])
    genuine = _genuine_rate(case.memory, check.name, fabricated, ratio)
    likelihood = (1.0 - fabricated) / (1.0 - genuine)
    return SignalResult(check.name, True, False, 0.0, likelihood, None, check.tier, detail, check.group)
