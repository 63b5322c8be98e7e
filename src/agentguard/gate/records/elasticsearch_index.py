"""How audit trail and history lie in Elasticsearch indices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from agentguard.gate.citations import Citations
from agentguard.gate.elastic import Template, document_id
from agentguard.gate.types import Claim, ClaimVerdict, Prompt, Response

from .base import Event, RunSummary

__all__ = [
    "audit_template",
    "event_entry",
    "history_template",
    "summary_entry",
    "use_case_is",
    "verdict_entries",
    "verdicts_of",
]

_SETTINGS: Final = {"number_of_shards": 1, "auto_expand_replicas": "0-1", "translog.durability": "request"}
_NAME: Final = {"type": "keyword", "ignore_above": 1024}
_TEXT: Final = {"type": "text"}
_COUNT: Final = {"type": "integer"}
_WROTE: Final[dict[str, TypeAdapter[Any]]] = {
    "prompts": TypeAdapter(tuple[Prompt, ...]),
    "responses": TypeAdapter(tuple[Response, ...]),
    "claims": TypeAdapter(tuple[Claim, ...]),
    "evidence": TypeAdapter(Citations),
    "verdicts": TypeAdapter(tuple[ClaimVerdict, ...]),
}


def audit_template(index: str) -> Template:
    """Events, numbered within their run, with bodies kept as they are; and verdicts, to be searched."""
    event = {
        "@timestamp": {"type": "date"},
        "run_id": {"type": "keyword"},
        "kind": {"type": "keyword"},
        "sequence": {"type": "long"},
        "at": {"type": "double", "index": False},
        "writing": {"type": "keyword", "index": False, "doc_values": False},
        "body": {"type": "object", "enabled": False},
    }
    names = dict.fromkeys(("claim_id", "label", "judge", "target", "category", "document", "chunk_id"), _NAME)
    texts = dict.fromkeys(("claim", "prompt", "response", "reasons", "quote", "use_case"), _TEXT)
    return Template(index, {"dynamic": "strict", "properties": event | names | texts}, _SETTINGS)


def history_template(index: str) -> Template:
    """Summaries; fields that a later version adds are kept, and not searched."""
    names = dict.fromkeys(("status", "target", "judge", "decision", "use_case_exact"), _NAME)
    counts = dict.fromkeys(("total_claims", "supported", "weakly_supported", "unsupported"), _COUNT)
    properties = {
        "@timestamp": {"type": "date"},
        "run_id": {"type": "keyword"},
        "started": {"type": "double"},
        "ended": {"type": "double"},
        "risk": {"type": "double"},
        "use_case": _TEXT,
        "error": _TEXT,
    }
    return Template(index, {"dynamic": False, "properties": properties | names | counts}, _SETTINGS)


def event_entry(run_id: str, event: Event, sequence: int, writing: str) -> dict[str, Any]:
    """An event; ``writing`` tells a repeated attempt to write it from somebody else's."""
    return _at(event.at) | {
        "run_id": run_id,
        "kind": event.kind,
        "sequence": sequence,
        "at": event.at,
        "writing": writing,
        "body": dict(event.body),
    }


def verdicts_of(events: Sequence[Event]) -> dict[str, Any]:
    """What the stages of a run wrote, where the last of them wrote verdicts; empty where it did not.

    Stages of one's own may write these keys in shapes of their own, which nobody here can search.
    """
    last = events[-1].body.get("wrote")
    if events[-1].kind != "stage" or not isinstance(last, Mapping) or "verdicts" not in last:
        return {}
    wrote: dict[str, Any] = {key: [] for key in _WROTE} | {"evidence": {"chunks": [], "found": []}}
    for event in events:
        wrote.update(event.body["wrote"] if isinstance(event.body.get("wrote"), Mapping) else {})
    try:
        return {key: adapter.validate_python(wrote[key]) for key, adapter in _WROTE.items()}
    except ValidationError:
        return {}


def verdict_entries(
    run_id: str, at: float, wrote: Mapping[str, Any], summary: RunSummary | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each verdict by its claim's id, with all that it is about."""
    prompts = {prompt.id: prompt for prompt in wrote["prompts"]}
    responses = {response.prompt_id: response.text for response in wrote["responses"]}
    claims = {claim.id: claim for claim in wrote["claims"]}
    chunks = {chunk.id: chunk for chunk in wrote["evidence"].chunks}
    about = {"target": summary.target, "use_case": summary.use_case} if summary else {}
    for verdict in wrote["verdicts"]:
        claim = claims.get(verdict.claim_id)
        prompt = prompts.get(claim.prompt_id) if claim else None
        chunk = chunks.get(verdict.chunk_id)
        entry = _at(at) | about | {
            "run_id": run_id,
            "kind": "verdict",
            "claim_id": verdict.claim_id,
            "claim": claim.text if claim else None,
            "label": verdict.label,
            "reasons": [reason.detail for reason in verdict.reasons],
            "prompt": prompt.text if prompt else None,
            "category": prompt.category if prompt else None,
            "response": responses.get(claim.prompt_id) if claim else None,
            "chunk_id": verdict.chunk_id,
            "document": chunk.document if chunk else None,
            "quote": verdict.quote,
            "judge": verdict.judge,
        }  # fmt: skip
        yield verdict.claim_id, entry


def summary_entry(summary: RunSummary) -> dict[str, Any]:
    """A summary; its use case also as one word, however long it is."""
    return asdict(summary) | _at(summary.started) | {"use_case_exact": document_id(summary.use_case)}


def use_case_is(use_case: str | None) -> dict[str, Any]:
    """The query for summaries of one use case, or of all."""
    return {"match_all": {}} if use_case is None else {"term": {"use_case_exact": document_id(use_case)}}


def _at(seconds: float) -> dict[str, str]:
    """The moment as dates are searched; none where it is no date."""
    try:
        return {"@timestamp": datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")}
    except (OSError, OverflowError, ValueError):
        return {}
