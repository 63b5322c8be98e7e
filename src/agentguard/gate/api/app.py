"""The operations of the gate's API, and the application that they make.

The OpenAPI document is at ``/openapi.json``, behind the key like all else. There are no documentation pages: they would
load scripts from elsewhere.
"""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, FastAPI, Query, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import APIKeyHeader
from starlette.exceptions import HTTPException

from agentguard.errors import ConfigurationError
from agentguard.gate.api.answers import evaluate_response, line, run_details
from agentguard.gate.api.door import KEY_HEADER, KEY_VARIABLE, Door, ServiceKey
from agentguard.gate.api.models import (
    ConfigQuery,
    EvaluateRequest,
    EvaluateResponse,
    Health,
    History,
    HistoryQuery,
    RunDetails,
    RunId,
)
from agentguard.gate.api.problems import (
    Fault,
    Problem,
    ProblemError,
    answer_error,
    answer_faults,
    answer_problem,
    documented,
)
from agentguard.gate.api.runs import Gate
from agentguard.gate.config_file import CONFIG_NAME

__all__ = ["create_app"]

_HEALTH: Final = "/healthz"
_EVALUATE: Final = "/evaluate"
# For the OpenAPI document; the door has looked at the key before.
_KEY: Final = APIKeyHeader(name=KEY_HEADER, scheme_name="ApiKey", auto_error=False)


class _App(FastAPI):
    """An application whose OpenAPI document has the problems that every operation may answer."""

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        for model in (Problem, Fault):
            made = model.model_json_schema(ref_template="#/components/schemas/{model}")
            made.pop("$defs", None)
            schemas[model.__name__] = made
        return document


def create_app(
    root: str | os.PathLike[str],
    *,
    api_key: str | None = None,
    config_name: str = CONFIG_NAME,
    max_body_bytes: int = 64 * 1024,
    max_running: int = 2,
) -> FastAPI:
    """The gate as an ASGI application.

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
    key = ServiceKey(os.environ.get(KEY_VARIABLE) if api_key is None else api_key)
    if max_body_bytes < 1:
        raise ConfigurationError(f"max_body_bytes must be at least 1, not {max_body_bytes}")
    gate = Gate(Path(root), config_name, max_running)
    app = _App(
        title="agentguard reliability gate",
        version=_version(),
        description="A model's claims, held against trusted documents, before it is released.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={
            ProblemError: answer_problem,
            HTTPException: answer_error,
            RequestValidationError: answer_faults,
        },
    )
    app.include_router(_operations(gate))
    app.add_api_route(
        _HEALTH,
        _health,
        methods=["GET"],
        operation_id="health",
        summary="Whether the server answers; needs no key",
    )
    app.add_middleware(
        Door,
        key=key,
        max_body_bytes=max_body_bytes,
        public=frozenset({_HEALTH}),
        json_at=frozenset({("POST", _EVALUATE)}),
    )
    app.state.gate = gate
    return app


def _health() -> Health:
    return Health()


def _operations(gate: Gate) -> APIRouter:
    router = APIRouter(dependencies=[Security(_KEY)])

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


def _version() -> str:
    try:
        return version("agentguard")
    except PackageNotFoundError:
        return "0"
