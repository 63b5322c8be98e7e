"""Places of an answer that come with the writing: numbers of sections, references, citations, ratings, programs.

What stands there is no statement about the world. Where no result has it, it is told apart from what is claimed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from agentguard.content._patterns import compiled, located

_REST: Final = r"(?:[^.!?;\n]|[.!?;][^\s.!?])*"  # of a sentence
_ITEMS: Final = r":[ \t]*(?:\n{1,2}[ \t]{0,8}(?:[-*•]|\d{1,2}[.)])[ \t][^\n]*)+"  # of a list below it

#: By what it is, a pattern whose first group is the place.
PATTERNS: Final = {
    "question": rf"(?:^|[.!?:\n])({_REST}\?)",
    # The writer will do it, a person would, or it holds only if something else does. A thing that "would cost 650" is a
    # price like any other.
    "plan, offer or condition": (
        r"(?i)\b((?:(?:I|we)(?:['’](?:ll|d)| will| can| might|['’]m going to| am going to| intend)"  # noqa: RUF001 - apostrophes as texts have them
        r"|once (?:I|you|we|he|she|it|they|the)"
        r"|(?:I|you|we|he|she|they) (?:would|could)|(?:would|could) (?:have|you|I|we)"
        rf"|if|unless|had I|(?:my|the) plan|next steps?)\b(?:{_REST}{_ITEMS}|{_REST}))"
    ),
    "number of a heading": r"(?m)^[ \t]*#{1,6}[ \t]*\**(\d+(?:\.\d+)*)[.):]?[ \t]",
    "reference": (
        r"(?i)\b(?:sections?|chapters?|steps?|tables?|figures?|fig\.|footnotes?|appendix|examples?)[ \t]"
        r"(\d{1,3}(?:\.\d{1,3})*(?:(?:,| and| to| or|–|-)[ \t]?\d{1,3}(?:\.\d{1,3})*)*)\b"
    ),
    "citation": r"(\[\^?\d{1,3}(?:[ \t]?[,–-][ \t]?\d{1,3})*\])(?:[^(]|$)",
    "the writer's rating": (
        r"(?i)\b(?:I|I['’]d|my)\b[^.\n\d]{0,40}\b(?:rate|rating|give|score|grade|confidence)\b[^.\n\d]{0,40}"  # noqa: RUF001 - apostrophes as texts have them
        r"(\d{1,3}(?:\.\d)?[ \t]?(?:/|out of)[ \t]?(?:5|10|100))\b"
    ),
    "phrase": (
        r"(?i)\b(24/7|50/50|360[°-]? ?degrees? (?:view|feedback)|"
        r"100[ \t]?% (?:sure|certain|confident|clear|right|correct))"
    ),
    # Only what is said to be a program: blocks of JSON or of plain text show what tools have said.
    "program": (
        r"(?ims)^[ \t]*```[ \t]*(?:python|py|js|javascript|jsx|ts|typescript|tsx|java|kotlin|swift|c|cpp|c\+\+|csharp|"
        r"cs|go|rust|ruby|php|perl|r|scala|bash|sh|shell|zsh|powershell|sql|html|css|dockerfile|makefile)[ \t]*$(.*?)"
        r"^[ \t]*```"
    ),
}


class Artefacts:
    r"""The places in one text.

    >>> places = Artefacts("## 3.2 Prices\n\nSee table 4: it costs 32.5 [12].")
    >>> [places.at(start, end) for start, end in ((3, 6), (25, 26), (37, 41), (43, 45))]
    ['number of a heading', 'reference', '', 'citation']
    """

    def __init__(self, text: str) -> None:
        self._places: list[tuple[int, int, str]] = []
        for place in sorted(_places(text), key=lambda place: (place[0], -place[1])):
            if not self._places or place[0] >= self._places[-1][1]:  # what lies within another one is a part of it
                self._places.append(place)
        self._starts = [start for start, _, _ in self._places]

    def at(self, start: int, end: int) -> str:
        """Name the kind of place that a part of the text lies in; empty if it lies in none."""
        number = bisect_right(self._starts, start) - 1
        return self._places[number][2] if number >= 0 and end <= self._places[number][1] else ""


def _places(text: str) -> Iterator[tuple[int, int, str]]:
    for what, pattern in PATTERNS.items():
        for _, place in located(compiled(pattern), text, 1):
            yield (*place, what)
