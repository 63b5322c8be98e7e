"""A text read for comparison: roots, families, names, negations, sentences; its figures when asked for.

Linear in the text; what stands beyond ``MAX_CHARACTERS`` is not read.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Final

from agentguard.content._text import encodable, sentence_spans
from agentguard.content.grounding._sources import NumberIndex
from agentguard.content.grounding._values import (
    COUNTED,
    MAGNITUDES,
    NUMBER_WORDS,
    Quantity,
    Stated,
    Values,
    read,
    units_of,
)
from agentguard.content.grounding._values import Reading as Read
from agentguard.gate.rules._grammar import LIGHT, NEGATIONS
from agentguard.gate.rules._moments import moments_in_words
from agentguard.gate.rules._segments import Segment, segments
from agentguard.gate.rules._words import Token, family, root

MAX_CHARACTERS: Final = 40_000
MAX_CONTEXT: Final = 1_000
_TOKEN = re.compile(
    "\\d[\\d,.]{0,30}\\d(?![^\\W_])|[^\\W_]{1,60}(?:(?:[.'\u2019]|-(?!\\d{1,2}s\\b))[^\\W_]{1,60}){0,6}"
)
_BREAK = re.compile(r"(?<=°[CF]\.)\s|\n[ \t\r]*\n|\n(?=[ \t]{0,8}[#|*•-])|(?<=\|)[ \t]*\n")
_CUT = re.compile(r"(?<![\d.,])(\d{1,3}(?:\.|,(?= \d{3}))) (\d{1,3})(?!\d)")
_ADVERBS: Final = {
    "hourly": (1.0, "hour"), "daily": (1.0, "day"), "weekly": (1.0, "week"), "fortnightly": (2.0, "week"),
    "monthly": (1.0, "month"), "quarterly": (3.0, "month"), "yearly": (1.0, "year"), "annually": (1.0, "year"),
    "annual": (1.0, "year"), "twice": (2.0, ""), "thrice": (3.0, ""),
}  # fmt: skip
_PERIOD = re.compile(
    r"\b(?<!times )(?:(?:half\s+an?|every|each|per|an?)\s+"
    r"(?P<unit>minute|hour|day|night|week|fortnight|month|year|decade)"
    rf"|{'|'.join(_ADVERBS)})\b",
    re.IGNORECASE,
)
# What a rate is of: "per running metre", "per square foot".
_RATE = re.compile(r"\b(?:per|each)\s+(?P<unit>[a-z]{1,12})(?P<other> [a-z]{1,12})?\b", re.IGNORECASE)
_NO_QUANTITY = re.compile(r"\d[DG]")  # "3D", "5G"
_AGE_GROUP = re.compile(r"(?:(?<=\bunder)|(?<=\bover))-(\d{1,2})s?\b", re.IGNORECASE)  # "under-3s"
# The verb of "children under 14 may", for which a reader of dates takes a month.
_MAY = re.compile(r"(?<=\d )may\b")
_TIMES: Final = frozenset({"time", "months", "business days"})  # rates of them are periods
# A number that leaves out the unit of the one before it in a list: "the hall 18 euros and the studio 12".
_ELLIPSIS = re.compile(r"[ \t]*(?:[,.;:)]|$|(?:and|or|but|per|a|an|each|for|if|when|with|without)\b)")
_NO_ELLIPSIS = re.compile(
    r"\b(?:at|by|until|till|from|between|to|aged?|under|over|above|below|before|after|than|sections?|rooms?|rules?|no|of|"
    r"numbers?|pages?|articles?|clauses?|steps?|levels?|lines?|platforms?|gates?|plots?|in)\.?\s+$",
    re.IGNORECASE,
)
_LIST_LINK = re.compile(r"[,;]|\b(?:and|or|but)\b")
_MAX_ELLIPSIS: Final = 120  # characters between the two
_ALIAS = re.compile(r"(?P<long>(?:\b[A-Z][\w-]{1,30}(?: (?:of|and|for|the)){0,2} ){1,7})\((?P<short>[A-Z]{2,7})\)")
# Words that negate elsewhere: "no more than", "not only", "for nothing".
_NO_NEGATION = re.compile(
    r"\bfor (nothing)\b|\b(nothing|none|nobody|no one) but\b|"
    r"\b(no|not)\s+(?:(?:more|less|fewer|later|earlier|longer|older|higher|lower)\s+than|only)\b",
    re.IGNORECASE,
)
# "at 17.30", "from 9.00 to 17.30": times as the British and others write them, unless a unit or a share follows.
_TIME = r"(?:[01]?\d|2[0-3])\.[0-5]\d"
_DOTTED_TIME = re.compile(
    rf"\b(?:(?:at|by|until|till|before|after) {_TIME}|(?:from|between) {_TIME} (?:to|and|until|till) {_TIME})"
    r"(?![\d.,:]?\d)(?!\s?(?:[%€$£°]|(?:per|percent|euros?|pounds?|dollars?|points?|met(?:re|er)s?|lit(?:re|er)s?|each|"
    r"times|degrees?|million|billion|[kcm]?m|k?g|m?l|[kMG]B)\b))"
)
# Words that negate with others: "rules … out", "cards rather than cash".
_RULING_OUT = re.compile(
    r"\brul(?:e[sd]?|ing)\b(?= (?:[^\W\d_]+ ){0,3}out\b)|\brather(?= than)|\binstead(?= of)", re.IGNORECASE
)
_HEADS = re.compile(
    r"^[ \t]{0,3}#{1,6}[ \t][^\n]{0,300}|^[ \t]{0,3}\|[^\n]{1,1000}(?=\n[ \t]{0,3}\|[ \t:|-]{3,1000}$)", re.MULTILINE
)
# Ages without their unit: "aged under 5", "persons over 18", and not "orders over 50".
_AGE = re.compile(
    r"\b(?:aged?|(?:child(?:ren)?|kids?|persons?|people|adults?|pupils?|students?|guests?|visitors?|passengers?|members?|anyone|"
    r"those|minors)(?: aged?)?)(?: (?:of|from|between|under|over|above|below|(?:older|younger) than))* (\d{1,2})\b",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)|(\d{1,2})s")


class Reading:
    """One text, read.

    Args:
        text: The text.
        context: What is said of all of it elsewhere: its document's title, the headings above it.

    Attributes:
        text: What was read of it.
        sentences: Where they stand.
        tokens: All words, in their order.
        positions: The numbers of the tokens with a root.
        families: The numbers of the tokens of a family.
        negated: The numbers of the tokens that negate.
    """

    def __init__(self, text: str, context: str = "") -> None:
        self.text = encodable(text[:MAX_CHARACTERS])
        self._context = context[:MAX_CONTEXT]
        self.sentences = _sentences(self.text)
        self.tokens: list[Token] = []
        self.positions: dict[str, list[int]] = {}
        self.families: dict[str, list[int]] = {}
        self.negated: list[int] = []
        tokens, positions, families = self.tokens, self.positions, self.families
        ends = [end for _, end in self.sentences]
        sentence, seen, last = 0, -1, len(ends) - 1
        ruling_out = {match.start() for match in _RULING_OUT.finditer(self.text)}
        affirming = {match.start(match.lastindex or 0) for match in _NO_NEGATION.finditer(self.text)}
        for number, match in enumerate(_TOKEN.finditer(self.text)):
            word = match[0]
            start, end = match.span()
            while sentence < last and start >= ends[sentence]:
                sentence += 1
            base, kin, kind, negates = _word(word)
            if kind == "name" and sentence != seen:
                kind = "content"  # a capital where a sentence begins says nothing
            elif _is_letter_name(word, self.text[max(0, start - 1) : start], sentence == seen):
                base, kin, kind = word, word, "name"
            if (negates and start not in affirming) or start in ruling_out:
                self.negated.append(number)
            if kind != "figure":  # behind "1.3" a sentence begins, too
                seen = sentence
            tokens.append(Token(start, end, base, kin, kind, sentence))
            if base in positions:
                positions[base].append(number)
            else:
                positions[base] = [number]
            if kin in families:
                families[kin].append(number)
            else:
                families[kin] = [number]

    @cached_property
    def ambient(self) -> frozenset[str]:
        """The roots of what is said of all that stands below: title, headings, heads of tables."""
        heads = [self._context, *(match[0] for match in _HEADS.finditer(self.text))]
        return frozenset(_word(word[0])[0] for head in heads for word in _TOKEN.finditer(head))

    @cached_property
    def aliases(self) -> dict[str, tuple[str, ...]]:
        """Roots that stand for one another by the text's own definition: "European Union (EU)"."""
        found: dict[str, tuple[str, ...]] = {}
        for match in _ALIAS.finditer(self.text):
            words = [word for word in re.findall(r"\w+", match["long"]) if word[0].isupper()]
            words = words[-len(match["short"]) :]
            if "".join(word[0] for word in words) == match["short"].upper():
                short, long = root(match["short"]), tuple(map(root, words))
                found[short] = long
                found.update(dict.fromkeys(long, (short,)))
        return found

    @cached_property
    def words(self) -> list[str]:
        """The words as they are written, without capitals."""
        return [self.text[token.start : token.end].casefold().replace("\u2019", "'") for token in self.tokens]

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """What the text states, cut into clauses."""
        return segments(self.text, self.words, self.tokens, self.negated)

    @cached_property
    def holders(self) -> dict[int, list[int]]:
        """The numbers of the segments that have each token, as their own or carried from another."""
        found: dict[int, list[int]] = {}
        for number, segment in enumerate(self.segments):
            for token in (*range(segment.first, segment.last), *segment.carried):
                found.setdefault(token, []).append(number)
        return found

    def resembling(self, base: str) -> list[str]:
        """The roots that begin with the same four letters as one, and those with a hyphen."""
        return [*self._beginnings.get(base[:4], ()), *self._beginnings.get("-", ())]

    @cached_property
    def _beginnings(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for base in self.positions:
            found.setdefault("-" if "-" in base else base[:4], []).append(base)
        return found

    @cached_property
    def values(self) -> Values:
        """The figures of the text."""
        return read(_with_colons(self.text))

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """The numbers of the text, with their units; one that a blank has cut in two ("1, 056") as a whole, too."""
        dates = {at for each in self.moments for at in range(each.start, each.end)}
        written = (each for each in self.values.quantities if each.start not in dates)
        found = tuple(each for each in written if not _NO_QUANTITY.fullmatch(each.text))
        found = (*_with_units(self.text, tuple(_with_ages(self.text, found))), *_periods(self.text))
        joined = _CUT.sub(r"\1\2 ", self.text)  # of the same length, so that places stay
        if joined == self.text:
            return found
        known = {(quantity.start, quantity.end) for quantity in found}
        whole = (each for each in read(_with_colons(joined)).quantities if (each.start, each.end) not in known)
        cut = (each for each in whole if _CUT.search(self.text, each.start, each.end + 2))
        return (*found, *(each._replace(end=each.end + (joined[each.end : each.end + 1] == " ")) for each in cut))

    @cached_property
    def moments(self) -> tuple[Stated, ...]:
        """The dates and times of the text, those in words among them."""
        written = self.values.moments
        taken = {at for each in written for at in range(each.start, each.end)}
        said: list[Stated] = []
        for each in sorted(moments_in_words(self.text), key=lambda one: one.start - one.end):  # the longest first
            if taken.isdisjoint(range(each.start, each.end)):
                said.append(each)
                taken.update(range(each.start, each.end))
        return (*written, *said)

    @cached_property
    def numbers(self) -> tuple[NumberIndex, tuple[int, ...]]:
        """The readings of all numbers, to be searched by value; and of each the number of its quantity."""
        found = [
            (reading.value, reading.unit or (COUNTED if quantity.noun else None), position)
            for position, quantity in enumerate(self.quantities)
            for reading in quantity.readings
        ]
        return NumberIndex([(value, unit) for value, unit, _ in found]), tuple(position for _, _, position in found)

    @cached_property
    def figured(self) -> frozenset[int]:
        """The numbers of the tokens that are figures, with the units of numbers."""
        own = {number for number, token in enumerate(self.tokens) if token.kind == "figure"}
        units = (self.token_at(max(each.start, each.end - 1)) for each in self.quantities) if own else ()
        return frozenset(own.union(units))

    @cached_property
    def starts(self) -> list[int]:
        """Start of each token."""
        return [token.start for token in self.tokens]

    def token_at(self, at: int) -> int:
        """The number of the token that a character stands in, or of the last before it."""
        return max(0, bisect_right(self.starts, at) - 1)

    def token_from(self, at: int) -> int:
        """The number of the token that a character stands in, or of the next behind it: of "€30" that of "30"."""
        number = self.token_at(at)
        return number + 1 if number + 1 < len(self.tokens) and self.tokens[number].end <= at else number

    def quote(self, first: int, last: int) -> str:
        """The words of the sentences from one number to another."""
        return self.text[self.sentences[first][0] : self.sentences[last][1]]


def _is_letter_name(word: str, before: str, inner: bool) -> bool:
    """Whether a single capital names something, as in "plan B"; an article, "I" and "°C" do not."""
    return len(word) == 1 and word.isupper() and word != "I" and before != "°" and (inner or word != "A")


def _periods(text: str) -> Iterator[Quantity]:
    """The numbers that are said without one: "every year", "weekly", "half an hour", "twice"; their digits are 0."""
    for match in _PERIOD.finditer(text):
        word = match[0].casefold()
        value, name = _ADVERBS.get(word) or (0.5 if word.startswith("half") else 1.0, match["unit"])
        units = units_of(name)[:1] or (None,)
        yield Quantity(*match.span(), match[0], (Read(value, 1e-6, units[0]),), 0)
    for match in _RATE.finditer(text):
        unit, other = match["unit"], match["other"] or ""
        readings = [(end, units_of(name)) for end, name in ((match.end(), unit + other), (match.end("unit"), unit))]
        readings.append((match.end(), units_of(other.strip())))  # "running metre"
        end, units = next(((end, units) for end, units in readings if units), (0, ()))
        if units and units[0].dimension not in _TIMES:
            yield Quantity(match.start(), end, text[match.start() : end], (Read(1.0, 1e-6, units[0]),), 0)


def _with_units(text: str, quantities: Sequence[Quantity]) -> Iterator[Quantity]:
    """The quantities, those that leave out the unit of the one before them in a list with that unit."""
    unit, last = None, 0
    for each in quantities:
        bare = not each.noun and each.digits > 0 and all(reading.unit is None for reading in each.readings)
        between = text[last : each.start]
        if (
            bare
            and unit is not None
            and len(between) <= _MAX_ELLIPSIS
            and _LIST_LINK.search(between)
            and not _NO_ELLIPSIS.search(between)
            and not re.search(r"[.!?]\s", between)
            and _ELLIPSIS.match(text, each.end)
        ):
            each = each._replace(readings=tuple(one._replace(unit=unit) for one in each.readings))
            last = each.end
        elif not bare and each.digits > 0 and each.readings:
            unit, last = each.readings[0].unit, each.end
        yield each


def _with_colons(text: str) -> str:
    """The text with times as "17:30" that it writes as "17.30", and "under-3s" as "under 3"; of the same length."""
    text = _DOTTED_TIME.sub(lambda match: match[0].replace(".", ":"), text)
    text = _AGE_GROUP.sub(lambda match: f" {match[1]}{'' if match[1] == match[0][1:] else ' '}", text)
    return _MAY.sub("can", text)


def _with_ages(text: str, quantities: Sequence[Quantity]) -> Iterator[Quantity]:
    """The quantities, the bare numbers of ages among them as numbers of years."""
    ages = {match.start(1): match[0] for match in (*_AGE.finditer(text), *_AGE_GROUP.finditer(text))}
    years = units_of("years")[:1] or (None,)
    for each in quantities:
        age = ages.get(each.start, "")
        counts = (
            each.noun and "than" not in age and "aged" not in age
        )  # "members 3 visits", not "younger than 16 gets in"
        bare = age and not counts and all(reading.unit is None for reading in each.readings)
        readings = tuple(one._replace(unit=years[0]) for one in each.readings)
        yield each._replace(readings=readings, noun="") if bare else each


@lru_cache(maxsize=50_000)
def _word(word: str) -> tuple[str, str, str, bool]:
    """Root, family, kind and whether it negates."""
    folded = word.casefold().replace("\u2019", "'")
    ordinal = _ORDINAL.fullmatch(folded)
    if ordinal:
        number = ordinal[1] or ordinal[2]
        return number, number, "figure", False
    base = root(word)
    if folded in NEGATIONS or folded.endswith("n't") or folded.removesuffix("'s") in NEGATIONS:
        return base, base, "light", True
    letters = sum(character.isalpha() for character in word)
    if letters < len(word) and any(character.isdigit() for character in word):
        kind = "name" if letters > 3 and "-" in word and not word[0].isdigit() else "figure"
        return base.rstrip(".,"), base.rstrip(".,"), kind, False
    if folded in NUMBER_WORDS or (folded in MAGNITUDES and len(folded) > 3):
        return base, base, "figure", False
    if folded in LIGHT or folded.partition("'")[0] in LIGHT or len(base) < 2:  # "you'll" is "you"
        return base, base, "light", False
    return base, family(base), "name" if word[0].isupper() else "content", False


def _sentences(text: str) -> list[tuple[int, int]]:
    """Sentences, none across a blank line, a heading or the lines of a list or table."""
    spans: list[tuple[int, int]] = []
    at = 0
    for match in _BREAK.finditer(text):
        spans.extend((at + start, at + end) for start, end in sentence_spans(text[at : match.start()]))
        at = match.end()
    spans.extend((at + start, at + end) for start, end in sentence_spans(text[at:]))
    return spans or [(0, len(text))]
