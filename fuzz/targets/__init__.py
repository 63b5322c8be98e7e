"""All harnesses by name, and the eight targets that they are searched as."""

from __future__ import annotations

from typing import Final

from fuzz.harness import Harness
from fuzz.target import Target, alone
from fuzz.targets import (
    answers,
    canonical,
    claims,
    configuration,
    documents,
    grounding,
    json_repair,
    receipts,
    record_files,
    replies,
    report,
    scanners,
    search,
    stores,
    traces,
    verify,
)

__all__ = ["HARNESSES", "TARGETS", "target_of"]

_MODULES = (
    *(verify, configuration, traces, json_repair, replies, receipts, canonical, scanners, grounding, answers, claims),
    *(documents, record_files, search, stores, report),
)

HARNESSES: dict[str, Harness] = {harness.name: harness for module in _MODULES for harness in module.HARNESSES}


def _target(name: str, covers: str, **shares: int) -> Target:
    return Target(name, covers, {HARNESSES[harness]: share for harness, share in shares.items()})


# A share is about inverse to what an input of the harness costs.
_ALL: Final = (
    _target(
        "judging", "the engine: calls of any kind, in both modes; what it learned, damaged; its report",
        verify=60, verify_objects=30, restart=8, learned_state=12, report=2,
    ),
    _target(
        "declaring", "profiles, calibrations, the gate's configuration",
        profiles=1, calibration=1, gate_config=1,
    ),
    _target(
        "reading", "what models and tools answer: JSON to mend, evaluations, verdicts, clients' replies",
        json_repair=2, judge_answers=4, evaluations=4, client_replies=4,
    ),
    _target(
        "scanning", "instructions, personal data and credentials in texts, conversations and values; redaction",
        scanners=2, conversations=2, redaction=2, results=3,
    ),
    _target(
        "answering", "what is said of an answer: grounding, rules, risk, depth, intent, health",
        grounding=1, arguments=2, compliance=4, answers=2, health=4,
    ),
    _target(
        "signing", "receipts, transcripts, canonical forms",
        receipts=2, transcripts=2, canonical=3,
    ),
    _target(
        "storing", "logs of calls, stores, exports, records, and what somebody planted in them",
        traces=30, parquet=30, store_encoding=30, planted_rows=1, state_files=3, change_log=15, run_records=30,
        prompt_sets=10, recorded_answers=10,
    ),
    _target(
        "gating", "documents read and cut, searched, claims split and judged",
        html=6, markdown=8, plain_text=16, pdf=4, chunking=8, keyword_search=12, vector_search=4, evidence_rows=2,
        claim_splitting=8, claim_judging=4,
    ),
)  # fmt: skip

TARGETS: dict[str, Target] = {target.name: target for target in _ALL}


def target_of(name: str) -> Target:
    """A target by its name, or a harness as one.

    Raises:
        KeyError: where there is neither.
    """
    return TARGETS[name] if name in TARGETS else alone(HARNESSES[name])
