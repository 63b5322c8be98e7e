"""A claim as it is compared with calls: the things that it names, and what it says exactly."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

from agentguard.content.actions._acts import noun_acts
from agentguard.content.actions._claims import Stated
from agentguard.content.actions._english import base, lines, words
from agentguard.content.actions._sentences import Token
from agentguard.content.grounding._values import NUMBER_WORDS, Moment, read

#: Units of time, of data and of measures, with what one of them is in others.
UNITS: Final = {
    "hour": (60, 3600), "hours": (60, 3600), "minutes": (60, 1 / 60), "days": (24, 1440, 86400, 1 / 7),
    "weeks": (7, 168),
    "kb": (1000, 1024), "mb": (1e6, 2**20, 1000, 1024, 1 / 1000, 1 / 1024),
    **dict.fromkeys(("kg", "kilos", "kilograms"), (1000, 2.20462, 1 / 1000)),
    **dict.fromkeys(("g", "grams"), (1 / 1000, 1000, 0.035274)), **dict.fromkeys(("t", "tonnes", "tons"), (1000, 1e6)),
    **dict.fromkeys(("km", "kilometres", "kilometers"), (1000, 0.621371)),
    **dict.fromkeys(("lb", "lbs"), (0.453592, 16)),
    **dict.fromkeys(("m", "metres", "meters"), (100, 1000, 3.28084, 1 / 1000)), "miles": (1.609344, 1609.344),
    "cm": (10, 1 / 100, 0.393701), "mm": (1 / 10, 1 / 1000), "ml": (1 / 10, 1 / 1000),
    **dict.fromkeys(("l", "litres", "liters"), (100, 1000, 0.264172)),
    "gb": (1e9, 2**30, 1000, 1024, 1 / 1000, 1 / 1024), "tb": (1000, 1024),
}  # fmt: skip
_PARTED: Final = frozenset({"the", "these", "those", "them", "your", "my", "our", *NUMBER_WORDS})
_SPANS: Final = frozenset({"and", "to", "until", "-", "–", "—"})
MOST_READ: Final = 50_000  # characters in which dates are looked for
LEAST_APART: Final = 1e-9  # of two numbers that are not the same
MOST_SUMMED: Final = 12  # numbers of a call of which sums are made
BETWEEN: Final = 2  # words between a number and the plural that it counts
NEAR_WHOLE: Final = 3  # words behind "of" in which the number of the whole stands
NEAR: Final = 6  # letters at the beginning that words of one family share
_EXACT = re.compile(
    r"[\w.+-]+@[\w.-]+\w"  # an address
    r"|#[\w-]*[A-Za-z0-9][\w-]*"  # a channel, or a number of an issue
    r"|[A-Za-z]+[-_]?\d[\w.-]*|\d+[A-Za-z]\w*|\d+\.\d+\.\d[\w.]*|\d{5,}"  # an id, a version
    r"|[\w.-]*[A-Za-z_.][\w.-]*/[\w./-]*|/[\w./-]*[A-Za-z][\w./-]*"  # a path, a branch
    r"|[\w-]+\.[a-z]\w{0,4}(?!\w)"  # a file
)
_MEASURE = re.compile(r"\d+(?:st|nd|rd|th|am|pm|k|m|g|kb|mb|gb|tb|ms|s|h|d|min|x|px|pm)", re.IGNORECASE)
_FALSE: Final = re.compile(r'"\w+": ?false')
_MONEY: Final = "$€£¥"
_NUMBER = re.compile(r"[$€£¥]?\s?\d[\d.,]*%?(/\d+)?")
_ONE_DECIMAL = re.compile(r"\d+\.\d")  # with another sign it would be no thousands
_LETTERS = re.compile(r"[^\W\d_]+")
#: "3:00–3:45 pm": what is said of the end is so of the beginning.
_HALF: Final = re.compile(
    r"(?<![\w:.])(\d{1,2}(?::\d\d)?)( ?(?:[-–—]|to|until|and) ?)(\d{1,2}(?::\d\d)?) ?([ap]m)\b", re.IGNORECASE
)
#: "at 3:30", by a person, is in either half of the day.
_EITHER_HALF: Final = re.compile(
    r"(?<![\dT:])[1-9]:\d\d(?!:)(?! ?[ap])|(?<![\dT:])1[01]:\d\d(?!:)(?! ?[ap])", re.IGNORECASE
)
_QUOTES: Final = "`\"“”'‘’()"  # noqa: RUF001


class Amount(NamedTuple):
    """A number of a claim.

    Attributes:
        text: as written.
        unit: the unit or plural behind it; "" where there is none.
    """

    text: str
    unit: str

    @property
    def values(self) -> frozenset[float]:
        """The numbers that it can be; money in cents, too."""
        values = numbers_in(self.text)
        return frozenset(values | {100 * value for value in values} if self.money else values)

    @property
    def money(self) -> bool:
        """Tell whether it is a sum of money."""
        return self.text[0] in _MONEY


class Compared(NamedTuple):
    """A claim as it is compared.

    Attributes:
        stated: the claim.
        things: bases of the words that say what it was done to.
        about: the same, with those that name an act.
        names: capitalised words, in small letters.
        exact: identifiers, addresses and file names, in small letters.
        amounts: its numbers.
        words: all its words, in small letters.
        in_part: it says itself that it is not all: "two of the three".
    """

    stated: Stated
    things: frozenset[str]
    about: frozenset[str]
    names: tuple[str, ...]
    exact: tuple[str, ...]
    amounts: tuple[Amount, ...]
    words: frozenset[str]
    in_part: bool

    @property
    def every(self) -> bool:
        """Tell whether it says that nothing was left out: "all of them", "each of them", not "€5 each"."""
        low = [token.low for token in self.stated.objects]
        return bool(self.words & words("every")) or ("each", "of") in pairwise(low)


def compared(stated: Stated) -> Compared:
    """Read what a claim names and says exactly."""
    things: set[str] = set()
    about: set[str] = set()
    names: list[str] = []
    exact: list[str] = []
    amounts: list[Amount] = []
    stop, acts = words("stop"), stated.meaning.acts
    objects = _without_later(stated.objects)
    for number, token in enumerate(objects):
        text, low = token.text.strip(_QUOTES), token.low.strip(_QUOTES)
        tokens = [each for each in exact_in(text) if token.kind == "code" or not _may_be_words(each)]
        if token.kind != "quoted":
            exact.extend(tokens)
        before = objects[number - 1].low if number else ""
        after = objects[number + 1].low if number + 1 < len(objects) else ""
        part = before == "of" and number > 1 and objects[number - 2].low == "out"  # "17 out of 20"
        part = part or (before == "a" and number > 1 and objects[number - 2].low == "half")  # "half a dozen"
        part = part or (text[-1:].isdigit() and (before[-1:].isdigit() or after[:1].isdigit()))  # "+598 99 123 456"
        if (
            not tokens
            and not part
            and not _is_hour(objects, number)
            and not (before in words("about") or before in words("times") or after in words("times"))
        ):
            unit = _unit(objects, number)
            if _NUMBER.fullmatch(text):
                written = [Amount(each, unit) for each in text.split("/")]
                amounts.extend(amount for amount in written if amount.values)  # "0042" is a name
            elif NUMBER_WORDS.get(low, 0) > 1 and before not in ("at", "to", "from", "until", "till", "by", "past"):
                amounts.append(Amount(low, unit))
        for piece in _LETTERS.findall(text):
            if piece.casefold() not in stop and len(piece) > 1:
                about.add(base(piece))
                if not noun_acts(piece) & acts:
                    things.add(base(piece))
        name = text[:1].isupper() and sum(map(str.isupper, text)) == 1 and low not in stop | words("times")
        letters = low.replace("\u0307", "").isalpha()  # "İzmir" in small letters
        if name and token.start > stated.start and token.kind == "word" and letters and not tokens:
            names.append(low)
    said = frozenset(piece for token in objects for piece in re.findall(r"[\w-]+", token.low))
    in_part = any(
        numbers_in(objects[at - 1].text)
        and objects[at].low == "of"
        and (objects[at + 1].low in _PARTED or _has_more(objects[at - 1], objects[at + 2 : at + 2 + NEAR_WHOLE]))
        and not (at > 1 and objects[at - 2].low in words("every"))  # "all three of them"
        for at in range(1, len(objects) - 1)
    )
    return Compared(
        stated, frozenset(things), frozenset(about), tuple(names), tuple(exact), tuple(amounts), said, in_part
    )


def _has_more(part: Token, following: Sequence[Token]) -> bool:
    """Tell whether words have a greater number than the one before "of": "two of Ada's three loans"."""
    numbers = {number for token in following if token.kind == "word" for number in numbers_in(token.text)}
    return any(number > max(numbers_in(part.text)) for number in numbers)


def _without_later(objects: tuple[Token, ...]) -> tuple[Token, ...]:
    """The words of an object without those of what was done later: "… before deleting the rows"."""
    for at, (token, following) in enumerate(pairwise(objects)):
        if at and token.low == "before" and following.low.endswith("ing") and following.kind == "word":
            return objects[:at]
    return objects


def _is_hour(objects: Sequence[Token], number: int) -> bool:
    """Tell whether a number is an hour: "at 4 pm", "between 2 and 4 pm"."""
    after = [token.low for token in objects[number + 1 : number + 4]]
    return after[:1] in (["am"], ["pm"]) or (
        len(after) == 3 and after[0] in _SPANS and after[1].isdigit() and after[2] in ("am", "pm")
    )


def _unit(objects: Sequence[Token], number: int) -> str:
    """The unit or plural behind a number: "41 test accounts"."""
    for token in objects[number + 1 : number + 2 + BETWEEN]:
        if token.kind != "word" or token.low in words("preposition") or token.low in words("adverb"):
            break
        if token.low in UNITS or (token.low.endswith("s") and not token.low.endswith("ss")):
            return token.low
    return ""


def exact_in(text: str) -> list[str]:
    """Find what a text says exactly: addresses, identifiers, versions, paths and files, in small letters."""
    return [each.strip(".").casefold() for each in _EXACT.findall(text) if not _MEASURE.fullmatch(each)]


def _may_be_words(token: str) -> bool:
    """Tell whether a slash may stand for "or": "and/or", "his/her"."""
    return token.count("/") == 1 and not {".", "@"} & set(token) and "/" not in (token[0], token[-1])


def kind_of(token: str) -> str:
    """The kind of what is said exactly, by its form; one of a kind may stand where another should.

    >>> kind_of("ada@example.org"), kind_of("#ops"), kind_of("src/a.py"), kind_of("inc-42"), kind_of("88213")
    ('address', 'channel', 'file', 'inc-', '5 digits')
    """
    if "@" in token:
        return "address"
    if token.startswith("#") and not token[1:].isdigit():
        return "channel"
    if "/" in token or re.fullmatch(r"[\w-]+\.[a-z]\w{0,4}", token):
        return "file"
    letters = re.match(r"[a-z]+[-_]?(?=\d)", token)
    if letters:
        return letters[0]
    return f"{len(token)} digits" if token.isdigit() else "code"


class Text:
    """A text of a call, as claims are compared with it; what is not asked for is not read.

    Args:
        text: in any letters.
        bases: the bases of its words.
    """

    def __init__(self, text: str, bases: frozenset[str]) -> None:
        self.text, self.bases = text.casefold(), bases

    @cached_property
    def numbers(self) -> frozenset[float]:
        """Its numbers, in every way that they can be read."""
        return frozenset(numbers_in(self.text))

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of what it says exactly."""
        return frozenset(kind_of(token) for token in exact_in(self.text))

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words, as written; not the names of what is false: ``"draft": false``."""
        return frozenset(re.findall(r"[\w-]+", _FALSE.sub(" ", self.text)))

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        return frozenset(each[:NEAR] for each in self.bases if len(each) >= NEAR)

    def has(self, token: str) -> bool:
        """Tell whether it has what is said exactly."""
        return token in self.text or bare(token) in self.text

    def names(self, thing: str) -> bool:
        """Tell whether it has a word, by its base, or one of the same family."""
        return thing in self.bases or (len(thing) >= NEAR and thing[:NEAR] in self._beginnings)


class Texts:
    """The texts of a call: of all of it, of its arguments, and of its result.

    Attributes:
        ids, records: identifiers in the arguments, and records of the result, once somebody has read them.
        exact: what values of the arguments say exactly, of those that somebody has read.
        dated, given: the dates and times in all of it, and in the arguments, once somebody has read them.
        spans: the lengths of time between them, likewise.
    """

    def __init__(self, args: Text, result: Text, names: frozenset[str]) -> None:
        self.args, self.result = args, result
        self.all = Text(f"{args.text}\n{result.text}", args.bases | result.bases | names)
        self.ids: frozenset[str] | None = None
        self.records: tuple[Any, ...] | None = None
        self.exact: dict[str, tuple[str, ...]] = {}
        self.dated: tuple[Any, ...] | None = None
        self.given: tuple[Any, ...] | None = None
        self.spans: frozenset[float] | None = None


def bare(token: str) -> str:
    """Yield an exact token as it may be written too: "88" of "#88", "1.2" of "v1.2", "src" of "src/"."""
    return token.lstrip("#v").rstrip("/") or token


def numbers_in(text: str) -> set[float]:
    """The numbers of a text, digits and words, each in every way that it can be read."""
    found = set()
    for match in re.findall(r"\d[\d.,]*\d|\d", text):
        if len(match) > 1 and match[0] == "0" and match.isdigit():
            continue
        forms = [match.replace(",", "")]
        if not _ONE_DECIMAL.fullmatch(match):
            forms.append(match.replace(".", "").replace(",", "."))
        for form in forms:
            try:
                found.add(float(form))
            except ValueError:
                found.update(float(piece) for piece in re.findall(r"\d+", form))
    for word in re.findall(r"[a-z]+", text.casefold()):
        if word in NUMBER_WORDS:
            found.add(float(NUMBER_WORDS[word]))
    return found


def sums(numbers: Iterable[float]) -> set[float]:
    """The sums of two or three numbers of a few."""
    few = sorted(numbers)[:MOST_SUMMED]
    pairs = {one + other for at, one in enumerate(few) for other in few[at + 1 :]}
    return pairs | {pair + one for pair in pairs for one in few}


def is_in_other_units(amount: Amount, numbers: Iterable[float]) -> bool:
    """Tell whether one of some numbers is a length of time, an amount or a share in other units, perhaps rounded."""
    half = 0.5 / 10 ** decimals(amount)  # "88 kB" may be 88,120 bytes
    factors = (0.01,) if amount.text.endswith("%") else UNITS.get(amount.unit, ())  # "52.3%" of 0.523
    return any(
        abs(number - value * factor) <= half * factor + LEAST_APART
        for factor in factors
        for value in amount.values
        for number in numbers
    )


def decimals(amount: Amount) -> int:
    """The digits behind the point of a number as it is written."""
    return len(amount.text.partition(".")[2].rstrip("%"))


@cache
def contrasts() -> tuple[tuple[frozenset[str], ...], ...]:
    """Words of which a thing can be one alone: a line a kind."""
    return tuple(tuple(frozenset(side.split()) for side in line.split("|")) for line in lines("contrast"))


def other_moment(claim: Compared, text: str) -> bool:
    """Tell whether a claim says a date or time where a text, as far as it is read, has only others."""
    own = clocked(" ".join(token.text for token in claim.stated.objects))
    there = [moment for readings in clocked(text[:MOST_READ]) for moment in readings] if own else []
    return bool(own and there) and not all(any(is_said(one, there) for one in readings) for readings in own)


def clocked(text: str) -> tuple[tuple[Moment, ...], ...]:
    """The dates and times of a text, each in every way that it can be read.

    >>> [moment.hour for (moment,) in clocked("from 3:00-3:45 pm, 11-1 pm")]
    [15, 15, 11, 13]
    """
    text = _HALF.sub(_with_half, text)
    found = []
    for start, end, readings in read(text).moments:
        either = _EITHER_HALF.search(text[start:end]) is not None
        later = [one._replace(hour=one.hour + 12) for one in readings if either and one.hour and one.hour < 12]
        found.append((*readings, *later))
    return tuple(found)


def _with_half(match: re.Match[str]) -> str:
    """A span of time whose beginning says which half of the day it is in, as its end does: "11:30 am–1 pm"."""
    first, between, last, half = match.groups()
    one, other = (int(each.partition(":")[0]) % 12 for each in (first, last))
    own = half if one <= other else {"am": "pm", "pm": "am"}[half.casefold()]
    return f"{first} {own}{between}{last} {half}"


def is_said(said: Moment, there: Sequence[Moment]) -> bool:
    """Tell whether a date or time is among others, or its day and its hour are each by itself.

    >>> is_said(Moment(month=5, day=3, hour=20, minute=0), [Moment(month=5, day=3), Moment(hour=20, minute=0)])
    True
    """
    if any(said.agrees(other) for other in there):
        return True
    day, hour = said._replace(hour=None, minute=None), Moment(hour=said.hour, minute=said.minute)
    return (
        None not in (said.day, said.hour)
        and any(other.hour is None and day.agrees(other) for other in there)
        and any(other.day is None and hour.agrees(other) for other in there)
    )
