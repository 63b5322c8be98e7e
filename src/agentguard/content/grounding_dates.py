"""Dates and times as people and programs write them; what is not written (a year, a time) stays unknown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from typing import Final, NamedTuple

__all__ = ["CLOCK", "DATE", "WEEKDAYS", "Moment", "moments_of", "of_epoch", "written"]

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
