"""Detection on generated tools: families of genuine calls, faults, genuine changes, and what is measured on them."""

from __future__ import annotations

from pathlib import Path

from document import Section
from rich.console import Console

from .pictures import draw
from .plan import whole
from .section import PICTURES, section

__all__ = ["measured"]


def measured(console: Console, folder: Path) -> Section:
    """Run everything; the section for a document in this folder, and its pictures below it. A few minutes."""
    results = whole(console)
    draw(results, folder / PICTURES)
    return section(results)
