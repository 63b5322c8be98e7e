"""Hold the figures of a claim against a passage's: numbers with units, dates, times, and limits (at least, up to).

A number is said by a passage if a number of it lies within what the claim's last digit and "about" or "over" leave
open, in the same unit or a convertible one. If none does, the one that stands in its place is named. "Every year" and
"twice" are numbers, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from typing import Final, NamedTuple

from agentguard.content.grounding._sources import Match
from agentguard.content.grounding._values import Quantity, Stated, Unit
from agentguard.gate.rules._reading import Reading
from agentguard.gate.rules._words import root

MAX_FIGURES: Final = 40  # of a claim; further ones are not held against anything
EXACT: Final = 0.005  # of times that are converted, as a share: floating point and the leap day, no rounding
ROUNDED: Final = 0.05  # of other quantities: what conversion to another unit is commonly rounded by
_UPPER: Final = (
    r"within|up to|at most|no more than|not more than|no later than|not exceed(?:ing)?|under|less than|below|"
    r"fewer than|maximum(?: of)?|a max(?:imum)? of|limited to|before|until|as (?:many|much) as"
)
_LOWER: Final = (
    r"at least|no less than|not less than|no fewer than|more than|over|above|exceed(?:s|ing)?|minimum(?: of)?|from|"
    r"after|starting at"
)
_BEFORE = re.compile(
    rf"\b(?:(?P<upper>{_UPPER})|(?P<lower>{_LOWER}))\s+(?:the |a |an |of )?(?:first )?[$€£¥₹]?$", re.IGNORECASE
)
_AFTER = re.compile(
    r"\W{0,3}(?:\w+\s+)?(?:(?P<lower>or (?:more|over|above|longer|later|greater|higher)|minimum|and (?:up|above|over))"
    r"|(?P<upper>or (?:less|fewer|under|below|sooner|earlier|lower)|maximum|max\b|at most))",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"\W{0,3}(?:or (?:more|earlier) )?(?:before|prior|ahead|beforehand|in advance|earlier)\b", re.IGNORECASE
)
# Of a time before something else, the latest is the least: "no later than 36 hours before departure".
_LATEST = re.compile(r"(?:no|not) later than|up to|until", re.IGNORECASE)
_NOUN = re.compile(r"[\s-]{1,2}(?:(?:business|working|calendar|full|consecutive) )?([^\W\d_]{2,30})")


class Figure(NamedTuple):
    """Figure of a claim beside those of a passage.

    Attributes:
        kind: ``number`` or ``date``.
        start, end: Where the claim says it.
        positions: The numbers of the passage's tokens that say it; empty if none does.
        tokens: The numbers of all tokens of the passage that are part of saying it.
        rival: The characters of another figure of the same kind that the passage says in its place. Where there are
            positions too, the passage says the figure elsewhere, and the rival where it speaks of the same.
        limits: ``upper`` and ``lower`` where claim and passage set opposite limits by it, else nothing.
    """

    kind: str
    start: int
    end: int
    positions: tuple[int, ...]
    tokens: tuple[int, ...]
    rival: tuple[int, int] | None
    limits: str = ""


def figures(claim: Reading, passage: Reading, windows: Sequence[tuple[int, int]]) -> list[Figure]:
    """Each figure of a claim beside those of a passage; rivals are looked for in the window of the claim's sentence.

    >>> claim, passage = Reading("Returns within 45 days."), Reading("Items can be returned within 30 days.")
    >>> found = figures(claim, passage, [(0, 0)])[0]
    >>> claim.text[found.start : found.end], passage.text[slice(*(found.rival or ()))]
    ('45 days', '30 days')
    """
    quantities = [quantity for quantity in claim.quantities[:MAX_FIGURES] if quantity.readings]
    numbers = [_number(claim, each, passage, *_span(claim, each.start, passage, windows)) for each in quantities]
    # What another figure of the claim says stands in no figure's place.
    for number, (figure, quantity) in enumerate(zip(numbers, quantities, strict=True)):
        taken = {each for other in numbers if other is not figure for each in other.tokens}
        if figure.rival is not None and not figure.limits and passage.token_from(figure.rival[0]) in taken:
            span = _span(claim, quantity.start, passage, windows)
            numbers[number] = figure._replace(rival=_rival(claim, quantity, passage, *span, taken))
    return [
        *numbers,
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
        owners[match.place]
        for match in index.within(quantity, 20)
        if match.how != "without its sign" and _is_close(match, index.numbers[match.place])
    )
    said = [passage.quantities[owner] for owner in found]
    noun = _noun(claim.text, quantity)
    if quantity.readings[0].unit is None and noun:
        said.sort(key=lambda other: _noun(passage.text, other) != noun)
    spans = [(other.start, other.end) for other in said] or _dates_of_year(quantity, passage)
    positions, tokens = _tokens_of(passage, spans)
    kind = "period" if quantity.digits == 0 else "number"
    figure = Figure(kind, quantity.start, quantity.end, positions, tokens, None)
    if not any(begin <= start < end for start, _ in spans):
        return figure._replace(rival=_rival(claim, quantity, passage, begin, end))
    ours = _limit(claim.text, quantity)
    theirs = {_limit(passage.text, other) for other in said if begin <= other.start < end}
    opposite = {"upper": "lower", "lower": "upper"}.get(ours, "")
    limits = ours if opposite in theirs and ours not in theirs else ""
    rival = next(
        ((other.start, other.end) for other in said if limits and _limit(passage.text, other) == opposite), None
    )
    return figure._replace(rival=rival, limits=limits)


def _tokens_of(passage: Reading, spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The first token of each span, and all of their tokens."""
    ends = [(passage.token_from(start), passage.token_at(max(start, end - 1)) + 1) for start, end in spans]
    return tuple(first for first, _ in ends), tuple(token for span in ends for token in range(*span))


