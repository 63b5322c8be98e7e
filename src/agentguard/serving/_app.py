"""One ASGI application made of parts, the key and middleware before it, and its errors as problem details.

The OpenAPI document is at ``/openapi.json``, behind the key like everything else. There are no documentation pages:
they would load scripts from elsewhere.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import KW_ONLY, dataclass, field
from http import HTTPStatus
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

import anyio
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.security import APIKeyHeader
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentguard._version import installed_version
from agentguard.errors import ConfigurationError

KEY_HEADER: Final = "X-API-Key"
KEY_VARIABLE: Final = "AGENTGUARD_API_KEY"
MIN_KEY: Final = 16  # characters; of an alphabet of 64 they are 96 bits, which nobody guesses over a network
KEY_SCHEME: Final = APIKeyHeader(name=KEY_HEADER, scheme_name="ApiKey", auto_error=False)
"""Documents the key in OpenAPI, as a dependency of routers; the middleware has checked it before."""

#: Names of this machine for itself, as requests give them.
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
MAX_BODY_BYTES: Final = 64 * 1024
#: Of all bodies that are being read and answered: sixteen of the largest that any part takes.
MAX_HELD_BYTES: Final = 1 << 28
#: For a whole body. Public paths are open to everybody, including a client that sends a byte a minute.
BODY_SECONDS: Final = 30.0
REQUEST_ID: Final = "X-Request-ID"
_REQUEST_ID: Final = re.compile(rb"[0-9A-Za-z._-]{1,64}")
_HEALTH: Final = "/healthz"

PROBLEM_JSON: Final = "application/problem+json"
TYPES: Final = "urn:agentguard:problem:"  # prefix of problem types; about:blank adds nothing to the status
MAX_FAULTS: Final = 20

_SECURITY_HEADERS: Final = (
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
)
_DOCUMENTED_HEADERS: Final[dict[int, dict[str, Any]]] = {
    401: {"WWW-Authenticate": {"description": "The scheme.", "required": True, "schema": {"type": "string"}}},
    429: {"Retry-After": {"description": "Seconds.", "required": True, "schema": {"type": "integer", "minimum": 1}}},
}
_log = logging.getLogger("agentguard.serving")


class ServiceKey:
    """The key that requests must bring, kept as a digest: neither a log nor a debugger shows it.

    >>> ServiceKey("zH0x1VxgIWLZ9sFq").opens([(b"x-api-key", b"zH0x1VxgIWLZ9sFq")])
    True
    """

    __slots__ = ("_digest",)

    def __init__(self, key: str | None) -> None:
        make = "make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'"
        if not key:
            raise ConfigurationError(f"what is served needs a key in {KEY_VARIABLE}; {make}")
        if not (key.isascii() and key.isprintable() and key == key.strip()):
            raise ConfigurationError(f"{KEY_VARIABLE} has characters that no header can carry; {make}")
        if len(key) < MIN_KEY:
            raise ConfigurationError(f"{KEY_VARIABLE} must have {MIN_KEY} characters or more; {make}")
        self._digest = hashlib.sha256(key.encode()).digest()

    @classmethod
    def given(cls, key: str | None) -> ServiceKey:
        """Make a key of this text, or of the environment variable if it is None.

        Raises:
            ConfigurationError: if it cannot be used.
        """
        return cls(os.environ.get(KEY_VARIABLE) if key is None else key)

    def opens(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether a request's headers carry the key exactly once; in constant time."""
        name = KEY_HEADER.lower().encode()
        given = [value for header, value in headers if header == name]
        return self.is_key(given[0] if len(given) == 1 else b"")

    def is_key(self, text: bytes) -> bool:
        """Whether this is the key; in constant time."""
        # Digests have one length, so that not even the length of the key shows.
        return hmac.compare_digest(hashlib.sha256(text).digest(), self._digest)


# --- Problem details (RFC 9457) ---


class Model(BaseModel):
    """A body of a request or an answer, with no fields but those documented."""

    model_config = ConfigDict(extra="forbid")


