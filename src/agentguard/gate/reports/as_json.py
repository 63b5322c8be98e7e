"""A finished run as one JSON object: what ``POST /evaluate`` answers, and ``agentguard gate run --json`` prints."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from agentguard.gate.records.base import RunSummary

from .findings import Finding, findings

if TYPE_CHECKING:
    from agentguard.gate.runs import GateRun

__all__ = ["DIGITS", "evaluation", "summary_as_dict"]

DIGITS = 4


def evaluation(run: GateRun) -> dict[str, Any]:
    """The outcome, how many claims there are of each kind, and every claim with its verdict, reasons and passage.

    ``score`` is the risk, rounded to four digits; the decision was taken on the unrounded one.

    Raises:
        GateError: where the run is not finished.
    """
    score = run.state.score
    return {
        "run_id": run.run_id,
        "use_case": run.summary.use_case,
        "score": round(score.risk, DIGITS),
        "decision": score.decision,
        "reason": score.reason,
        "total_claims": score.total_claims,
        "supported": score.supported,
        "unsupported": score.unsupported,
        "weakly_supported": score.weakly_supported,
        "target": run.summary.target,
        "judge": run.summary.judge,
        "started": run.summary.started,
        "ended": run.summary.ended,
        "config_digest": run.summary.config_digest,
        "prompts_digest": run.summary.prompts_digest,
        "evidence_digest": run.summary.evidence_digest,
        "details": [_detail(finding) for finding in findings(run.state)],
    }


def summary_as_dict(summary: RunSummary) -> dict[str, Any]:
    """A line of the history; like ``evaluation``, without the claims, and with what has not been reached as null."""
    fields = asdict(summary)
    risk = fields.pop("risk")
    return {**fields, "score": None if risk is None else round(risk, DIGITS)}


def _detail(finding: Finding) -> dict[str, Any]:
    verdict, passage = finding.verdict, finding.passage
    place = None
    if passage is not None:
        chunk = passage.chunk
        place = {"document": chunk.document, "title": chunk.title, "heading": finding.heading, "chunk_id": chunk.id}
    return {
        "claim_id": finding.claim.id,
        "claim": finding.claim.text,
        "label": verdict.label,
        "reasons": [asdict(reason) for reason in verdict.reasons],
        "quote": verdict.quote,
        "passage": place,
        "prompt_id": finding.prompt.id,
        "prompt": finding.prompt.text,
        "category": finding.prompt.category,
        "judge": verdict.judge,
    }
