"""Units, magnitudes and number words: what stands beside a number and says how much it is.

A value is compared in the base unit of its dimension: metres, grams, seconds, bytes, kelvins, litres, metres a second.
Currencies are dimensions of their own, because no rate is known. Spellings with several meanings (``m``) have several
units; ``KB`` is 1,000 and 1,024 bytes.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

__all__ = ["MAGNITUDES", "NUMBER_WORDS", "PERCENT", "UNITS", "Unit", "unit_of_key", "units_of"]

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
        "week weeks": 604800.0,
    },
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
    },
    "speed": {"m/s": 1.0, "km/h kmh kph": 1 / 3.6, "mph": 0.44704, "knot knots kt kts": 1852 / 3600},
    PERCENT: {"% percent pct": 1.0},
    "USD": {"$ us$ usd dollar dollars": 1.0, "cent cents": 0.01},
    "EUR": {"€ eur euro euros": 1.0, "cent cents": 0.01},
    "GBP": {"£ gbp pound pounds": 1.0, "pence": 0.01},
    "JPY": {"¥ jpy yen": 1.0},
    "INR": {"₹ inr rupee rupees": 1.0},
    "CHF": {"chf": 1.0},
}
_TEMPERATURES: Final = {
    "°c ℃ c celsius": Unit("temperature", 1.0, 273.15),
    "°f ℉ f fahrenheit": Unit("temperature", 5 / 9, 459.67 * 5 / 9),
    "kelvin kelvins": Unit("temperature"),
}
_BINARY: Final = {"kb": 1024.0, "mb": 1024.0**2, "gb": 1024.0**3, "tb": 1024.0**4}


def _units() -> dict[str, tuple[Unit, ...]]:
    found: dict[str, list[Unit]] = {}
    for dimension, spellings in _TABLE.items():
        for names, factor in spellings.items():
            for name in names.split():
                found.setdefault(name, []).append(Unit(dimension, factor))
    for names, unit in _TEMPERATURES.items():
        for name in names.split():
            found.setdefault(name, []).append(unit)
    for name, factor in _BINARY.items():
        found[name].append(Unit("data", factor))
    return {name: tuple(units) for name, units in found.items()}


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

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|%")
# Last words of a key that are units only by chance: `item_c`, `team_d`, `feet` of a table.
_NOT_IN_KEYS: Final = {
    "m",
    "d",
    "day",
    "days",
    "night",
    "nights",
    "week",
    "weeks",
    "k",
    "l",
    "second",
    "minute",
    "hour",
}
_KEYS_OF_TEMPERATURE: Final = {"temp", "temperature", "feelslike", "feels", "dewpoint", "min", "max", "high", "low"}


def units_of(spelling: str) -> tuple[Unit, ...]:
    """The units that a spelling can mean; none for a word that is no unit.

    >>> [unit.dimension for unit in units_of("m")], units_of("rooms")
    (['length', 'time'], ())
    """
    return UNITS.get(spelling.casefold(), ())


def unit_of_key(key: str) -> Unit | None:
    """The unit that a field's name states by its last word, or None.

    >>> unit_of_key("latency_ms"), unit_of_key("temp_f").dimension, unit_of_key("count")
    (Unit(dimension='time', factor=0.001, offset=0.0), 'temperature', None)
    """
    words = [word.casefold() for word in _WORDS.findall(key[-64:])]
    if len(words) < 2 or words[-1] in _NOT_IN_KEYS:
        return None
    if words[-1] in {"c", "f"} and not _KEYS_OF_TEMPERATURE.intersection(words):
        return None
    units = UNITS.get(words[-1], ())
    return units[0] if len({unit.dimension for unit in units}) == 1 else None
