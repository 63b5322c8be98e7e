"""format_mismatch: a value of another type, written in another way, or another than nearly all at its path."""

from __future__ import annotations

import math
from typing import Final

from agentguard.verification.arguments import normal
from agentguard.verification.baseline import ToolMemory
from agentguard.verification.case import Case
from agentguard.verification.conflicts import no_number

from .base import Finding, LearnedCheck, learned_shape

__all__ = ["FormatMismatch"]

WARM_UP: Final = 8
ANOTHER_VALUE: Final = math.log(3.5)  # nats at most: a new state is what interfaces come by; it may flag, not block


class FormatMismatch(LearnedCheck):
    """What every value at a path had in common, and this one has not.

    See ``conflicts`` for types, NaN and the infinities, ``formats`` for dates and ``constants`` for strings that hardly
    ever change; these may follow what was asked, so a value that the arguments have, and any where an argument that
    hardly ever changes has changed too, is none. All are told from what interfaces come by, a new field or a new state,
    and held against how often this tool's genuine calls do such a thing.
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
        p, where = self._other_value(case)
        if -math.log(p) > worst:
            why = f"{where or 'the value'} is another than in nearly all results"
            return Finding(-math.log(p), why, ANOTHER_VALUE, traits=(f"value of {where}",))
        return Finding(worst, why, traits=traits)

    @staticmethod
    def _other_value(case: Case) -> tuple[float, str]:
        """The chance of the most unusual value where nearly all results had one and the same; (1, "") without."""
        memory: ToolMemory = case.memory
        odd = memory.constants.odd(case.document.leaves)
        if not odd:
            return 1.0, ""
        asked = case.arguments.values
        texts = {text for _, text in asked}
        if memory.constant_arguments.odd({place: (text,) for place, text in asked}):
            return 1.0, ""
        several = 1.0 + 0.5 * (len(memory.constants.usual) - 1)
        least = min(((p, place) for place, value, p in odd if normal(value) not in texts), default=(1.0, ""))
        return min(least[0] * several, 1.0), least[1]
