"""The values that a text states: numbers with their units, dates and times, identifiers, and the words between them.

Every pattern's repetitions are bounded: linear on any text.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from typing import Final, NamedTuple

# --- Words, as they are compared: without case, accents and endings ---

#: A sentence's end, as a pattern; the point behind an initial or a title is none.
SENTENCE_END: Final = r"[.!?](?<!\b[A-Z].)(?<!\b[DM]r.)(?<!\bMs.)(?<!\bMrs.)\s"
_WORDS = re.compile("[^\\W_]+(?:['\u2019]s\\b)?")

_KEY_WORDS = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])|\d+")


def plain(text: str) -> str:
    """A token as it is compared: without case, accents, scheme, ``www.``, a leading ``#`` or a closing slash.

    >>> plain("HTTPS://www.Example.com/"), plain("#W23")
    ('example.com', 'w23')
    """
    folded = _unaccented(text.strip()).casefold()
    for prefix in ("https://", "http://", "www."):
        folded = folded.removeprefix(prefix)
    return folded.lstrip("#").rstrip("/ ").rstrip(".,;:!?")


def stem(word: str) -> str:
    """A word as it is compared: without case, accents, possessive and plural ending.

    >>> stem("Cafés"), stem("Anna's"), stem("Glass")
    ('cafe', 'anna', 'glass')
    """
    folded = _unaccented(word).casefold()
    for ending in ("'s", "\u2019s"):
        folded = folded.removesuffix(ending)
    if len(folded) > 3 and folded.endswith("s") and not folded.endswith(("ss", "us", "is")):
        folded = folded[:-1]
    return folded


def stems(text: str) -> list[str]:
    """The stems of a text's words and numbers, in their order; an underscore parts words.

    >>> stems("first_names of Anna's")
    ['first', 'name', 'of', 'anna']
    """
    return [stem(word) for word in _WORDS.findall(text)]


def stems_of_key(key: str) -> list[str]:
    """The stems of the words that a field's name is made of.

    >>> stems_of_key("totalPrices"), stems_of_key("order_id")
    (['total', 'price'], ['order', 'id'])
    """
    return [stem(word) for word in _KEY_WORDS.findall(key[-200:])]


def _unaccented(text: str) -> str:
    if text.isascii():
        return text
    return "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))


# --- Dates and times; what is not written (a year, a time) stays unknown ---


_MONTHS: Final = "january february march april may june july august september october november december".split()
_MONTH: Final = {name[:length]: number for number, name in enumerate(_MONTHS, 1) for length in (3, len(name))} | {
    "sept": 9
}
WEEKDAYS: Final = {
    name: number for number, name in enumerate("monday tuesday wednesday thursday friday saturday sunday".split())
}

_NAMES = "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
_NAMES += "nov(?:ember)?|dec(?:ember)?)"
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:\s?[ap]\.?m\b\.?)?|\d{1,2}\s?[ap]\.?m\b\.?"
# Patterns for one alternation, case-insensitive; every repetition is bounded, so a hostile text costs linear time.
DATE: Final = (
    rf"\d{{4}}-\d{{1,2}}-\d{{1,2}}(?!\w|-\d)|\d{{4}}-\d{{2}}-\d{{2}}(?=T\d)"
    r"|\d{1,2}/\d{1,2}/\d{4}(?![\w/])|\d{1,2}/\d{1,2}/\d{2}(?![\w/])|\d{4}/\d{1,2}/\d{1,2}(?![\w/])"
    r"|\d{1,2}\.\d{1,2}\.\d{4}(?![\w.]?\d)"
    rf"|{_NAMES}\b\.?\s{{1,2}}\d{{1,2}}(?:st|nd|rd|th)?(?![\w:.,]?\d|[\w%])(?:,?\s{{1,2}}\d{{4}}\b)?"
    rf"|{_NAMES}\b\.?\s{{1,2}}\d{{1,2}}(?:st|nd|rd|th)?,?\s{{1,2}}\d{{4}}\b"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?\s{{1,2}}(?:of\s)?{_NAMES}\b\.?(?:,?\s{{1,2}}\d{{4}}\b)?"
    rf"|{_NAMES}\b\.?,?\s{{1,2}}\d{{4}}\b"
)
CLOCK: Final = _TIME

_PARTS = re.compile(r"\d+")
_CLOCK = re.compile(r"(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?(?:[.,]\d+)?\s?([ap])?", re.IGNORECASE)
_YEAR_FIRST = re.compile(r"\d{4}")
_FIRST_EPOCH, _LAST_EPOCH = 946_684_800, 4_102_444_800  # 2000 to 2100


class Moment(NamedTuple):
    """A date, a time of day or both; None is what was not said."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    hour: int | None = None
    minute: int | None = None

    def agrees(self, other: Moment) -> bool:
        """Whether nothing that both say differs, and everything that this says (but the year) is said by the other."""
        if self.month != other.month and self.month is not None:
            return False
        if self.day is not None and self.day != other.day:
            return False
        if self.year is not None and other.year is not None and self.year != other.year:
            return False
        return self.hour is None or (self.hour, self.minute) == (other.hour, other.minute)

    @property
    def date(self) -> date | None:
        """The day in the calendar, where all of it is known."""
        if self.year is None or self.month is None or self.day is None:
            return None
        return date(self.year, self.month, self.day)

    @property
    def stamp(self) -> datetime | None:
        """The minute in the calendar, where all of it is known; midnight where only the day is."""
        day = self.date
        return None if day is None else datetime(day.year, day.month, day.day, self.hour or 0, self.minute or 0)


