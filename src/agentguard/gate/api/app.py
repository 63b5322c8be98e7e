"""The operations of the gate's API, and the application that they make."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final

from fastapi import APIRouter, FastAPI, Query, Security

from agentguard.gate.api.answers import evaluate_response, line, run_details
from agentguard.gate.api.models import (
    ConfigQuery,
    EvaluateRequest,
    EvaluateResponse,
    History,
    HistoryQuery,
    RunDetails,
    RunId,
)
from agentguard.gate.api.runs import Gate
from agentguard.gate.api.statuses import documented
from agentguard.gate.config_file import CONFIG_NAME
from agentguard.serving._app import KEY_SCHEME, MAX_BODY_BYTES, Part, ServiceKey, assemble

__all__ = ["create_app", "gate_part"]

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
        root: the folder that configurations lie in; no request reaches outside of it.
        api_key: what requests must bring in ``X-API-Key``, 16 characters or more; ``AGENTGUARD_API_KEY`` of the
            environment where it is not given.
        config_name: the configuration where a request names none, below the root.
        max_body_bytes: of a request.
        max_running: how many runs may be under way at once, 1 to 32; a further one is answered with 429.

    Raises:
        ConfigurationError: where there is no key, or one of the arguments cannot be used.
    """
    key = ServiceKey.given(api_key)
    part = gate_part(root, config_name=config_name, max_running=max_running)
    return assemble([part], key=key, max_body_bytes=max_body_bytes)


def gate_part(root: str | os.PathLike[str], *, config_name: str = CONFIG_NAME, max_running: int = 2) -> Part:
    """The gate as a part of an application; the arguments are those of ``create_app``.

    Raises:
        ConfigurationError: where one of them cannot be used.
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
