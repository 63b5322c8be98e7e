"""The application: operations on one store's page, with their OpenAPI models."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any, Final, Literal

import anyio.to_thread
from fastapi import APIRouter, FastAPI, Header, Path, Query, Request, Security
from pydantic import BeforeValidator, Field
from starlette.responses import Response

from agentguard.errors import ConfigurationError, StoreError
from agentguard.live._board import (
    Board,
    KeptCall,
    Position,
    Queue,
    ShownChange,
    ShownChanges,
    ShownVerdict,
    Tools,
    read_kept,
)
from agentguard.live._metrics import CONTENT_TYPE, store_metrics
from agentguard.live._sessions import PATH, PUBLIC, Sessions, browsing
from agentguard.live._store import Follower, Reviews
from agentguard.live._stream import HEARTBEAT, MOST_STREAMS, Audience, EventStream, Seat, news_events
from agentguard.serving._app import KEY_SCHEME, Model, Part, ProblemError, ServiceKey, assemble, documented
from agentguard.stores import Store
from agentguard.verification._audit import AUDIT

MOST: Final = 2**53 - 1
"""The largest integer that JavaScript holds exactly."""


def _no_text(value: Any) -> Any:
    if isinstance(value, (str, bool)):
        raise ValueError("must be a number")
    return value


Number = Annotated[int, Field(ge=0, le=MOST), BeforeValidator(_no_text)]
"""The number of an event in JSON, where an integer may be written 7.0 but not "7"."""


class Review(Model):
    """What a reviewer found."""

    sequence: Number = Field(description="The number of the verdict.")
    was_hallucination: bool = Field(description="Whether the call was fabricated or corrupted.", strict=True)
    corrects: Number = Field(0, description="The number of the label that this one corrects; 0 where there is none.")


class Decision(Model):
    """What a reviewer found of a lasting change."""

    id: str = Field(min_length=1, max_length=1_000, description="The change's id.")
    state: Literal["fault", "adopted"] = Field(description="fault: its results are fabricated; adopted: genuine.")
    corrects: Number = Field(
        0, description="The number of the decision that this one corrects (its decided); 0 where there is none."
    )


class CallDetail(Model):
    """One call, opened up."""

    verdict: ShownVerdict
    change: ShownChange | None = Field(description="The lasting change that the call looks like.")
    kept: KeptCall | None = Field(description="The call itself, redacted, where the engine keeps it (keep_reviewed).")


class CallsQuery(Model):
    """The change whose calls are asked for."""

    change: str = Field(min_length=1, max_length=1_000, description="The change's id.")
    limit: int = Field(5, ge=1, le=100)


class QueueQuery(Model):
    """Which part of the queue is asked for."""

    after: int = Field(0, ge=0, le=MOST, description="Only what comes behind the verdict of this number.")
    limit: int = Field(10, ge=1, le=100)


class State(Model):
    """What the page begins with. Times are seconds since the epoch."""

    source: str = Field(description="The store's address, without user and password.")
    position: str = Field(description="How far the store's logs were read; the stream of events goes on from there.")
    reaches_store: bool
    csrf: str | None = Field(description="What a session brings with what changes anything; null where a key is used.")
    verdicts: tuple[ShownVerdict, ...] = Field(description="The newest, the newest first.")
    queue: Queue
    changes: ShownChanges
    tools: Tools


# --- The page over one store ---


class View:
    """Board, listeners, reviews and sessions over one store; the arguments are those of ``live_part``."""

    def __init__(self, store: Store, *, source: str, every: float, most_streams: int, heartbeat: float) -> None:
        self.source, self.heartbeat, self._store = source, heartbeat, store
        self.board = Board()
        self.audience = Audience(most_streams)
        self.follower = Follower(store, self.board, every=every, heard=self.audience.call)
        self.reviews = Reviews(store, self.board, self.follower)
        self.sessions = Sessions(PATH)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follow the store as long as the context is open."""
        self.audience.stopping = False
        self.follower.start()
        try:
            yield
        finally:
            self.audience.stop()
            await anyio.to_thread.run_sync(self.follower.stop)

    def refresh(self) -> None:
        """Read the store on now; if it fails, the board stays as it is."""
        with suppress(StoreError):
            self.follower.catch_up()

    def detail(self, sequence: int) -> CallDetail:
        """One call, opened up. Its arguments and result, if kept, are read now, and never held in memory.

        Raises:
            ProblemError: if it is not among the newest on record, or the store fails.
        """
        entry = self.board.find(sequence)
        if entry is None:
            raise ProblemError(404, "no-such-verdict", "this verdict is not among the newest on record")
        recorded, label = entry
        try:
            record = next(iter(self._store.events(AUDIT, after=sequence - 1)), None)
        except StoreError:
            raise ProblemError(503, "store", "the store cannot be used; try again later", retry_after=10) from None
        kept = None if record is None or record.sequence != sequence else read_kept(record)
        change = None if recorded.change is None else self.board.change(recorded.change)
        return CallDetail(verdict=self.board.show(recorded, label), change=change, kept=kept)


