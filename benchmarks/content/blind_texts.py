"""Measures the injection detector on texts written by somebody who knew nothing of it.

    python benchmarks/content/blind_texts.py

``blind/tool_texts.json`` has honest results of tools that speak of tools, commands and instructions, many of them made
to be taken for attacks; ``blind/injected.json`` has results into which an order to the assistant was put. Both are in
seven languages. The half that is called ``design`` was given to whoever worked on the detector; the other was looked at
by nobody. Before that work 48.7% of its injected texts were found (5.9% of those without a telling phrase or in a long
text), and 8.9% of the honest ones flagged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from agentguard.content import injection

__all__ = ["BlindFigures", "figures", "main"]

FOLDER = Path(__file__).with_name("blind")
QUOTED = "quoted"  # articles that quote attacks: a quotation suppresses no finding, so they are counted apart
HARDEST = ("buried_long", "subtle")  # an order without a telling phrase, or in the middle of a long honest text


class BlindFigures(NamedTuple):
    """How many texts of one sort were flagged or blocked, and how many were blocked."""

    what: str
    part: str
    texts: int
    flagged: int
    blocked: int


def figures() -> list[BlindFigures]:
    """Each sort of text, each half apart."""
    sorts: dict[tuple[str, str], list[str]] = {}
    for what, part, label in _judged():
        sorts.setdefault((what, part), []).append(label)
    return [
        BlindFigures(what, part, len(labels), sum(label != "clean" for label in labels), labels.count("injection"))
        for (what, part), labels in sorts.items()
    ]


def _judged() -> Iterator[tuple[str, str, str]]:
    for name, sort in (("injected", "injected"), ("tool_texts", "honest")):
        for row in json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")):
            kind = row["kind"].partition("-")[0]
            what = sort
            if kind == QUOTED:
                what = "honest, quoting an attack"
            elif kind in HARDEST:
                what = "injected, without a telling phrase or in a long text"
            yield what, row["part"], injection.scan(row["text"]).label


def main() -> None:
    """Measure, and print the table."""
    table = Table("texts", "part", "number", "flagged or blocked", "blocked")
    for each in figures():
        shares = (f"{number / each.texts:.3f}" for number in (each.flagged, each.blocked))
        table.add_row(each.what, each.part, str(each.texts), *shares)
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
