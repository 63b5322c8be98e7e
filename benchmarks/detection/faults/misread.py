"""Faults in values: a field ten times too large, of the wrong sign, in another unit, written otherwise, made up."""

from __future__ import annotations

import math
import re
from datetime import datetime
from random import Random
from typing import Any

from ..calls import Call
from ..spots import Spot, columns, leaves, number_columns, replaced
from .scene import Scene, same

__all__ = ["UNITS", "alike", "invented", "negated", "other_form", "reformatted", "scaled", "unit_changed"]

# Celsius to Fahrenheit, km to miles, kg to pounds, thousands either way, feet to metres, euros to cents.
UNITS = ((1.8, 32.0), (0.621371, 0.0), (2.20462, 0.0), (1_000.0, 0.0), (0.001, 0.0), (0.3048, 0.0), (100.0, 0.0))
DATE = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}:\d{2}:\d{2})Z)?")
GENERIC = (
    "Example Item",
    "Sample entry for testing",
    "Standard description",
    "John Smith",
    "Acme Corporation",
    "New York",
)
CATEGORY = re.compile(r"[^\W\d]+")


def scaled(call: Call, scene: Scene, rng: Random) -> Call | None:
    """One field ten times too large or too small, in every element of a list alike."""
    factor = rng.choice((10, 0.1))
    return _field(call, rng, lambda number: number * factor)


def negated(call: Call, scene: Scene, rng: Random) -> Call | None:
    """One field with the other sign."""
    return _field(call, rng, lambda number: -number)


def unit_changed(call: Call, scene: Scene, rng: Random) -> Call | None:
    """One field in another unit."""
    factor, offset = rng.choice(UNITS)
    return _field(call, rng, lambda number: number * factor + offset)


def reformatted(call: Call, scene: Scene, rng: Random) -> Call | None:
    """One field written otherwise: day before month, seconds since 1970, a number as text, yes for true."""
    if isinstance(call.result, str):
        result: Any = DATE.sub(r"\3/\2/\1", call.result)
        if result == call.result:
            result = re.sub(r"(?<=\d)\.(?=\d)", ",", result)
    else:
        fields = columns(call.result, lambda value: other_form(value, 0) is not None)
        if not fields:
            return None
        way = rng.randrange(2)
        result = replaced(call.result, {spot: other_form(spot.value, way) for spot in rng.choice(fields)})
    return None if same(result, call.result) else call._replace(result=result)


def invented(call: Call, scene: Scene, rng: Random) -> Call | None:
    """What a language model would make up: the right fields, the arguments repeated, the rest plausible."""
    given = set(map(str, call.args.values()))
    if isinstance(call.result, str) and not leaves(call.result):
        words = call.result.split()
        result: Any = " ".join(rng.choice(GENERIC) if len(word) > 4 and rng.random() < 0.4 else word for word in words)
    else:
        spots = [spot for spot in leaves(call.result) if str(spot.value) not in given]
        news = {spot: _made_up(spot.value, rng) for spot in spots}
        result = replaced(call.result, {**news, **_known_words(spots, call, scene)})
    return None if same(result, call.result) else call._replace(result=result)


def _field(call: Call, rng: Random, change: Any) -> Call | None:
    fields = number_columns(call.result, call.args)
    if not fields:
        return None
    result = replaced(call.result, {spot: alike(spot, change(spot.value)) for spot in rng.choice(fields)})
    return None if same(result, call.result) else call._replace(result=result)


def alike(spot: Spot, new: float) -> float:
    """The new number with as many decimals as the old one, two where that would leave none of it."""
    if isinstance(spot.value, int) and (abs(new) >= 1 or not new):
        return round(new)
    decimals = len(str(spot.value).partition(".")[2]) if isinstance(spot.value, float) else 0
    return round(new, decimals) or round(new, decimals + 2)


def other_form(value: Any, way: int) -> Any:
    """A flag, number or date written in one of two other ways; None for what has no other form."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return f"{value:,}" if way else str(value).replace(".", ",")
    found = DATE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    year, month, day, time = found.groups()
    if way:
        return int(datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp())
    return f"{day}/{month}/{year}" + (f" {time}" if time else "")


def _made_up(value: Any, rng: Random) -> Any:
    """A plausible value of the same kind: numbers round, ids counted up, dates on the hour, texts without character."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return _round_number(value, rng)
    found = DATE.fullmatch(value)
    if found:
        return f"{found[1]}-{rng.randrange(1, 13):02d}-15" + ("T10:30:00Z" if found[4] else "")
    if "@" in value:
        return f"{rng.choice(('john.doe', 'jane.smith', 'info'))}@example.com"
    if value.startswith("http"):
        return f"https://example.com/{rng.choice(('article', 'page', 'item'))}{rng.randrange(1, 9)}"
    if any(map(str.isdigit, value)):
        digits = iter("1234567890" * (len(value) // 10 + 1))
        return re.sub(r"\d", lambda _: next(digits), value)
    return value if CATEGORY.fullmatch(value) else rng.choice(GENERIC)


def _known_words(spots: list[Spot], call: Call, scene: Scene) -> dict[Spot, Any]:
    """Single words as an earlier answer had them in their place: a model knows the states and codes of a tool."""
    earlier = next((past.result for past in scene.of_tool(call.tool) if type(past.result) is type(call.result)), None)
    known = {spot.path: spot.value for spot in leaves(earlier) if isinstance(spot.value, str)}
    words = [spot for spot in spots if isinstance(spot.value, str) and CATEGORY.fullmatch(spot.value)]
    return {spot: known[spot.path] for spot in words if CATEGORY.fullmatch(known.get(spot.path, ""))}


def _round_number(value: float, rng: Random) -> float:
    new = value * rng.uniform(0.5, 1.6)
    if not new:
        return value
    digits = 1 - math.floor(math.log10(abs(new)))
    return round(new, digits) if isinstance(value, float) else int(round(new, digits)) or 1
