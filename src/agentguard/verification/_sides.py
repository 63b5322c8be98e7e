"""One side of a call, its arguments or its result, as relations compare it: marks and numbers by path, no text."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any, Final
from zlib import crc32

from agentguard.verification._walk import Remembered

MAX_VALUE_LENGTH: Final = 400  # characters of a text that is compared
COUNT: Final = "#"  # after the path of a list: how many elements it has
MOST_VALUES: Final = 20  # at one path
MOST_PATHS: Final = 60  # of one side
MOST_SAID: Final = 4  # values at one path that are looked for
SHORTEST: Final = 3  # characters of a text that is looked for in another
START: Final = 4  # characters that two values have in common which start alike
SHORT: Final = 64  # characters of a text whose mark is worth remembering
MOST_REMEMBERED: Final = 10_000  # paths, of the forms of sides
LONGEST_NUMBER: Final = 24  # characters
LONGEST_TIME: Final = 40  # characters

_DIGITS: Final = frozenset("0123456789")
_FIRST: Final = _DIGITS | {"-"}  # characters that a number begins with
_DIGIT = re.compile(r"\d")
_NONE: Final[Mapping[str, int]] = {}
TRUE: Final = crc32(b"true") | 1
FALSE: Final = crc32(b"false") | 1


def normal(value: Any) -> str:
    """A scalar as the text by which it is compared: case, outer space and a float's ``.0`` put aside.

    >>> normal(" Paris "), normal(5.0), normal(True)
    ('paris', '5', '')
    """
    kind = type(value)
    if kind is str:
        return value[:MAX_VALUE_LENGTH].strip().lower() if len(value) <= MAX_VALUE_LENGTH else ""
    if kind is int and -(2**63) <= value < 2**64:
        return str(value)
    if kind is float:
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return ""


def mark_of(value: Any) -> int:
    """32 bits of a scalar as it is compared: case, outer space and a float's ``.0`` put aside; 0 of what has no text.

    >>> mark_of(5.0) == mark_of(" 5 "), mark_of(True) == mark_of("true"), mark_of("Oslo") == mark_of("Rome")
    (True, True, False)
    """
    kind = type(value)
    if kind is bool:
        return TRUE if value else FALSE
    if kind is str and len(value) <= SHORT:
        return _mark_of_short(value)
    return _mark(normal(value))


@lru_cache(maxsize=1_024)
def _mark_of_short(text: str) -> int:
    return _mark(normal(text))


def is_word(mark: int) -> bool:
    """The mark is that of a value without digits: a word, a state, a flag.

    >>> is_word(mark_of("EUR")), is_word(mark_of(True)), is_word(mark_of(7)), is_word(mark_of("v2"))
    (True, True, False, False)
    """
    return mark & 1 == 1


def _mark(text: str) -> int:
    if not text:
        return 0
    mark = crc32(text.encode("utf-8", "surrogatepass"))
    return mark & ~1 if text[-1] in _DIGITS or _DIGIT.search(text) else mark | 1  # most that have one end in one


class Side:
    """The scalars of one side by path; lists' elements share a path that contains ``[]``.

    Of ``leaves`` the first twenty values at a path count and the first sixty paths; ``whole`` is all that the side
    says, as UTF-8; ``lengths`` are those of lists, where ``leaves`` is a sample. ``paths`` has those with values and
    after them those of the lengths of lists, ``#`` after the list's.

    >>> side = Side({"total": [30], "items[].price": [10, "20"]})
    >>> side.paths, side.number("total"), side.number("items#"), side.numbers("items[].price")
    (('total', 'items[].price', 'items#'), 30.0, 2.0, (10.0, 20.0))
    """

    __slots__ = ("_counts", "_leaves", "_lowered", "_marks", "_numbers", "_starts", "_times", "_whole", "paths")

    def __init__(
        self, leaves: Mapping[str, Sequence[Any]], whole: bytes = b"", lengths: Mapping[str, int] = _NONE
    ) -> None:
        self._leaves = leaves
        self._whole = whole
        self._lowered = b""
        self._counts: dict[str, int] = {}
        self._marks: dict[str, tuple[int, ...]] = {}
        self._numbers: dict[str, tuple[float, ...]] = {}
        self._starts: dict[str, int] = {}
        self._times: dict[str, tuple[float, ...]] = {}
        self.paths, counted_paths = _form_of(tuple(leaves))
        for path, counted in counted_paths:
            count = lengths.get(counted[:-1], len(leaves[path]))
            if count >= self._counts.get(counted, 0):
                self._counts[counted] = count
        if not all(leaves.values()):
            self.paths = tuple([path for path in self.paths if path in self._counts or leaves[path]])

    def settle(self) -> None:
        """Let go of the texts: of what was not asked for nothing is known any more."""
        self._leaves = {}
        self._times = {}
        self._whole = self._lowered = b""

    def marks(self, path: str) -> tuple[int, ...]:
        """Marks of the values at a path, or of the length of the list that it counts; none where there is nothing."""
        marks = self._marks.get(path)
        if marks is None:
            values = self._values(path)
            marks = (mark_of(values[0]),) if len(values) == 1 else tuple([mark_of(value) for value in values])
            self._marks[path] = marks
        return marks

    def mark(self, path: str) -> int:
        """The mark of the one value at a path outside of lists; 0 where there is none, or nothing to compare."""
        marks = () if "[]" in path else self.marks(path)
        return marks[0] if len(marks) == 1 else 0

    def differs(self, other: Side) -> bool:
        """A path that both have has another value there."""
        return any(path in other.paths and other.marks(path) != self.marks(path) for path in self.paths)

    def text(self, path: str) -> str:
        """The one value there as normalised text; "" where there is none or are several."""
        values = self._values(path)
        return normal(values[0]) if len(values) == 1 else ""

    def texts(self, path: str) -> list[str]:
        """The first values there as normalised texts."""
        return [normal(value) for value in self._values(path)[:MOST_SAID]]

    def says(self, text: str) -> bool | None:
        """The whole text says this one; None of texts below three characters, which are found by chance."""
        if len(text) < SHORTEST or not self._whole:
            return None
        needle = text.encode("utf-8", "replace")
        if self._whole.find(needle) >= 0:  # ``in`` takes longer: it tries to read the bytes as a number first
            return True
        if not self._lowered:
            self._lowered = self._whole.lower()
        return self._lowered.find(needle) >= 0

    def numbers(self, path: str) -> tuple[float, ...]:
        """The values there as numbers; none where one of them is no number."""
        numbers = self._numbers.get(path)
        if numbers is None:
            numbers = self._numbers[path] = _all([_number(value) for value in self._values(path)])
        return numbers

    def number(self, path: str) -> float | None:
        """The one number there."""
        numbers = self.numbers(path)
        return numbers[0] if len(numbers) == 1 else None

    def order(self, path: str) -> tuple[float, ...]:
        """The values there as numbers that stand in the same order: numbers, or dates (``2026-11-23…``)."""
        return self.numbers(path) or _all([_date(value) for value in self._values(path)])

    def times(self, path: str) -> tuple[float, ...]:
        """The values there as times, in seconds: days and moments in ISO form; none where one of them is no time."""
        times = self._times.get(path)
        if times is None:
            times = self._times[path] = _all([_time(value) for value in self._values(path)])
        return times

    def start(self, path: str) -> int:
        """The mark of the first four characters of the one value there; 0 of a shorter one."""
        start = self._starts.get(path)
        if start is None:
            text = "" if "[]" in path else self.text(path)
            start = self._starts[path] = _mark(text[:START]) if len(text) >= START else 0
        return start

    def _values(self, path: str) -> Sequence[Any]:
        count = self._counts.get(path)
        return self._leaves.get(path, ())[:MOST_VALUES] if count is None else (count,)


_Form = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]
_known_forms: Remembered[_Form] = Remembered(room=MOST_REMEMBERED)


def _form_of(paths: tuple[str, ...]) -> _Form:
    """All paths of a side with these leaves, and each path within a list beside the path of that list's length."""
    form = _known_forms.get(paths)
    if form is None:
        taken = paths[:MOST_PATHS]
        counted = tuple((path, path[: path.rindex("[]")] + COUNT) for path in taken if "[]" in path)
        form = (*taken, *dict.fromkeys([count for _, count in counted])), counted
        _known_forms.put(paths, form, weight=len(paths) + 1)
    return form


