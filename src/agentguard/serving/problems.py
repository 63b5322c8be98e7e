"""Whatever is not a result is told as a problem, in the form of RFC 9457 (``application/problem+json``)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

__all__ = [
    "PROBLEM_JSON",
    "Fault",
    "Problem",
    "ProblemError",
    "answer_error",
    "answer_faults",
    "answer_problem",
    "documented",
    "problem_response",
]

PROBLEM_JSON: Final = "application/problem+json"
#: What problem types begin with; ``about:blank`` says no more than its status does.
TYPES: Final = "urn:agentguard:problem:"
MAX_FAULTS: Final = 20

_HEADERS: Final[dict[int, dict[str, Any]]] = {
    401: {"WWW-Authenticate": {"description": "The scheme.", "required": True, "schema": {"type": "string"}}},
    429: {"Retry-After": {"description": "Seconds.", "required": True, "schema": {"type": "integer", "minimum": 1}}},
}


class Fault(BaseModel):
    """One fault of a request: where it is, and what is wrong there. What was sent is not repeated."""

    model_config = ConfigDict(extra="forbid")

    place: str = Field(description="body.config_path, query.limit, …")
    message: str


class Problem(BaseModel):
    """Why there is no result."""

    model_config = ConfigDict(extra="forbid")

    type: str = Field(description=f"{TYPES}…, or about:blank where the status says all.")
    title: str
    status: int = Field(ge=400, le=599)
    detail: str
    errors: list[Fault] | None = Field(None, description="The faults of a request, at most 20.")
    run_id: str | None = Field(None, description="The run that failed or was interrupted.")
    stage: str | None = Field(None, description="The stage of the run that did not end.")


class ProblemError(Exception):
    """A problem to be answered."""

    def __init__(self, status: int, kind: str, detail: str, *, retry_after: int | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.problem = make_problem(status, kind, detail, **more)
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}


def make_problem(status: int, kind: str, detail: str, **more: Any) -> Problem:
    """A problem whose title is its status's."""
    return Problem(
        type=TYPES + kind if kind else "about:blank",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        **more,
    )


def problem_response(problem: Problem, headers: dict[str, str] | None = None) -> Response:
    """A problem as it is sent."""
    return Response(
        problem.model_dump_json(exclude_none=True), problem.status, headers=headers, media_type=PROBLEM_JSON
    )


def documented(descriptions: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says of answers with these statuses."""
    content = {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"description": said, "content": content}
        | ({"headers": _HEADERS[status]} if status in _HEADERS else {})
        for status, said in descriptions.items()
    }


async def answer_problem(request: Request, error: ProblemError) -> Response:
    """Handles what the operations cannot do."""
    return problem_response(error.problem, error.headers)


async def answer_error(request: Request, error: HTTPException) -> Response:
    """Handles what the framework refuses: no such path, no such method, a body that cannot be parsed."""
    said = {
        400: "the body cannot be read as JSON",
        404: "there is nothing at this address",
        405: "this address does not have this method",
    }.get(error.status_code, HTTPStatus(error.status_code).phrase)
    return problem_response(make_problem(error.status_code, "", said), dict(error.headers or {}))


async def answer_faults(request: Request, error: RequestValidationError) -> Response:
    """Handles requests that are not of the documented form."""
    faults = error.errors()
    if any(fault["type"] == "json_invalid" for fault in faults):
        return problem_response(make_problem(400, "", "the body cannot be read as JSON"))
    told = [
        Fault(place=".".join(map(str, fault["loc"]))[:200], message=str(fault["msg"])[:200])
        for fault in faults[:MAX_FAULTS]
    ]
    return problem_response(make_problem(422, "invalid-request", "the request is not as documented", errors=told))
