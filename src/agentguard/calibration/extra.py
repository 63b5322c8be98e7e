"""What calibration needs and an engine does not: scipy, which is an extra."""

from __future__ import annotations

from agentguard.errors import ConfigurationError

__all__ = ["needs_scipy"]


def needs_scipy(error: ImportError) -> ConfigurationError:
    """The error to raise where it is missing."""
    return ConfigurationError(f"calibration needs scipy: pip install 'agentguard[calibrate]' ({error})")
