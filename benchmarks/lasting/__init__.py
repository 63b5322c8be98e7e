"""Faults that last: how long an engine holds to what it caught, and how many false alarms that costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from document import Section
    from rich.console import Console

__all__ = ["measured"]


def measured(console: Console, script: Path, data: Path, folder: Path) -> Section:
    """Run everything; the section for a document in this folder, and its picture below it. Some minutes."""
    # Only here: the trials are also read in environments that have nothing but the standard library.
    from .pictures import draw
    from .plan import script_command, whole
    from .section import section

    results = whole(console, script, data)
    draw(results.curve, folder)
    return section(results, script_command(script, data))
