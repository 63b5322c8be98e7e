"""Words that hardly ever change: where nearly all results had one and the same, another one is odd."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from zlib import crc32

__all__ = ["Constants"]

MAX_PLACES: Final = 128
MAX_LENGTH: Final = 64  # characters; longer ones are texts
_DIGIT = re.compile(r"\d")  # what has one is a date, a version or a number, and moves on
MAX_OTHERS: Final = 3  # values beside the usual one
MOST_OTHERS: Final = 0.05  # of all, beyond which a place has no usual value
READ: Final = 6  # of the values at one place of one result


class Constants:
    """By place the checksum of the usual value, how often it came, and those of the few others that came.

    >>> constants = Constants()
    >>> for _ in range(40):
    ...     constants.push({"currency": ["EUR"]}, ["currency"])
    >>> constants.odd({"currency": ["USD"]})
    [('currency', 'USD', 0.0120...)]
    """

    __slots__ = ("usual", "varied")

    def __init__(self) -> None:
        self.usual: dict[str, tuple[int, int]] = {}
        self.varied: dict[str, dict[int, int] | None] = {}  # the others, where there were any; None: too many

    def odd(self, values: Mapping[str, Sequence[Any]]) -> list[tuple[str, str, float]]:
        """Place, value and chance of each value that is not the usual one of its place.

        Of ``n`` values ``k`` of which were this one, the next is it with the chance ``(k + 1/2) / (n + 3/2)``; with
        ``k`` the number of other values, where it is new.
        """
        found = []
        for place, (usual, times) in self.usual.items():
            for value in values.get(place, ())[:READ]:
                if type(value) is str and len(value) <= MAX_LENGTH and not _DIGIT.search(value):
                    mark = _mark(value)
                    if mark != usual:
                        others = self.varied.get(place) or {}
                        seen = others.get(mark, len(others))
                        found.append((place, value, (seen + 0.5) / (times + sum(others.values()) + 1.5)))
                        break
        return found

    def push(self, values: Mapping[str, Sequence[Any]], places: Iterable[str]) -> None:
        """Count the first value at each of these places, and any that is not the usual one."""
        for place in places:
            if place in self.varied and self.varied[place] is None:
                continue
            mark: int | None = None
            for value in values.get(place, ())[:READ]:
                if type(value) is not str or len(value) > MAX_LENGTH or _DIGIT.search(value):
                    self._vary(place)
                    break
                if mark is None:
                    mark = _mark(value)
                    self._count(place, mark)
                elif _mark(value) != mark:
                    self._count(place, _mark(value))
                    break

    def _count(self, place: str, mark: int) -> None:
        known = self.usual.get(place)
        if known is None:
            if len(self.varied) < MAX_PLACES and len(self.usual) < MAX_PLACES and place not in self.varied:
                self.usual[place] = mark, 1
            return
        usual, times = known
        if mark == usual:
            self.usual[place] = usual, times + 1
            return
        others = self.varied.setdefault(place, {})
        if others is not None:
            others[mark] = others.get(mark, 0) + 1
            if len(others) > MAX_OTHERS or sum(others.values()) > max(MOST_OTHERS * times, 1.0):
                self._vary(place)

    def _vary(self, place: str) -> None:
        self.usual.pop(place, None)
        if len(self.varied) < 2 * MAX_PLACES:
            self.varied[place] = None


def _mark(value: str) -> int:
    return crc32(value.encode("utf-8", "surrogatepass"))
