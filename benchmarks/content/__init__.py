"""The content detectors, measured on recorded data."""

from __future__ import annotations

from pathlib import Path

from document import Section
from rich.console import Console

__all__ = ["measured"]


def measured(console: Console, data: Path) -> Section:
    """Run everything; a minute. Where the data is not there, the section says so."""
    from .section import section  # with the detectors

    with console.status("content"):
        return section(data)