def _valid(moment: Moment) -> bool:
    if moment.month is not None and not 1 <= moment.month <= 12:
        return False
    if moment.day is not None:
        try:
            date(2024 if moment.year is None else moment.year, moment.month or 1, moment.day)
        except ValueError:
            return False
    return moment.hour is None or (0 <= moment.hour < 24 and 0 <= (moment.minute or 0) < 60)


def moments_of(day: str | None, clock: str | None) -> tuple[Moment, ...]:
    """The readings of a date and a time as ``DATE`` and ``CLOCK`` find them; none for one that no calendar has.

    >>> [(moment.month, moment.day) for moment in moments_of("3/4/25", None)]
    [(3, 4), (4, 3)]
    >>> moments_of("March 3rd", "2:30 PM")
    (Moment(year=None, month=3, day=3, hour=14, minute=30),)
    """
    hour, minute = _hour(clock) if clock else (None, None)
    if clock and hour is None:
        return ()
    readings = _dates(day.casefold()) if day else [(None, None, None)]
    found = (Moment(*reading, hour, minute) for reading in readings)
    return tuple(dict.fromkeys(moment for moment in found if _valid(moment)))


def _hour(clock: str) -> tuple[int | None, int | None]:
    match = _CLOCK.match(clock)
    if match is None:
        return None, None
    hour, minute, half = int(match[1]), int(match[2] or 0), (match[4] or "").casefold()
    if half:
        if not 1 <= hour <= 12:
            return None, None
        hour = hour % 12 + (12 if half == "p" else 0)
    return (0 if hour == 24 and minute == 0 else hour), minute


def _dates(day: str) -> list[tuple[int | None, int | None, int | None]]:
    numbers = [int(part) for part in _PARTS.findall(day)]
    name = next((word for word in re.findall("[a-z]{3,9}", day) if word in _MONTH), None)
    if name is not None:
        month = _MONTH[name]
        year = next((number for number in numbers if number > 31), None)
        return [(year, month, next((number for number in numbers if number <= 31), None))]
    if len(numbers) < 3:  # a year and a month, 2020-01
        return [(max(numbers), min(numbers), None)]
    first, second, third = numbers[:3]
    if _YEAR_FIRST.match(day):
        return [(first, second, third)]
    year = third if third > 99 else 2000 + third if third < 70 else 1900 + third
    return [(year, second, first)] if "." in day else [(year, first, second), (year, second, first)]


