"""The version that is installed."""

from __future__ import annotations


def installed_version() -> str:
    """Read the version of agentguard from its metadata; ``(not installed)`` on a bare checkout."""
    from importlib.metadata import PackageNotFoundError, version  # 20 ms, and seldom asked for

    try:
        return version("agentguard")
    except PackageNotFoundError:
        return "(not installed)"


def build() -> str:
    """How the path of a call runs, ``compiled`` or as ``pure Python``: told by the files, of which none is loaded."""
    from importlib.machinery import EXTENSION_SUFFIXES
    from pathlib import Path

    core = Path(__file__).with_name("_core")
    is_there = any(core.with_name(core.name + suffix).exists() for suffix in EXTENSION_SUFFIXES)
    return "compiled" if is_there else "pure Python"
