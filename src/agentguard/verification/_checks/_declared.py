"""Checks of what a profile declares: required fields and schema, patterns, arguments that the result repeats."""

from __future__ import annotations

from typing import Final

from agentguard.verification._baseline import ToolMemory
from agentguard.verification._case import Case
from agentguard.verification._checks._base import DeclaredCheck
from agentguard.verification._contract import EchoRule, Rows
from agentguard.verification.types import NotLookedAt, SignalResult, Trait, VerificationTier, not_looked_at

# --- schema_mismatch: declared fields that are missing, forbidden ones that are there, a broken JSON Schema ---


class SchemaMismatch(DeclaredCheck):
    """Holds the result against the profile's fields and ``output_schema``: P(broken | fabricated) = .72.

    What reads like an error report is held to it all the same: anything can be written so. An error by its framework's
    own word is held to nothing, since the agent has to read it; where the profile has ``allow_errors``, an error report
    answers for its forbidden fields alone. So does a result that was not read to its end, which is else not looked at.
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
            broken = [message for message in broken if message.startswith("forbidden")]
            if not broken:
                return self.abstain("an error report, which the profile allows")
        else:
            unread = document.unread
            if unread:
                broken = [message for message in broken if message.startswith("forbidden")]
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
        return self.broken(
            case,
            min(len(broken) / declared, 1.0),
            "; ".join(broken[:3]),
            *(Trait("declared", "", one) for one in broken[:3]),
        )


# --- pattern_mismatch: none of the declared patterns is found in the result ---

SCORE: Final = 0.8  # the document's, for no pattern found


class PatternMismatch(DeclaredCheck):
    """Searches the result, as compact JSON or as text, for one of ``response_patterns``: P(broken | fabricated) = .6.

    Errors are not searched where the framework has said that they are errors, or the profile has ``allow_errors``; text
    that reads like one is.
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
        return self.broken(case, SCORE, f"none of {count} declared patterns is found", Trait("declared", "", "pattern"))


# --- echo_mismatch: the result does not repeat the arguments that are declared to come back ---

ROWS_KNOWN: Final = 5  # results of several rows, after which a declared echo is held to what all their rows did
ODD_RESULTS: Final = 0.02  # of them that may have been otherwise


class EchoMismatch(DeclaredCheck):
    """Declared ``echoes`` are a contract with P(broken | fabricated) = .8; learned ones are relations.

    Of several values at a declared place every one must be the argument's where ``rows`` says so, or where it says
    nothing and all rows of five past results or more agreed (in one of fifty they may not have); else any one. A place
    that is absent or null says nothing; one in a result that was not read to its end is not looked at.
    """

    name = "echo_mismatch"
    group = "entity"
    fabricated = 0.8

    def __init__(self) -> None:
        super().__init__()
        self._as_declared = SignalResult(self.name, True, False, 0.0, 1.0, None, self.tier, "as declared", self.group)

    def __call__(self, case: Case, /) -> SignalResult:
        if not case.contract.echoes:
            return self.abstain("no declared echo")
        if case.contract.excuses(case.document, flagged=case.call.is_error):
            return self.abstain("an error or an empty result, as it may be")
        for rule in case.contract.echoes:
            rows = rule.rows_of(case.arguments, case.call.args, case.document)
            message = "" if rows is None else self._broken(rule, rows, case)
            if message:
                return self.broken(case, 1.0, message, Trait("declared", rule.argument, "echo"))
        if case.document.unread:
            return not_looked_at(self.name, self.tier, case.document.unread, self.group)
        return self._as_declared

    @staticmethod
    def _broken(rule: EchoRule, rows: Rows, case: Case) -> str:
        """Say how the declared echo is broken; "" where it holds."""
        if not rows.alike:
            return f"does not repeat argument {rule.argument!r} at {rule.path!r} as declared"
        if rows.alike == rows.total or rule.rows == "any":
            return ""
        others = f"{rows.total - rows.alike} of {rows.total} values at {rule.path!r}"
        message = f"{others} are not argument {rule.argument!r}"
        if rule.rows == "every":
            return f"{message}, declared for every row"
        memory: ToolMemory = case.memory
        past = memory.echoed_rows.get(rule.where)
        if past is None or past.total < ROWS_KNOWN or past.total - past.hits > ODD_RESULTS * past.total:
            return ""
        return f"{message}, which is declared and held for every row before"
