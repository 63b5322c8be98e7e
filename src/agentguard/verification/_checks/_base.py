"""Base of the checks of the calibrated method: how a finding becomes a signal."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar, Final

from agentguard.verification._baseline import ToolMemory
from agentguard.verification._calibration import DECLARED
from agentguard.verification._case import Case
from agentguard.verification._document import Document
from agentguard.verification._shape import Shape
from agentguard.verification.evidence import DEFAULT_RATIOS, ratio_of, weighed
from agentguard.verification.statistics import Rate
from agentguard.verification.types import SignalResult, Trait, VerificationTier

FIRES_AT: Final = 0.05  # p-value
MOST_SURPRISE: Final = 11.9  # nats: the last bin of the histogram of surprises, see ``Surprises``
MOST_DIRECT: Final = 20.0  # ratio that is known from a rate
CONTRACT_STRENGTH: Final = 10.0  # labelled calls that the documented ratio counts for
BREAK_A_FORM: Final = 0.3  # of all faults (a judgement)
LEAST_RATIO: Final = 1.5  # labels soften a declaration down to this, and do not switch it off

AS_USUAL_DETAIL: Final = "as usual"

#: Keeps the signals that a check builds from a detail alone: most checks of a call abstain, or see nothing unusual, and
#: give the same signal as for the call before.
cached: Final = lru_cache(maxsize=256)
FromDetail = Callable[[str], SignalResult]


@dataclass(slots=True)
class Finding:
    """A check's finding.

    Attributes:
        surprise: ``-ln p`` under this tool's past, in nats, before recalibration.
        detail: what it is about.
        most: the most that it may weigh against the call, in nats.
        direct: a likelihood ratio known from a rate, P(event | fabricated) / rate; stands where it is the larger, as
            far as the recalibration bears it out (at most ``borne_out`` / p).
        traits: the same as ``detail`` for programs (see ``SignalResult``).
    """

    surprise: float
    detail: str
    most: float = math.inf
    direct: float = 0.0
    traits: tuple[Trait, ...] = ()


#: The finding of a check that looked and saw nothing.
AS_USUAL: Final = Finding(0.0, AS_USUAL_DETAIL)


def labelled(ratio: float, factor: float, most: float = math.inf) -> float:
    """A ratio above 1, with what labels say of it; it stays above 1, and silence is not concerned."""
    return min(1.0 + (ratio - 1.0) * factor, most)


def nothing_new(document: Document, memory: ToolMemory) -> str:
    """Why there is nothing in a result to hold against earlier ones: an error, empty, known; "" where there is."""
    if document.is_error or document.kind == "empty":
        return "an error or an empty result"
    return "this very result is known" if memory.is_known(document) else ""


def learned_shape(document: Document, memory: ToolMemory, warm_up: int) -> Shape | str:
    """The shape that a new result of its kind is held to, or the reason why it is held to none."""
    reason = nothing_new(document, memory)
    if reason:
        return reason
    shape = memory.shapes.get(document.kind)
    if shape is None or shape.count < warm_up:
        return f"{0 if shape is None else shape.count} of {warm_up} results of this kind"
    return shape


class DeclaredCheck(ABC):
    """A check of what the tool's user has declared: a contract is kept or broken.

    The likelihood ratio is P(so | fabricated) / P(so | genuine). The latter starts at what the documented ratio implies
    and is moved by trusted and labelled calls alone, so that repetition does not unlearn a declaration. What a kept one
    says for the call is bounded by how many faults break a form at all. Such a signal carries no p-value.
    ``fabricated`` is P(the contract is broken | the result is fabricated).
    """

    name: ClassVar[str]
    tier: ClassVar[VerificationTier] = VerificationTier.TIER_1
    group: ClassVar[str]
    fabricated: ClassVar[float] = 0.5

    def __init__(self) -> None:
        self.documented = DEFAULT_RATIOS[self.name]
        self.abstain: FromDetail = cached(self._abstained)
        self._kept_unlabelled: FromDetail = cached(partial(self._kept, self._genuine_rate(Rate(), self.documented)))

    @abstractmethod
    def __call__(self, case: Case, /) -> SignalResult:
        """The signal of a case."""

    def _abstained(self, detail: str) -> SignalResult:
        """Build the signal of a check that does not apply; the detail gives the reason."""
        return SignalResult.abstain(self.name, self.tier, detail, self.group)

    def broken(self, case: Case, score: float, detail: str, *traits: Trait) -> SignalResult:
        """The signal of a violated declaration."""
        ratio = self.ratio(case)
        memory: ToolMemory = case.memory
        rate = memory.contracts.get(self.name) or Rate()
        likelihood = max(self.fabricated / self._genuine_rate(rate, ratio), min(ratio, 1.0))
        if likelihood > LEAST_RATIO and case.factors:
            likelihood = max(labelled(likelihood, case.factors.get(DECLARED + self.name, 1.0)), LEAST_RATIO)
        return SignalResult(self.name, True, True, score, likelihood, None, self.tier, detail, self.group, traits)

    @staticmethod
    def upheld(broken: SignalResult, learned: SignalResult) -> SignalResult:
        """A broken declaration beside what was learned of the same: it stands, and counts the larger of both."""
        ratio = max(broken.likelihood_ratio, math.exp(weighed(learned.name, learned.likelihood_ratio)))
        return broken._replace(likelihood_ratio=ratio, traits=broken.traits + learned.traits)

    @staticmethod
    def louder(learned: SignalResult, kept: SignalResult) -> SignalResult:
        """The signal that speaks more against the call: what was learned, or a declaration of the same that holds."""
        return learned if learned.applicable and learned.likelihood_ratio > kept.likelihood_ratio else kept

    def kept(self, case: Case, detail: str) -> SignalResult:
        """The signal of a declaration that holds."""
        memory: ToolMemory = case.memory
        rate, ratio = memory.contracts.get(self.name), self.ratio(case)
        if rate is None and ratio == self.documented:
            return self._kept_unlabelled(detail)
        return self._kept(self._genuine_rate(rate or Rate(), ratio), detail)

    @classmethod
    def _kept(cls, genuine: float, detail: str) -> SignalResult:
        seen = min(cls.fabricated, BREAK_A_FORM)
        likelihood = (1.0 - seen) / (1.0 - seen * genuine / cls.fabricated)
        return SignalResult(cls.name, True, False, 0.0, likelihood, None, cls.tier, detail, cls.group)

    def ratio(self, case: Case) -> float:
        """The ratio in force for this signal: as calibrated, else the documented one."""
        return case.settings.likelihood_ratios.get(self.name, self.documented)

    @classmethod
    def _genuine_rate(cls, labelled: Rate, ratio: float) -> float:
        """P(broken | genuine): a Beta of strength 10, kept far enough down to leave the declaration some weight."""
        most = cls.fabricated / min(LEAST_RATIO, max(ratio, 1.0))
        return min(labelled.mean(cls.fabricated / max(ratio, 1.0), CONTRACT_STRENGTH), most)


class LearnedCheck(DeclaredCheck):
    """A check whose evidence is how unusual a call is for its tool.

    A subclass gives ``examine``; its finding is recalibrated on how often this tool's genuine calls looked as unusual,
    and weighed. In the signal, ``score`` is 1 - p before the recalibration and ``p_value`` is p after it.

    Attributes:
        floor: the p-value that a surprise without precedent is trusted to, as a conformal prior,
        prior: of so many calls; where the pool ranks the signal's surprises too, they behave as those of all tools do.
        share: w of the likelihood ratio, the share of fabricated results that disturb this signal.
        cap: the most that the signal may say against a call, as a likelihood ratio.
        borne_out: a ratio known from a rate stands up to this over p: up to P(so | fabricated), if p is right.
    """

    floor: ClassVar[float] = 0.005
    prior: ClassVar[float] = 8.0
    share: ClassVar[float] = 0.5
    cap: ClassVar[float] = math.inf
    borne_out: ClassVar[float] = 0.15

    def __init__(self) -> None:
        super().__init__()
        self._usual: FromDetail = cached(partial(self._as_usual, self.documented))

    @abstractmethod
    def examine(self, case: Case, document: Document, memory: ToolMemory) -> Finding | str:
        """The finding in a case, given its document and the tool's memory; or the reason to abstain."""

    def __call__(self, case: Case, /) -> SignalResult:
        finding = self.examine(case, case.document, case.memory)
        return self.abstain(finding) if isinstance(finding, str) else self.weigh(case, finding)

    def weigh(self, case: Case, finding: Finding) -> SignalResult:
        """The finding as a signal: from the surprise to a p-value, and from that to a likelihood ratio."""
        ratio = self.ratio(case)
        surprise, direct = finding.surprise, finding.direct
        if surprise <= 0.0:
            if ratio == self.documented:
                return self._usual(finding.detail)
            return self._as_usual(ratio, finding.detail)
        if surprise > MOST_SURPRISE:
            surprise = MOST_SURPRISE
        # Recalibrate on how often this tool's genuine calls looked as unusual.
        memory: ToolMemory = case.memory
        p = memory.recalibrated(self.name, surprise, self.floor, self.prior)
        # The ratio of the p-value, up to the check's cap; a larger one that is known from a rate; what labels make of
        # it; and no more than the finding itself may weigh.
        likelihood = ratio_of(p, ratio, self.share)
        if likelihood > self.cap:
            likelihood = self.cap
        if direct > likelihood and ratio > 1.0:  # calibrated to 1, the signal says nothing of this tool
            likelihood = max(likelihood, min(direct, MOST_DIRECT, self.borne_out / p))
        if likelihood > 1.0 and case.factors:
            likelihood = labelled(likelihood, case.factors.get(self.name, 1.0), max(self.cap, likelihood))
        if likelihood > 1.0 and math.log(likelihood) > finding.most:
            likelihood = math.exp(finding.most)
        fired = p <= FIRES_AT
        detail = finding.detail if fired else AS_USUAL_DETAIL
        score = 1.0 - math.exp(-surprise)
        traits = finding.traits if likelihood > 1.0 else ()
        return SignalResult(self.name, True, fired, score, likelihood, p, self.tier, detail, self.group, traits)

    @classmethod
    def _as_usual(cls, ratio: float, detail: str) -> SignalResult:
        likelihood = ratio_of(1.0, ratio, cls.share)
        return SignalResult(cls.name, True, False, 0.0, likelihood, 1.0, cls.tier, detail or AS_USUAL_DETAIL, cls.group)
