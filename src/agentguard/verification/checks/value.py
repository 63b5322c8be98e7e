"""value_plausibility: a number far from where this tool's results have it, or a string in another format."""

from __future__ import annotations

import math
from typing import Final

from agentguard.verification.baseline import ToolMemory
from agentguard.verification.case import Case
from agentguard.verification.keys import numbers_of

from .base import Finding, LearnedCheck, learned_shape

__all__ = ["ValuePlausibility"]

WARM_UP: Final = 8
SHOWN: Final = 0.1  # P(a number has a sign that it never had | fabricated or corrupted)


class ValuePlausibility(LearnedCheck):
    """Each number by path, on the signed-log scale, by Student's t with 4 degrees of freedom.

    Numbers that only ever grow are held to growing. With m numbers the smallest p counts ``p (1 + (m - 1)/2)``.
    Strings are held to their format in the same way.

    What is plausible for the tool as a whole says little of one call: capped at a ratio of 3, it may flag, not block. A
    number below 0 where none ever was is an event with a rate, and weighs what that rate says.
    """

    name = "value_plausibility"
    group = "past"
    floor = 0.02
    cap = 3.0

    def examine(self, case: Case) -> Finding | str:
        document = case.document
        memory: ToolMemory = case.memory
        shape = learned_shape(case, WARM_UP)
        if isinstance(shape, str):
            return shape
        least, where, above, sign, judged = 1.0, "", True, 1.0, 0
        for path, x in numbers_of(document).items():
            level = memory.levels.get(path)
            if level is not None and level.count >= WARM_UP:
                judged += 1
                p = level.p(x)
                if p < least:
                    least, where, above = p, path, x > level.mean
                if x < 0.0:
                    sign = min(sign, level.sign_p(x))
        worst, why, several = 0.0, "", 1.0 + 0.5 * (judged - 1)
        traits: tuple[str, ...] = ()
        if judged:
            worst = -math.log(min(least * several, 1.0))
            if worst > 0.0:
                why = f"{where or 'the number'} is far from its usual level"
                traits = (f"{where} {'above' if above else 'below'} its level",)
        x, said, written = shape.format_surprise(document)
        if x > worst:
            worst, why, traits = x, said, (f"writing of {written}",)
        direct = SHOWN / (sign * several) if sign < 1.0 else 0.0
        return Finding(worst, why, direct=direct, traits=traits)
