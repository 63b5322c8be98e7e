"""stale_result: the same answer as before a call that nearly always changes it."""

from __future__ import annotations

import math
from typing import Final

from agentguard.verification.baseline import ToolMemory
from agentguard.verification.case import Case

from .base import Finding, LearnedCheck

__all__ = ["StaleResult"]

UNCHANGED: Final = 0.3  # P(an answer from before the call in between | fabricated or corrupted)


class StaleResult(LearnedCheck):
    """An answer that a call in between should have changed: what was written is not read back.

    How often this tool answers otherwise after such a call is counted, see ``sessions``.
    """

    name = "stale_result"
    group = "past"
    floor = 0.001
    prior = 4.0

    def examine(self, case: Case) -> Finding | str:
        memory: ToolMemory = case.memory
        if case.call.session_id is None:
            return "no session"
        earlier = memory.pool.in_session(case.call.session_id, memory.id, case.arguments.key)
        if earlier is None:
            return "no earlier call with these arguments in this session"
        changed = memory.changed_by(case.between)
        if earlier != case.document.digest or not changed:
            return "another answer, or no call in between"
        said = "the same result as before a call that changes it"
        traits = (f"unchanged {case.arguments.place}",)
        return Finding(-math.log(1.0 - changed), said, direct=UNCHANGED / (1.0 - changed), traits=traits)
