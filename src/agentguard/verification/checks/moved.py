"""moved_value: a number far from its level under the same arguments, or a clock that went back."""

from __future__ import annotations

import math
from typing import Final

from agentguard.verification.baseline import ToolMemory
from agentguard.verification.case import Case
from agentguard.verification.drift import clock_values
from agentguard.verification.keys import numbers_of

from .base import AS_USUAL, Finding, LearnedCheck

__all__ = ["MovedValue"]

WENT_BACK: Final = 0.3  # P(a clock goes back | fabricated or corrupted)


class MovedValue(LearnedCheck):
    """Holds each number of a new answer against those that the same arguments had before.

    A field that has only ever gone forward, a time or a version, is held to going forward.
    """

    name = "moved_value"
    group = "past"
    floor = 0.0005

    def examine(self, case: Case) -> Finding | str:
        document = case.document
        memory: ToolMemory = case.memory
        history = memory.keys.by_key.get(case.arguments.key)
        if history is None:
            return "no earlier call with these arguments"
        if document.is_error:
            return "an error report, not an answer"
        if document.digest == history.results[-1]:
            return "the same result as before"
        found = AS_USUAL
        back, where = memory.clocks.back_rate(clock_values(document), history.clocks)
        if where:
            traits = (f"clock {case.arguments.place} {where}",)
            said = f"{where} went back, and has only ever gone forward"
            found = Finding(-math.log(back), said, direct=WENT_BACK / back, traits=traits)
        x, where = memory.furthest_move(history, numbers_of(document))
        # However far it is, it is judged by the moves of m answers to known arguments: by no less than 1 in (m + 3)^3.
        x = min(x, 3.0 * math.log(memory.repeats.total + 3.0))
        if x > found.surprise:
            moved = f"{where or 'the number'} moved far from its level under these arguments"
            found = Finding(x, moved, direct=found.direct, traits=(f"moved {where}",))
        return found
