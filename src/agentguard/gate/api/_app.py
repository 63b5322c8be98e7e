"""Operations of the gate's API: requests and answers as OpenAPI documents them, and the application.

Nothing else is taken, and nothing else is given.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, FastAPI, Query, Security
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from agentguard.gate._config import CONFIG_NAME
from agentguard.gate._kinds import Kind
from agentguard.gate._run import GateRun
from agentguard.gate._types import Decision, Label
from agentguard.gate.api._gate import ConfigPath, Gate
from agentguard.gate.records._base import RunStatus, RunSummary
from agentguard.gate.reports._formats import evaluation, summary_as_dict
from agentguard.serving._app import KEY_SCHEME, MAX_BODY_BYTES, Part, ServiceKey, assemble
from agentguard.serving._app import documented as described

_DESCRIPTIONS: Final[dict[int, str]] = {
    400: "The body is no JSON.",
    401: "The key is missing or wrong.",
    404: "There is no such configuration, or no such run.",
    409: "No documents are indexed, so nothing could be confirmed.",
    413: "The body is too large.",
    415: "The body is not declared as JSON.",
    422: "The request is not of the form documented here, or the configuration has faults.",
    429: "As many runs are under way as may be at once.",
    500: "The server could not do its part: its records cannot be read or written, or it has a fault.",
    502: "A run failed. It is recorded, and the problem has its id and the stage that failed.",
    503: "The server is shutting down; a run that was under way is recorded as interrupted.",
}


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe these statuses for OpenAPI."""
    return described({status: _DESCRIPTIONS[status] for status in statuses})


# --- Requests and answers ---

MAX_HISTORY = 1_000
_PATH = "A configuration inside the server's root; its default where none is named."

RunId = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z._-]{0,99}$")]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=0)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class EvaluateRequest(_Model):
    """Request to run the gate on one configuration."""

    config_path: ConfigPath | None = Field(None, description=_PATH, examples=[".llm-reliability.yaml"])


class ConfigQuery(_Model):
    """Whose records are read."""

    config_path: ConfigPath | None = Field(None, description=_PATH)


class HistoryQuery(ConfigQuery):
    """Query for the history."""

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
    """Position of a passage in the documents."""

    document: str
    title: str
    heading: str
    chunk_id: str


class Held(_Model):
    """A passage that is no evidence."""

    document: str
    chunk_id: str
    detail: str


class ClaimDetail(_Model):
    """A claim, what was decided of it, why, and on which passage."""

    claim_id: str
    claim: str
    label: Label
    kind: Kind | None = Field(description="What is wrong with it; null where it is supported.")
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
    score: Share = Field(
        description="The risk: (unsupported + weakly supported / 2) / claims, unless label_risks are set."
    )
    decision: Decision
    reason: str
    total_claims: Count
    supported: Count
    unsupported: Count
    weakly_supported: Count
    prompts: Count
    answered: Count = Field(description="Prompts whose answer makes a claim.")
    empty: Count
    refused: Count
    claimless: Count = Field(description="Answers with text that neither claim anything nor decline.")
    unreadable: Count = Field(description="Claims whose verdict could not be read.")
    contradicted: Count = Field(description="Claims that the judge supports and the rules contradict.")
    disagreed: Count = Field(description="Claims that several judges do not agree on.")
    quarantined: Count = Field(description="Passages that are no evidence, for they hold instructions to a model.")
    reused: Count = Field(description="Answers of models that were taken over from another run.")
    quarantine: list[Held]
    kinds: dict[Kind, Count] = Field(description="How many of the claims are wrong in which way.")
    details: list[ClaimDetail]
    use_case: str
    target: str
    judge: str
    started: float
    ended: float | None
    config_digest: str
    prompts_digest: str
    prompt_sets: str = Field(description="Given prompt sets with their versions.")
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
    prompt_sets: str = Field(description="Given prompt sets with their versions.")
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


# --- Runs as answers ---


def evaluate_response(run: GateRun) -> EvaluateResponse:
    """The outcome of a run that has finished."""
    return EvaluateResponse.model_validate(evaluation(run))


def line(summary: RunSummary) -> Run:
    """A line of the history. Which process ran it stays with the server."""
    fields = summary_as_dict(summary)
    del fields["process"]
    return Run.model_validate(fields)


def run_details(run: GateRun, trail: Sequence[str]) -> RunDetails:
    """A run, finished or not; without details where it has not come to a score."""
    details = evaluation(run)["details"] if "score" in run.state.written else []
    return RunDetails.model_validate({"run": line(run.summary), "trail": list(trail), "details": details})


# --- Application ---

_EVALUATE: Final = "/evaluate"


def create_app(
    root: str | os.PathLike[str],
    *,
    api_key: str | None = None,
    config_name: str = CONFIG_NAME,
    max_body_bytes: int = MAX_BODY_BYTES,
    max_running: int = 2,
) -> FastAPI:
    """The gate as an ASGI application; ``app.state.stop()`` begins to end it, also from a signal.

    Args:
        root: The folder that configurations lie in; no request reaches outside of it.
        api_key: What requests must bring in ``X-API-Key``, 16 characters or more; ``AGENTGUARD_API_KEY`` of the
            environment where it is not given.
        config_name: The configuration where a request names none, below the root.
        max_body_bytes: Of a request.
        max_running: How many runs may be under way at once, 1 to 32; a further one is answered with 429.

    Raises:
        ConfigurationError: If there is no key, or one of the arguments cannot be used.
    """
    key = ServiceKey.given(api_key)
    part = gate_part(root, config_name=config_name, max_running=max_running)
    return assemble([part], key=key, max_body_bytes=max_body_bytes)


def gate_part(root: str | os.PathLike[str], *, config_name: str = CONFIG_NAME, max_running: int = 2) -> Part:
    """The gate as a part of an application; the arguments are those of ``create_app``.

    Raises:
        ConfigurationError: If one of them cannot be used.
    """
    gate = Gate(Path(root), config_name, max_running)
    return Part(
        "reliability gate",
        "A model's claims, held against trusted documents, before it is released.",
        _operations(gate),
        gate.stop,
        json_at=frozenset({("POST", _EVALUATE)}),
    )


def _operations(gate: Gate) -> APIRouter:
    router = APIRouter(dependencies=[Security(KEY_SCHEME)])

    # Plain functions: the framework runs each in a thread, which goes on where the client goes away.
    @router.post(
        _EVALUATE,
        operation_id="evaluate",
        summary="Run the gate, and wait for its decision",
        responses=documented(400, 401, 404, 409, 413, 415, 422, 429, 500, 502, 503),
    )
    def evaluate(request: EvaluateRequest) -> EvaluateResponse:
        return evaluate_response(gate.evaluate(request.config_path))

    @router.get(
        "/runs/{run_id}",
        operation_id="read_run",
        summary="A run, its verdicts and their reasons, from the audit trail",
        responses=documented(401, 404, 413, 422, 500),
    )
    def read_run(run_id: RunId, query: Annotated[ConfigQuery, Query()]) -> RunDetails:
        run, trail = gate.read(run_id, query.config_path)
        return run_details(run, trail)

    @router.get(
        "/history",
        operation_id="history",
        summary="The newest runs",
        responses=documented(401, 404, 413, 422, 500),
    )
    def history(query: Annotated[HistoryQuery, Query()]) -> History:
        runs = gate.history(query.limit, query.use_case, query.config_path)
        return History(runs=[line(run) for run in runs])

    return router
