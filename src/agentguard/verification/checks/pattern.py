"""pattern_mismatch: none of the declared patterns is found in the result."""

from __future__ import annotations

from typing import Final

from agentguard.verification.case import Case
from agentguard.verification.types import NotLookedAt, SignalResult, VerificationTier, not_looked_at

from .base import DeclaredCheck

__all__ = ["PatternMismatch"]

SCORE: Final = 0.8


class PatternMismatch(DeclaredCheck):
    """Searches the result, as compact JSON or as text, for at least one of ``response_patterns``.

    A contract with P(broken | fabricated) = .6. Errors are not searched where the framework has said that they are
    errors, or the profile has ``allow_errors``; text that reads like one is.
    """

    name = "pattern_mismatch"
    tier = VerificationTier.TIER_0
    group = "form"
    fabricated = 0.6

    def __call__(self, case: Case, /) -> SignalResult:
        if not case.contract.has_patterns:
            return self.abstain("no patterns declared")
        if case.contract.excuses(case.document, flagged=case.call.is_error):
            return self.abstain("an error report, not an answer")
        try:
            if case.contract.matches_a_pattern(case.document):
                return self.kept(case, "a declared pattern is found")
            unread = case.contract.unsearched(case.document)
        except NotLookedAt as error:
            unread = str(error)
        if unread:
            return not_looked_at(self.name, self.tier, unread, self.group)
        count = len(case.contract.profile.response_patterns)
        return self.broken(case, SCORE, f"none of {count} declared patterns is found", "no pattern")
