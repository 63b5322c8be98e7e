"""The application: operations of the guard, and how many of them may be under way.

A call is judged in a thread, however small it is: what is known of a tool is read from the store when the tool is met
first, and that may take long. Long bodies are read in a thread too, and answers written; the event loop moves bytes.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final

import anyio.to_thread
import pydantic_core
from fastapi import APIRouter, FastAPI, Path, Query, Request, Security
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.responses import Response

from agentguard._limits import LIMITS
from agentguard.errors import ConfigurationError, DataError, StoreError
from agentguard.guard._guard import Policy, ToolGuard
from agentguard.guard.api._calls import (
    ChangeId,
    Changes,
    ChangesQuery,
    DecideRequest,
    FeedbackRequest,
    FeedbackResponse,
    ShownChange,
    VerifyRequest,
    VerifyResponse,
    answered,
    shown_change,
)
from agentguard.guard.api._litellm import PATH as LITELLM
from agentguard.guard.api._litellm import Guardrail, GuardrailRequest, GuardrailResponse
from agentguard.guard.api._texts import (
    CheckRequest,
    CheckResponse,
    GroundRequest,
    GroundResponse,
    ScanRequest,
    ScanResponse,
    check,
    ground,
    scan,
)
from agentguard.serving._app import KEY_SCHEME, Part, ProblemError, ServiceKey, assemble, documented
from agentguard.verification import VerificationEngine

VERIFY: Final = "/v1/verify"
SCAN: Final = "/v1/scan"
GROUND: Final = "/v1/ground"
CHECK: Final = "/v1/check"
FEEDBACK: Final = "/v1/feedback"
CHANGES: Final = "/v1/changes"

#: Of a body with a result in it. A judgement: more than any model reads at once.
MAX_BODY_BYTES: Final = 1 << 22
#: Of a body whose texts are all looked through, with the results that an answer is traced to. A judgement: to trace
#: this much takes some seconds. Longer texts are sent in parts.
MAX_TEXT_BYTES: Final = 1 << 18
#: Opening brackets in a body: so many lists are read within some tenths of a second, in which no other thread goes on.
MOST_BRACKETS: Final = 1 << 18
#: Of a whole conversation, with the pictures in it; no detector and no check reads more of a text.
MAX_CONVERSATION_BYTES: Final = LIMITS.bytes
#: Requests under way, of which the framework works on 40 at a time. A judgement: the last of them waits a quarter of a
#: second where each takes a millisecond or two.
MOST_UNDER_WAY: Final = 256
SMALL: Final = 1 << 16  # bytes of JSON, which are read in a fraction of a millisecond

_DESCRIPTIONS: Final[dict[int, str]] = {
    400: "The body is no JSON.",
    401: "The key is missing or wrong.",
    404: "There is no such change.",
    413: "The body is too large, or nested too much.",
    415: "The body is not declared as JSON.",
    422: "The request is not of the form documented here.",
    429: "As many requests are under way as may be at once.",
    500: "The server has a fault.",
    503: "The store cannot be used, or as many bodies are under way as may be at once.",
}


def create_app(
    engine: VerificationEngine,
    policy: Policy | None = None,
    *,
    api_key: str | None = None,
    max_body_bytes: int = MAX_BODY_BYTES,
    max_text_bytes: int = MAX_TEXT_BYTES,
) -> FastAPI:
    """Make an ASGI application of an engine and a policy.

    Args:
        engine: judges the calls. You close it, after the application.
        policy: turns verdicts into actions; None: the default one.
        api_key: what requests must bring in ``X-API-Key``, 16 characters or more; None: ``AGENTGUARD_API_KEY`` of the
            environment.
        max_body_bytes: of a request with a result in it, 1 or more.
        max_text_bytes: of a request to scan, trace or check a text, 1 or more; the time that one takes grows with it.

    Raises:
        ConfigurationError: if there is no key, or an argument cannot be used.

    >>> from starlette.testclient import TestClient
    >>> client = TestClient(create_app(VerificationEngine(), api_key="a-key-of-16-characters-or-more"))
    >>> client.headers["X-API-Key"] = "a-key-of-16-characters-or-more"
    >>> answer = client.post("/v1/verify", json={"tool": "add", "args": {"a": 1, "b": 2}, "result": 3})
    >>> answer.json()["verdict"], answer.json()["action"]
    ('accept', 'pass')
    """
    key = ServiceKey.given(api_key)
    part = guard_part(engine, policy, max_body_bytes=max_body_bytes, max_text_bytes=max_text_bytes)
    return assemble([part], key=key)


def guard_part(
    engine: VerificationEngine,
    policy: Policy | None = None,
    *,
    max_body_bytes: int = MAX_BODY_BYTES,
    max_text_bytes: int = MAX_TEXT_BYTES,
) -> Part:
    """Make a part of an application, for ``agentguard.serving.assemble``; the arguments are those of ``create_app``.

    Raises:
        ConfigurationError: if one of them cannot be used.
    """
    guard = ToolGuard(engine, policy)
    if guard.policy.on_flag == "review":
        raise ConfigurationError("on_flag='review' asks a person, and over HTTP nobody can be asked: use 'annotate'")
    if guard.policy.on_block == "end":
        raise ConfigurationError("on_block='end' ends a run, and over HTTP none is known: use 'replace' or 'raise'")
    for name, size in (("max_body_bytes", max_body_bytes), ("max_text_bytes", max_text_bytes)):
        if size < 1:
            raise ConfigurationError(f"{name} must be at least 1, not {size}")
    return Part(
        "guard",
        "Results of tools, judged before a model reads them; texts, scanned and traced; lasting changes of tools.",
        _operations(guard),
        lambda: None,
        json_at=frozenset(("POST", path) for path in (VERIFY, SCAN, GROUND, CHECK, FEEDBACK, f"{CHANGES}/", LITELLM)),
        bodies={
            VERIFY: max_body_bytes,
            **dict.fromkeys((SCAN, GROUND, CHECK), max_text_bytes),
            LITELLM: max(max_body_bytes, MAX_CONVERSATION_BYTES),
        },
    )


def _operations(guard: ToolGuard) -> APIRouter:
    router = APIRouter(dependencies=[Security(KEY_SCHEME)], route_class=_bounded_route(MOST_UNDER_WAY))
    engine = guard.engine

    # Plain functions: the framework runs each in a thread.
    @router.post(VERIFY, **_described("verify", "Judge one executed call", VerifyResponse, *_WITH_BODY))
    def verify(request: VerifyRequest) -> Response:
        return _json(answered(guard, request))

    @router.post(
        SCAN, **_described("scan", "Look for injections, personal data and secrets", ScanResponse, *_WITH_BODY)
    )
    def scan_(request: ScanRequest) -> Response:
        return _json(scan(request))

    @router.post(
        GROUND, **_described("ground", "Trace an answer to the results that it rests on", GroundResponse, *_WITH_BODY)
    )
    def ground_(request: GroundRequest) -> Response:
        return _json(ground(request))

    @router.post(CHECK, **_described("check", "Look at a text by every detector", CheckResponse, *_WITH_BODY))
    def check_(request: CheckRequest) -> Response:
        return _json(check(request))

    @router.post(FEEDBACK, **_described("feedback", "Say what a call really was", FeedbackResponse, *_WITH_BODY))
    def feedback(request: FeedbackRequest) -> FeedbackResponse:
        with _store_faults():
            said = engine.record_feedback(
                request.tool, request.posterior, request.was_hallucination, call_id=request.call_id
            )
        return FeedbackResponse(counted=said.counted, note=said.note)

    @router.get(CHANGES, **_described("list_changes", "Lasting changes of tools, the open ones first", Changes, *_ALL))
    def changes(query: Annotated[ChangesQuery, Query()]) -> Changes:
        with _store_faults():
            return Changes(changes=[shown_change(change) for change in engine.changes(query.tool)])

    decided = "Say what a lasting change is; engines on the store act on it with their next flush"

    @router.post(CHANGES + "/{id}", **_described("decide_change", decided, ShownChange, *_WITH_BODY, 404))
    def decide(id_: Annotated[ChangeId, Path(alias="id")], request: DecideRequest) -> ShownChange:
        with _store_faults():
            known = next((change for change in engine.changes() if change.id == id_), None)
            if known is None:
                raise ProblemError(404, "no-such-change", "there is no such change on record")
            # A decision that stands already is no event: it would look like a second one.
            if not (known.reviewed and known.state == request.state):
                known = (engine.adopt if request.state == "adopted" else engine.reject)(known)
        return shown_change(known)

    guardrail = Guardrail(guard)

    @router.post(
        LITELLM, **_described("litellm_guardrail", "LiteLLM's generic guardrail API", GuardrailResponse, *_WITH_BODY)
    )
    def litellm(request: GuardrailRequest) -> Response:
        return _json(guardrail.answer(request))

    return router


_ALL: Final = (401, 413, 422, 429, 500, 503)
_WITH_BODY: Final = (*_ALL, 400, 415)


def _described(name: str, summary: str, answer: type[BaseModel], *statuses: int) -> dict[str, Any]:
    """An operation for OpenAPI: its id, its summary, its answer, and the problems that it may answer."""
    problems = documented({status: _DESCRIPTIONS[status] for status in sorted(statuses)})
    return {"operation_id": name, "summary": summary, "response_model": answer, "responses": problems}


@contextmanager
def _store_faults() -> Iterator[None]:
    """Answer with a problem where the store cannot be used, or a change is gone from it."""
    try:
        yield
    except StoreError:
        detail = "the store cannot be used, and nothing was learned; try again later"
        raise ProblemError(503, "store", detail, retry_after=10) from None
    except DataError:  # the log has let go of its events meanwhile
        raise ProblemError(404, "no-such-change", "there is no such change on record") from None


# --- Bodies ---


def _json(answer: BaseModel) -> Response:
    """Write an answer, without the fields that it was made without."""
    try:
        text = answer.model_dump_json(exclude_unset=True).encode()
    except pydantic_core.PydanticSerializationError:  # half a surrogate pair, or hundreds of levels
        text = json.dumps(answer.model_dump(exclude_unset=True)).encode()
    return Response(text, media_type="application/json")


def read_json(body: bytes) -> Any:
    r"""Read JSON, also what the quick reader refuses and others take: half a surrogate pair, more than 200 levels.

    Raises:
        ValueError, RecursionError: for what is no JSON.

    >>> read_json(b'{"a": 123456789012345678901234567890}')
    {'a': 123456789012345678901234567890}
    """
    try:
        return pydantic_core.from_json(body)
    except ValueError:
        return json.loads(body)


class _Request(Request):
    """A request whose JSON is read in a thread where it is long."""

    async def json(self) -> Any:
        body = await self.body()
        return read_json(body) if len(body) <= SMALL else await anyio.to_thread.run_sync(read_json, body)


def _bounded_route(most: int) -> type[APIRoute]:
    """A class of routes of which so many requests may be under way at once, all routes together."""
    under_way = 0

    class Bounded(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override] # a coroutine
            handle = super().get_route_handler()

            async def handle_bounded(request: Request) -> Response:
                nonlocal under_way
                if under_way >= most:
                    detail = "as many requests are under way as may be at once; try again in a second"
                    raise ProblemError(429, "busy", detail, retry_after=1)
                under_way += 1
                try:
                    made = _Request(request.scope, request.receive)
                    body = await made.body()
                    if body.count(b"[") + body.count(b"{") > MOST_BRACKETS:
                        detail = f"a body has at most {MOST_BRACKETS:,} opening brackets, those in texts included"
                        raise ProblemError(413, "too-large", detail)
                    return await handle(made)
                finally:
                    under_way -= 1

            return handle_bounded

    return Bounded
