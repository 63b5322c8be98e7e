"""From verdicts to a risk, and from the risk to a decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agentguard.gate.config import RiskTolerance
from agentguard.gate.types import ClaimVerdict, Decision, Score

__all__ = ["score_verdicts"]

#: How much a claim that is only partly confirmed counts: as half a hallucination.
WEAKLY_SUPPORTED_WEIGHT: Final = 0.5


def score_verdicts(verdicts: Sequence[ClaimVerdict], tolerance: RiskTolerance) -> Score:
    """The risk of what was claimed: (unsupported + weakly supported / 2) / claims.

    The decision is taken on the unrounded risk. Without a claim nothing is known, so nothing is deployed: ``warn``.
    What is neither ``supported`` nor ``weakly_supported`` counts as unsupported.

    >>> from agentguard.gate.types import Reason
    >>> why = (Reason("number", "45 days is not 30 days"),)
    >>> verdicts = [
    ...     ClaimVerdict(f"p1.c{n}", label, why, None, "", "rules")
    ...     for n, label in enumerate(["supported", "weakly_supported", "unsupported", "supported"], 1)
    ... ]
    >>> score = score_verdicts(verdicts, RiskTolerance(deploy_threshold=0.1, warn_threshold=0.25))
    >>> score.risk, score.decision, score.reason
    (0.375, 'block', 'risk 0.3750 is above warn_threshold 0.25')
    """
    total = len(verdicts)
    supported = sum(verdict.label == "supported" for verdict in verdicts)
    weakly = sum(verdict.label == "weakly_supported" for verdict in verdicts)
    unsupported = total - supported - weakly
    if total == 0:
        return Score(0.0, "warn", 0, 0, 0, 0, "no claim was found in any response, so nothing is known of the risk")
    risk = (unsupported + WEAKLY_SUPPORTED_WEIGHT * weakly) / total
    decision, reason = _decide(risk, tolerance)
    return Score(risk, decision, total, supported, weakly, unsupported, reason)


def _decide(risk: float, tolerance: RiskTolerance) -> tuple[Decision, str]:
    deploy, warn = tolerance.deploy_threshold, tolerance.warn_threshold
    if risk <= deploy:
        return "deploy", f"risk {risk:.4f} is at most deploy_threshold {deploy:g}"
    if risk <= warn:
        return "warn", f"risk {risk:.4f} is above deploy_threshold {deploy:g} and at most warn_threshold {warn:g}"
    return "block", f"risk {risk:.4f} is above warn_threshold {warn:g}"
