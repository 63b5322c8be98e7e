"""The guard in the loop: an agent at work on real tools that go wrong, with different guards between the two."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from document import Section
    from rich.console import Console

__all__ = ["measured"]


def measured(console: Console, folder: Path) -> Section:
    """Run everything; the section for a document in this folder, and a page with pictures beside it. Some minutes."""
    # Only here: the tasks are also run in environments that have nothing but the standard library.
    from .board import ROWS, Board
    from .page import section
    from .run import PAGE, draw_page, measured_rows

    for row in measured_rows(console):
        Board(ROWS).put(row)
    rows = Board(ROWS).rows()
    draw_page(rows, folder / PAGE.name)
    return section(rows)
