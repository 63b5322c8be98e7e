"""The native core, ``_core.c``, where it was built; without it the Python beside each use does the same, slower.

``AGENTGUARD_PURE_PYTHON=1`` in the environment leaves it alone.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, Final


def _loaded() -> Any:
    """The core; None where there is none, or none is wanted."""
    if os.environ.get("AGENTGUARD_PURE_PYTHON", "") not in ("", "0"):
        return None
    try:
        return import_module("agentguard._core")
    except ImportError:
        return None


CORE: Final[Any] = _loaded()
