"""Text and tables as Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence

__all__ = ["cell", "code", "prose", "table"]


def cell(text: str) -> str:
    """Text that fits into a cell of a table: one line, no bar, no markup by accident."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def code(text: str) -> str:
    """Text as code in a cell of a table, where bars are safe."""
    return f"`{' '.join(text.split())}`"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the cells are Markdown already."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def prose(docstring: str) -> str:
    """A docstring as Markdown: its ``code`` in single backticks, its sections left out."""
    text = re.split(r"\n\n(?:Args|Attributes|Raises|Returns):\n", inspect.cleandoc(docstring))[0]
    return text.replace("``", "`")
