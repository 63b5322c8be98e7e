"""What one result is made of, place by place: the facts that JSON Schema can speak of.

A place is written as a JSON pointer whose steps stand for all elements of a list (``~2``) and for all values under
keys that are data (``~3``); a key's own ``~`` and ``/`` are ``~0`` and ``~1`` as in RFC 6901. Other than the paths of
``verification.walk`` it keeps a key's very name, which is what a schema declares.
"""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from typing import Any, Final

from agentguard.verification.sides import normal

__all__ = [
    "CHOICES", "EACH", "FORMATS", "TYPES", "UNDER_ANY", "Anatomy", "Place", "is_data", "is_label", "name_of",
    "parent_of",
]  # fmt: skip

MAX_NODES: Final = 20_000  # of one result
MAX_DEPTH: Final = 12
MAX_FORMATTED: Final = 200  # characters; a longer string is text
CHOICES: Final = 8  # distinct values; more are no choice from a list
_LABEL_LENGTH: Final = 40
_LABEL_WORDS: Final = 3
EACH: Final = "~2"
UNDER_ANY: Final = "~3"

TYPES: Final = ("null", "boolean", "integer", "number", "string", "array", "object")
"""``integer`` is what was written as one; 20.0 is a ``number``, since the next may be 20.5."""

_DATE: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME: Final = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.][0-9]+)?"
#: Printable ASCII only, so that every engine of regular expressions reads them alike.
FORMATS: Final = {
    "date": _DATE,
    "date-time": rf"{_DATE}[Tt]{_TIME}(?:[Zz]|[+-][0-9]{{2}}:[0-9]{{2}})",
    "timestamp": rf"{_DATE}[ Tt][0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:[.][0-9]+)?)?",
    "uuid": r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    "email": r"[!-.0-9;-?A-~]+@[A-Za-z0-9-]+(?:[.][A-Za-z0-9-]+)+",
    "uri": r"[A-Za-z][A-Za-z0-9+.-]*://[!-~]+",
}
"""Regular expressions of which a string matches at most one; ``timestamp`` (no zone) is no format of JSON Schema."""

_FORMAT = re.compile("|".join(f"({pattern})" for pattern in FORMATS.values()))
_ALL_FORMATS: Final = (1 << len(FORMATS)) - 1
_NULL, _BOOLEAN, _INTEGER, _NUMBER, _STRING, _ARRAY, _OBJECT = (1 << bit for bit in range(len(TYPES)))
_SCALARS: Final = {type(None): _NULL, bool: _BOOLEAN, int: _INTEGER, float: _NUMBER}
_LONGEST_NAME: Final = 80
_DATA = re.compile(r"(?=.*[0-9])[\W\d_]+|.*[0-9]{4}.*|.*@.*[.].*|.*://.*|(?=.*[0-9])[0-9a-fA-F-]{12,}|<<", re.DOTALL)


@lru_cache(maxsize=4_096)
def is_data(key: str) -> bool:
    """The key is no field's name but data itself: an id, a date, an address (or ``<<``, which YAML has a use for).

    >>> [key for key in ("id", "temperature_2m", "2024-05-01", "17", "card_4421", "ann@example.org") if is_data(key)]
    ['2024-05-01', '17', 'card_4421', 'ann@example.org']
    """
    return len(key) > _LONGEST_NAME or not key or _DATA.fullmatch(key) is not None


_CALENDAR: Final = frozenset(
    "mon tue wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday jan feb mar apr may jun jul"
    " aug sep sept oct nov dec january february march april june july august september october november december"
    " today tomorrow yesterday".split()
)
"""Of these a log of some days or months has had no more than a part."""


