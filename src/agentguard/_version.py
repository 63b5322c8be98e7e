"""The version that is installed."""

from __future__ import annotations


def installed_version() -> str:
    """Read the version of agentguard from its metadata; ``(not installed)`` on a bare checkout."""
    from importlib.metadata import PackageNotFoundError, version  # 20 ms, and seldom asked for

    try:
        return version("agentguard")
    except PackageNotFoundError:
        return "(not installed)"
