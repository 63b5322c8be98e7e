"""novel_value: a new value where nearly all results had one and the same."""

from __future__ import annotations

import math

from agentguard.verification.baseline import ToolMemory
from agentguard.verification.case import Case
from agentguard.verification.relations.constants import FEWEST

from .base import Finding, LearnedCheck

__all__ = ["NovelValue"]


class NovelValue(LearnedCheck):
    """A word, a state or a flag that was never there, at a path whose value hardly ever changes.

    What the arguments say is none, nor is any where an argument that hardly ever changes has changed too.
    """

    name = "novel_value"
    group = "form"
    share = 0.8

    def examine(self, case: Case) -> Finding | str:
        document = case.document
        memory: ToolMemory = case.memory
        if document.is_error or not document.leaves:
            return "an error, or a result without values"
        if memory.is_known(document):
            return "this very result is known"
        relations = memory.relations
        if relations.calls < FEWEST:
            return f"{relations.calls} of {FEWEST} results"
        where, p, times = relations.new_value(case.arguments.side, relations.side(document))
        if p >= 1.0:
            return Finding(0.0, "")
        why = f"{where or 'the value'} has a value that none of {times:,} had"
        return Finding(-math.log(p), why, traits=(f"value of {where}",))