# --- Operations, for the page and for programs with the key ---

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
    """State, changes and their calls, queue, one call, reviews, and the stream of what is new."""
    router = APIRouter(dependencies=[Security(KEY_SCHEME)])

    @router.get(
        f"{PATH}state",
        **_described("state", "The newest verdicts, lasting changes, the queue, and the tools", 401, 403, 413),
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
        **_described("queue", "Calls of no change that wait for a reviewer, the worst first", 401, 403, 413, 422),
    )
    def queue(query: Annotated[QueueQuery, Query()]) -> Queue:
        view.refresh()
        return view.board.queue(query.after, query.limit)

    @router.get(f"{PATH}calls", **_described("calls", "The newest calls that look like a change", 401, 403, 413, 422))
    def calls(query: Annotated[CallsQuery, Query()]) -> tuple[ShownVerdict, ...]:
        view.refresh()
        return view.board.calls_of(query.change, query.limit)

    @router.get(f"{PATH}calls/{{sequence}}", **_described("call", "One call, opened up", 401, 403, 404, 413, 422, 503))
    def call(sequence: Annotated[int, Path(ge=0, le=MOST, description="The number of the verdict.")]) -> CallDetail:
        view.refresh()
        return view.detail(sequence)

    @router.get(
        f"{PATH}changes", **_described("changes", "Lasting changes of tools, the unreviewed ones first", 401, 403, 413)
    )
    def changes() -> ShownChanges:
        view.refresh()
        return view.board.changes()

    written = (400, 401, 403, 404, 409, 413, 415, 422, 503)
    decided = "Say what a lasting change is; engines on the store act on it with their next flush"
    reviewed = "Say what a call was; engines on the store learn of it with their next flush"

    @router.post(DECISIONS, **_described("decide", decided, *written))
    def decide(decision: Decision) -> ShownChange:
        return view.reviews.decide(decision.id, decision.state, corrects=decision.corrects)

    @router.post(REVIEWS, **_described("review", reviewed, *written))
    def review(given: Review) -> ShownVerdict:
        return view.reviews.review(given.sequence, was_hallucination=given.was_hallucination, corrects=given.corrects)

    @router.get("/metrics", include_in_schema=False)
    def metrics() -> Response:
        view.refresh()
        return Response(store_metrics(view.board, reaches_store=view.follower.reaches_store), media_type=CONTENT_TYPE)

    # Not in the description: it has no end, which no client that is made of a description expects.
    @router.get(f"{PATH}events", include_in_schema=False)
    async def events(
        request: Request, after: str | None = None, last_event_id: Annotated[str | None, Header()] = None
    ) -> Response:
        # The header, sent by a browser that connects again, is newer than the address that it began with.
        position = _position(last_event_id or after, view)
        session, board = view.sessions.of(request), view.board

        def may_listen() -> bool:
            return not view.audience.stopping and (session is None or view.sessions.is_on(session))

        def events_for(seat: Seat) -> AsyncGenerator[bytes, None]:
            return news_events(
                board,
                seat,
                position,
                may_listen=may_listen,
                reaches_store=lambda: view.follower.reaches_store,
                heartbeat=view.heartbeat,
            )

        return EventStream(view.audience, events_for)

    return router


def _position(text: str | None, view: View) -> Position:
    if text is None:
        return view.board.position
    position = Position.parse(text)
    if position is None:
        raise ProblemError(422, "invalid-request", "a position is the one of the state, or the id of an event")
    return position


def _described(name: str, summary: str, *statuses: int) -> dict[str, Any]:
    """An operation for OpenAPI: its id, its summary, and the problems that it may answer."""
    responses = documented({status: _DESCRIPTIONS[status] for status in statuses})
    return {"operation_id": f"live_{name}", "summary": summary, "responses": responses}


# --- As an application, and as a part of one ---


def create_app(
    store: Store,
    *,
    api_key: str | None = None,
    source: str = "",
    poll_seconds: float = 1.0,
    max_streams: int = MOST_STREAMS,
) -> FastAPI:
    """Make an ASGI application of the page over a store.

    ``app.state.stop()`` lets its listeners go; it may be called by a signal handler.

    Args:
        store: is shown, and gets the labels. You close it, after the application.
        api_key: opens the page, 16 characters or more; None: ``AGENTGUARD_API_KEY`` of the environment.
        source: address of the store, fit to be shown.
        poll_seconds: between two looks at the store, above 0.
        max_streams: maximum number of open pages, 1 or more.

    Raises:
        ConfigurationError: if there is no key, or an argument is out of range.
    """
    key = ServiceKey.given(api_key)
    return assemble([live_part(store, key, source=source, poll_seconds=poll_seconds, max_streams=max_streams)], key=key)


def live_part(
    store: Store,
    key: ServiceKey,
    *,
    source: str = "",
    poll_seconds: float = 1.0,
    max_streams: int = MOST_STREAMS,
    heartbeat: float = HEARTBEAT,
) -> Part:
    """Make a part of an application, for ``agentguard.serving.assemble``, of the page over a store.

    Args:
        store: is shown, and gets the labels. You close it, after the application.
        key: of the application.
        source: address of the store, fit to be shown.
        poll_seconds: between two looks at the store, above 0.
        max_streams: maximum number of open pages, 1 or more.
        heartbeat: seconds of silence after which an open page is told that nothing happens, above 0.

    Raises:
        ConfigurationError: if an argument is out of range.
    """
    if not poll_seconds > 0 or not heartbeat > 0 or max_streams < 1:
        raise ConfigurationError("poll_seconds and heartbeat must be above 0, max_streams 1 or more")
    view = View(store, source=source, every=poll_seconds, most_streams=max_streams, heartbeat=heartbeat)
    router = APIRouter()
    router.include_router(operations(view))
    router.include_router(browsing(view.sessions, view.audience, key))
    return Part(
        "live view",
        "Verdicts on tool calls as they come, lasting changes of tools, and a queue of calls that people review.",
        router,
        view.audience.stop,
        json_at=frozenset({("POST", REVIEWS), ("POST", DECISIONS)}),
        public=PUBLIC,
        entrances=(view.sessions.admits,),
        running=view.running,
    )
