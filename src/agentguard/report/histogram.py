"""The distribution of posteriors: how sure the guard was, and where the thresholds cut."""

from __future__ import annotations

import math
from typing import Final

from agentguard.report._records import Histogram
from agentguard.report._text import many, short

from .elements import Element, h
from .figure import WIDTH, Ids, Label, figure, plot, rungs, table

__all__ = ["HEIGHT", "histogram"]

HEIGHT: Final = 130
TOP: Final = 8.0
LEAST_HEIGHT: Final = 2.0  # pixels of a bar that stands for anything
INSET: Final = 2.0


def histogram(ids: Ids, found: Histogram, accept_below: float, block_at: float, *, of: str) -> Element:
    """Bars by posterior, their heights logarithmic in calls: one suspect among thousands is seen."""
    bins, most = len(found.weights), max(found.weights, default=0.0)
    total = math.fsum(found.weights)
    bars = [
        h(
            "rect",
            class_="bar",
            x=k * WIDTH / bins + INSET,
            y=HEIGHT - high,
            width=WIDTH / bins - 2 * INSET,
            height=high,
        )
        for k, weight in enumerate(found.weights)
        if (high := _height(weight, most)) > 0.0
    ]
    lines = h("path", class_="threshold", d=rungs((WIDTH * x, 0.0, float(HEIGHT)) for x in (accept_below, block_at)))
    marks = [step for step in (1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9) if step <= most]
    marks = marks[:: -(-len(marks) // 4) or 1]
    said = (
        f"{many(total, 'call')}: {_share(found, 0.0, accept_below):,.0f} below {accept_below:g}, "
        f"{_share(found, block_at, 1.0):,.0f} from {block_at:g} on (to the nearest twentieth)."
    )
    rows = [
        (f"{k / bins:.2f}–{(k + 1) / bins:.2f}", f"{weight:,.0f}") for k, weight in enumerate(found.weights) if weight
    ]
    below = [Label(0.0, "0"), Label(100.0 * accept_below, f"flag {accept_below:g}")]
    below += [Label(100.0 * block_at, f"block {block_at:g}")] if block_at < 0.93 else []
    return figure(
        "Posteriors",
        f"P(fabricated) of {of}, calls on a logarithmic scale",
        plot(
            ids, f"Histogram of the posteriors of {of}", said, [*bars, lines], height=HEIGHT,
            left=[Label(HEIGHT - _height(step, most) + 4.0, short(step)) for step in marks],
            below=[*below, Label(100.0, "1")],
        ),
        numbers=table(f"Posteriors of {of}", ("posterior", "calls"), rows),
        kind="histogram",
    )  # fmt: skip


def _height(weight: float, most: float) -> float:
    """Pixels of so many calls: log(1 + calls), the most filling the picture."""
    if weight <= 0.0:
        return 0.0
    return max((HEIGHT - TOP) * math.log1p(weight) / math.log1p(most), LEAST_HEIGHT)


def _share(found: Histogram, low: float, high: float) -> float:
    bins = len(found.weights)
    return math.fsum(weight for k, weight in enumerate(found.weights) if low - 1e-9 <= k / bins < high - 1e-9)
