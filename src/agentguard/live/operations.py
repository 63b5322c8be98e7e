"""What the page asks for, and what a program with the key may ask for just as well."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Path, Query, Request, Security
from starlette.responses import Response

from agentguard.serving.app import KEY_SCHEME
from agentguard.serving.problems import ProblemError, documented

from .audience import Seat
from .board import Position, Queue
from .changes import ShownChange, ShownChanges
from .metrics import CONTENT_TYPE, store_metrics
from .models import MOST, CallDetail, Decision, QueueQuery, Review, State
from .records import ShownVerdict
from .stream import EventStream, told
from .view import PATH, View

__all__ = ["DECISIONS", "REVIEWS", "operations"]

REVIEWS: Final = f"{PATH}reviews"
DECISIONS: Final = f"{PATH}decisions"
SHOWN: Final = 100
QUEUED: Final = 10

_DESCRIPTIONS: Final[dict[int, str]] = {
    400: "The body is no JSON.",
    401: "Neither the key nor a session came with it, or a wrong one.",
    403: "Another page has sent it, or it lacks the session's token.",
    404: "The verdict is not among the newest on record; or there is no such change.",
    409: "Somebody was first; or the call has no id by which it could be looked up.",
    413: "The body is too large.",
    415: "The body is not declared as JSON.",
    422: "The request is not of the form documented here.",
    503: "The store cannot be used.",
}


def operations(view: View) -> APIRouter:
    """State, changes, queue, calls, reviews, and the stream of what is new."""
    router = APIRouter(dependencies=[Security(KEY_SCHEME)])

    @router.get(
        f"{PATH}state",
        operation_id="live_state",
        summary="The newest verdicts, lasting changes, the queue, and the tools",
        responses=_documented(401, 403, 413),
    )
    def state(request: Request) -> State:
        view.refresh()
        session, board = view.sessions.of(request), view.board
        # The position first: what comes after it is in the stream, and may be in what follows too.
        position = board.position
        return State(
            source=view.source,
            position=str(position),
            reaches_store=view.follower.reaches_store,
            csrf=None if session is None else session.csrf,
            verdicts=board.newest(SHOWN),
            queue=board.queue(0, QUEUED),
            changes=board.changes(),
            tools=board.tools(),
        )

    @router.get(
        f"{PATH}queue",
        operation_id="live_queue",
        summary="Calls that wait for a reviewer, the worst first",
        responses=_documented(401, 403, 413, 422),
    )
    def queue(query: Annotated[QueueQuery, Query()]) -> Queue:
        view.refresh()
        return view.board.queue(query.after, query.limit)

    @router.get(
        f"{PATH}calls/{{sequence}}",
        operation_id="live_call",
        summary="One call, opened up",
        responses=_documented(401, 403, 404, 413, 422, 503),
    )
    def call(sequence: Annotated[int, Path(ge=0, le=MOST, description="The number of the verdict.")]) -> CallDetail:
        view.refresh()
        return view.detail(sequence)

    @router.get(
        f"{PATH}changes",
        operation_id="live_changes",
        summary="Lasting changes of tools, the open ones first",
        responses=_documented(401, 403, 413),
    )
    def changes() -> ShownChanges:
        view.refresh()
        return view.board.changes()

    @router.post(
        DECISIONS,
        operation_id="live_decide",
        summary="Say what a lasting change is; engines on the store act on it with their next flush",
        responses=_documented(400, 401, 403, 404, 409, 413, 415, 422, 503),
    )
    def decide(said: Decision) -> ShownChange:
        return view.reviews.decide(said.id, said.state, corrects=said.corrects)

    @router.post(
        REVIEWS,
        operation_id="live_review",
        summary="Say what a call was; engines on the store learn of it with their next flush",
        responses=_documented(400, 401, 403, 404, 409, 413, 415, 422, 503),
    )
    def review(said: Review) -> ShownVerdict:
        return view.reviews.review(said.sequence, was_hallucination=said.was_hallucination, corrects=said.corrects)

    @router.get("/metrics", include_in_schema=False)
    def metrics() -> Response:
        view.refresh()
        return Response(store_metrics(view.board, reaches_store=view.follower.reaches_store), media_type=CONTENT_TYPE)

    # Not in the description: it has no end, which no client that is made of a description expects.
    @router.get(f"{PATH}events", include_in_schema=False)
    async def events(
        request: Request, after: str | None = None, last_event_id: Annotated[str | None, Header()] = None
    ) -> Response:
        # What a browser sends when it connects again is newer than the address that it began with.
        position = _position(last_event_id or after, view)
        session, board = view.sessions.of(request), view.board

        def may_listen() -> bool:
            return not view.audience.stopping and (session is None or view.sessions.is_on(session))

        def telling(seat: Seat) -> AsyncGenerator[bytes, None]:
            return told(
                board,
                seat,
                position,
                may_listen=may_listen,
                reaches_store=lambda: view.follower.reaches_store,
                heartbeat=view.heartbeat,
            )

        return EventStream(view.audience, telling)

    return router


def _position(text: str | None, view: View) -> Position:
    if text is None:
        return view.board.position
    found = Position.parse(text)
    if found is None:
        raise ProblemError(422, "invalid-request", "a position is the one of the state, or the id of an event")
    return found


def _documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return documented({status: _DESCRIPTIONS[status] for status in statuses})
