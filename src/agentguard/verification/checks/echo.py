"""echo_mismatch: the result does not repeat the arguments that it should; the answer to another question."""

from __future__ import annotations

from typing import Final

from agentguard.verification.baseline import ToolMemory
from agentguard.verification.case import Case
from agentguard.verification.declared_echoes import EchoRule, Rows
from agentguard.verification.echoes import EVERY_ROW, Echo, find_echoes
from agentguard.verification.types import SignalResult
from agentguard.verification.unread import not_looked_at

from .base import Finding, LearnedCheck

__all__ = ["EchoMismatch"]

ROWS_KNOWN: Final = 5  # results of several rows, after which a declared echo is held to what all their rows did
ODD_RESULTS: Final = 0.02  # of them that may have been otherwise


class EchoMismatch(LearnedCheck):
    """Declared ``echoes`` are a contract with P(broken | fabricated) = .8; others are learned (see ``echoes.py``).

    A broken declaration stands whatever was learned, and counts the larger of both ratios. Of several values at a
    declared place every one must be the argument's where ``rows`` says so, or where it says nothing and all rows of
    five past results or more agreed (in one of fifty they may not have); else any one. A place that is absent or null
    says nothing; one in a result that was not read to its end is not looked at.
    """

    name = "echo_mismatch"
    group = "entity"
    fabricated = 0.8
    share = 0.85
    borne_out = 0.5

    def __call__(self, case: Case, /) -> SignalResult:
        if not case.contract.echoes:
            return super().__call__(case)
        held: list[tuple[EchoRule, Rows]] = []
        excused = case.contract.excuses(case.document, flagged=case.call.is_error)
        if not excused:
            for rule in case.contract.echoes:
                rows = rule.rows_of(case.arguments, case.call.args, case.document)
                if rows is not None:
                    held.append((rule, rows))
        kind = case.document.kind
        # The first look at this call's echoes: what is learned and counted of it has those of declared rows in it.
        find_echoes(
            case.arguments,
            case.document,
            [
                Echo(rule.place, rule.where, kind, rows.alike == rows.total)
                for rule, rows in held
                if rule.rows is None and rows.total > 1 and rows.alike
            ],
        )
        learned = super().__call__(case)
        for rule, rows in held:
            said = self._broken(rule, rows, case)
            if said:
                return self.upheld(self.broken(case, 1.0, said, f"declared echo {rule.argument}"), learned)
        if case.document.unread and not excused and not learned.fired:
            return not_looked_at(self.name, self.tier, case.document.unread, self.group)
        return learned

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
        past = memory.echoes.rates.get((rule.place, rule.where, case.document.kind))
        if past is None or past.total < ROWS_KNOWN or past.total - past.hits > ODD_RESULTS * past.total:
            return ""
        return f"{said}, which is declared and held for every row before"

    def examine(self, case: Case) -> Finding | str:
        memory: ToolMemory = case.memory
        if case.document.is_error:
            return "an error report, not an answer"
        echoes = find_echoes(case.arguments, case.document)
        enough = [rule.place for rule in case.contract.echoes if rule.rows == "any"]
        if enough:
            echoes = [echo for echo in echoes if echo.where != EVERY_ROW or echo.path not in enough]
        if not echoes:
            return "no argument that could come back"
        found = memory.echoes.surprise(echoes, memory.pool.echoes)
        if found is None:
            return "this tool is not known to repeat its arguments"
        surprise, detail, direct, traits = found
        return Finding(surprise, detail, direct=direct, traits=traits)
