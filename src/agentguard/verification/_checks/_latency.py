"""latency_anomaly: an answer sooner than the tool can give it, or far later than it does."""

from __future__ import annotations

import math
from typing import Final

from agentguard.verification._baseline import SHORTEST_MS, ToolMemory
from agentguard.verification._case import Case
from agentguard.verification._checks._base import AS_USUAL, Finding, LearnedCheck
from agentguard.verification._contract import INSTANT_MS
from agentguard.verification._document import Document
from agentguard.verification.types import SignalResult, Trait, VerificationTier

WARM_UP: Final = 8  # timed calls
LEAST_SCALE: Final = 0.15  # nats of log-latency: a tool is not held to less than 15% of play
FAR_SOONER: Final = 1.0  # nats below the fastest of the last answers: what is nearer may be a quiet hour
LATE_WEIGHT: Final = 0.5  # of the surprise of a late answer: slowness is hardly a sign of fabrication
LATE_NATS: Final = 0.3  # alone it is no suspect: slowness has other reasons
INSTANT_WEIGHT: Final = 3.0  # times the ratio of a broken bound
INSTANT_SHARE: Final = 0.1  # of the least time that is declared
SOONER: Final = Trait("declared", "", "sooner")
LATER: Final = Trait("declared", "", "later")


class LatencyAnomaly(LearnedCheck):
    """Declared bounds, and the rank among the last 256 calls; of a broken declaration the larger of both ratios.

    Declared: the bounds that the profile's user has set in ``expected_latency_ms``, each a contract with
    P(broken | fabricated) = .5, with network I/O and without; and the documented 2 ms where ``has_network_io`` is set.
    A cache may answer at once: a ``cacheable`` tool has no lower bound. An answer below 2 ms counts three times where
    it is also declared how long the tool takes: over a declared network, or in a tenth of that time.
    Learned: the rank of log-latency, with exponential tails beyond the deciles; a late answer counts half, since
    slowness is hardly a sign of fabrication.
    """

    name = "latency_anomaly"
    tier = VerificationTier.TIER_0
    group = "latency"
    floor = 0.0002

    def __call__(self, case: Case, /) -> SignalResult:
        learned = super().__call__(case)
        milliseconds, (least, most) = case.milliseconds, case.contract.declared_ms
        if milliseconds is None or case.contract.excuses(case.document, flagged=case.call.is_error):
            return learned
        if milliseconds < least:
            return self.upheld(self._too_soon(case, milliseconds, least), learned)
        if milliseconds > most:
            detail = f"{_ms(milliseconds)} ms, declared to take {_ms(most)} ms at most"
            return self.upheld(self.broken(case, min(1.0, math.log10(milliseconds / most)), detail, LATER), learned)
        if not least:
            return learned  # nothing that a fabricated answer would break has held
        return self.louder(learned, self.kept(case, "within the declared time"))

    def _too_soon(self, case: Case, milliseconds: float, least: float) -> SignalResult:
        profile = case.contract.profile
        is_timed = "expected_latency_ms" in profile.model_fields_set
        is_network = profile.has_network_io and "has_network_io" in profile.model_fields_set
        bound = "to take"
        if not is_timed or profile.expected_latency_ms[0] < least:
            bound = "to cross a network, which takes"
        detail = f"{_ms(milliseconds)} ms, declared {bound} {_ms(least)} ms or more"
        broken = self.broken(case, 1.0 - milliseconds / least, detail, SOONER)
        if is_timed and milliseconds < INSTANT_MS and (is_network or milliseconds < INSTANT_SHARE * least):
            broken = broken._replace(likelihood_ratio=broken.likelihood_ratio * INSTANT_WEIGHT)
        return broken

    def examine(self, case: Case, document: Document, memory: ToolMemory) -> Finding | str:
        milliseconds = case.milliseconds
        if milliseconds is None:
            return "the execution time is unknown"
        if document.is_error:
            return "an error report has times of its own"
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
        detail = f"{_ms(milliseconds)} ms, usually about {_ms(usual)}"
        if early > late:
            sooner = x > ring.ordered[0] - FAR_SOONER
            return Finding(early, detail, traits=(Trait("speed", "", "sooner") if sooner else Trait("early"),))
        return Finding(late, detail, LATE_NATS, traits=(Trait("speed", "", "late"),))


def _ms(milliseconds: float) -> str:
    """Milliseconds as they are said: three digits, and all those before the point.

    >>> _ms(0.05), _ms(12.345), _ms(60_000.0)
    ('0.05', '12.3', '60,000')
    """
    return f"{milliseconds:.3g}" if milliseconds < 1_000.0 else f"{milliseconds:,.0f}"
