"""Work on large results in a thread, so that an event loop does not wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar

__all__ = ["apart", "is_large"]

LARGE: Final = 1 << 17  # characters: some milliseconds' work
MOST_LOOKED: Final = 2_000  # values that are looked at to know; what has more of them is large

T = TypeVar("T")


async def apart(work: Callable[..., T], *args: Any, about: Any) -> T:
    """Do some work: at once, or in a thread where what it is about is large.

    Args:
        work: a function; it must not call back into the loop.
        args: what it is called with.
        about: the value whose size decides.
    """
    return await asyncio.to_thread(work, *args) if is_large(about) else work(*args)


def is_large(value: Any) -> bool:
    """A value holds more than 128 KiB of text, or 2,000 values.

    >>> is_large({"rows": [1, 2, 3]}), is_large(["x" * 100_000, "y" * 100_000]), is_large([[]] * 3_000)
    (False, True, True)
    """
    characters, looked = 0, 0
    pending = [value]
    while pending:
        item = pending.pop()
        looked += 1
        if isinstance(item, (str, bytes, bytearray)):
            characters += len(item)
        elif isinstance(item, dict):
            looked += len(item)
            if looked <= MOST_LOOKED:
                pending += item.values()
        elif isinstance(item, (list, tuple)):
            if looked + len(item) > MOST_LOOKED:
                return True
            pending += item
        elif item is not None and not isinstance(item, (bool, int, float)):
            pending += _fields_of(item)
        if characters > LARGE or looked > MOST_LOOKED:
            return True
    return False


def _fields_of(value: Any) -> list[Any]:
    """Return the values that an object of a foreign class holds; none where it does not say."""
    try:
        return [each for each in vars(value).values() if isinstance(each, (str, bytes, dict, list, tuple))]
    except Exception:  # a foreign object's own code may fail at any question
        return []
