"""The gate's door over HTTP: ``POST /evaluate``, ``GET /runs/{run_id}``, ``GET /history``, ``GET /healthz``.

``door.py`` stands before everything (key, sizes, the last resort), ``app.py`` has the operations, ``runs.py`` what they
ask of the gate. Nothing here judges: HTTP is turned into the calls that the command line makes, and back.
"""

from agentguard.errors import ConfigurationError

try:
    import fastapi as _fastapi  # noqa: F401 - only to say which extra is missing
except ImportError as error:
    raise ConfigurationError("the gate's API needs fastapi and uvicorn; pip install 'agentguard[serve]'") from error

from agentguard.gate.api.app import create_app

__all__ = ["create_app"]