class Fault(Model):
    """A fault of a request: where it is and what is wrong. What was sent is not repeated."""

    place: str = Field(description="body.config_path, query.limit, …")
    message: str


class Problem(Model):
    """Why there is no result."""

    type: str = Field(description=f"{TYPES}…, or about:blank where the status says all.")
    title: str
    status: int = Field(ge=400, le=599)
    detail: str
    errors: list[Fault] | None = Field(None, description="The faults of a request, at most 20.")
    run_id: str | None = Field(None, description="The run that failed or was interrupted.")
    stage: str | None = Field(None, description="The stage of the run that did not end.")


class ProblemError(Exception):
    """Raised by an operation to be answered with a problem.

    Args:
        status: of HTTP.
        kind: ends the problem's type; empty for ``about:blank``.
        detail: for the client.
        retry_after: seconds, for the header ``Retry-After``.
        more: other fields of ``Problem``.
    """

    def __init__(self, status: int, kind: str, detail: str, *, retry_after: int | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.problem = make_problem(status, kind, detail, **more)
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}


def make_problem(status: int, kind: str, detail: str, **more: Any) -> Problem:
    """Make a problem with the title of its status."""
    type_ = TYPES + kind if kind else "about:blank"
    return Problem(type=type_, title=HTTPStatus(status).phrase, status=status, detail=detail, **more)


def problem_response(problem: Problem, headers: dict[str, str] | None = None) -> Response:
    """Answer with a problem."""
    return Response(
        problem.model_dump_json(exclude_none=True), problem.status, headers=headers, media_type=PROBLEM_JSON
    )


def refused(status: int, kind: str, detail: str, headers: dict[str, str] | None = None, **more: Any) -> Response:
    """Make a problem and answer with it."""
    return problem_response(make_problem(status, kind, detail, **more), headers)


def documented(descriptions: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    """Describe problems with these statuses for OpenAPI."""
    content = {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"description": description, "content": content}
        | ({"headers": _DOCUMENTED_HEADERS[status]} if status in _DOCUMENTED_HEADERS else {})
        for status, description in descriptions.items()
    }


async def _answer_problem(request: Request, error: ProblemError) -> Response:
    return problem_response(error.problem, error.headers)


async def _answer_refusal(request: Request, error: HTTPException) -> Response:
    """Answer what the framework refuses: no such path, no such method, a body that cannot be parsed."""
    detail = {
        400: "the body cannot be read as JSON",
        404: "there is nothing at this address",
        405: "this address does not have this method",
    }.get(error.status_code, HTTPStatus(error.status_code).phrase)
    return refused(error.status_code, "", detail, dict(error.headers or {}))


async def _answer_faults(request: Request, error: RequestValidationError) -> Response:
    """Answer requests that are not of the documented form."""
    errors = error.errors()
    if any(each["type"] == "json_invalid" for each in errors):
        return refused(400, "", "the body cannot be read as JSON")
    faults = [
        Fault(place=".".join(map(str, each["loc"]))[:200], message=str(each["msg"])[:200])
        for each in errors[:MAX_FAULTS]
    ]
    return refused(422, "invalid-request", "the request is not as documented", errors=faults)


# --- Middleware ---

Entrance = Callable[[Scope], bool]
"""Whether a request without a key is let in; raises ``ProblemError`` where it must not be."""


