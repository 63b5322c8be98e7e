"""Finds what a model quotes in the text that it quotes from: case, white space and kinds of quotation marks aside."""

from __future__ import annotations

import re
from functools import cached_property

__all__ = ["SearchedText", "count_quoted_words"]

MAX_QUOTE_CHARS = 20_000
MAX_HITS = 1_000  # that are parts of longer words; a text of one repeated word would be searched for ever

_SIGNS = str.maketrans("‘’‚‛“”„‟‐‑‒–—―−", "''''\"\"\"\"-------")  # noqa: RUF001  these signs are what it is about
_ENDS = " \t\r\n\"'.,;:…"
_WORD = re.compile(r"\w+")


class SearchedText:
    r"""A text in which quotations are looked up.

    >>> passage = SearchedText("Returns are taken back\nwithin 30 days, or 130 for members.")
    >>> passage.find("\u201cReturns are taken  back within 30 days.\u201d")
    (0, 37)
    >>> passage.find("30 for members") is None
    True
    """

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _read(self) -> tuple[str, list[int]]:
        """The text as it is compared, and where each of its characters stands."""
        characters: list[str] = []
        places: list[int] = []
        for place, character in enumerate(self.text.translate(_SIGNS)):
            if character.isspace():
                if not characters or characters[-1] == " ":
                    continue
                character = " "
            characters.append(_folded(character))
            places.append(place)
        return "".join(characters), places

    def find(self, quote: str) -> tuple[int, int] | None:
        """Where the text says this for the first time, in characters of the text as it is; None where it does not.

        Words and numbers are found whole: ``30`` is no part of ``130``, nor of ``30.5``.
        """
        if len(quote) > MAX_QUOTE_CHARS:
            return None
        sought = "".join(map(_folded, " ".join(quote.translate(_SIGNS).split()).strip(_ENDS)))
        if not sought:
            return None
        read, places = self._read
        at = read.find(sought)
        for _ in range(MAX_HITS):
            if at < 0:
                break
            end = at + len(sought)
            if not (_joined(read, at) or _joined(read, end)):
                return places[at], places[end - 1] + 1
            at = read.find(sought, at + 1)
        return None


def count_quoted_words(quote: str) -> int:
    """How many words and numbers a quotation has."""
    return len(_WORD.findall(quote))


def _folded(character: str) -> str:
    lower = character.lower()
    return lower if len(lower) == 1 else character


def _joined(text: str, at: int) -> bool:
    """Whether a word or a number goes on across this place."""
    before, after = text[max(0, at - 2) : at], text[at : at + 2]
    if not before or not after:
        return False
    if before[-1].isalnum() and after[0].isalnum():
        return True
    inside = before[-1].isdigit() and len(after) == 2 and after[0] in ".," and after[1].isdigit()
    behind = after[0].isdigit() and len(before) == 2 and before[1] in ".," and before[0].isdigit()
    return inside or behind
