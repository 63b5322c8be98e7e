"""A bounded mapping whose content does not depend on the order in which it was filled."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from heapq import heappush, heappushpop
from typing import Any, Generic, TypeVar

__all__ = ["Kept", "rank_of"]

K = TypeVar("K", str, int)
V = TypeVar("V")


def rank_of(text: str) -> int:
    """64 bits of a name: in this order, the first k names are a sample of all of them."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")


class Kept(Generic[K, V]):
    """At most ``limit`` entries, those whose keys rank lowest (a bottom-k sample, Cohen & Kaplan 2007).

    A key that is among the lowest of all is among the lowest of every part that it occurs in, so it was never left out
    on the way: what is counted of it is complete. Parts of a log may therefore be counted anywhere and merged in any
    order.

    Args:
        limit: how many entries to keep.
        new: makes the value of a key that is new.
        rank: the order of the keys.

    >>> kept = Kept(2, list, rank=lambda number: number)
    >>> for number in (5, 1, 3, 1):
    ...     if (seen := kept.at(number)) is not None:
    ...         seen.append("seen")
    >>> kept.entries, kept.is_cut
    ({1: ['seen', 'seen'], 3: ['seen']}, True)
    """

    __slots__ = ("_heap", "_new", "_rank", "entries", "is_cut", "limit")

    def __init__(self, limit: int, new: Callable[[], V], rank: Callable[[K], Any]) -> None:
        self.limit = limit
        self.entries: dict[K, V] = {}
        self.is_cut = False  # more than ``limit`` distinct keys were there
        self._new = new
        self._rank: Callable[[Any], Any] = rank
        self._heap: list[_Last] = []

    def at(self, key: K) -> V | None:
        """The value under a key, a new one where it is new; None where it is left out."""
        value = self.entries.get(key)
        if value is not None:
            return value
        place = _Last(self._rank(key), key)
        if len(self.entries) < self.limit:
            heappush(self._heap, place)
        else:
            self.is_cut = True
            if place < self._heap[0]:
                return None
            del self.entries[heappushpop(self._heap, place).key]
        value = self.entries[key] = self._new()
        return value


class _Last:
    """A key in the reverse order of the ranks, so that the heap gives up the last one first."""

    __slots__ = ("key", "rank")

    def __init__(self, rank: Any, key: Any) -> None:
        self.rank = rank
        self.key = key

    def __lt__(self, other: _Last) -> bool:
        return bool((self.rank, self.key) > (other.rank, other.key))
