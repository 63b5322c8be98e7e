"""How often Python's garbage collector looks through what a log has taught."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["ALLOCATIONS", "collect_seldom", "collecting_seldom"]

ALLOCATIONS: Final = 100_000


def collect_seldom() -> None:
    """Look for garbage once in 100,000 new objects, and not in 700.

    A log of many tools makes millions of objects that stay, and none that only a collector would find: with Python's
    own thresholds a fifth to a half of the time is spent on looking through them again and again.
    """
    gc.set_threshold(ALLOCATIONS, *gc.get_threshold()[1:])


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """The same for as long as it lasts."""
    before = gc.get_threshold()
    collect_seldom()
    try:
        yield
    finally:
        gc.set_threshold(*before)