def _all(numbers: list[float | None]) -> tuple[float, ...]:
    """The numbers; an empty tuple where one of them is None."""
    known = [number for number in numbers if number is not None]
    return tuple(known) if len(known) == len(numbers) else ()


def _number(value: Any) -> float | None:
    kind = type(value)
    if kind is float:
        return value if math.isfinite(value) else None
    if kind is int:
        return float(value) if -(2**63) <= value < 2**63 else None
    if kind is str and len(value) <= LONGEST_NUMBER and value[:1] in _FIRST:
        try:
            number = float(value)
        except ValueError:
            return None
        return number if math.isfinite(number) else None
    return None


def _date(value: Any) -> float | None:
    if type(value) is str and value[4:5] == "-" and value[7:8] == "-":
        digits = value[:4] + value[5:7] + value[8:10]
        if digits.isascii() and digits.isdecimal():
            return float(digits)
    return None


def _time(value: Any) -> float | None:
    """A day or a moment in ISO form, in seconds; one that names no time zone is taken for one of UTC."""
    if type(value) is not str or value[4:5] != "-" or value[7:8] != "-" or len(value) > LONGEST_TIME:
        return None
    try:
        moment = datetime.fromisoformat(value.replace("Z", "+00:00"))
        return (moment.replace(tzinfo=timezone.utc) if moment.tzinfo is None else moment).timestamp()
    except (ValueError, OverflowError):
        return None