def _is_close(match: Match, number: tuple[float, Unit | None]) -> bool:
    """Whether a converted number is the same, not just what rounds to it: 2 weeks are 14 days and not 12."""
    value, unit = number
    if match.how != "converted" or unit is None or match.reading.unit is None:
        return True
    one = match.reading.value * match.reading.unit.factor + match.reading.unit.offset
    two = value * unit.factor + unit.offset
    return abs(one - two) <= (EXACT if _sort(unit) == "time" else ROUNDED) * max(abs(one), abs(two))


def _dates_of_year(quantity: Quantity, passage: Reading) -> list[tuple[int, int]]:
    """The dates of the year that a number can be."""
    value, unit = quantity.readings[0].value, quantity.readings[0].unit
    if unit is not None or quantity.end - quantity.start != 4 or not 1000 <= value < 3000:
        return []
    moments = (each for each in passage.moments if any(moment.year == value for moment in each.readings))
    return [(each.start, each.end) for each in moments]


def _sort(unit: Unit | None) -> str:
    """The sort of what a unit measures: figures of one sort can stand in each other's place, convertible or not."""
    if unit is None:
        return ""
    if unit.dimension in {"months", "business days"}:
        return "time"
    return "money" if unit.dimension.isupper() else unit.dimension


def _is_period(reading: Reading, quantity: Quantity) -> bool:
    """Whether a quantity says how often: "weekly", "every 12 months"."""
    before = reading.text[max(0, quantity.start - 6) : quantity.start].casefold()
    return quantity.digits == 0 or before.endswith(("every ", "each "))


def _rival(
    claim: Reading, quantity: Quantity, passage: Reading, begin: int, end: int, taken: Set[int] = frozenset()
) -> tuple[int, int] | None:
    """Find another number of the same sort, of the same noun or of the same value, in the passage's sentences.

    Numbers at tokens that are taken are none.
    """
    first = quantity.readings[0]
    for other in passage.quantities:
        if not begin <= other.start < end or not other.readings or passage.token_from(other.start) in taken:
            continue
        if _is_period(claim, quantity) != _is_period(passage, other) and 0 in {quantity.digits, other.digits}:
            continue
        if _are_alike(claim, quantity, passage, other):
            return other.start, other.end
    for other in passage.quantities:
        if passage.token_from(other.start) in taken:
            continue
        if begin <= other.start < end and other.readings and other.readings[0].value == first.value:
            return (other.start, other.end) if first.unit and other.digits else None
    return None


def rivals(claim: Reading, figure: Figure, passage: Reading) -> Iterator[tuple[int, int]]:
    """Yield the numbers of a passage that are of a figure's sort and of its noun, as spans of characters."""
    quantity = next((each for each in claim.quantities if each.start == figure.start and each.readings), None)
    if quantity is None or figure.kind == "date":
        return
    for other in passage.quantities:
        is_same = other.readings and _is_period(claim, quantity) == _is_period(passage, other)
        if is_same and _are_alike(claim, quantity, passage, other):
            yield other.start, other.end


def _are_alike(claim: Reading, quantity: Quantity, passage: Reading, other: Quantity) -> bool:
    """Whether two numbers are of one sort, or count what has one name."""
    ours, theirs = quantity.readings[0].unit, other.readings[0].unit
    if ours is not None:
        return _sort(theirs) == _sort(ours)
    noun = _noun(claim.text, quantity)
    return theirs is None and noun != "" and _noun(passage.text, other) == noun


def _noun(text: str, quantity: Quantity) -> str:
    match = _NOUN.match(text, quantity.end)
    return root(match[1]) if match else ""


def _limit(text: str, quantity: Quantity) -> str:
    """``upper`` or ``lower`` where a number bounds something, by the words around it."""
    before = _BEFORE.search(text, max(0, quantity.start - 24), quantity.start)
    if before is not None:
        if _LATEST.match(before[0]) and _LEAD.match(text, quantity.end):
            return "lower"
        return str(before.lastgroup)
    after = _AFTER.match(text, quantity.end, quantity.end + 40)
    return str(after.lastgroup) if after is not None else ""


def _moment(stated: Stated, passage: Reading, begin: int, end: int) -> Figure:
    same = (
        (other.start, other.end)
        for other in passage.moments
        if any(one.agrees(two) for one in stated.readings for two in other.readings)
    )
    positions, tokens = _tokens_of(passage, list(same))
    is_clock = stated.readings[0].day is None and stated.readings[0].month is None
    rival = next(
        (
            (other.start, other.end)
            for other in passage.moments
            if begin <= other.start < end and (other.readings[0].month is None) == is_clock
        ),
        None,
    )
    return Figure("date", stated.start, stated.end, positions, tokens, None if positions else rival)