def of_epoch(number: float) -> Moment | None:
    """The minute, in UTC, of a count of seconds or milliseconds since 1970 that lies between 2000 and 2100."""
    seconds = number / 1000 if number >= _FIRST_EPOCH * 1000 else number
    if not _FIRST_EPOCH <= seconds <= _LAST_EPOCH:
        return None
    stamp = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=seconds)
    return Moment(stamp.year, stamp.month, stamp.day, stamp.hour, stamp.minute)


def written(moment: Moment) -> str:
    """A moment for a reader: what is unknown is left out.

    >>> written(Moment(None, 3, 3, 14, 30))
    '03-03 14:30'
    """
    return " ".join(_parts(moment))


def _parts(moment: Moment) -> Iterator[str]:
    day = [f"{part:0{width}}" for part, width in zip(moment[:3], (4, 2, 2), strict=True) if part is not None]
    if day:
        yield "-".join(day)
    if moment.hour is not None:
        yield f"{moment.hour:02}:{moment.minute or 0:02}"


# --- Units, magnitudes and number words ---
# A value is compared in the base unit of its dimension: metres, grams, seconds, bytes, kelvins, litres, metres a
# second. Currencies are dimensions of their own, because no rate is known. Spellings with several meanings (``m``) have
# several units; ``KB`` is 1,000 and 1,024 bytes.


PERCENT: Final = "percent"


class Unit(NamedTuple):
    """One unit: ``base = value * factor + offset`` in the base unit of its dimension."""

    dimension: str
    factor: float = 1.0
    offset: float = 0.0


