"""What goes in and comes out, as OpenAPI documents it. Nothing else is taken, and nothing else is given."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from agentguard.gate.api.config_paths import ConfigPath
from agentguard.gate.records.base import RunStatus
from agentguard.gate.types import Decision, Label

__all__ = [
    "ClaimDetail",
    "ConfigQuery",
    "EvaluateRequest",
    "EvaluateResponse",
    "History",
    "HistoryQuery",
    "Place",
    "Run",
    "RunDetails",
    "RunId",
    "Why",
]

MAX_HISTORY = 1_000
_PATH = "A configuration inside the server's root; its default where none is named."

RunId = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z._-]{0,99}$")]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=0)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class EvaluateRequest(_Model):
    """Which configuration is evaluated."""

    config_path: ConfigPath | None = Field(None, description=_PATH, examples=[".llm-reliability.yaml"])


class ConfigQuery(_Model):
    """Whose records are read."""

    config_path: ConfigPath | None = Field(None, description=_PATH)


class HistoryQuery(ConfigQuery):
    """Which runs are listed."""

    limit: int = Field(100, ge=1, le=MAX_HISTORY, description="At most so many, the newest first.")
    use_case: Annotated[str, StringConstraints(min_length=1, max_length=10_000)] | None = Field(
        None, description="Runs of this use case only."
    )


class Why(_Model):
    """One ground of a verdict."""

    kind: str
    detail: str
    said: str = Field(description="The part of the claim that it is about; empty where it is about the whole.")
    found: str = Field(description="What the passage has in its place; empty where it has nothing.")


class Place(_Model):
    """Where in the documents a passage is."""

    document: str
    title: str
    heading: str
    chunk_id: str


class ClaimDetail(_Model):
    """A claim, what was decided of it, why, and on which passage."""

    claim_id: str
    claim: str
    label: Label
    reasons: list[Why]
    quote: str = Field(description="The words of the passage that decided.")
    passage: Place | None = Field(description="The passage that decided; null where none bears on the claim.")
    prompt_id: str
    prompt: str
    category: str
    judge: str


class EvaluateResponse(_Model):
    """The outcome of a run. Times are seconds since the epoch."""

    run_id: RunId
    score: Share = Field(description="The risk: (unsupported + weakly supported / 2) / claims.")
    decision: Decision
    reason: str
    total_claims: Count
    supported: Count
    unsupported: Count
    weakly_supported: Count
    details: list[ClaimDetail]
    use_case: str
    target: str
    judge: str
    started: float
    ended: float | None
    config_digest: str
    prompts_digest: str
    evidence_digest: str


class Run(_Model):
    """One line of the history. Times are seconds since the epoch; what a run has not come to is null."""

    run_id: RunId
    status: RunStatus
    started: float
    ended: float | None
    use_case: str
    target: str
    judge: str
    config_digest: str
    prompts_digest: str
    evidence_digest: str
    decision: Decision | None
    score: Share | None
    total_claims: Count | None
    supported: Count | None
    unsupported: Count | None
    weakly_supported: Count | None
    error: str = Field(description="Why it failed; empty where it did not.")


class RunDetails(_Model):
    """A run, and what its audit trail has of its claims so far."""

    run: Run
    trail: list[str] = Field(description="Its events in order: stages by their names, else started, finished, …")
    details: list[ClaimDetail]


class History(_Model):
    """Runs, the newest first."""

    runs: list[Run]
