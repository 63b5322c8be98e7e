"""The guard over HTTP: ``POST /v1/verify``, its neighbours below ``/v1/``, and LiteLLM's guardrail.

Nothing here judges: HTTP is turned into calls of a ``Guard``, its engine and the detectors of ``content``.
"""

import agentguard.serving  # noqa: F401 - first, for it says which extra is missing
from agentguard.guard.api._app import create_app, guard_part

__all__ = ["create_app", "guard_part"]
