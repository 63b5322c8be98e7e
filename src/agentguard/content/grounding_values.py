"""The values that a text states: numbers with their units, dates and times, identifiers, and the words between them.

One pass of one pattern whose repetitions are bounded: linear on any text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from .grounding_dates import CLOCK, DATE, Moment, moments_of
from .grounding_units import MAGNITUDES, NUMBER_WORDS, UNITS, Unit, units_of

__all__ = ["Identifier", "Quantity", "Reading", "Stated", "Values", "Word", "read", "window"]


class Reading(NamedTuple):
    """One way to read a number.

    Attributes:
        value: as written, its magnitude (``k``, ``million``) multiplied in.
        step: what one more in its last written digit is worth.
        unit: the unit beside it, or None.
    """

    value: float
    step: float
    unit: Unit | None


class Quantity(NamedTuple):
    """A number; ``bound`` is ``about``, ``above``, ``below`` or nothing, as the words before it say."""

    start: int
    end: int
    text: str
    readings: tuple[Reading, ...]
    digits: int
    bound: str = ""


class Stated(NamedTuple):
    """A date or a time, in all its readings."""

    start: int
    end: int
    readings: tuple[Moment, ...]


class Identifier(NamedTuple):
    """A token that names one thing: ``kind`` is ``url``, ``email``, ``path`` or ``identifier``."""

    start: int
    end: int
    kind: str
    text: str


class Word(NamedTuple):
    """A word, with its place."""

    start: int
    end: int
    text: str


class Values(NamedTuple):
    """All that one text states."""

    quantities: tuple[Quantity, ...]
    moments: tuple[Stated, ...]
    identifiers: tuple[Identifier, ...]
    words: tuple[Word, ...]


_EXTENSIONS: Final = (
    "txt|md|pdf|docx?|xlsx?|pptx?|csv|tsv|json|jsonl|ya?ml|xml|html?|png|jpe?g|gif|svg|zip|tar|gz|py|js|ts|java|c|cpp|"
    "h|rs|go|rb|sh|sql|log|ini|cfg|toml|parquet|ipynb|mp[34]|wav|ics|eml|com|org|net|io|dev|gov|edu|info|eu|de|fr|uk"
)
_ATTACHED: Final = "|".join(
    sorted(
        (re.escape(name) for name in {*UNITS, *MAGNITUDES} if len(name) <= 4 and name not in "$€£¥₹"),
        key=len,
        reverse=True,
    )
)
_QUOTE: Final = "'\u2019"  # as an apostrophe and between thousands
_SIGNS: Final = r"(?:US\$|[$€£¥₹])"
_CORE: Final = (
    rf"(?:\d{{1,3}}(?:[,.{_QUOTE} \u00a0\u202f]\d{{3}}){{1,8}}(?!\d)|\d{{1,40}})(?:[.,]\d{{1,20}})?(?:e[+-]?\d{{1,3}})?"
)
_TOKEN = re.compile(
    rf"""
    (?P<url>(?<!\w)(?:(?:https?|ftp)://[^\s<>"'`]{{1,500}}|www\.[^\s<>"'`]{{1,500}}))
    |(?P<email>(?<![\w.+-])[\w.+-]{{1,64}}@[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{1,5}})
    |(?<![\w./-])(?P<day>{DATE}|\d{{4}}-(?:0[1-9]|1[0-2])(?![\w-]))
        (?:(?:T|,?[ ](?:at[ ])?)(?P<at>{CLOCK})(?:Z|[+-]\d\d:?\d\d)?(?!\w))?
    |(?<![\w:.])(?P<clock>{CLOCK})(?![\w:])
    |(?P<path>(?<![\w/.])(?:[A-Za-z]:\\|~?/|\.{{1,2}}/)[\w.@+%~-]{{1,100}}(?:[/\\][\w.@+%~-]{{1,100}}){{0,30}}
        |(?<![\w./@-])[\w-]{{1,80}}(?:[./][\w-]{{1,80}}){{0,8}}\.(?:{_EXTENSIONS})\b(?!\.\w))
    |(?P<dashed>(?<![\w-])(?=[\w-]{{0,80}}\d)\w{{1,40}}(?:-\w{{1,40}}){{2,10}}(?![\w-])
        |(?<![\w.])\d{{1,5}}(?:\.\d{{1,5}}){{2,5}}(?![\w.]?\d)
        |\#\w[\w-]{{0,63}})
    |(?P<chain>(?<![\w.])(?<!\d,)\d{{1,15}}(?:,\d{{1,15}}){{2,200}}(?![\w,.]?\d))
    |(?P<number>(?<![\w.])(?<!\d,)(?:[-+−](?=[$€£¥₹\d]))?(?:{_SIGNS}[ ]?)?-?{_CORE}[ ]?(?:(?:{_ATTACHED})(?!\w)|(?!\w)))
    |(?P<word>\w+(?:[{_QUOTE}]\w{{1,3}}\b)?(?:-\w{{1,40}}(?:[{_QUOTE}]s\b)?)?)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NUMBER = re.compile(rf"([-+−])?({_SIGNS})?\s?(-)?({_CORE})\s?(.*)", re.IGNORECASE | re.DOTALL)
_GROUPED = re.compile(rf"\d{{1,3}}(?:([,.{_QUOTE} \u00a0\u202f])\d{{3}})(?:\1\d{{3}})*")
_GROUPED_CHAIN = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
_AFTER = re.compile(r"[\s\u00a0-]{0,2}([%°$€£¥₹℃℉]|[A-Za-z]{1,16}(?:/[hs]\b)?|°\s?[CF])(?!\w)")
_APPROXIMATE = re.compile(
    r"(?:(?P<about>about|around|approximately|approx\.?|roughly|nearly|almost|some|circa|ca\.|close to|~|≈)"
    r"|(?P<above>over|more than|above|at least|exceeding|upwards of)"
    r"|(?P<below>under|less than|below|at most|up to))\s{0,2}[$€£¥₹]?$",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"\d{1,6}(?:st|nd|rd|th|s)", re.IGNORECASE)
_TRAILING = ".,;:!?)]}>'\"*_"
MAX_CHARACTERS: Final = 2_000_000


def read(text: str) -> Values:
    """What a text states, up to ``MAX_CHARACTERS`` of it.

    >>> found = read("Order #W12 weighs 1.2k kg, costs $1,234.50 and ships on March 3rd.")
    >>> [(q.text, q.readings[0].value) for q in found.quantities]
    [('1.2k kg', 1200.0), ('$1,234.50', 1234.5)]
    >>> [i.text for i in found.identifiers], found.moments[0].readings[0].day
    (['#W12'], 3)
    """
    quantities: list[Quantity] = []
    moments: list[Stated] = []
    identifiers: list[Identifier] = []
    words: list[Word] = []
    for match in _TOKEN.finditer(text, 0, MAX_CHARACTERS):
        kind, start, end = match.lastgroup, match.start(), match.end()
        token = match[0]
        if kind == "word":
            _sort_word(token, start, end, identifiers, words)
        elif kind == "number":
            quantities.append(_quantity(text, start, token))
        elif kind in {"day", "at", "clock"}:
            readings = moments_of(match["day"], match["at"] or match["clock"])
            if readings:
                moments.append(Stated(start, end, readings))
        elif kind == "chain":
            quantities.extend(_chain(text, start, token))
        elif kind == "dashed" and _GROUPED_CHAIN.fullmatch(token):
            quantities.append(_quantity(text, start, token))
        else:
            stripped = token.rstrip(_TRAILING) if kind in {"url", "path"} else token
            if kind == "path" and "." not in stripped and stripped.count("/") + stripped.count("\\") < 2:
                words.append(Word(start, end, stripped.strip("/\\")))
            elif stripped[:1] == "#" and stripped[1:].isdecimal() and len(stripped) < 5:
                quantities.append(_quantity(text, start + 1, stripped[1:]))
            else:
                name = "identifier" if kind == "dashed" else str(kind)
                identifiers.append(Identifier(start, start + len(stripped), name, stripped))
    quantities.extend(_spelled(words))
    return Values(tuple(quantities), tuple(moments), tuple(identifiers), tuple(words))


def _sort_word(token: str, start: int, end: int, identifiers: list[Identifier], words: list[Word]) -> None:
    has_digit = any(character.isdigit() for character in token)
    if "_" in token.strip("_") or (
        has_digit and len(token) > 2 and not token.isdecimal() and not _ORDINAL.fullmatch(token)
    ):
        identifiers.append(Identifier(start, end, "identifier", token))
    words.append(Word(start, end, token))


def _quantity(text: str, start: int, token: str) -> Quantity:
    match = _NUMBER.match(token)
    if match is None:  # cannot happen: the token was found by the same core
        return Quantity(start, start + len(token), token, (), 0)
    sign, currency, inner, core, attached = match.groups()
    end = start + len(token.rstrip())
    units = units_of(currency) if currency else ()
    readings: list[tuple[float, float]] = list(_cores(core))
    scales = [1.0]
    tail = attached.strip()
    reach = end
    for _ in range(3):  # what is attached, a magnitude, a unit: "1.2k kg", "3.5 million dollars"
        magnitude, found = MAGNITUDES.get(tail.casefold()), units_of(tail)
        if magnitude and scales == [1.0]:
            scales = [magnitude, 1.0] if found and not currency else [magnitude]
        elif tail and not found:
            break
        units = units or (found if scales[-1] == 1.0 or not magnitude else ())
        end = reach
        after = _AFTER.match(text, end, end + 24)
        if after is None or (units and scales[-1] == 1.0):
            break
        tail, reach = after[1], after.end()
    negative = -1.0 if (sign and sign != "+") or inner else 1.0
    # "5 m" is five metres or minutes, or five million of what has no unit.
    options = [
        Reading(negative * value * scale, step * scale, unit)
        for scale in scales
        for value, step in readings
        for unit in ((units or (None,)) if scale == scales[-1] else (None,))
        if math.isfinite(value * scale)
    ]
    digits = len(core.split("e")[0].strip(f"0., {_QUOTE}\u00a0\u202f").replace(".", "").replace(",", "")) or 1
    before = _APPROXIMATE.search(text, max(0, start - 24), start)
    return Quantity(start, end, text[start:end], tuple(options), digits, (before.lastgroup or "") if before else "")


def _cores(core: str) -> Iterator[tuple[float, float]]:
    """Value and last digit's worth: first the usual reading, then the other that commas and points allow."""
    mantissa, _, exponent = core.casefold().partition("e")
    power = float(f"1e{exponent}") if exponent else 1.0  # inf where no float is so large
    if math.isinf(power):
        return
    grouped = _GROUPED.match(mantissa)
    whole, fraction = mantissa, ""
    if grouped:
        rest = mantissa[grouped.end() :]
        if not rest and grouped[1] in ".," and mantissa.count(grouped[1]) == 1:
            plain, decimal = float(mantissa.replace(grouped[1], "")), float(mantissa.replace(grouped[1], "."))
            # 1,234 is a thousand and more first, 1.234 is one and a bit first.
            both = [(plain * power, power), (decimal * power, power / 1000)]
            yield from both if grouped[1] == "," and mantissa[0] != "0" else reversed(both)
            return
        whole, fraction = grouped[0].replace(grouped[1], ""), rest[1:]
    else:
        for mark in ".,":
            if mark in mantissa:
                whole, _, fraction = mantissa.partition(mark)
                break
    if fraction.strip("0123456789"):
        return  # 1.234,56.7 and 0.192.168.0 are no numbers
    digits = "".join(filter(str.isdigit, whole))
    value = float(f"{digits or 0}.{fraction or 0}")
    if math.isfinite(value * power):
        yield value * power, power * 10.0 ** -len(fraction)


def _chain(text: str, start: int, token: str) -> Iterator[Quantity]:
    if _GROUPED_CHAIN.fullmatch(token):
        yield _quantity(text, start, token)
        return
    for part in token.split(","):
        yield Quantity(start, start + len(part), part, (Reading(float(part), 1.0, None),), len(part.strip("0")) or 1)
        start += len(part) + 1


def _spelled(words: list[Word]) -> Iterator[Quantity]:
    """Numbers in words; "one" alone is a pronoun more often than a number."""
    total, current, start, end = 0.0, 0.0, -1, -1
    for index, word in enumerate([*words, Word(-1, -1, "")]):
        parts = word.text.casefold().split("-")
        adjacent = start >= 0 and 0 < word.start - end <= 5
        numbers = [NUMBER_WORDS.get(part) for part in parts]
        magnitude = MAGNITUDES.get(parts[0]) if len(parts) == 1 and len(parts[0]) > 4 else None
        previous = words[index - 1].text.casefold() if index else ""
        if all(number is not None for number in numbers) and word.text:
            if start >= 0 and not (adjacent and current % 100 == 0 and (current or total)):
                yield _in_words(start, end, total + current)
                total, current, start = 0.0, 0.0, -1
            start = word.start if start < 0 else start
            current += sum(number or 0 for number in numbers)
            end = word.end
        elif magnitude and (adjacent or previous in {"a", "half"}):
            start = word.start if start < 0 else start
            current = (current or 1.0) * magnitude
            if magnitude >= 1000:
                total, current = total + current, 0.0
            end = word.end
        elif start >= 0 and not (adjacent and parts[0] == "and"):
            if total + current != 1:
                yield _in_words(start, end, total + current)
            total, current, start = 0.0, 0.0, -1


def _in_words(start: int, end: int, value: float) -> Quantity:
    digits = len(f"{value:.0f}".rstrip("0")) or 1
    return Quantity(start, end, f"{value:g} (in words)", (Reading(value, 1.0, None),), digits)


def window(quantity: Quantity, reading: Reading) -> tuple[float, float]:
    """The values that a reading can stand for, by its last digit and by the words before it.

    >>> window(*(lambda q: (q, q.readings[0]))(read("650").quantities[0]))
    (649.5, 650.5)
    >>> window(*(lambda q: (q, q.readings[0]))(read("over 600").quantities[0]))
    (600.0, 700.0)
    """
    size, half = abs(reading.value), reading.step / 2
    if not quantity.bound:
        return reading.value - half, reading.value + half
    last = 10.0 ** math.floor(math.log10(size) + 1 - quantity.digits) if size else 1.0
    if quantity.bound == "about":
        half = max(half, min(last / 2, size / 10), size / 50)
        return reading.value - half, reading.value + half
    reach = min(max(last, size / 20), size / 4)
    return (
        (reading.value, reading.value + reach) if quantity.bound == "above" else (reading.value - reach, reading.value)
    )
