"""What is held out: used for no choice of design, and reported by itself.

The rule was fixed before anything was measured: in alphabetical order, every third family and every third fault kind.
A cell of family and fault is held out where either is.
"""

from __future__ import annotations

from collections.abc import Iterable

from .families import FAMILIES
from .faults import FAULTS

__all__ = ["HELD_OUT_FAMILIES", "HELD_OUT_FAULTS", "every_third", "held_out"]


def every_third(names: Iterable[str]) -> frozenset[str]:
    """The third, sixth, … in alphabetical order.

    >>> sorted(every_third("fcadeb"))
    ['c', 'f']
    """
    return frozenset(sorted(names)[2::3])


HELD_OUT_FAMILIES = every_third(FAMILIES)
HELD_OUT_FAULTS = every_third(FAULTS)


def held_out(family: str, fault: str) -> bool:
    """Whether a cell was used for no choice."""
    return family in HELD_OUT_FAMILIES or fault in HELD_OUT_FAULTS
