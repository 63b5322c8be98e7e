"""duplicate_result: word for word the result of another call."""

from __future__ import annotations

import math
from typing import Final

from agentguard.verification.baseline import ToolMemory
from agentguard.verification.case import Case
from agentguard.verification.pool import SHORTEST_OWNED

from .base import Finding, LearnedCheck

__all__ = ["DuplicateResult"]

BETWEEN_SISTERS: Final = 0.1  # before anything is known: how often tools whose results have one form give the same one
BETWEEN_STRANGERS: Final = 0.03
LONGEST_NOTICE: Final = 60  # bytes: "no matches found"
NOTICE_NATS: Final = 0.3  # alone it may not flag


def _most(size: int) -> float:
    """How much the repetition of a result of so many bytes may say, in nats: a notice says the same to everybody."""
    return NOTICE_NATS if size < LONGEST_NOTICE else math.inf


class DuplicateResult(LearnedCheck):
    """This very result is known, but only from calls with quite other arguments, or from another tool.

    Judged by how often this tool's genuine results are so; another tool's result of a form that this tool has too is
    judged by how often sister tools share results (a search and a list of the same records). Results below 20 bytes
    are alike by chance: left alone.
    """

    name = "duplicate_result"
    group = "copy"
    share = 0.85

    def examine(self, case: Case) -> Finding | str:
        document, arguments = case.document, case.arguments
        memory: ToolMemory = case.memory
        if document.size < SHORTEST_OWNED or document.is_error:
            return "too short to be told from others" if not document.is_error else "an error report, not an answer"
        if memory.keys.is_foreign(arguments, document.digest):
            if memory.count < 3:
                return f"{memory.count} of 3 calls"
            if any(document.side.says(text) for _, text in arguments.values):
                return "known under other arguments, and repeats one of these"
            rate = memory.foreign_known if arguments.key in memory.keys.by_key else memory.foreign
            usual = memory.pool.foreign.mean(0.1, 4.0)
            said = "known as the result of quite other arguments"
            return Finding(-math.log(rate.mean(usual, 3.0)), said, _most(document.size), traits=("foreign",))
        if memory.pool.is_anothers(document.digest, memory.id):
            pool = memory.pool
            if case.between is not None and document.digest in case.between.results:
                return "the result of a call in this session that had an argument in common"
            if memory.has_form(document):
                usual = memory.foreign_sister.mean(pool.foreign_sister.mean(BETWEEN_SISTERS, 4.0), 4.0)
                said = "known as the result of a sister tool"
                return Finding(-math.log(usual), said, traits=("sister",))
            usual = memory.foreign_tool.mean(pool.foreign_tool.mean(BETWEEN_STRANGERS, 4.0), 4.0)
            return Finding(-math.log(usual), "known as the result of another tool", traits=("another's",))
        if memory.is_known(document):
            return "known under these or similar arguments"
        return "never seen elsewhere"
