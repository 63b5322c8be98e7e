"""pattern_mismatch: none of the declared patterns is found in the result."""

from __future__ import annotations

from agentguard.verification.method import Case
from agentguard.verification.types import SignalResult, VerificationTier

from .base import LearnedCheck, abstain, broken_contract, kept_contract

__all__ = ["PatternMismatch"]

FABRICATED = 0.6
SCORE = 0.8


class PatternMismatch(LearnedCheck):
    """Searches the result, as compact JSON or as text, for at least one of ``response_patterns``.

    A contract with P(broken | fabricated) = .6. Errors are another mode and are not searched.
    """

    name = "pattern_mismatch"
    tier = VerificationTier.TIER_0
    group = "form"

    def __call__(self, case: Case, /) -> SignalResult:
        if not case.contract.has_patterns:
            return abstain(self.name, self.tier, "no patterns declared", self.group)
        if case.document.is_error:
            return abstain(self.name, self.tier, "an error report, not an answer", self.group)
        if case.contract.matches_a_pattern(case.document):
            return kept_contract(type(self), case, FABRICATED, "a declared pattern is found")
        count = len(case.contract.profile.response_patterns)
        return broken_contract(type(self), case, FABRICATED, SCORE, f"none of {count} declared patterns is found")