@lru_cache(maxsize=4_096)
def is_label(text: str) -> bool:
    """The text may be one of few that a field can have: a state, a unit, a code; no id, date, address or sentence.

    >>> [text for text in ("EUR", "in transit", "°C", "A-1042", "2024-05-01", "ann@x.org", "May 7") if is_label(text)]
    ['EUR', 'in transit', '°C']
    """
    if len(text) > _LABEL_LENGTH or not text.isprintable() or is_data(text):
        return False
    words = text.lower().replace(",", " ").split()
    return 0 < len(words) <= _LABEL_WORDS and not _CALENDAR.intersection(words)


def step_to(key: str) -> str:
    """The step to the value under a key."""
    if is_data(key):
        return UNDER_ANY
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key


def name_of(step: str) -> str:
    """The key that a step was made from."""
    return step.replace("~1", "/").replace("~0", "~")


def parent_of(place: str) -> str:
    """The place above; of ``""`` there is none.

    >>> parent_of("/rows/~2/id")
    '/rows/~2'
    """
    return place[: place.rfind("/")]


class Place:
    """What stands at one place of one result.

    Attributes:
        nodes: how many values.
        objects: how many of them are objects.
        types: their types, a bit each in the order of ``TYPES``.
        formats: the formats that all strings here have, a bit each in the order of ``FORMATS``.
        values: the values as JSON, each with the text by which it is compared with arguments; None where they are
            more than ``CHOICES``, or one of them is neither a label nor a number, a boolean or null.
    """

    __slots__ = ("formats", "nodes", "objects", "types", "values")

    def __init__(self) -> None:
        self.nodes = 0
        self.objects = 0
        self.types = 0
        self.formats = _ALL_FORMATS
        self.values: dict[str, str] | None = {}

    def take(self, value: Any) -> None:
        """Note a scalar, as long as there are few."""
        if self.values is None:
            return
        if (type(value) is str and not is_label(value)) or (type(value) is float and not math.isfinite(value)):
            self.values = None
            return
        try:
            self.values[json.dumps(value, ensure_ascii=False)] = normal(value)
        except (TypeError, ValueError):  # what is no scalar of JSON, or a number of thousands of digits
            self.values = None
            return
        if len(self.values) > CHOICES:
            self.values = None


class Anatomy:
    """The places of one result.

    Attributes:
        places: what stands where; ``""`` is the result itself.
        is_whole: False where the result has more values, or is nested deeper, than is looked at.

    >>> sorted(Anatomy({"rows": [{"id": 1}, {"id": 2}]}).places)
    ['', '/rows', '/rows/~2', '/rows/~2/id']
    """

    __slots__ = ("_left", "is_whole", "places")

    def __init__(self, value: Any) -> None:
        self.places: dict[str, Place] = {}
        self.is_whole = True
        self._left = MAX_NODES
        self._visit(value, "", 0)

    def _visit(self, value: Any, where: str, depth: int) -> None:
        self._left -= 1
        if self._left < 0:
            self.is_whole = False
            return
        place = self.places.get(where)
        if place is None:
            place = self.places[where] = Place()
        place.nodes += 1
        kind = type(value)
        if kind is str:
            place.types |= _STRING
            if place.formats:
                place.formats &= _format_of(value)
            place.take(value)
        elif kind is dict:
            place.values = None
            place.types |= _OBJECT
            place.objects += 1
            if depth >= MAX_DEPTH:
                self.is_whole = self.is_whole and not value
                return
            for key, item in value.items():
                self._visit(item, f"{where}/{step_to(key)}", depth + 1)
        elif kind is list:
            place.values = None
            place.types |= _ARRAY
            if depth >= MAX_DEPTH:
                self.is_whole = self.is_whole and not value
                return
            below = f"{where}/{EACH}"
            for item in value:
                self._visit(item, below, depth + 1)
                if self._left < 0:
                    return
        else:
            place.types |= _SCALARS.get(kind, 0)
            place.take(value)


def _format_of(text: str) -> int:
    if len(text) > MAX_FORMATTED:
        return 0
    match = _FORMAT.fullmatch(text)
    return 0 if match is None or match.lastindex is None else 1 << (match.lastindex - 1)
