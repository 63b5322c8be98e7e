"""The page, its files, and how a browser comes to a session."""

from __future__ import annotations

import logging
from typing import Final
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from agentguard.serving.key import KEY_HEADER, KEY_VARIABLE, ServiceKey
from agentguard.serving.problems import ProblemError

from .pages import ASSETS, asset, login_page, page
from .sessions import Session, cookie_name, is_same_origin
from .view import PATH, View

__all__ = ["PUBLIC", "browsing"]

_BARE, _LOGIN, _STATIC = PATH.rstrip("/"), f"{PATH}login", f"{PATH}static/"
PUBLIC: Final = frozenset({"/", _BARE, PATH, _LOGIN, *(_STATIC + name for name in ASSETS)})
"""What needs neither key nor session: nothing of a store is in it."""

_log = logging.getLogger("agentguard.live")


def browsing(view: View, key: ServiceKey) -> APIRouter:
    """Pages, and logging in and out. None of it is in the description, which is for programs."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    @router.get(_BARE)
    def lead() -> Response:
        return RedirectResponse(PATH.lstrip("/"), 303)  # relative: a proxy may have put something before it

    @router.get(PATH)
    def show(request: Request) -> Response:
        if view.sessions.of(request) is None and not key.opens(request.scope["headers"]):
            return RedirectResponse("login", 303)
        return page()

    @router.get(_LOGIN)
    def ask(request: Request) -> Response:
        return login_page() if view.sessions.of(request) is None else RedirectResponse("./", 303)

    @router.post(_LOGIN)
    async def log_in(request: Request) -> Response:
        if not is_same_origin(request.headers):
            raise ProblemError(403, "origin", "another page has sent this")
        if not key.is_key(_sent_key(await request.body())):
            _log.warning("a browser came with a wrong key")
            return login_page(f"That is not the server's key. It is the one in {KEY_VARIABLE}.", 401)
        former = view.sessions.of(request)
        if former is not None:  # its cookie is about to be replaced, and nobody could end it any more
            _end(view, former)
        answer = RedirectResponse("./", 303)
        # Without a path: below the folder of this address, whatever a proxy has put before it.
        answer.set_cookie(
            cookie_name(request.headers),
            view.sessions.begin(),
            path=None,
            httponly=True,
            samesite="strict",
            secure=_is_encrypted(request),
        )
        return answer

    @router.post(f"{PATH}logout")
    def log_out(request: Request) -> Response:
        session = view.sessions.of(request)
        if session is None:
            raise ProblemError(409, "no-session", f"whoever brings {KEY_HEADER} has no session to end")
        _end(view, session)
        answer = Response(status_code=204)
        name = cookie_name(request.headers)
        answer.set_cookie(name, "", max_age=0, expires=0, path=None, httponly=True, samesite="strict")
        return answer

    @router.get(_STATIC + "{name}")
    def static(name: str) -> Response:
        if name not in ASSETS:
            raise ProblemError(404, "", "there is nothing at this address")
        return asset(name)

    return router


def _end(view: View, session: Session) -> None:
    view.sessions.end(session)
    view.audience.call()  # its streams end now, not with the next that happens


def _sent_key(body: bytes) -> bytes:
    """The one key in a form; empty where there is none."""
    try:
        given = parse_qs(body.decode("latin-1"), encoding="latin-1", max_num_fields=10).get("key", [])
    except ValueError:  # more fields than any form of ours has
        return b""
    return given[0].strip().encode("latin-1") if len(given) == 1 else b""


def _is_encrypted(request: Request) -> bool:
    """Whether the browser speaks TLS, be it to a proxy."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")
