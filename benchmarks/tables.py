"""Tables of the measurements document: plain ones, and ones that hold each figure against its goal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from goals import NOT_MEASURED, Goal

__all__ = ["Line", "judged", "markdown", "tally"]


class Line(NamedTuple):
    """One judged row: what was measured, the figure, and the goal that it is held against."""

    cells: Sequence[str]
    figure: float | None
    goal: Goal


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""A table in Markdown; ``|`` in a cell is escaped.

    >>> print(markdown(("tool", "n"), [("a|b", "3")]))
    | tool | n |
    |---|---|
    | a\|b | 3 |
    """
    head, *body = (f"| {' | '.join(map(_cell, line))} |" for line in (header, *rows))
    return "\n".join([head, "|---" * len(header) + "|", *body])


def judged(header: Sequence[str], lines: Iterable[Line], *, with_goals: bool = True) -> str:
    """A table of judged lines; ``header`` names their cells. Without goals: the figures alone."""
    rows = []
    for line in lines:
        row = [*line.cells, line.goal.show(line.figure)]
        rows.append([*row, str(line.goal), line.goal.outcome(line.figure)] if with_goals else row)
    return markdown([*header, "measured", *(["goal", "outcome"] if with_goals else [])], rows)


def tally(lines: Iterable[Line]) -> str:
    """How many goals were reached, missed and not measured."""
    reached = [line.goal.reached(line.figure) for line in lines]
    hit, missed, unknown = (reached.count(outcome) for outcome in (True, False, None))
    return f"{hit} of {len(reached)} reached, {missed} missed, {unknown} {NOT_MEASURED}"


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")
