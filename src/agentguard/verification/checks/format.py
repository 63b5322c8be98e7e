"""format_mismatch: a value of another type, or written in another way."""

from __future__ import annotations

import math
from typing import Final

from agentguard.verification.case import Case
from agentguard.verification.shape import no_number

from .base import Finding, LearnedCheck, learned_shape

__all__ = ["FormatMismatch"]

WARM_UP: Final = 8


class FormatMismatch(LearnedCheck):
    """What every value at a path had in common, and this one has not.

    See ``shape`` for types, NaN, the infinities and dates. All are told from what interfaces
    come by, a new field, and held against how often this tool's genuine calls do such a thing.
    """

    name = "format_mismatch"
    group = "form"
    share = 0.8

    def examine(self, case: Case) -> Finding | str:
        document = case.document
        shape = learned_shape(case, WARM_UP)
        if isinstance(shape, str):
            return shape
        worst, why, where = shape.contradiction(document)
        traits = (f"type of {where}",)
        x, said, where = shape.broken_format(document)
        if x > worst:
            worst, why, traits = x, said, (f"format of {where}",)
        p, where = no_number(document, shape.facts, shape.formats)
        if -math.log(p) > worst:
            worst, traits = -math.log(p), (f"no number at {where}",)
            why = f"{where or 'the value'} is NaN or infinite, where there were finite numbers before"
        return Finding(worst, why, traits=traits)
