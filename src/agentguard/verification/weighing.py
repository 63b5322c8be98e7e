"""How long the JSON of a value would be, known without writing it: what holds itself many times over has no end."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["MAX_WEIGHT", "weighs_too_much"]

MAX_WEIGHT: Final = 1 << 28  # characters
MOST_WRITTEN: Final = 254  # levels: orjson writes no more


def weighs_too_much(value: Any, most: int = MAX_WEIGHT) -> bool:
    """The JSON of a value would be far longer than the value is in memory: lists that hold the same object many times.

    Each container is looked at once, however often it is met, so the time is that of the value in memory.

    Args:
        value: any object.
        most: containers that are looked at; of more it is not known, and they weigh too much.
    """
    scales = _Scales(most)
    return scales.weigh(value, 0) > MAX_WEIGHT or scales.left < 0


class _Scales:
    """One weighing: the weight of each container met, and how many more may be met."""

    def __init__(self, most: int) -> None:
        self.left = most
        self._known: dict[int, int] = {}

    def weigh(self, value: Any, depth: int) -> int:
        """Characters of the JSON, roughly."""
        kind = type(value)
        if kind is str:
            return len(value)
        if (kind is not dict and kind is not list and kind is not tuple) or depth >= MOST_WRITTEN:
            return 4
        weight = self._known.get(id(value), -1)
        if weight >= 0 or self.left < 0:
            return weight
        self.left -= 1
        self._known[id(value)] = 0  # of a cycle
        weight = len(value)
        if kind is dict:
            for key in value:
                weight += len(key) if type(key) is str else 4
        for item in value.values() if kind is dict else value:
            inner = type(item)
            if inner is str:
                weight += len(item)
            elif inner is dict or inner is list or inner is tuple:
                weight += self.weigh(item, depth + 1)
            else:
                weight += 4
        self._known[id(value)] = weight
        return weight
