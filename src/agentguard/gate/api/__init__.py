"""The gate over HTTP: ``POST /evaluate``, ``GET /runs/{run_id}``, ``GET /history``, ``GET /healthz``.

Nothing here judges: HTTP is turned into the calls that the command line makes, and back.
"""

import agentguard.serving  # noqa: F401 - first, for it says which extra is missing
from agentguard.gate.api._app import create_app, gate_part

__all__ = ["create_app", "gate_part"]