_TABLE: Final = {
    "length": {
        "mm millimetre millimetres millimeter millimeters": 1e-3,
        "cm centimetre centimetres centimeter centimeters": 1e-2,
        "m metre metres meter meters": 1.0,
        "km kms kilometre kilometres kilometer kilometers": 1e3,
        "inch inches": 0.0254,
        "ft foot feet": 0.3048,
        "yd yard yards": 0.9144,
        "mi mile miles": 1609.344,
    },
    "mass": {
        "mg milligram milligrams": 1e-3,
        "g gram grams gramme grammes": 1.0,
        "kg kgs kilo kilos kilogram kilograms": 1e3,
        "oz ounce ounces": 28.349523125,
        "lb lbs pound pounds": 453.59237,
        "tonne tonnes": 1e6,
    },
    "time": {
        "ms msec millis millisecond milliseconds": 1e-3,
        "s sec secs second seconds": 1.0,
        "m min mins minute minutes": 60.0,
        "h hr hrs hour hours": 3600.0,
        "d day days night nights": 86400.0,
        "week weeks wk wks": 604800.0,
        "fortnight fortnights": 1209600.0,
    },
    # Days do not make a month: of the calendar, months and years convert into one another alone.
    "months": {"month months": 1.0, "year years yr yrs": 12.0, "decade decades": 120.0, "century centuries": 1200.0},
    "business days": {"business_day business_days working_day working_days": 1.0, "business_week business_weeks": 5.0},
    "data": {
        "byte bytes": 1.0,
        "kb kilobyte kilobytes": 1e3,
        "mb megabyte megabytes": 1e6,
        "gb gigabyte gigabytes": 1e9,
        "tb terabyte terabytes": 1e12,
        "kib": 1024.0,
        "mib": 1024.0**2,
        "gib": 1024.0**3,
    },
    "volume": {
        "ml millilitre millilitres milliliter milliliters": 1e-3,
        "l litre litres liter liters": 1.0,
        "gal gallon gallons": 3.785411784,
        "m³ cubic_m cubic_metre cubic_metres cubic_meter cubic_meters": 1e3,
        "cubic_ft cubic_foot cubic_feet": 28.316846592,
    },
    "speed": {"m/s": 1.0, "km/h kmh kph": 1 / 3.6, "mph": 0.44704, "knot knots kt kts": 1852 / 3600},
    "power": {"w watt watts": 1.0, "kw kilowatt kilowatts": 1e3, "megawatt megawatts": 1e6},
    "energy": {"wh": 1.0, "kwh": 1e3},
    "frequency": {"hz hertz": 1.0, "khz": 1e3, "mhz": 1e6, "ghz": 1e9},
    "voltage": {"v volt volts": 1.0, "kv kilovolt kilovolts": 1e3},
    "area": {
        "m² sqm square_m square_metre square_metres square_meter square_meters": 1.0,
        "km² square_km square_kilometre square_kilometres square_kilometer square_kilometers": 1e6,
        "hectare hectares": 1e4,
        "acre acres": 4046.8564224,
        "square_ft square_foot square_feet": 0.09290304,
        "square_yd square_yard square_yards": 0.83612736,
        "square_mi square_mile square_miles": 2589988.110336,
    },
    "loudness": {"db decibel decibels": 1.0},
    PERCENT: {"% percent pct": 1.0},
    "USD": {"$ us$ usd dollar dollars": 1.0, "cent cents": 0.01},
    "EUR": {"€ eur euro euros": 1.0, "cent cents": 0.01},
    "GBP": {"£ gbp pound pounds": 1.0, "pence": 0.01},
    "JPY": {"¥ jpy yen": 1.0},
    "INR": {"₹ inr rupee rupees": 1.0},
    "CHF": {"chf": 1.0},
    "NOK": {"nok kroner krone": 1.0},
    "SEK": {"sek kronor krona": 1.0},
    "DKK": {"dkk kroner krone": 1.0},
    "PLN": {"pln zloty": 1.0},
    "CNY": {"cny rmb yuan": 1.0},
    "AUD": {"aud": 1.0},
    "CAD": {"cad": 1.0},
}
_TEMPERATURES: Final = {
    "°c ℃ c celsius degree degrees": Unit("temperature", 1.0, 273.15),
    "°f ℉ f fahrenheit degree degrees": Unit("temperature", 5 / 9, 459.67 * 5 / 9),
    "kelvin kelvins": Unit("temperature"),
}
_BINARY: Final = {"kb": 1024.0, "mb": 1024.0**2, "gb": 1024.0**3, "tb": 1024.0**4}


def _units() -> dict[str, tuple[Unit, ...]]:
    units_by_name: dict[str, list[Unit]] = {}
    for dimension, spellings in _TABLE.items():
        for names, factor in spellings.items():
            for name in names.split():
                units_by_name.setdefault(name, []).append(Unit(dimension, factor))
    for names, unit in _TEMPERATURES.items():
        for name in names.split():
            units_by_name.setdefault(name, []).append(unit)
    for name, factor in _BINARY.items():
        units_by_name[name].append(Unit("data", factor))
    return {name: tuple(units) for name, units in units_by_name.items()}


UNITS: Final = _units()

# What multiplies a number; "m" is both a million and a metre, and a reader tries both.
MAGNITUDES: Final = {
    "k": 1e3, "thousand": 1e3, "m": 1e6, "mn": 1e6, "mio": 1e6, "million": 1e6, "b": 1e9, "bn": 1e9, "billion": 1e9,
    "trillion": 1e12, "hundred": 1e2, "dozen": 12.0, "lakh": 1e5, "crore": 1e7,
}  # fmt: skip

NUMBER_WORDS: Final = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}

