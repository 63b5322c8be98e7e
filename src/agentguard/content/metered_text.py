"""A string that counts how often it is looked into, so that a parser which would not end soon can be stopped."""

from __future__ import annotations

from typing import Any

__all__ = ["Exhausted", "MeteredText"]


class Exhausted(Exception):  # no error: the end of what a parser may spend
    """A metered text was looked into more often than it allows."""


class MeteredText(str):
    """A string that allows so many characters to be read from it by index, slice or search.

    What begins at its beginning, and what is joined to that, is metered with it; any other part is a plain string.

    Raises:
        Exhausted: on the read that goes beyond.

    >>> text = MeteredText("abcdef", 10)
    >>> text[0], text[2:4], text[:3] + "x"
    ('a', 'cd', 'abcx')
    >>> text[0:6]
    Traceback (most recent call last):
    ...
    agentguard.content.metered_text.Exhausted
    """

    _left: list[int]

    def __new__(cls, text: str, allowed: int) -> MeteredText:
        metered = super().__new__(cls, text)
        metered._left = [allowed]
        return metered

    def __getitem__(self, where: Any) -> str:
        part = super().__getitem__(where)
        self._spend(len(part))
        return self._metered(part) if isinstance(where, slice) and not where.start else part

    def __add__(self, other: str) -> str:
        return self._metered(super().__add__(other))

    def find(self, *what: Any) -> int:
        """As of any string; what is passed over counts as read, a sixteenth of it."""
        found = super().find(*what)
        start = what[1] if len(what) > 1 else 0
        self._spend(((found if found >= 0 else len(self)) - start) // 16 + 1)
        return found

    def _metered(self, part: str) -> MeteredText:
        metered = MeteredText(part, 0)
        metered._left = self._left
        return metered

    def _spend(self, characters: int) -> None:
        self._left[0] -= characters
        if self._left[0] < 0:
            raise Exhausted
