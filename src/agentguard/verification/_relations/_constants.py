"""A path has one of a few values, those that came there before."""

from __future__ import annotations

from typing import Final

from agentguard.verification._sides import Side, is_word

MOST_PLACES: Final = 60
MOST_VALUES: Final = 12  # at one path, beyond which it is no constant
FEWEST: Final = 8  # values seen
MOST_OTHERS: Final = 0.1  # of the values, beyond which there is no usual one
LONGEST: Final = 1_024.0


class Constants:
    """By path how often each value came; none where there were too many.

    >>> constants = Constants()
    >>> for _ in range(40):
    ...     constants.learn(Side({"currency": ["EUR"]}))
    >>> constants.new_value(Side({"currency": ["USD"]}))
    ('currency', 0.0120..., 40)
    """

    __slots__ = ("places",)

    def __init__(self) -> None:
        self.places: dict[str, dict[int, float] | None] = {}

    def new_value(self, result: Side, asked: frozenset[int] = frozenset()) -> tuple[str, float, int]:
        """The path whose new value is the least likely, its chance, and how many values came there; ("", 1, 0) without.

        The chance of a new value after n, k of which were other than the usual one, is ``(k + 1/2) / (n + 3/2)``, times
        half the number of places that might have had one.

        Args:
            result: the result.
            asked: marks of what the arguments say, which is no new value.
        """
        where, least, times = "", 1.0, 0
        for path, known in self.places.items():
            if known is None:
                continue
            for mark in result.marks(path):
                if mark not in known and is_word(mark) and mark not in asked:
                    total = sum(known.values())
                    others = total - max(known.values(), default=0.0)
                    if total >= FEWEST and others <= MOST_OTHERS * total:
                        p = (others + 0.5) / (total + 1.5)
                        if p < least:
                            where, least, times = path, p, int(total)
                    break
        return where, least, times

    def learn(self, result: Side) -> None:
        """Count the values of a genuine result."""
        places = self.places
        for path in result.paths:
            known = places.get(path)
            if known is None:
                if path in places or len(places) >= MOST_PLACES:
                    continue
                known = places[path] = {}
            marks = result.marks(path)
            for mark in set(marks) if len(marks) > 1 else marks:
                if not is_word(mark):
                    places[path] = None
                    break
                count = known.get(mark, 0.0)
                if count == 0.0 and len(known) >= MOST_VALUES:
                    places[path] = None
                    break
                known[mark] = count + 1.0
                if count >= LONGEST:
                    for each in known:
                        known[each] *= 0.5
