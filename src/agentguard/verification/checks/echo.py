"""echo_mismatch: the result does not repeat the arguments that are declared to come back."""

from __future__ import annotations

from typing import Final

from agentguard.verification.baseline import ToolMemory
from agentguard.verification.case import Case
from agentguard.verification.contract import EchoRule, Rows
from agentguard.verification.types import SignalResult, not_looked_at

from .base import DeclaredCheck

__all__ = ["EchoMismatch"]

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

    def __call__(self, case: Case, /) -> SignalResult:
        if not case.contract.echoes:
            return self.abstain("no declared echo")
        excused = case.contract.excuses(case.document, flagged=case.call.is_error)
        if excused:
            return self.abstain("an error or an empty result, as it may be")
        for rule in case.contract.echoes:
            rows = rule.rows_of(case.arguments, case.call.args, case.document)
            said = "" if rows is None else self._broken(rule, rows, case)
            if said:
                return self.broken(case, 1.0, said, f"declared echo {rule.argument}")
        if case.document.unread:
            return not_looked_at(self.name, self.tier, case.document.unread, self.group)
        return SignalResult(self.name, True, False, 0.0, 1.0, None, self.tier, "as declared", self.group)

    @staticmethod
    def _broken(rule: EchoRule, rows: Rows, case: Case) -> str:
        """How the declared echo is broken, in words; "" where it holds."""
        if not rows.alike:
            return f"does not repeat argument {rule.argument!r} at {rule.path!r} as declared"
        if rows.alike == rows.total or rule.rows == "any":
            return ""
        said = f"{rows.total - rows.alike} of {rows.total} values at {rule.path!r} are not argument {rule.argument!r}"
        if rule.rows == "every":
            return f"{said}, declared for every row"
        memory: ToolMemory = case.memory
        past = memory.echoed_rows.get(rule.where)
        if past is None or past.total < ROWS_KNOWN or past.total - past.hits > ODD_RESULTS * past.total:
            return ""
        return f"{said}, which is declared and held for every row before"
