"""What everything that is served over HTTP has in common: one key, one door, one form of saying no, one application.

``agentguard serve`` puts parts together (the gate's operations, the page over a store), of which each says what the
door must know of it.
"""

from agentguard.errors import ConfigurationError

try:
    import fastapi as _fastapi  # noqa: F401 - only to say which extra is missing
except ImportError as error:
    raise ConfigurationError("serving needs fastapi and uvicorn; pip install 'agentguard[serve]'") from error
