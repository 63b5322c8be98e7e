"""latency_anomaly: an answer sooner than the tool can give it, or far later than it does."""

from __future__ import annotations

import math
from typing import Final

from agentguard.verification.baseline import SHORTEST_MS, ToolMemory
from agentguard.verification.case import Case
from agentguard.verification.contract import INSTANT_MS
from agentguard.verification.types import SignalResult, VerificationTier

from .base import AS_USUAL, Finding, LearnedCheck

__all__ = ["LatencyAnomaly"]

WARM_UP: Final = 8
LEAST_SCALE: Final = 0.15  # nats of log-latency: a tool is not held to less than 15% of play
LATE_WEIGHT: Final = 0.5
LATE_NATS: Final = 0.3  # alone it is no suspect: slowness has other reasons
INSTANT_WEIGHT: Final = 3.0


class LatencyAnomaly(LearnedCheck):
    """The larger of a declaration and what was learned.

    Declared: a tool with network I/O that is not cacheable cannot answer below 2 ms nor below its minimum, a contract
    with P(broken | fabricated) = .5; below 2 ms, where its user has said how long it takes, it counts three times.
    Learned: the rank of log-latency among the last 256 calls, with exponential tails
    beyond the deciles; a late answer counts half, since slowness is hardly a sign of fabrication.
    """

    name = "latency_anomaly"
    tier = VerificationTier.TIER_0
    group = "latency"
    fabricated = 0.5
    floor = 0.0002

    def __call__(self, case: Case, /) -> SignalResult:
        learned = super().__call__(case)
        profile = case.contract.profile
        milliseconds = case.milliseconds
        if milliseconds is None or not case.contract.declared or not profile.has_network_io or profile.cacheable:
            return learned
        least = max(case.contract.latency_ms[0], INSTANT_MS)
        if milliseconds < least:
            score = 1.0 - milliseconds / INSTANT_MS / 2.0 if milliseconds < INSTANT_MS else 1.0 - milliseconds / least
            said = f"{milliseconds:.3g} ms, declared to take {least:g} ms or more"
            declared = self.broken(case, score, said, "declared latency")
            if milliseconds < INSTANT_MS and "expected_latency_ms" in profile.model_fields_set:
                declared = declared._replace(likelihood_ratio=declared.likelihood_ratio * INSTANT_WEIGHT)
        else:
            declared = self.kept(case, "within the declared time")
        return learned if learned.applicable and learned.likelihood_ratio > declared.likelihood_ratio else declared

    def examine(self, case: Case) -> Finding | str:
        milliseconds = case.milliseconds
        if milliseconds is None:
            return "the execution time is unknown"
        if case.document.is_error:
            return "an error report has times of its own"
        memory: ToolMemory = case.memory
        ring = memory.latency
        if len(ring) < WARM_UP:
            return f"{len(ring)} of {WARM_UP} timed calls"
        x = math.log(max(milliseconds, SHORTEST_MS))
        if ring.is_usual(x):
            return AS_USUAL
        early = 0.0 if case.contract.profile.cacheable else -math.log(min(2.0 * ring.lower_p(x, LEAST_SCALE), 1.0))
        late = -LATE_WEIGHT * math.log(min(2.0 * ring.upper_p(x, LEAST_SCALE), 1.0))
        if max(early, late) <= 0.0:
            return AS_USUAL
        usual = math.exp(ring.ordered[len(ring) // 2])
        said = f"{milliseconds:.3g} ms, usually about {usual:.3g}"
        if early > late:
            return Finding(early, said, traits=("early",))
        return Finding(late, said, LATE_NATS, traits=("late",))
