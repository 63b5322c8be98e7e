"""schema_mismatch: declared fields that are missing, forbidden ones that are there, a broken JSON Schema."""

from __future__ import annotations

from agentguard.verification.case import Case
from agentguard.verification.types import NotLookedAt, SignalResult, VerificationTier, not_looked_at

from .base import DeclaredCheck

__all__ = ["SchemaMismatch"]


class SchemaMismatch(DeclaredCheck):
    """Holds the result against the profile's fields and ``output_schema``.

    A contract: P(broken | fabricated) = .72 against a share of genuine calls that only trusted and labelled calls
    move. What reads like an error report is held to it all the same: anything can be written so. An error by its
    framework's own word is held to nothing, since the agent has to read it; where the profile has ``allow_errors``, an
    error report answers for its forbidden fields alone. Of a result that was not read to its end the same can be said,
    and no more: it is not looked at.
    """

    name = "schema_mismatch"
    tier = VerificationTier.TIER_0
    group = "form"
    fabricated = 0.72

    def __call__(self, case: Case, /) -> SignalResult:
        contract, document = case.contract, case.document
        if not contract.has_fields and not contract.has_schema:
            return self.abstain("no fields or schema declared")
        if case.call.is_error:
            return self.abstain("an error by its framework's word, not an answer")
        broken = contract.field_violations(document)
        if contract.excuses(document, flagged=False):
            broken = [said for said in broken if said.startswith("forbidden")]
            if not broken:
                return self.abstain("an error report, which the profile allows")
        else:
            unread = document.unread
            if unread:
                broken = [said for said in broken if said.startswith("forbidden")]
            else:
                try:
                    departure = contract.schema_violation(document)
                except NotLookedAt as error:
                    departure, unread = None, str(error)
                if departure is not None:
                    broken.append(departure)
            if unread and not broken:
                return not_looked_at(self.name, self.tier, unread, self.group)
        if not broken:
            if not document.is_structured:
                return self.abstain("text: what is declared leaves it free")
            return self.kept(case, "all that is declared holds")
        declared = len(contract.required) + len(contract.forbidden) + contract.has_schema
        return self.broken(case, min(len(broken) / declared, 1.0), "; ".join(broken[:3]), *broken[:3])
