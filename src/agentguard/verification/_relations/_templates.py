"""Text of one form is a template with slots, and a slot is a field (after Drain: He et al. 2017)."""

from __future__ import annotations

import re
from typing import Final
from zlib import crc32

MOST_TEMPLATES: Final = 12
MOST_TOKENS: Final = 60
FEWEST_TOKENS: Final = 3
ALIKE: Final = 0.5  # share of a template's tokens that a text of its length must have, to be one of it
SLOT: Final = 0  # in the place of a token that changes
_TOKEN = re.compile(r"[\w@.\-#:/]+|[^\w\s]")


class Templates:
    """The templates of one tool's texts: marks of their tokens, no text.

    >>> templates = Templates()
    >>> for number in (1, 2):
    ...     templates.learn(f"Ticket {number} has been resolved.")
    >>> templates.slots("Ticket 7 has been resolved.")
    {'~0.1': '7'}
    """

    __slots__ = ("known",)

    def __init__(self) -> None:
        self.known: list[list[int]] = []

    def slots(self, text: str) -> dict[str, str]:
        """What stands in the slots of the text's template, and wherever it departs from it; nothing without one."""
        tokens = _tokens(text)
        marks = [_mark(token) for token in tokens]
        number = self._nearest(marks)
        if number is None:
            return {}
        found: dict[str, str] = {}
        for index, kept in enumerate(self.known[number]):
            if kept == SLOT or kept != marks[index]:
                found[f"~{number}.{index}"] = tokens[index].rstrip(".:")
        return found

    def learn(self, text: str) -> None:
        """Take a genuine text into account."""
        marks = [_mark(token) for token in _tokens(text)]
        number = self._nearest(marks)
        if number is not None:
            template = self.known[number]
            for index, mark in enumerate(marks):
                if template[index] != mark:
                    template[index] = SLOT
        elif len(marks) >= FEWEST_TOKENS and len(self.known) < MOST_TEMPLATES:
            self.known.append(marks)

    def _nearest(self, marks: list[int]) -> int | None:
        """The number of the template that most of these tokens are of."""
        best, number = int(ALIKE * len(marks) + 0.5), None
        for index, template in enumerate(self.known):
            if len(template) == len(marks):
                alike = 0
                for place, mark in enumerate(template):
                    if mark == marks[place]:
                        alike += 1
                if alike >= best and alike:
                    best, number = alike, index
        return number


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text[: MOST_TOKENS * 40])[:MOST_TOKENS]


def _mark(token: str) -> int:
    """Of a token; one with digits is a slot from the first."""
    if not token.isalpha() and any(map(str.isdigit, token)):
        return SLOT
    return crc32(token.encode("utf-8", "surrogatepass")) or 1
