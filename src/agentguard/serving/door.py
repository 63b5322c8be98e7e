"""What stands before every operation: the key, the size and the kind of the body, and the last resort.

It stands before routing and before a byte of the body is read, so that an operation added later is behind it too, and
whoever has no key learns nothing, not even which addresses there are.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import quote

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentguard.serving.key import KEY_HEADER, ServiceKey
from agentguard.serving.problems import ProblemError, make_problem, problem_response

__all__ = ["Door", "Entrance"]

Entrance = Callable[[Scope], bool]
"""Whether a request without a key is let in all the same; ``ProblemError`` says why where it must not be."""

_SECURITY_HEADERS: Final = (
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
)
BODY_SECONDS: Final = 30.0
"""For a whole body: paths that need no key are there for everybody, also for who sends a byte a minute."""

_log = logging.getLogger("agentguard.serving")


class Door:
    """An ASGI application in front of another.

    Args:
        app: what is behind it.
        key: what opens it.
        max_body_bytes: of a request, counted as they come.
        public: paths that need no key.
        entrances: asked in turn where there is no key.
        json_at: methods and paths that take a JSON body.
        body_seconds: within which a body must be there.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        key: ServiceKey,
        max_body_bytes: int,
        public: frozenset[str],
        entrances: Sequence[Entrance] = (),
        json_at: frozenset[tuple[str, str]],
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        self._app = app
        self._key = key
        self._max_body_bytes = max_body_bytes
        self._public = public
        self._entrances = entrances
        self._json_at = json_at
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        answer = _Answer(send)
        try:
            refused, body = self._refused(scope), b""
            if refused is None:
                body, refused = await self._read(receive)
            await (refused or self._app)(scope, _replayed(body, receive), answer)
        except Exception as error:
            # Neither message nor traceback: they may quote documents, answers, or the request.
            _log.error("%s in %s %s", type(error).__name__, scope["method"], _place(scope))
            if answer.status == 0:
                failed = problem_response(make_problem(500, "", "the server failed; its log tells what was raised"))
                await failed(scope, receive, answer)
        took = 1000 * (time.perf_counter() - began)
        _log.info("%s %s %d %.0f ms", scope["method"], _place(scope), answer.status, took)

    def _refused(self, scope: Scope) -> Response | None:
        """The answer to a request that can be refused by its headers."""
        method, path = scope["method"], scope["path"]
        try:
            if not self._is_open(scope):
                problem = make_problem(401, "key", f"this needs the header {KEY_HEADER} with the server's key")
                return problem_response(problem, {"WWW-Authenticate": f'ApiKey header="{KEY_HEADER}"'})
        except ProblemError as error:
            return problem_response(error.problem, error.headers)
        headers = Headers(scope=scope)
        if (method, path) in self._json_at:
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                return problem_response(make_problem(415, "", "the body must be declared as application/json"))
        length = headers.get("content-length", "")
        if length.isdecimal() and (len(length) > 18 or int(length) > self._max_body_bytes):
            return self._too_large()
        return None

    def _is_open(self, scope: Scope) -> bool:
        if scope["path"] in self._public or self._key.opens(scope["headers"]):
            return True
        return any(entrance(scope) for entrance in self._entrances)

    async def _read(self, receive: Receive) -> tuple[bytes, Response | None]:
        """The whole body, which is small and soon there, or refused; a length that was declared is not relied on."""
        body = bytearray()
        with anyio.move_on_after(self._body_seconds):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return b"", _unread(400, "", "the client has gone before the end of the body")
                body += message.get("body", b"")
                if len(body) > self._max_body_bytes:
                    return b"", self._too_large()
                if not message.get("more_body", False):
                    return bytes(body), None
        return b"", _unread(408, "", f"the body was not there within {self._body_seconds:g} seconds")

    def _too_large(self) -> Response:
        return _unread(413, "too-large", f"a body has at most {self._max_body_bytes} bytes")


def _unread(status: int, kind: str, said: str) -> Response:
    """What is left of the body is not read, so the connection cannot be used again."""
    return problem_response(make_problem(status, kind, said), {"Connection": "close"})


class _Answer:
    """Sends, adds the headers that are not there, and knows the status that was sent; 0 before."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in _SECURITY_HEADERS:
                headers.setdefault(name, value)
        await self._send(message)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Gives a body that was read already, then what comes after it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


def _place(scope: Scope) -> str:
    """The path for a log line: without the query, and nothing in it that could end the line."""
    return quote(scope["path"][:200], safe="/")
