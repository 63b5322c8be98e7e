"""A figure over families: mean, 95% interval, and the worst family beside it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

__all__ = ["Figure", "middle_95", "over_families", "resamples"]

T = TypeVar("T")

RESAMPLES, SEED = 500, 20_250_106


class Figure(NamedTuple):
    """A mean over families, each counting alike.

    Attributes:
        mean: the mean.
        low, high: its 95% interval, by bootstrap over families.
        families: how many there are.
        worst: the worst family's figure.
        worst_family: its name.
    """

    mean: float
    low: float
    high: float
    families: int
    worst: float
    worst_family: str


def over_families(by_family: Mapping[str, float], *, worst: Callable[[Sequence[float]], float] = min) -> Figure | None:
    """The figure of these families; None without any. ``worst`` is ``max`` where small is good."""
    if not by_family:
        return None
    values = list(by_family.values())
    low, high = middle_95(sum(drawn) / len(drawn) for drawn in resamples(values))
    extreme = worst(values)
    name = next(name for name, value in by_family.items() if value == extreme)
    return Figure(sum(values) / len(values), low, high, len(values), extreme, name)


def resamples(units: Sequence[T]) -> Iterator[list[T]]:
    """Samples of the units, as many and drawn with replacement."""
    rng = random.Random(SEED)
    return (rng.choices(units, k=len(units)) for _ in range(RESAMPLES))


def middle_95(values: Iterable[float]) -> tuple[float, float]:
    """The 2.5% and 97.5% points.

    >>> middle_95(range(1001))
    (25, 975)
    """
    ranked = sorted(values)
    return ranked[round(0.025 * (len(ranked) - 1))], ranked[round(0.975 * (len(ranked) - 1))]
