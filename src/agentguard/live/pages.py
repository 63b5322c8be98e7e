"""The page's files, and the headers that hold a browser to them.

All of them lie in ``page/`` as they are served: no build, no template engine, nothing from elsewhere. What comes from a
store is put on the page by its scripts, as text, and the policy lets no other script run.
"""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files
from typing import Final

from starlette.responses import Response

__all__ = ["ASSETS", "asset", "login_page", "page"]

ASSETS: Final = {
    "live.css": "text/css",
    "icon.svg": "image/svg+xml",
    "app.js": "text/javascript",
    "changes.js": "text/javascript",
    "details.js": "text/javascript",
    "elements.js": "text/javascript",
    "feed.js": "text/javascript",
    "queue.js": "text/javascript",
    "server.js": "text/javascript",
    "tools.js": "text/javascript",
}
"""Those that need no key: nothing is in them that is not in the source."""

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # without any, browsers do not say which page a form was sent from
}
_PROBLEM: Final = "<!-- problem -->"


def page() -> Response:
    """The page itself; what it shows it asks for."""
    return Response(_read("live.html"), headers=_HEADERS, media_type="text/html")


def login_page(problem: str = "", status: int = 200) -> Response:
    """The form that asks for the key, with what was wrong the last time."""
    said = f'<p class="problem" role="alert" id="problem">{escape(problem)}</p>' if problem else ""
    return Response(
        _read("login.html").replace(_PROBLEM.encode(), said.encode()), status, headers=_HEADERS, media_type="text/html"
    )


def asset(name: str) -> Response:
    """A file of ``ASSETS``."""
    return Response(_read(name), headers=_HEADERS, media_type=ASSETS[name])


@cache
def _read(name: str) -> bytes:
    return (files("agentguard.live") / "page" / name).read_bytes()
