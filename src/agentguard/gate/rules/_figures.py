"""Hold the figures of a claim against a passage's: numbers with units, dates, times, and limits (at least, up to).

A number is said by a passage if a number of it lies within what the claim's last digit and "about" or "over" leave
open, in the same unit or a convertible one. If none does, the one that stands in its place is named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from agentguard.content.grounding._values import Quantity, Stated
from agentguard.gate.rules._reading import Reading
from agentguard.gate.rules._words import root

MAX_FIGURES: Final = 40  # of a claim; further ones are not held against anything
_UPPER: Final = (
    r"within|up to|at most|no more than|not more than|no later than|not exceed(?:ing)?|under|less than|below|"
    r"fewer than|maximum(?: of)?|a max(?:imum)? of|limited to|before|until"
)
_LOWER: Final = (
    r"at least|no less than|not less than|no fewer than|more than|over|above|exceed(?:s|ing)?|minimum(?: of)?|from|"
    r"after|starting at|as (?:many|much) as"
)
_BEFORE = re.compile(
    rf"\b(?:(?P<upper>{_UPPER})|(?P<lower>{_LOWER}))\s+(?:the |a |an |of )?(?:first )?[$€£¥₹]?$", re.IGNORECASE
)
_AFTER = re.compile(
    r"\W{0,3}(?:\w+\s+)?(?:(?P<lower>or (?:more|over|above|longer|later|greater|higher)|minimum|and (?:up|above|over))"
    r"|(?P<upper>or (?:less|fewer|under|below|sooner|earlier|lower)|maximum|max\b|at most))",
    re.IGNORECASE,
)
_NOUN = re.compile(r"[\s-]{1,2}(?:(?:business|working|calendar|full|consecutive) )?([^\W\d_]{2,30})")


class Figure(NamedTuple):
    """Figure of a claim beside those of a passage.

    Attributes:
        kind: ``number`` or ``date``.
        start, end: Where the claim says it.
        positions: The numbers of the passage's tokens that say it; empty if none does.
        rival: The characters of another figure of the same kind that the passage says in its place. Where there are
            positions too, the passage says the figure elsewhere, and the rival where it speaks of the same.
        limits: ``upper`` and ``lower`` where claim and passage set opposite limits by it, else nothing.
    """

    kind: str
    start: int
    end: int
    positions: tuple[int, ...]
    rival: tuple[int, int] | None
    limits: str = ""


def figures(claim: Reading, passage: Reading, windows: Sequence[tuple[int, int]]) -> list[Figure]:
    """Each figure of a claim beside those of a passage; rivals are looked for in the window of the claim's sentence.

    >>> claim, passage = Reading("Returns within 45 days."), Reading("Items can be returned within 30 days.")
    >>> found = figures(claim, passage, [(0, 0)])[0]
    >>> claim.text[found.start : found.end], passage.text[slice(*(found.rival or ()))]
    ('45 days', '30 days')
    """
    if not any(token.kind == "figure" for token in claim.tokens) and not claim.moments:
        return []
    quantities = [quantity for quantity in claim.quantities[:MAX_FIGURES] if quantity.readings]
    return [
        *(_number(claim, each, passage, *_span(claim, each.start, passage, windows)) for each in quantities),
        *(_moment(each, passage, *_span(claim, each.start, passage, windows)) for each in claim.moments[:MAX_FIGURES]),
    ]


def _span(claim: Reading, at: int, passage: Reading, windows: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The characters of the passage that the sentence of the claim's character is held against."""
    if not claim.tokens:
        return 0, 0
    first, last = windows[claim.tokens[claim.token_at(at)].sentence]
    return passage.sentences[first][0], passage.sentences[last][1]


def _number(claim: Reading, quantity: Quantity, passage: Reading, begin: int, end: int) -> Figure:
    index, owners = passage.numbers
    found = dict.fromkeys(
        owners[match.place] for match in index.within(quantity, 20) if match.how != "without its sign"
    )
    said = [passage.quantities[owner] for owner in found]
    noun = _noun(claim.text, quantity)
    if quantity.readings[0].unit is None and noun:
        said.sort(key=lambda other: _noun(passage.text, other) != noun)
    positions = tuple(passage.token_at(other.start) for other in said)
    if not said:
        return Figure("number", quantity.start, quantity.end, (), _rival(quantity, noun, passage, begin, end))
    if not any(begin <= other.start < end for other in said):
        return Figure("number", quantity.start, quantity.end, positions, _rival(quantity, noun, passage, begin, end))
    ours = _limit(claim.text, quantity)
    theirs = {_limit(passage.text, other) for other in said if begin <= other.start < end}
    opposite = {"upper": "lower", "lower": "upper"}.get(ours, "")
    limits = ours if opposite in theirs and ours not in theirs else ""
    rival = next(
        ((other.start, other.end) for other in said if limits and _limit(passage.text, other) == opposite), None
    )
    return Figure("number", quantity.start, quantity.end, positions, rival, limits)


def _rival(quantity: Quantity, noun: str, passage: Reading, begin: int, end: int) -> tuple[int, int] | None:
    """Find another number of the same unit, or of the same noun, in the passage's sentences."""
    unit = quantity.readings[0].unit
    for other in passage.quantities:
        if not begin <= other.start < end or not other.readings:
            continue
        theirs = other.readings[0].unit
        alike = theirs is not None and theirs.dimension == unit.dimension if unit else theirs is None
        if alike and (unit is not None or (noun and _noun(passage.text, other) == noun)):
            return other.start, other.end
    return None


def _noun(text: str, quantity: Quantity) -> str:
    match = _NOUN.match(text, quantity.end)
    return root(match[1]) if match else ""


def _limit(text: str, quantity: Quantity) -> str:
    """``upper`` or ``lower`` where a number bounds something, by the words around it."""
    before = _BEFORE.search(text, max(0, quantity.start - 24), quantity.start)
    if before is not None:
        return str(before.lastgroup)
    after = _AFTER.match(text, quantity.end, quantity.end + 40)
    return str(after.lastgroup) if after is not None else ""


def _moment(stated: Stated, passage: Reading, begin: int, end: int) -> Figure:
    positions = tuple(
        passage.token_at(other.start)
        for other in passage.moments
        if any(one.agrees(two) for one in stated.readings for two in other.readings)
    )
    is_clock = stated.readings[0].day is None and stated.readings[0].month is None
    rival = next(
        (
            (other.start, other.end)
            for other in passage.moments
            if begin <= other.start < end and (other.readings[0].month is None) == is_clock
        ),
        None,
    )
    return Figure("date", stated.start, stated.end, positions, None if positions else rival)
