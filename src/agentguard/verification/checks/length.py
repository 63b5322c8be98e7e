"""length_anomaly: a result shorter or longer than declared, or than this tool's results of its kind."""

from __future__ import annotations

import math
from typing import Final

from agentguard.verification.baseline import ToolMemory
from agentguard.verification.case import Case

from ..types import SignalResult, VerificationTier
from .base import AS_USUAL, Finding, LearnedCheck

__all__ = ["LengthAnomaly"]

WARM_UP: Final = 8
LEAST_SCALE: Final = 0.2  # nats of log-length


class LengthAnomaly(LearnedCheck):
    """The declared bounds, as a contract, and the rank among the last 128 lengths of this kind.

    Length is weak evidence: it may raise a flag together with others and is capped at a ratio of 2. A broken bound
    stands whatever was learned.
    """

    name = "length_anomaly"
    tier = VerificationTier.TIER_0
    group = "form"
    fabricated = 0.4
    floor = 0.03
    cap = 2.0

    def __call__(self, case: Case, /) -> SignalResult:
        learned = super().__call__(case)
        profile, size = case.contract.profile, case.document.size
        low, high = profile.min_response_length, profile.max_response_length
        if (low is None and high is None) or case.contract.excuses(case.document, flagged=case.call.is_error):
            return learned
        if low is not None and size < low:
            said = f"{size} bytes, at least {low}"
            return self.upheld(self.broken(case, 0.5 * (1 - size / low), said, "declared length"), learned)
        if high is not None and size > high:
            said = f"{size} bytes, at most {high}"
            return self.upheld(self.broken(case, 0.2, said, "declared length"), learned)
        kept = self.kept(case, "within the declared length")
        return learned if learned.applicable and learned.likelihood_ratio > kept.likelihood_ratio else kept

    def examine(self, case: Case) -> Finding | str:
        document = case.document
        memory: ToolMemory = case.memory
        if document.is_error or document.kind == "empty":
            return "an error or an empty result has no length to judge"
        lengths = memory.lengths.get(document.kind)
        if lengths is None or len(lengths) < WARM_UP:
            return f"{0 if lengths is None else len(lengths)} of {WARM_UP} results of this kind"
        if memory.is_known(document):
            return "this very result is known"
        x = math.log1p(document.size)
        if lengths.is_usual(x):
            return AS_USUAL
        p = min(2.0 * min(lengths.lower_p(x, LEAST_SCALE), lengths.upper_p(x, LEAST_SCALE)), 1.0)
        traits = ("short" if x < lengths.ordered[len(lengths) // 2] else "long",)
        return Finding(-math.log(p), f"{document.size} bytes are unusual", traits=traits)