@dataclass(slots=True)
class Middleware:
    """ASGI middleware: checks the key and the size and type of a body, and answers what the application raises.

    Each answer has an ``X-Request-ID``, the request's own or a new one, by which the log has it.

    It runs before routing and before a byte of the body is read: operations that are added later are behind it too,
    and a client without a key learns nothing, not even which addresses there are.

    Args:
        app: the application behind it.
        key: opens it.
        max_body_bytes: of a request, counted as they come.
        public: paths that need no key.
        entrances: asked in turn where there is no key.
        json_at: methods and paths that take a JSON body; one that ends in a slash stands for those right below it.
        bodies: the same of single paths, in place of ``max_body_bytes``.
        hosts: names that requests may give as the server's, without a port; None: any.
        max_held_bytes: of the bodies of all requests that are under way.
        body_seconds: within which a body must have come.
    """

    app: ASGIApp
    _: KW_ONLY
    key: ServiceKey
    max_body_bytes: int
    public: frozenset[str]
    json_at: frozenset[tuple[str, str]]
    entrances: Sequence[Entrance] = ()
    bodies: Mapping[str, int] = field(default_factory=dict)
    hosts: frozenset[str] | None = None
    max_held_bytes: int = MAX_HELD_BYTES
    body_seconds: float = BODY_SECONDS
    _held: int = field(default=0, init=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, status, request_id = time.perf_counter(), 0, _request_id(scope)

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers[REQUEST_ID] = request_id
                for name, value in _SECURITY_HEADERS:
                    headers.setdefault(name, value)
            await send(message)

        path = quote(scope["path"][:200], safe="/")  # for the log: without the query, and with no line ending
        limit, body = self.bodies.get(scope["path"], self.max_body_bytes), bytearray()
        try:
            refusal = self._refusal(scope, limit) or await self._read(receive, body, limit)
            await (refusal or self.app)(scope, _replayed(bytes(body), receive), answer)
        except Exception as error:
            # Neither message nor traceback: they may quote documents, answers, or the request.
            _log.error("%s in %s %s", type(error).__name__, scope["method"], path)
            if status == 0:
                await refused(500, "", "the server failed; its log tells what was raised")(scope, receive, answer)
        finally:
            self._held -= len(body)
        seconds = time.perf_counter() - began
        _log.info("%s %s %d %.0f ms %s", scope["method"], path, status, 1000 * seconds, request_id)

    def _refusal(self, scope: Scope, limit: int) -> Response | None:
        """The answer to a request that can be refused by its headers."""
        if self.hosts is not None and host_of(scope) not in self.hosts:
            # A page of another site can have its name lead to this machine, and is then of one origin with the server.
            return refused(421, "host", "this server has another name; --allow-host adds one")
        try:
            is_open = scope["path"] in self.public or self.key.opens(scope["headers"])
            if not is_open and not any(entrance(scope) for entrance in self.entrances):
                scheme = {"WWW-Authenticate": f'ApiKey header="{KEY_HEADER}"'}
                return refused(401, "key", f"this needs the header {KEY_HEADER} with the server's key", scheme)
        except ProblemError as error:
            return problem_response(error.problem, error.headers)
        headers = Headers(scope=scope)
        paths = (scope["path"], scope["path"].rpartition("/")[0] + "/")
        if any((scope["method"], path) in self.json_at for path in paths):
            media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
            if media_type != "application/json":
                return refused(415, "", "the body must be declared as application/json")
        length = headers.get("content-length", "")
        if length.isdecimal() and (len(length) > 18 or int(length) > limit):
            return _too_large(limit)
        return None

    async def _read(self, receive: Receive, body: bytearray, limit: int) -> Response | None:
        """Read the whole body, or refuse it; a declared length is not relied on."""
        with anyio.move_on_after(self.body_seconds):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return _unread(400, "", "the client has gone before the end of the body")
                piece = message.get("body", b"")
                body += piece
                self._held += len(piece)
                if len(body) > limit:
                    return _too_large(limit)
                if self._held > self.max_held_bytes:
                    detail = "as many bodies are under way as may be at once; try again in a second"
                    return _unread(503, "busy", detail, retry_after=1)
                if not message.get("more_body", False):
                    return None
        return _unread(408, "", f"the body was not there within {self.body_seconds:g} seconds")


def host_of(scope: Scope) -> str | None:
    """The name by which a request calls the server, without a port; None where it gives none, or several.

    >>> host_of({"headers": [(b"host", b"LocalHost:8321")]}), host_of({"headers": [(b"host", b"[::1]:8321")]})
    ('localhost', '::1')
    """
    named = [value for header, value in scope["headers"] if header == b"host"]
    try:
        return urlsplit(f"//{named[0].decode('latin-1')}").hostname if len(named) == 1 else None
    except ValueError:
        return None


def _request_id(scope: Scope) -> str:
    """The request's own id, where it has one that can stand in a log; else a new one."""
    name = REQUEST_ID.lower().encode()
    given = next((value for header, value in scope["headers"] if header == name), b"")
    return given.decode() if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)


