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
    guardrail,
    hooks,
    json_repair,
    proxy,
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
    *(documents, record_files, search, stores, report, guardrail, hooks, proxy),
)

HARNESSES: dict[str, Harness] = {harness.name: harness for module in _MODULES for harness in module.HARNESSES}


def _target(name: str, covers: str, **shares: int) -> Target:
    return Target(name, covers, {HARNESSES[harness]: share for harness, share in shares.items()})


# The shares are of the time: of two harnesses with the same, the one whose inputs take less has more of them.
_ALL: Final = (
    _target(
        "judging",
        "the engine: calls of any kind, in both modes, of agents and LiteLLM; what it learned, damaged; its report",
        verify=5, verify_objects=3, restart=1, learned_state=2, report=1, hook_events=1, guardrail=1, read_back=1,
    ),
    _target(
        "declaring", "profiles, calibrations, the gate's configuration, agents' settings",
        profiles=1, calibration=1, gate_config=1, hook_settings=1,
    ),
    _target(
        "reading", "what models and tools answer: JSON to mend, evaluations, verdicts, replies, messages of MCP",
        json_repair=2, judge_answers=2, evaluations=2, client_replies=1, relayed=2, streamed=1,
    ),
    _target(
        "scanning", "instructions, personal data and credentials in texts, conversations and values; redaction",
        scanners=1, conversations=1, redaction=1, credentials=1, results=1, places=1,
    ),
    _target(
        "answering", "what is said of an answer: grounding, rules, risk, depth, intent, health",
        grounding=2, arguments=2, compliance=2, answers=2, health=1,
    ),
    _target("signing", "receipts, transcripts, canonical forms", receipts=1, transcripts=1, canonical=1),
    _target(
        "storing", "logs of calls, stores, exports, records, and what somebody planted in them",
        exports=1, traces=3, parquet=1, store_encoding=2, planted_rows=2, state_files=2, change_log=2, run_records=1,
        prompt_sets=1, recorded_answers=1,
    ),
    _target(
        "gating", "documents read and cut, searched, claims split and judged",
        html=2, markdown=2, plain_text=1, pdf=2, chunking=2, keyword_search=1, vector_search=1, evidence_rows=1,
        claim_splitting=2, claim_judging=2,
    ),
)  # fmt: skip

TARGETS: dict[str, Target] = {target.name: target for target in _ALL}


def target_of(name: str) -> Target:
    """A target by its name, or a harness as one.

    Raises:
        KeyError: where there is neither.
    """
    return TARGETS[name] if name in TARGETS else alone(HARNESSES[name])
