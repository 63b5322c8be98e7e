"""The page in a browser: sessions, logging in and out, and the page's files.

A browser cannot send the key with every request as a program does. It shows it once, and gets a session: a cookie that
scripts cannot read and other sites cannot have sent along. Ports are no sites: pages of another server on this machine
could have it sent. So requests of a session must come from the page's own origin, and those that change anything must
also bring a token that only the page was told.

The files in ``page/`` are served as they are but for the form's message: no build, nothing from elsewhere. What comes
from a store is put on the page by its scripts, as text, and the policy lets no other script run.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from jinja2 import Environment
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import Scope

from agentguard import _forks as forks
from agentguard.live._stream import Audience
from agentguard.serving._app import KEY_HEADER, KEY_VARIABLE, ProblemError, ServiceKey

PATH: Final = "/live/"
COOKIE: Final = "agentguard_session"
CSRF_HEADER: Final = "X-CSRF-Token"
SECONDS: Final = 8 * 3600.0
MOST: Final = 100
_READS: Final = ("GET", "HEAD")


class Session(NamedTuple):
    """A browser that has shown the key."""

    digest: bytes  # of the cookie's token, which itself is kept nowhere
    csrf: str  # the token that requests that change anything must bring
    until: float  # its end, by the clock of the sessions


class Sessions:
    """The sessions of one server, in memory: they end with it. Thread-safe.

    They open the paths that begin with ``below``, and last for ``seconds``; beyond the maximum the oldest ends.
    """

    def __init__(
        self, below: str, *, seconds: float = SECONDS, most: int = MOST, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._below, self._seconds, self._most, self._clock = below, seconds, most, clock
        self._lock = forks.lock(forks.Rank.LEAF)
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()

    def begin(self) -> str:
        """Begin a session; its token, for the cookie."""
        token = secrets.token_urlsafe(32)
        session = Session(_digest(token), secrets.token_urlsafe(32), self._clock() + self._seconds)
        with self._lock:
            self._sessions[session.digest] = session
            while len(self._sessions) > self._most:
                self._sessions.popitem(last=False)
        return token

    def end(self, session: Session) -> None:
        """End a session, and with it its streams."""
        with self._lock:
            self._sessions.pop(session.digest, None)

    def is_on(self, session: Session) -> bool:
        """Whether it has neither been ended nor run out."""
        with self._lock:
            return session.digest in self._sessions and self._clock() < session.until

    def of(self, connection: HTTPConnection) -> Session | None:
        """The session of a request's cookie."""
        token = connection.cookies.get(cookie_name(connection.headers), "")
        with self._lock:
            # By its digest: how long this takes tells nothing about the token.
            session = self._sessions.get(_digest(token)) if token else None
        return session if session is not None and self.is_on(session) else None

    def admits(self, scope: Scope) -> bool:
        """Whether a request has a session that opens its path.

        Raises:
            ProblemError: if it has one, but does not come from the page.
        """
        session = self.of(HTTPConnection(scope)) if scope["path"].startswith(self._below) else None
        if session is None:
            return False
        headers = Headers(scope=scope)
        reads = scope["method"] in _READS
        # Over unencrypted HTTP browsers do not tell the origin of a plain read; its answer no other page gets to see.
        if not (is_same_origin(headers) or (reads and "sec-fetch-site" not in headers and "origin" not in headers)):
            raise ProblemError(403, "origin", "another page has sent this")
        if not reads and not hmac.compare_digest(headers.get(CSRF_HEADER, "").encode(), session.csrf.encode()):
            raise ProblemError(
                403, "csrf", f"this needs the header {CSRF_HEADER} with the token that the page was told"
            )
        return True


def cookie_name(headers: Headers) -> str:
    """The name of the cookie, with the port of the request: browsers keep one of a name for all ports of a machine.

    >>> cookie_name(Headers({"host": "localhost:8321"})), cookie_name(Headers({"host": "guard.example"}))
    ('agentguard_session_8321', 'agentguard_session')
    """
    port = headers.get("host", "").rpartition(":")[2]
    return f"{COOKIE}_{port}" if port.isascii() and port.isdecimal() and len(port) <= 5 else COOKIE