_UNIT_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|%")
# Last words of a key that are units only by chance: `item_c`, `team_d`, `feet` of a table.
_NOT_IN_KEYS: Final = {
    *("m d k l w v wk".split()),
    *("day days night nights week weeks month year yr decade century second minute hour degree".split()),
}
_OF_ANY: Final = frozenset({"calendar", "consecutive", "full", "linear", "running", "whole"})  # that change no unit
COUNTED: Final = Unit("counted")  # of a number that counts what a noun names: no quantity with a unit equals it
_KEYS_OF_TEMPERATURE: Final = {"temp", "temperature", "feelslike", "feels", "dewpoint", "min", "max", "high", "low"}


def units_of(spelling: str) -> tuple[Unit, ...]:
    """The units that a spelling can mean; none for a word that is no unit.

    >>> [unit.dimension for unit in units_of("m")], units_of("rooms")
    (['length', 'time'], ())
    """
    words = re.split(r"[\s-]", spelling.casefold())
    while len(words) > 1 and words[0] in _OF_ANY:
        words = words[1:]
    if words[0] == "sq":
        words[0] = "square"
    return UNITS.get("_".join(words), ())


def unit_of_key(key: str) -> Unit | None:
    """The unit that a field's name states by its last word, or None.

    >>> unit_of_key("latency_ms"), unit_of_key("temp_f").dimension, unit_of_key("count")
    (Unit(dimension='time', factor=0.001, offset=0.0), 'temperature', None)
    """
    words = [word.casefold() for word in _UNIT_WORDS.findall(key[-64:])]
    if len(words) < 2 or words[-1] in _NOT_IN_KEYS:
        return None
    if words[-1] in {"c", "f"} and not _KEYS_OF_TEMPERATURE.intersection(words):
        return None
    units = UNITS.get(words[-1], ())
    return units[0] if len({unit.dimension for unit in units}) == 1 else None


