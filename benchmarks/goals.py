"""The figures to reach, and what is said of a measured one: reached, or missed by how much.

Whether a goal is reached is decided on the figure as measured, not as printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "NOT_MEASURED", "Goal", "as_fraction", "as_per_thousand", "as_points", "as_ratio", "as_score", "as_share", "known",
]  # fmt: skip

NOT_MEASURED = "not measured"


def known(figure: float | None) -> bool:
    """A number that can be judged: neither None nor NaN.

    >>> known(0.0), known(None), known(float("nan"))
    (True, False, False)
    """
    return figure is not None and not math.isnan(figure)


def as_share(figure: float | None) -> str:
    """A share of calls in [0, 1] as a percentage.

    >>> as_share(0.015)
    '1.5%'
    """
    return f"{100 * figure:.1f}%" if figure is not None and known(figure) else "–"


def as_score(figure: float | None) -> str:
    """A recall or AUROC in [0, 1].

    >>> as_score(0.97)
    '0.970'
    """
    return f"{figure:.3f}" if figure is not None and known(figure) else "–"


def as_fraction(figure: float | None) -> str:
    """An error in [0, 1] where thousandths matter.

    >>> as_fraction(0.0065)
    '0.0065'
    """
    return f"{figure:.4f}" if figure is not None and known(figure) else "–"


def as_points(figure: float | None) -> str:
    """A difference of two scores, in points of a hundred.

    >>> as_points(-0.134)
    '-13.4 points'
    """
    return f"{100 * figure:+.1f} points" if figure is not None and known(figure) else "–"


def as_ratio(figure: float | None) -> str:
    """One time as a multiple of another: below 1 as a fraction.

    >>> as_ratio(0.125), as_ratio(14.0)
    ('1/8', '14')
    """
    if figure is None or not known(figure):
        return "–"
    return f"1/{1 / figure:.3g}" if 0 < figure < 1 else f"{figure:.3g}"


def as_per_thousand(figure: float | None) -> str:
    """How often something happens in 1,000 calls.

    >>> as_per_thousand(2.96)
    '3.0'
    """
    return f"{figure:.1f}" if figure is not None and known(figure) else "–"


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound on one figure.

    Attributes:
        kind: whether the figure is to stay at or below the bound, or at or above it.
        bound: in the figure's own unit.
        show: writes figure and bound.
    """

    kind: Literal["at most", "at least"]
    bound: float
    show: Callable[[float | None], str]

    def __str__(self) -> str:
        return f"{'≤' if self.kind == 'at most' else '≥'} {self.show(self.bound)}"

    def reached(self, figure: float | None) -> bool | None:
        """Whether the figure keeps to the bound; None where it was not measured."""
        if figure is None or not known(figure):
            return None
        return figure <= self.bound if self.kind == "at most" else figure >= self.bound

    def outcome(self, figure: float | None) -> str:
        """Plain words for the cell beside the goal.

        >>> Goal("at least", 0.97, as_score).outcome(0.91)
        'missed by 0.060'
        >>> Goal("at most", 1 / 5, as_ratio).outcome(0.3)
        'missed: 1.5 times the goal'
        >>> Goal("at most", 60.0, lambda figure: f"{figure:.1f} µs/KB").outcome(62.2)
        'missed by 2.2 µs/KB'
        """
        reached = self.reached(figure)
        if reached is None or figure is None:
            return NOT_MEASURED
        if reached:
            return "reached"
        gap = abs(figure - self.bound)
        if self.show is as_ratio:
            return f"missed: {_at_least_shown(figure / self.bound, 0.1, 1.0):.1f} times the goal"
        if self.show is as_fraction:
            return f"missed by {_at_least_shown(gap, 0.0001):.4f}"
        if self.show is as_per_thousand:
            return f"missed by {_at_least_shown(gap, 0.1):.1f}"
        if self.show is as_score:
            return f"missed by {_at_least_shown(gap, 0.001):.3f}"
        if self.show in (as_share, as_points):
            return f"missed by {_at_least_shown(100 * gap, 0.1):.1f} points"
        return f"missed by {self.show(gap)}"


def _at_least_shown(gap: float, step: float, zero: float = 0.0) -> float:
    """The gap, but never so small that it would be printed as none."""
    return max(gap, zero + step)