def is_same_origin(headers: Headers) -> bool:
    """Whether a page of this very server has sent a request.

    To this machine or by TLS a browser says so itself. Otherwise the origin must have the host of the request.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    scheme, separator, host = headers.get("origin", "").partition("://")
    return bool(separator) and scheme in ("http", "https") and host == headers.get("host")


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


# --- Files of the page ---

_SCRIPTS: Final = ("app", "cards", "changes", "details", "elements", "feed", "queue", "server", "tools")
ASSETS: Final = {
    "live.css": "text/css",
    "icon.svg": "image/svg+xml",
    **{f"{name}.js": "text/javascript" for name in _SCRIPTS},
}
"""Files that need no key, with their types: they hold nothing that is not in the source."""

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # without any, browsers do not tell the page that a form was sent from
}


def page() -> Response:
    """The page itself; it asks for its content."""
    return Response(_read("live.html"), headers=_HEADERS, media_type="text/html")


def login_page(problem: str = "", status: int = 200) -> Response:
    """The form that asks for the key, with the problem of the last try."""
    form = Environment(autoescape=True).from_string(_read("login.html").decode())
    return Response(form.render(problem=problem), status, headers=_HEADERS, media_type="text/html")


@cache
def _read(name: str) -> bytes:
    return (files("agentguard.live") / "page" / name).read_bytes()


# --- Routes ---

_BARE, _LOGIN, _STATIC = PATH.rstrip("/"), f"{PATH}login", f"{PATH}static/"
PUBLIC: Final = frozenset({"/", _BARE, PATH, _LOGIN, *(_STATIC + name for name in ASSETS)})
"""Paths that need neither key nor session: nothing of a store is behind them."""

_log = logging.getLogger("agentguard.live")


def browsing(sessions: Sessions, audience: Audience, key: ServiceKey) -> APIRouter:
    """Routes of the page, its files, and logging in and out; not in the OpenAPI document, which is for programs."""
    router = APIRouter(include_in_schema=False)

    def end(session: Session) -> None:
        sessions.end(session)
        audience.call()  # its streams end now, not with the next that happens

    @router.get("/")
    @router.get(_BARE)
    def lead() -> Response:
        return RedirectResponse(PATH.lstrip("/"), 303)  # relative: a proxy may have put something before it

    @router.get(PATH)
    def show(request: Request) -> Response:
        if sessions.of(request) is None and not key.opens(request.scope["headers"]):
            return RedirectResponse("login", 303)
        return page()

    @router.get(_LOGIN)
    def ask(request: Request) -> Response:
        return login_page() if sessions.of(request) is None else RedirectResponse("./", 303)

    @router.post(_LOGIN)
    async def log_in(request: Request) -> Response:
        if not is_same_origin(request.headers):
            raise ProblemError(403, "origin", "another page has sent this")
        if not key.is_key(_sent_key(await request.body())):
            _log.warning("a browser came with a wrong key")
            return login_page(f"That is not the server's key. It is the one in {KEY_VARIABLE}.", 401)
        former = sessions.of(request)
        if former is not None:  # its cookie is about to be replaced, and nothing could end it any more
            end(former)
        answer = RedirectResponse("./", 303)
        encrypted = request.url.scheme == "https" or request.headers.get("origin", "").startswith(
            "https://"
        )  # by a proxy
        # Without a path: it counts below the folder of this address, whatever a proxy has put before it.
        answer.set_cookie(
            cookie_name(request.headers),
            sessions.begin(),
            path=None,
            httponly=True,
            samesite="strict",
            secure=encrypted,
        )
        return answer

    @router.post(f"{PATH}logout")
    def log_out(request: Request) -> Response:
        session = sessions.of(request)
        if session is None:
            raise ProblemError(409, "no-session", f"whoever brings {KEY_HEADER} has no session to end")
        end(session)
        answer = Response(status_code=204)
        name = cookie_name(request.headers)
        answer.set_cookie(name, "", max_age=0, expires=0, path=None, httponly=True, samesite="strict")
        return answer

    @router.get(_STATIC + "{name}")
    def static(name: str) -> Response:
        if name not in ASSETS:
            raise ProblemError(404, "", "there is nothing at this address")
        return Response(_read(name), headers=_HEADERS, media_type=ASSETS[name])

    return router


def _sent_key(body: bytes) -> bytes:
    """The key in a form; empty unless there is exactly one."""
    try:
        given = parse_qs(body.decode("latin-1"), encoding="latin-1", max_num_fields=10).get("key", [])
    except ValueError:  # more fields than any form of ours has
        return b""
    return given[0].strip().encode("latin-1") if len(given) == 1 else b""
