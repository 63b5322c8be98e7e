"""One application out of parts.

The OpenAPI document is at ``/openapi.json``, behind the key like all else. There are no documentation pages: they would
load scripts from elsewhere.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, Final, NamedTuple

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.security import APIKeyHeader
from pydantic import BaseModel, ConfigDict, StringConstraints
from starlette.exceptions import HTTPException

from agentguard.errors import ConfigurationError
from agentguard.serving.door import Door, Entrance
from agentguard.serving.key import KEY_HEADER, ServiceKey
from agentguard.serving.problems import Fault, Problem, ProblemError, answer_error, answer_faults, answer_problem

__all__ = ["KEY_SCHEME", "MAX_BODY_BYTES", "Part", "assemble"]

MAX_BODY_BYTES: Final = 64 * 1024
_HEALTH: Final = "/healthz"
KEY_SCHEME: Final = APIKeyHeader(name=KEY_HEADER, scheme_name="ApiKey", auto_error=False)
"""For the OpenAPI document, as a dependency of routers; the door has looked at the key before."""


class Part(NamedTuple):
    """Operations, and what must be known of them where they are served.

    Attributes:
        title: what it is, in a word or two.
        description: in a sentence.
        router: the operations.
        stop: begins to end them; may be called by a signal.
        json_at: methods and paths that take a JSON body.
        public: paths that need no key.
        entrances: let in who brings no key.
        running: what is done while the application serves.
    """

    title: str
    description: str
    router: APIRouter
    stop: Callable[[], None]
    json_at: frozenset[tuple[str, str]] = frozenset()
    public: frozenset[str] = frozenset()
    entrances: tuple[Entrance, ...] = ()
    running: Callable[[], AbstractAsyncContextManager[None]] | None = None


class _App(FastAPI):
    """An application whose OpenAPI document has the problems that every operation may answer."""

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        for model in (Problem, Fault):
            made = model.model_json_schema(ref_template="#/components/schemas/{model}")
            made.pop("$defs", None)
            schemas[model.__name__] = made
        return document


class _Health(BaseModel):
    """The server answers."""

    model_config = ConfigDict(extra="forbid", title="Health")

    status: Annotated[str, StringConstraints(pattern="^ok$")] = "ok"


def assemble(parts: Sequence[Part], *, key: ServiceKey, max_body_bytes: int = MAX_BODY_BYTES) -> FastAPI:
    """One application of these parts, with one door before all of them.

    Args:
        parts: at least one; no two have the same paths.
        key: what requests must bring.
        max_body_bytes: of a request.

    Raises:
        ConfigurationError: where ``max_body_bytes`` is below 1.
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
        version=_version(),
        description=" ".join(part.description for part in parts),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={
            ProblemError: answer_problem,
            HTTPException: answer_error,
            RequestValidationError: answer_faults,
        },
        lifespan=running,
    )
    for part in parts:
        app.include_router(part.router)
    app.add_api_route(
        _HEALTH,
        _health,
        methods=["GET"],
        operation_id="health",
        summary="Whether the server answers; needs no key",
    )
    app.add_middleware(
        Door,
        key=key,
        max_body_bytes=max_body_bytes,
        public=frozenset({_HEALTH}).union(*(part.public for part in parts)),
        json_at=frozenset().union(*(part.json_at for part in parts)),
        entrances=[entrance for part in parts for entrance in part.entrances],
    )

    def stop() -> None:
        for part in parts:
            part.stop()

    app.state.stop = stop
    return app


async def _health() -> _Health:  # takes no thread: it answers also where all of them wait
    return _Health()


def _version() -> str:
    try:
        return version("agentguard")
    except PackageNotFoundError:
        return "0"
