"""Detection on generated tools: families of genuine calls, faults, genuine changes, and what is measured on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from document import Section
    from rich.console import Console

__all__ = ["measured"]


def measured(console: Console, folder: Path) -> Section:
    """Run everything; the section for a document in this folder, and its pictures below it. A few minutes."""
    # Only here: the families and faults are also read in environments that have nothing but the standard library.
    from .pictures import draw
    from .plan import whole
    from .section import PICTURES, section

    results = whole(console)
    draw(results, folder / PICTURES)
    return section(results)
