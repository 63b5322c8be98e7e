"""format_mismatch: a value of another type, or written in another way, than all values at its path."""

from __future__ import annotations

from typing import Final

from agentguard.verification.baseline import ToolMemory
from agentguard.verification.case import Case

from .base import Finding, LearnedCheck

__all__ = ["FormatMismatch"]

WARM_UP: Final = 8


class FormatMismatch(LearnedCheck):
    """What every value at a path had in common, and this one has not.

    See ``conflicts`` for types and ``formats`` for dates. Both are told from what interfaces come by, a new field or a
    new state, and held against how often this tool's genuine calls do such a thing.
    """

    name = "format_mismatch"
    group = "form"
    share = 0.8

    def examine(self, case: Case) -> Finding | str:
        document = case.document
        memory: ToolMemory = case.memory
        if document.is_error or document.kind == "empty":
            return "an error or an empty result"
        if memory.is_known(document):
            return "this very result is known"
        shape = memory.shapes.get(document.kind)
        if shape is None or shape.count < WARM_UP:
            return f"{0 if shape is None else shape.count} of {WARM_UP} results of this kind"
        worst, why = shape.contradiction(document)
        x, said = shape.broken_format(document)
        if x > worst:
            worst, why = x, said
        return Finding(worst, why)