# --- Reading a text ---


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
    """A number.

    Attributes:
        start, end: where it stands, with its unit.
        text: its characters.
        readings: the ways to read it, the usual one first.
        digits: how many digits of it count.
        bound: ``about``, ``above``, ``below`` or nothing, as the words before it say.
        noun: the plural noun after a number without a unit, which is what it counts; "" if there is none.
    """

    start: int
    end: int
    text: str
    readings: tuple[Reading, ...]
    digits: int
    bound: str = ""
    noun: str = ""


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
    |(?<![\w:.])(?P<clock>{CLOCK})(?!\w|:\w)
    |(?P<path>(?<![\w/.])(?:[A-Za-z]:\\|~?/|\.{{1,2}}/)[\w.@+%~-]{{1,100}}(?:[/\\][\w.@+%~-]{{1,100}}){{0,30}}
        |(?<![\w./@-])[\w-]{{1,80}}(?:[./][\w-]{{1,80}}){{0,8}}\.(?:{_EXTENSIONS})\b(?!\.\w))
    |(?P<dashed>(?<![\w-])(?=[\w-]{{0,80}}\d)\w{{1,40}}(?:-\w{{1,40}}){{2,10}}(?![\w-])
        |(?<![\w.])\d{{1,5}}(?:\.\d{{1,5}}){{2,5}}(?![\w.]?\d)
        |\#\w[\w-]{{0,63}})
    |(?P<chain>(?<![\w.])(?:(?<!\d,)|(?<=-\d\d,))\d{{1,15}}(?:,\d{{1,15}}){{2,200}}(?![\w,.]?\d))
    |(?P<number>(?<![\w.])(?:(?<!\d,)|(?<=-\d\d,))
        (?:[-+−](?=[$€£¥₹\d]))?(?:{_SIGNS}[ ]?)?-?{_CORE}[ ]?(?:(?:{_ATTACHED})(?!\w)|(?!\w)))
    |(?P<word>\w+(?:[{_QUOTE}]\w{{1,3}}\b)?(?:-\w{{1,40}}(?:[{_QUOTE}]s\b)?)?)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NUMBER = re.compile(rf"([-+−])?({_SIGNS})?\s?(-)?({_CORE})\s?(.*)", re.IGNORECASE | re.DOTALL)
_GROUPED = re.compile(rf"\d{{1,3}}(?:([,.{_QUOTE} \u00a0\u202f])\d{{3}})(?:\1\d{{3}})*")
_GROUPED_CHAIN = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
_AFTER = re.compile(
    r"[\s\u00a0-]{0,2}([%°$€£¥₹℃℉]|"
    r"(?:(?:business|working|calendar|consecutive|full|whole|square|sq|cubic|running|linear)[\s-])?"
    r"[A-Za-z]{1,16}[²³]?(?:/[hs]\b)?|°\s?[CF])(?!\w)",
    re.IGNORECASE,
)
_COUNTED_NOUN = re.compile(r"[ \u00a0]([a-z]{2,30}s)\b")
_NO_NOUNS: Final = frozenset(
    "times points percents units its is was has as this thus plus minus less versus us".split()
)
# A comma or a point that can only part decimals, or only thousands, tells which of them does so in the whole text.
_DECIMAL_MARKS = {
    mark: re.compile(
        rf"(?<![\w.,])(?:\d{{1,3}}(?:{other}\d{{3}}){{1,8}}{own}\d|\d{{1,3}}(?:{other}\d{{3}}){{2,8}}(?![\w.,]?\d)"
        rf"|\d{{1,15}}{own}\d{{1,2}}(?![\w.,]?\d))"
    )
    for mark, own, other in ((".", r"\.", ","), (",", ",", r"\."))
}
_APPROXIMATE = re.compile(
    r"(?:(?P<about>about|around|approximately|approx\.?|roughly|nearly|almost|some|circa|ca\.|close to|~|≈)"
    r"|(?P<above>over|more than|above|at least|exceeding|upwards of)"
    r"|(?P<below>under|less than|below|at most|up to))\s{0,2}[$€£¥₹]?$",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"\d{1,6}(?:st|nd|rd|th|s)", re.IGNORECASE)
_TRAILING = ".,;:!?)]}>'\"*_"
MAX_CHARACTERS: Final = 2_000_000


def decimal_mark(text: str) -> str:
    """The mark before the decimals of a text's numbers, ``.`` or ``,``; "" where it tells neither.

    >>> decimal_mark("1.234,50 or 3,5"), decimal_mark("1,234.50"), decimal_mark("1,234 and 4.000")
    (',', '.', '')
    """
    marks = [mark for mark, pattern in _DECIMAL_MARKS.items() if pattern.search(text, 0, MAX_CHARACTERS)]
    return marks[0] if len(marks) == 1 else ""


def read(text: str, mark: str | None = None) -> Values:
    """What a text states, up to ``MAX_CHARACTERS`` of it.

    Args:
        text: The text.
        mark: What stands before decimals where the text is a part of another; None lets this text tell.

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
    mark = decimal_mark(text) if mark is None else mark
    for match in _TOKEN.finditer(text, 0, MAX_CHARACTERS):
        kind, start, end = match.lastgroup, match.start(), match.end()
        token = match[0]
        if kind == "word":
            _sort_word(token, start, end, identifiers, words)
        elif kind == "number":
            quantities.append(_quantity(text, start, token, mark))
        elif kind in {"day", "at", "clock"}:
            readings = moments_of(match["day"], match["at"] or match["clock"])
            if readings:
                moments.append(Stated(start, end, readings))
        elif kind == "chain":
            quantities.extend(_chain(text, start, token, mark))
        elif kind == "dashed" and _GROUPED_CHAIN.fullmatch(token):
            quantities.append(_quantity(text, start, token, mark))
        else:
            stripped = token.rstrip(_TRAILING) if kind in {"url", "path"} else token
            if kind == "path" and "." not in stripped and stripped.count("/") + stripped.count("\\") < 2:
                words.append(Word(start, end, stripped.strip("/\\")))
            elif stripped[:1] == "#" and stripped[1:].isdecimal() and len(stripped) < 5:
                quantities.append(_quantity(text, start + 1, stripped[1:], mark))
            else:
                name = "identifier" if kind == "dashed" else str(kind)
                identifiers.append(Identifier(start, start + len(stripped), name, stripped))
    quantities.extend(_with_unit(quantity, text) for quantity in _spelled(words))
    return Values(tuple(quantities), tuple(moments), tuple(identifiers), tuple(words))


def _sort_word(token: str, start: int, end: int, identifiers: list[Identifier], words: list[Word]) -> None:
    has_digit = any(character.isdigit() for character in token)
    if "_" in token.strip("_") or (
        has_digit and len(token) > 2 and not token.isdecimal() and not _ORDINAL.fullmatch(token)
    ):
        identifiers.append(Identifier(start, end, "identifier", token))
    words.append(Word(start, end, token))


def _quantity(text: str, start: int, token: str, mark: str) -> Quantity:
    match = _NUMBER.match(token)
    if match is None:  # cannot happen: the token was found by the same core
        return Quantity(start, start + len(token), token, (), 0)
    sign, currency, inner, core, attached = match.groups()
    end = start + len(token.rstrip())
    units = units_of(currency) if currency else ()
    readings: list[tuple[float, float]] = list(_cores(core, mark))
    scales = [1.0]
    tail = attached.strip()
    tail = "gb" if tail == "G" else tail  # as programs list sizes
    reach = end
    for _ in range(3):  # what is attached, a magnitude, a unit: "1.2k kg", "3.5 million dollars"
        magnitude, found = MAGNITUDES.get(tail.casefold()), units_of(tail)
        if magnitude and scales == [1.0]:
            scales = [magnitude, 1.0] if found and not currency else [magnitude]
        elif tail and not found:
            break
        units = units or (found if scales[-1] == 1.0 or not magnitude else ())
        end = reach
        after = _AFTER.match(text, end, end + 40)
        if after is None or (units and (len(after[1]) < 2 or after[1].casefold() not in MAGNITUDES)):
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
    bound = (before.lastgroup or "") if before else ""
    return Quantity(start, end, text[start:end], tuple(options), digits, bound, "" if units else _noun(text, end))


def _noun(text: str, end: int) -> str:
    after = _COUNTED_NOUN.match(text, end)
    return "" if after is None or after[1] in _NO_NOUNS or units_of(after[1]) else after[1]


def _with_unit(quantity: Quantity, text: str) -> Quantity:
    """A number in words with the unit that follows: "two weeks"."""
    after = _AFTER.match(text, quantity.end, quantity.end + 40)
    units = units_of(after[1]) if after is not None and len(after[1]) > 2 else ()
    if after is None or not units:
        return quantity._replace(noun=_noun(text, quantity.end))
    readings = tuple(reading._replace(unit=unit) for reading in quantity.readings for unit in units)
    return quantity._replace(end=after.end(), readings=readings)


def _cores(core: str, mark: str) -> Iterator[tuple[float, float]]:
    """Value and last digit's worth; a point before three digits is read both ways where the text does not tell."""
    mantissa, _, exponent = core.casefold().partition("e")
    power = float(f"1e{exponent}") if exponent else 1.0  # inf where no float is so large
    if math.isinf(power):
        return
    grouped = _GROUPED.match(mantissa)
    whole, fraction = mantissa, ""
    if grouped:
        rest = mantissa[grouped.end() :]
        if not rest and grouped[1] in ".," and mantissa.count(grouped[1]) == 1:
            if mantissa[0] == "0" or grouped[1] == (mark or "."):  # English is assumed
                yield float(mantissa.replace(grouped[1], ".")) * power, power / 1000
            if mantissa[0] != "0" and grouped[1] != mark:
                yield float(mantissa.replace(grouped[1], "")) * power, power
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


def _chain(text: str, start: int, token: str, mark: str) -> Iterator[Quantity]:
    if _GROUPED_CHAIN.fullmatch(token):
        yield _quantity(text, start, token, mark)
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
