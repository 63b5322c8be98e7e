"""echo_mismatch: the result does not repeat the arguments that it should; the answer to another question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentguard.verification.arguments import normal
from agentguard.verification.baseline import ToolMemory
from agentguard.verification.case import Case
from agentguard.verification.echoes import find_echoes
from agentguard.verification.types import SignalResult

from .base import Finding, LearnedCheck

__all__ = ["EchoMismatch"]


class EchoMismatch(LearnedCheck):
    """Declared ``echoes`` are a contract with P(broken | fabricated) = .8; others are learned (see ``echoes.py``)."""

    name = "echo_mismatch"
    group = "entity"
    fabricated = 0.8
    share = 0.85
    borne_out = 0.5

    def __call__(self, case: Case, /) -> SignalResult:
        learned = super().__call__(case)
        missing = self._declared_missing(case)
        if missing is None:
            return learned
        declared = self.broken(case, 1.0, f"does not repeat argument {missing!r}  as declared", f"declared echo {missing}")
        return learned if learned.likelihood_ratio > declared.likelihood_ratio else declared

    @staticmethod
    def _declared_missing(case: Case) -> str | None:
        """The first argument whose declared place in the result holds other values; an absent place says nothing."""
        declared = case.contract.profile.echoes
        if not declared or case.document.is_error:
            return None
        given = dict(case.arguments.values)
        for argument, echo in declared.items():
            text = given.get(argument)
            if text and _lacks(text, case.document.leaves.get(echo.path, ())):
                return argument
        return None

    def examine(self, case: Case) -> Finding | str:
        memory: ToolMemory = case.memory
        if case.document.is_error:
            return "an error report, not an answer"
        echoes = find_echoes(case.arguments, case.document)
        if not echoes:
            return "no argument that could come back"
        found = memory.echoes.surprise(echoes, memory.pool.echoes)
        if found is None:
            return "this tool is not known to repeat its arguments"
        surprise, detail, direct, traits = found
        return Finding(surprise, detail, direct=direct, traits=traits)


def _lacks(text: str, values: Sequence[Any]) -> bool:
    """There are values to compare the text with, and it is none of them, nor a part of one, nor one a part of it."""
    for value in values:
        other = normal(value)
        if text in other or other in text:
            return False
    return len(values) > 0
