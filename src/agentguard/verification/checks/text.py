"""text_anomaly: written in another way than the tool writes."""

from __future__ import annotations

import math

from agentguard.verification.baseline import ToolMemory
from agentguard.verification.case import Case
from agentguard.verification.statistics import student_t4_tail

from .base import Finding, LearnedCheck

__all__ = ["TextAnomaly"]


class TextAnomaly(LearnedCheck):
    """A result takes more bits a character than the tool's results do, by a model of its 4-grams; see ``voice``.

    Nearly all fabrications by language models have the right fields and values of the right kind, in a voice that is
    not the tool's.
    """

    name = "text_anomaly"
    group = "voice"
    floor = 0.0005
    prior = 4.0

    def examine(self, case: Case) -> Finding | str:
        document = case.document
        memory: ToolMemory = case.memory
        if document.is_error or document.kind == "empty":
            return "an error or an empty result"
        if memory.is_known(document):
            return "this very result is known"
        document.bits = memory.voice.bits(document.text)
        away = memory.voice.away(document.bits)
        if away == 0.0:
            return "too few results to tell how this tool writes"
        surprise = -math.log(student_t4_tail(away) / 2.0) if away > 0.0 else 0.0
        return Finding(
            surprise, f"written unlike this tool's results, by {away:.1f} of their spreads", traits=("voice",)
        )
