"""The page over a store as a part of an application, and as one of its own."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI

from agentguard.errors import ConfigurationError
from agentguard.serving.app import Part, assemble
from agentguard.serving.key import ServiceKey
from agentguard.stores import Store

from .audience import MOST_STREAMS
from .browsing import PUBLIC, browsing
from .operations import DECISIONS, REVIEWS, operations
from .stream import HEARTBEAT
from .view import View

__all__ = ["create_app", "live_part"]


def create_app(
    store: Store,
    *,
    api_key: str | None = None,
    source: str = "",
    poll_seconds: float = 1.0,
    max_streams: int = MOST_STREAMS,
) -> FastAPI:
    """The page over a store as an ASGI application; ``app.state.stop()`` lets its listeners go, also from a signal.

    Args:
        store: what is shown, and where labels go. It stays yours to close, after the application.
        api_key: what opens the page, 16 characters or more; ``AGENTGUARD_API_KEY`` of the environment where it is not
            given.
        source: the store's address, as the page may show it.
        poll_seconds: between two looks at the store, above 0.
        max_streams: how many pages may be open at once, 1 or more.

    Raises:
        ConfigurationError: where there is no key, or one of the arguments cannot be used.
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
    """The page as a part of an application; the arguments are those of ``create_app``.

    Raises:
        ConfigurationError: where one of them cannot be used.
    """
    if not poll_seconds > 0 or not heartbeat > 0 or max_streams < 1:
        raise ConfigurationError("poll_seconds and heartbeat must be above 0, max_streams 1 or more")
    view = View(store, source=source, every=poll_seconds, most_streams=max_streams, heartbeat=heartbeat)
    router = APIRouter()
    router.include_router(operations(view))
    router.include_router(browsing(view, key))
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
