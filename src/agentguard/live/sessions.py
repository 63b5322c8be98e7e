"""Who has shown the key in a browser, which cannot send it with every request as a program does.

A session is a cookie that scripts cannot read and other sites cannot have sent along. Ports are no sites: another
server on this machine could have its pages send it. So what a session asks for must come from the page's own origin,
and what changes anything must also bring a token that only the page was told.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import Scope

from agentguard import _forks as forks
from agentguard.serving.problems import ProblemError

__all__ = ["COOKIE", "CSRF_HEADER", "Session", "Sessions", "cookie_name", "is_same_origin"]

COOKIE: Final = "agentguard_session"
CSRF_HEADER: Final = "X-CSRF-Token"
SECONDS: Final = 8 * 3600.0
MOST: Final = 100
_READS: Final = ("GET", "HEAD")


class Session(NamedTuple):
    """A browser that has shown the key.

    Attributes:
        digest: of the cookie's token, which itself is kept nowhere.
        csrf: what requests that change anything must bring.
        until: when it ends, by the clock of the sessions.
    """

    digest: bytes
    csrf: str
    until: float


class Sessions:
    """The sessions of one server, in memory: they end with it. Thread-safe.

    Args:
        below: the path that they open, and what lies below it.
        seconds: how long one lasts.
        most: how many there are; beyond it the oldest ends.
        clock: seconds, never going back.
    """

    def __init__(
        self, below: str, *, seconds: float = SECONDS, most: int = MOST, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._below, self._seconds, self._most, self._clock = below, seconds, most, clock
        self._lock = forks.lock(forks.Rank.LEAF)
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()

    def begin(self) -> str:
        """A new session; its token, for the cookie."""
        token = secrets.token_urlsafe(32)
        session = Session(_digest(token), secrets.token_urlsafe(32), self._clock() + self._seconds)
        with self._lock:
            self._sessions[session.digest] = session
            while len(self._sessions) > self._most:
                self._sessions.popitem(last=False)
        return token

    def end(self, session: Session) -> None:
        """The session is over, its streams too."""
        with self._lock:
            self._sessions.pop(session.digest, None)

    def is_on(self, session: Session) -> bool:
        """Whether it has neither been ended nor run out."""
        with self._lock:
            return session.digest in self._sessions and self._clock() < session.until

    def of(self, connection: HTTPConnection) -> Session | None:
        """The session that a request's cookie is of."""
        token = connection.cookies.get(cookie_name(connection.headers), "")
        with self._lock:
            # By its digest: how long this takes tells nothing about the token.
            session = self._sessions.get(_digest(token)) if token else None
        return session if session is not None and self.is_on(session) else None

    def admits(self, scope: Scope) -> bool:
        """Whether a request comes with a session that opens its path.

        Raises:
            ProblemError: where it does, and something else than the page has sent it.
        """
        session = self.of(HTTPConnection(scope)) if scope["path"].startswith(self._below) else None
        if session is None:
            return False
        headers = Headers(scope=scope)
        reads = scope["method"] in _READS
        # Browsers do not say where a plain read comes from over unencrypted HTTP, but nobody else gets to see it.
        if not (is_same_origin(headers) or (reads and "sec-fetch-site" not in headers and "origin" not in headers)):
            raise ProblemError(403, "origin", "another page has sent this")
        if not reads and not hmac.compare_digest(headers.get(CSRF_HEADER, "").encode(), session.csrf.encode()):
            raise ProblemError(
                403, "csrf", f"this needs the header {CSRF_HEADER} with the token that the page was told"
            )
        return True


def cookie_name(headers: Headers) -> str:
    """The name of a session's cookie at the port that is asked: browsers keep one of a name for all ports of a machine.

    >>> cookie_name(Headers({"host": "localhost:8321"})), cookie_name(Headers({"host": "guard.example"}))
    ('agentguard_session_8321', 'agentguard_session')
    """
    port = headers.get("host", "").rpartition(":")[2]
    return f"{COOKIE}_{port}" if port.isascii() and port.isdecimal() and len(port) <= 5 else COOKIE


def is_same_origin(headers: Headers) -> bool:
    """Whether a browser says that a page of this very server has sent a request.

    It says so itself, where it speaks to this machine or by TLS. Elsewhere the page's origin must have the host that
    is asked.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    scheme, separator, host = headers.get("origin", "").partition("://")
    return bool(separator) and scheme in ("http", "https") and host == headers.get("host")


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
