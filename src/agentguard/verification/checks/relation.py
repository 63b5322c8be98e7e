"""relation_mismatch: a relation that held in every call so far does not hold in this one."""

from __future__ import annotations

from agentguard.verification.baseline import ToolMemory
from agentguard.verification.case import Case
from agentguard.verification.relations import TRIED

from .base import Finding, LearnedCheck

__all__ = ["RelationMismatch"]


class RelationMismatch(LearnedCheck):
    """Holds a call to the relations that this tool's calls kept; see ``relations``.

    Its evidence is measured, as the ratio of how often other calls' results break the relation to how often the tool's
    own do, and ranked among what the tool's genuine calls break.
    """

    name = "relation_mismatch"
    group = "relation"
    share = 0.8
    floor = 0.0005
    prior = 4.0

    def examine(self, case: Case) -> Finding | str:
        document = case.document
        memory: ToolMemory = case.memory
        if document.is_error or not document.leaves:
            return "an error, or nothing that relations are about"
        relations = memory.relations
        if relations.calls < TRIED:
            return f"{relations.calls} of {TRIED} results"
        # Of arguments that were asked before, the earlier answers are held against this one by another signal.
        asked = case.arguments.key in memory.keys.by_key
        changed = 1.0 if asked else memory.changed_by(case.between)
        broken = relations.broken(case.arguments.side, relations.side(document), changed)
        return Finding(broken.nats, broken.said, traits=broken.traits)
