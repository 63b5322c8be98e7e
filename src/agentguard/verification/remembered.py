"""What was worked out before, up to a total weight: the first remembered is the first forgotten."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from agentguard import forks

__all__ = ["Remembered"]

Value = TypeVar("Value")


class Remembered(Generic[Value]):
    """Values by key. Thread-safe.

    Args:
        room: the weight that all values may have together; one that takes more than a hundredth is not remembered.

    >>> squares: Remembered[int] = Remembered(room=300)
    >>> for n in range(200):
    ...     squares.put(n, n * n, weight=2)
    >>> squares.get(199), squares.get(0), len(squares)
    (39601, None, 150)
    """

    __slots__ = ("_lock", "_room", "_share", "_values", "_weights")

    def __init__(self, room: int) -> None:
        self._room = room
        self._share = room // 100
        self._values: dict[Any, Value] = {}
        self._weights: dict[Any, int] = {}
        self._lock = forks.lock(forks.Rank.LEAF)

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Any) -> Value | None:
        return self._values.get(key)

    def put(self, key: Any, value: Value, weight: int) -> None:
        """Remember a value, and forget the oldest ones as far as it needs their room."""
        if weight > self._share:
            return
        with self._lock:
            if key in self._values:
                return
            self._values[key] = value
            self._weights[key] = weight
            self._room -= weight
            while self._room < 0:
                oldest = next(iter(self._values))
                del self._values[oldest]
                self._room += self._weights.pop(oldest)
