"""HTTP applications behind one key: parts, each with its routes, assembled into one ASGI application.

``agentguard serve`` assembles the gate's operations and the live page over a store, and bounds the server's
connections. Errors are answered as problem details (RFC 9457).
"""

from typing import TYPE_CHECKING, Any

from agentguard.errors import ConfigurationError

try:
    import fastapi as _fastapi  # noqa: F401 - only to say which extra is missing
except ImportError as error:
    raise ConfigurationError("serving needs fastapi and uvicorn; pip install 'agentguard[serve]'") from error

from agentguard.serving._app import Part, ProblemError, ServiceKey, assemble

if TYPE_CHECKING:
    from agentguard.serving._connections import Connections

__all__ = ["Connections", "Part", "ProblemError", "ServiceKey", "assemble"]


def __getattr__(name: str) -> Any:
    if name != "Connections":  # which loads uvicorn: another server can serve an application too
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from agentguard.serving._connections import Connections

    return Connections
