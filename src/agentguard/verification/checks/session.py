"""session_inconsistency: another answer than the same arguments had earlier in the same session."""

from __future__ import annotations

import math

from agentguard.verification.baseline import ToolMemory
from agentguard.verification.case import Case

from .base import Finding, LearnedCheck

__all__ = ["SessionInconsistency"]


class SessionInconsistency(LearnedCheck):
    """A different result for the same arguments within one session, by how often this tool's results do that.

    Tools declared ``stateful`` change by design: they abstain.
    """

    name = "session_inconsistency"
    group = "past"

    def examine(self, case: Case) -> Finding | str:
        memory: ToolMemory = case.memory
        if case.call.session_id is None:
            return "no session"
        if case.contract.profile.stateful:
            return "declared stateful"
        earlier = memory.pool.in_session(case.call.session_id, memory.id, case.arguments.key)
        if earlier is None:
            return "no earlier call with these arguments in this session"
        if case.document.is_error:
            return "an error report, not an answer"
        if earlier == case.document.digest:
            return Finding(0.0, "the same result as earlier in this session")
        x = -math.log(max(memory.session_changes.mean(0.3, 2.0), memory.changed_by(case.between)))
        traits = (f"changed {case.arguments.place}",)
        return Finding(x, "another result than earlier in this session", traits=traits)
