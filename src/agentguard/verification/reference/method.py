"""The document's table of signals and its log-odds sum."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from agentguard.errors import ConfigurationError

from ..case import Case
from ..method import Check, Decision
from ..relations import Relation
from ..types import SignalResult, Verdict, VerificationTier
from .baseline import Baseline
from .consistency import HISTORY_SWING, SESSION_SWING, historical, session
from .declared import length, pattern, schema
from .finding import DocumentedCheck
from .latency import latency
from .outliers import spc, value

__all__ = ["Reference"]

SILENCE = 0.1  # a silent signal weighs a tenth of a firing one ...
LEAST_SILENCE = 1.01  # ... and speaks for the result by at least this factor


class Reference:
    """The published document to the letter: eight signals in two tiers, each with a fixed likelihood ratio.

    A signal that fires adds ``log(1 + (ratio - 1) * score)`` to the log-odds, a silent one takes
    ``log(max(ratio * 0.1, 1.01))`` from them, and one that does not apply changes nothing. Blocked results are not
    learned, unless the caller vouched for them.

    Args:
        session_swing: the factor, above 1, from which on a number contradicts its session.
        history_swing: the factor, above 1, from which on a number contradicts its history.

    Raises:
        ConfigurationError: for a factor that is not a number above 1.

    >>> [check.name for _, checks in Reference().tiers for check in checks][:3]
    ['schema_mismatch', 'latency_anomaly', 'pattern_mismatch']
    """

    def __init__(self, *, session_swing: float = SESSION_SWING, history_swing: float = HISTORY_SWING) -> None:
        for name, factor in (("session_swing", session_swing), ("history_swing", history_swing)):
            if not factor > 1.0:
                raise ConfigurationError(f"{name} must be a factor above 1, not {factor!r}")
        early, late = VerificationTier.TIER_0, VerificationTier.TIER_1
        before: tuple[Check, ...] = (
            DocumentedCheck("schema_mismatch", early, 12.0, schema),
            DocumentedCheck("latency_anomaly", early, 3.5, latency),
            DocumentedCheck("pattern_mismatch", early, 6.0, pattern),
            DocumentedCheck("length_anomaly", early, 2.0, length),
        )
        after: tuple[Check, ...] = (
            DocumentedCheck("spc_anomaly", late, 3.0, spc),
            DocumentedCheck("session_inconsistency", late, 4.0, partial(session, limit=session_swing)),
            DocumentedCheck("historical_inconsistency", late, 4.5, partial(historical, limit=history_swing)),
            DocumentedCheck("value_plausibility", late, 3.0, value),
        )
        self._tiers = ((early, before), (late, after))

    @property
    def tiers(self) -> Sequence[tuple[VerificationTier, Sequence[Check]]]:
        """The checks in the order in which they run."""
        return self._tiers

    shared = None
    holds = False
    ends_early = True

    def new_memory(self, tool: str, /) -> Baseline:
        """What is remembered of a tool that was never called."""
        return Baseline()

    def decide(self, case: Case, prior: float, signals: Mapping[str, SignalResult], /) -> Decision:
        """Bayes' theorem in log-odds over the signals so far.

        Args:
            case: the call; its settings hold the thresholds.
            prior: P(fabricated) before any signal, in (0, 1).
            signals: by name; those of later tiers may be missing.
        """
        contributions = {name: _nats(signal) for name, signal in signals.items()}
        evidence = math.fsum(contributions.values())
        posterior = _probability(math.log(prior) - math.log1p(-prior) + evidence) if evidence else prior
        verdict: Verdict = "flag"
        if posterior >= case.settings.block_at:
            verdict = "block"
        elif posterior < case.settings.accept_below:
            verdict = "accept"
        return Decision(verdict, posterior, contributions, None)

    def adopt(self, memory: Baseline, traits: Iterable[str]) -> None:
        """What was held back is learned, and the document's running baselines follow."""

    def prepare(self, case: Case) -> None:
        """The document's checks look up for themselves what they need."""

    def outcomes(self, case: Case) -> Iterable[tuple[Relation, bool]]:
        """The document knows no relations."""
        return ()

    def note(self, case: Case) -> None:
        """The document's baselines are of what is learned alone."""

    def learn(
        self, case: Case, signals: Mapping[str, SignalResult], decision: Decision, *, trusted: bool = False
    ) -> None:
        """Take the result into the tool's baseline, unless it was blocked and nobody vouched for it."""
        if trusted or decision.verdict != "block":
            case.memory.push(case.call, case.document, case.arguments.key)


def _nats(signal: SignalResult) -> float:
    if not signal.applicable:
        return 0.0
    ratio = signal.likelihood_ratio
    if signal.fired:
        # 1 + (ratio - 1) * score, written so that no ratio above 0 is lost beside the 1.
        return math.log((1.0 - signal.score) + ratio * signal.score)
    return -math.log(max(ratio * SILENCE, LEAST_SILENCE))


def _probability(log_odds: float) -> float:
    """The logistic function, without overflow on either side."""
    if log_odds >= 0.0:
        return 1.0 / (1.0 + math.exp(-log_odds))
    odds = math.exp(log_odds)
    return odds / (1.0 + odds)