def _too_large(limit: int) -> Response:
    return _unread(413, "too-large", f"a body has at most {limit} bytes")


def _unread(status: int, kind: str, detail: str, *, retry_after: int | None = None) -> Response:
    """Refuse a body; the rest of it stays unread, so the connection cannot be used again."""
    retry = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return refused(status, kind, detail, {"Connection": "close", **retry})


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A ``receive`` that gives a body that was read already, then what comes after it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


# --- The application ---


class Part(NamedTuple):
    """Routes, and what has to be known to serve them.

    Attributes:
        title: a word or two.
        description: a sentence.
        router: the operations.
        stop: begins to end them; may be called by a signal handler.
        json_at: methods and paths that take a JSON body; one that ends in a slash stands for those right below it.
        public: paths that need no key.
        entrances: let in requests that bring no key.
        running: a context that is entered while the application serves.
        bodies: how many bytes a body may have at some paths, where that is not the application's maximum.
    """

    title: str
    description: str
    router: APIRouter
    stop: Callable[[], None]
    json_at: frozenset[tuple[str, str]] = frozenset()
    public: frozenset[str] = frozenset()
    entrances: tuple[Entrance, ...] = ()
    running: Callable[[], AbstractAsyncContextManager[None]] | None = None
    bodies: Mapping[str, int] = MappingProxyType({})


class _App(FastAPI):
    """An application whose OpenAPI document has the problems that every operation may answer."""

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        for model in (Problem, Fault):
            schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
            schema.pop("$defs", None)
            schemas[model.__name__] = schema
        return document


class _Health(Model):
    """The server answers."""

    model_config = ConfigDict(title="Health")

    status: Annotated[str, StringConstraints(pattern="^ok$")] = "ok"


def assemble(
    parts: Sequence[Part],
    *,
    key: ServiceKey,
    max_body_bytes: int = MAX_BODY_BYTES,
    hosts: Iterable[str] | None = None,
) -> FastAPI:
    """Make one application of parts, behind one key; ``app.state.stop()`` begins to end all of them.

    Args:
        parts: at least one; no two have the same paths.
        key: requests must bring it.
        max_body_bytes: of a request, 1 or more.
        hosts: names that requests may give as the server's, beside those of this machine; None: any.

    Raises:
        ConfigurationError: if ``max_body_bytes`` is below 1.
    """
    if max_body_bytes < 1:
        raise ConfigurationError(f"max_body_bytes must be at least 1, not {max_body_bytes}")

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for part in parts:
                if part.running is not None:
                    await stack.enter_async_context(part.running())
            yield

    app = _App(
        title=f"agentguard {' and '.join(part.title for part in parts)}",
        version=installed_version(),
        description=" ".join(part.description for part in parts),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={
            ProblemError: _answer_problem,
            HTTPException: _answer_refusal,
            RequestValidationError: _answer_faults,
        },
        lifespan=running,
    )
    for part in parts:
        app.include_router(part.router)
    summary = "Whether the server answers; needs no key"
    app.add_api_route(_HEALTH, _health, methods=["GET"], operation_id="health", summary=summary)
    app.add_middleware(
        Middleware,
        key=key,
        max_body_bytes=max_body_bytes,
        public=frozenset({_HEALTH}).union(*(part.public for part in parts)),
        json_at=frozenset().union(*(part.json_at for part in parts)),
        entrances=[entrance for part in parts for entrance in part.entrances],
        bodies={path: size for part in parts for path, size in part.bodies.items()},
        hosts=None if hosts is None else frozenset({*LOOPBACK, *map(str.lower, hosts)}),
    )

    def stop() -> None:
        for part in parts:
            part.stop()

    app.state.stop = stop
    return app


async def _health() -> _Health:  # a coroutine takes no thread: it answers even if all of them wait
    return _Health()
