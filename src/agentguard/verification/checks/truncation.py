"""truncated_result: a result that stops before its end."""

from __future__ import annotations

import math
from typing import Final

from agentguard.verification.baseline import ToolMemory, ending, ends_in_a_cut_object
from agentguard.verification.case import Case

from ..types import VerificationTier
from .base import Finding, LearnedCheck

__all__ = ["TruncatedResult"]

POOLED: Final = 8.0
BEGINNING: Final = "a beginning of a longer result known for the same arguments"
SHOWN: Final = 0.3  # P(a result shows such a trace | fabricated or corrupted)
RATES_KNOWN: Final = 8  # results after which the rate of a trace is a likelihood of its own
RARE: Final = -math.log(0.03)
CLOSING = frozenset(".!?)]}>\"'`")


class TruncatedResult(LearnedCheck):
    """Five traces of a cut, each against how often this tool's genuine results show it.

    - text that starts as JSON and does not parse (the rate is shrunk to that over all tools, so it needs no warm-up);
    - a quote or bracket still open at the end;
    - a last object that has only the first of the keys that such objects have;
    - a beginning, to the byte, of a longer result known for the same arguments;
    - a last character that closes nothing, of a class in which results of this kind do not end.

    A trace is an event with a rate, so that its likelihood ratio is ``SHOWN / rate`` once the rate is known: after a
    history with a few cut results in a hundred it is well above 1, where the p-value of the rate says little.
    """

    name = "truncated_result"
    tier = VerificationTier.TIER_0
    group = "form"
    share = 0.9

    def examine(self, case: Case) -> Finding | str:
        document = case.document
        memory: ToolMemory = case.memory
        if document.is_error or document.kind == "empty":
            return "an error or an empty result"
        if memory.is_known(document):
            return "this very result is known"
        worst, why, trait = 0.0, "complete", ""
        if document.kind == "broken":
            overall = memory.pool.broken.mean(0.1, 3.0)
            worst, trait = -math.log(memory.broken.mean(overall, POOLED)), "unparsed"
            why = "starts as JSON and does not parse"
        history = memory.keys.by_key.get(case.arguments.key)
        if history is not None and history.is_cut_off(document):
            x = -math.log(memory.cut_off.mean(0.06, 5.0))
            if x > worst:
                worst, why, trait = x, BEGINNING, f"beginning {case.arguments.key[:6].hex()}"
        unclosed, endings = memory.unclosed.get(document.kind), memory.endings.get(document.kind)
        if unclosed is not None and endings is not None and endings.total >= 2:
            if document.unclosed:
                x = -math.log(unclosed.mean())
                if x > worst:
                    worst, why, trait = x, "a quote or bracket is still open at the end", "unclosed"
            shape = memory.shapes.get(document.kind)
            if shape is not None and ends_in_a_cut_object(document, shape):
                x = -math.log(memory.cut_objects.mean(0.1, 3.0))
                if x > worst:
                    worst, why, trait = x, "the last object lacks the last of its usual keys", "cut object"
            last = ending(document)
            x = 0.0 if last in CLOSING else -math.log(endings.p(last))
            if x > worst:
                worst, why, trait = x, "breaks off where no result of this kind ends", "ending"
        # A trace that genuine results of this tool do show is no event by itself: there its p-value is all it says.
        known = memory.kinds.total >= RATES_KNOWN and worst >= RARE
        direct = SHOWN * math.exp(worst) if known else 0.0
        return Finding(worst, why, direct=direct, traits=(trait,))
