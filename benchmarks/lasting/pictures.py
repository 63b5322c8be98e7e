"""The picture of faults that last, as a small SVG file that is the same for the same figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from detection.pictures import COLOURS, INK, STYLE

from .curve import Point

__all__ = ["PICTURE", "draw"]

PICTURE = "pictures/lasting_curve.svg"
MOST_INCIDENTS, MOST_FLAGGED = 3.0, 0.018  # the goals


def draw(points: Sequence[Point], folder: Path) -> None:
    """Write the curve below the document's folder."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    path = folder / PICTURE
    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.2), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        _line(left, points, lambda one: one.flagged, "generated streams", COLOURS[0], 4)
        _line(left, points, lambda one: one.recorded_flagged, "recorded streams", COLOURS[1], -9)
        _line(right, points, lambda one: one.incidents, "generated streams", COLOURS[0], 4)
        _line(right, points, lambda one: one.recorded_incidents, "recorded streams", COLOURS[1], -9)
        for axes, goal in ((left, MOST_FLAGGED), (right, MOST_INCIDENTS)):
            axes.axvline(goal, color=INK, linewidth=0.8, linestyle=":", label="goal")
            axes.set(xlim=(0, None), ylim=(0, 1))
        left.set(xlabel="genuine calls flagged or blocked", ylabel="faulty calls held")
        right.set(xlabel="incidents in 1,000 genuine calls")
        right.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
        figure.savefig(path, metadata={"Date": None, "Creator": None})


def _line(
    axes: Any, points: Sequence[Point], of: Callable[[Point], float | None], label: str, colour: str, drop: int
) -> None:
    shown = [(cost, one.held, one.label) for one in points if (cost := of(one)) is not None]
    axes.plot([x for x, _, _ in shown], [y for _, y, _ in shown], marker="o", markersize=3, color=colour, label=label)
    for x, y, name in shown:
        axes.annotate(name, (x, y), xytext=(3, drop), textcoords="offset points", fontsize=6)
