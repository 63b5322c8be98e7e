"""What each status means of the gate's operations, for their OpenAPI description."""

from __future__ import annotations

from typing import Any, Final

from agentguard.serving._app import documented as described

__all__ = ["documented"]

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
    """What OpenAPI says of these answers."""
    return described({status: _DESCRIPTIONS[status] for status in statuses})
