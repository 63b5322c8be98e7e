"""historical_inconsistency: another answer than the same arguments had before."""

from __future__ import annotations

import math
from typing import Final

from agentguard.verification.baseline import ToolMemory
from agentguard.verification.case import Case
from agentguard.verification.keys import KeyHistory, numbers_of
from agentguard.verification.statistics import student_t4_tail

from ..drift import clock_values
from ..types import SignalResult
from .base import Finding, LearnedCheck

__all__ = ["HistoricalInconsistency", "swing"]

BY_CHANCE: Final = 0.1  # P(a fabricated result is byte for byte the known one)
NEW: Final = 0.2  # P(a result that these arguments never had | fabricated), more than what other signals see as well
STEADY: Final = 20  # calls with the same arguments after which their rate of new results is a likelihood of its own
WENT_BACK: Final = 0.3  # P(a clock goes back | fabricated or corrupted)
SET_BACK: Final = 0.5  # P(a call that changes the answer sets it back to an earlier one)
STRONGEST_AGREEMENT: Final = 0.25
WITHIN_VARIANCE: Final = 0.1**2


def swing(memory: ToolMemory, history: KeyHistory, numbers: dict[str, float]) -> tuple[float, str]:
    """``-ln p`` of the number that moved most against its level under the same arguments.

    The spread of such moves is pooled over all keys of the tool, and starts at 10%.
    """
    furthest, where = 0.0, ""
    moved = history.moves(numbers)
    if not moved:
        return 0.0, ""
    for path, move in moved:
        moves = memory.within.get(path)
        # Against how such moves usually go: a counter moves up each time.
        away, variance = (move, WITHIN_VARIANCE) if moves is None else (move - moves.mean, moves.variance)
        t_squared = away * away / variance
        if t_squared > furthest:
            furthest, where = t_squared, path
    least = student_t4_tail(math.sqrt(furthest / (1.0 + 1.0 / history.seen)))
    return -math.log(min(least * (1.0 + 0.5 * (len(moved) - 1)), 1.0)), where


def _place(case: Case) -> str:
    """The arguments, told from others: what is odd here concerns them alone."""
    return case.arguments.key[:6].hex()


class HistoricalInconsistency(LearnedCheck):
    """Holds the result against earlier results of the same arguments.

    The same result again speaks for the call, by as much as this tool repeats itself. A different one is judged by
    how often this tool's answers change; one that was current before and has since been replaced, or in which a
    clock went back, by how often that happens; and each number by how far it moved.
    """

    name = "historical_inconsistency"
    group = "past"
    floor = 0.0005

    def __call__(self, case: Case, /) -> SignalResult:
        signal = super().__call__(case)
        if not signal.applicable or signal.score != 0.0:
            return signal
        memory: ToolMemory = case.memory
        history = self._agreed(case, memory)
        if history is not None:
            again = 1.0 - memory.change_rate(history, case.between)
            likelihood = max(BY_CHANCE / again, STRONGEST_AGREEMENT)
            return signal._replace(likelihood_ratio=min(likelihood, signal.likelihood_ratio))
        return signal

    @staticmethod
    def _agreed(case: Case, memory: ToolMemory) -> KeyHistory | None:
        """The history of these arguments where the result is the same as before."""
        history = memory.keys.by_key.get(case.arguments.key)
        return history if history is not None and history.results[-1] == case.document.digest else None

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
            found = Finding(-math.log(back_again), said, traits=(f"reverted {_place(case)}",))
        else:
            new = change * (1.0 - revert)
            direct = NEW / new if history.count >= STEADY else 0.0
            traits: tuple[str, ...] = (f"changed {_place(case)}",)
            if document.kind == "empty":
                traits = ("emptied", *traits)
            found = Finding(-math.log(new), "another result than before", direct=direct, traits=traits)
        back, where = memory.clocks.back_rate(clock_values(document), history.clocks)
        if where and -math.log(back) > found.surprise:
            said = f"{where} went back, and has only ever gone forward"
            found = Finding(-math.log(back), said, direct=WENT_BACK / back, traits=(f"clock {_place(case)} {where}",))
        x, where = swing(memory, history, numbers_of(document))
        # However far it is, it is judged by the moves of m answers to known arguments: by no less than 1 in (m + 3)^3.
        x = min(x, 3.0 * math.log(memory.repeats.total + 3.0))
        if x > found.surprise:
            moved = f"{where or 'the number'} moved far from its level under these arguments"
            found = Finding(x, moved, direct=found.direct, traits=(f"moved {where}",))
        return found
