"""historical_inconsistency: another answer than the same arguments had before."""

from __future__ import annotations

import math
from typing import Final

from agentguard.verification.baseline import ToolMemory
from agentguard.verification.case import Case
from agentguard.verification.keys import numbers_of
from agentguard.verification.types import SignalResult

from .base import Finding, LearnedCheck

__all__ = ["HistoricalInconsistency"]

BY_CHANCE: Final = 0.1  # P(a fabricated result is byte for byte the known one)
NEW: Final = 0.2  # P(a result that these arguments never had | fabricated), more than what other signals see as well
STEADY: Final = 20  # calls with the same arguments after which their rate of new results is a likelihood of its own
SET_BACK: Final = 0.5  # P(a call that changes the answer sets it back to an earlier one)
STRONGEST_AGREEMENT: Final = 0.25
ANOTHER: Final = "another result than before"


class HistoricalInconsistency(LearnedCheck):
    """Holds the result against earlier results of the same arguments.

    The same result again speaks for the call, by as much as this tool repeats itself. A different one is judged by
    how often this tool's answers change; one that was current before and has since been replaced, by how often that
    happens. How far its numbers moved is another signal.
    """

    name = "historical_inconsistency"
    group = "past"
    floor = 0.0005

    def __call__(self, case: Case, /) -> SignalResult:
        signal = super().__call__(case)
        memory: ToolMemory = case.memory
        history = memory.keys.by_key.get(case.arguments.key)
        if history is None or not signal.applicable:
            return signal
        if signal.score == 0.0 and history.results[-1] == case.document.digest:
            again = 1.0 - memory.change_rate(history, case.between)
            return signal._replace(likelihood_ratio=min(max(BY_CHANCE / again, STRONGEST_AGREEMENT), 1.0))
        if signal.detail == ANOTHER:  # it fired: a reader is told where to look
            _, where = memory.furthest_move(history, numbers_of(case.document))
            return signal._replace(detail=f"{ANOTHER}, most so in {where}") if where else signal
        return signal

    def examine(self, case: Case) -> Finding | str:
        document = case.document
        memory: ToolMemory = case.memory
        history = memory.keys.by_key.get(case.arguments.key)
        if history is None:
            return "no earlier call with these arguments"
        if document.is_error:
            return "an error report, not an answer"
        if document.digest == history.results[-1]:
            return Finding(0.0, "the same result as before")
        change, revert = memory.change_rate(history, case.between), memory.reverts.mean(0.1, 3.0)
        if document.digest in history.results:
            said = "an earlier result that had been replaced since"
            back_again = max(min(change, revert), memory.changed_by(case.between) * SET_BACK)
            return Finding(-math.log(back_again), said, traits=(f"reverted {case.arguments.place}",))
        new = change * (1.0 - revert)
        direct = NEW / new if history.count >= STEADY else 0.0
        traits: tuple[str, ...] = (f"changed {case.arguments.place}",)
        if document.kind == "empty":
            traits = ("emptied", *traits)
        return Finding(-math.log(new), ANOTHER, direct=direct, traits=traits)
