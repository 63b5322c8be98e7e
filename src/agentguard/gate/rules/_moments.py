"""Read dates and times in words, or with words left out: "half past nine", "Boxing Day", "24 and 25 May".

A time without "am" or "pm" is read as both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from agentguard.content.grounding._values import NUMBER_WORDS, Moment, Stated

MONTHS: Final = "january february march april may june july august september october november december".split()
# The days of the year that have a name, by its letters.
_FIXED: Final = {
    "christmaseve": (12, 24),
    "christmasday": (12, 25),
    "boxingday": (12, 26),
    "newyearseve": (12, 31),
    "newyearsday": (1, 1),
    "valentinesday": (2, 14),
    "halloween": (10, 31),
}
_FIXED_DAY = re.compile(
    r"\b(?:christmas (?:eve|day)|boxing day|new year['\u2019]?s (?:eve|day)|valentine['\u2019]?s day|halloween)\b",
    re.IGNORECASE,
)
_NAMED: Final = {"noon": ((12, 0),), "midday": ((12, 0),), "midnight": ((0, 0), (24, 0))}
_NAMED_TIME = re.compile(rf"\b(?:{'|'.join(_NAMED)})\b", re.IGNORECASE)
_PAST: Final = {"half past": 30, "quarter past": 15, "quarter to": -15}  # minutes
_WORDS: Final = [word for word, number in NUMBER_WORDS.items() if 1 <= number <= 12]
_HOUR = rf"(?P<hour>1[0-2]|[1-9]|{'|'.join(_WORDS)})"
_HALF = r"(?:\s?(?P<half>[ap])\.?m\b|\s(?:in the|at)\s(?P<part>morning|afternoon|evening|night)\b)"
# "half past nine", "quarter to ten in the evening"; "9 o'clock"; "at five in the afternoon".
_CLOCK = re.compile(rf"\b(?:(?P<past>{'|'.join(_PAST)})\s{_HOUR}\b{_HALF}?)", re.IGNORECASE)
_O_CLOCK = re.compile(rf"\b{_HOUR}\s?o['\u2019]clock\b{_HALF}?", re.IGNORECASE)
_SPOKEN = re.compile(
    rf"\b(?:at|by|from|until|till|before|after|to|around|about|between)\s(?P<time>{_HOUR}"
    r"\s(?:in the|at)\s(?P<part>morning|afternoon|evening|night)\b)",
    re.IGNORECASE,
)
_DAY = r"(?:the\s)?\d{1,2}(?:st|nd|rd|th)?"
_LINK = r"(?:,?\s(?:and|or|to|until|till|through)\s|\s?[–-]\s?|,\s)"
# "24, 25 and 26 December", "from the 24th to the 26th of December": all but the last leave the month out.
_DATES = re.compile(
    rf"\b(?P<days>(?:{_DAY}{_LINK}){{1,6}}){_DAY}\s(?:of\s)?(?P<month>{'|'.join(MONTHS)})\b", re.IGNORECASE
)
# "on the 15th of each month", "from the 24th to the 26th": in whichever month.
_NTH = re.compile(
    r"\b(?:on|from|to|until|till|by|before|after|and|or)\s(?P<day>the\s(?P<number>\d{1,2})(?:st|nd|rd|th))"
    r"(?=[.,;:)]|$|\s(?:and|or|to|until|till|of (?:each|every|the|a) month)\b)"
)


def moments_in_words(text: str) -> Iterator[Stated]:
    """Yield the dates and times of a text that are not written out, in no order.

    >>> found = list(moments_in_words("We open at half past nine, and not on Boxing Day."))
    >>> [(each.readings[0].hour, each.readings[0].minute, each.readings[0].day) for each in found]
    [(None, None, 26), (9, 30, None)]
    """
    for match in _FIXED_DAY.finditer(text):
        month, day = _FIXED["".join(filter(str.isalpha, match[0].casefold()))]
        yield Stated(*match.span(), (Moment(month=month, day=day),))
    for match in _NAMED_TIME.finditer(text):
        yield Stated(*match.span(), tuple(Moment(hour=h, minute=m) for h, m in _NAMED[match[0].casefold()]))
    for match in _CLOCK.finditer(text):
        yield Stated(
            *match.span(), _times(match["hour"], _PAST[match["past"].casefold()], match["half"] or match["part"])
        )
    for match in _O_CLOCK.finditer(text):
        yield Stated(*match.span(), _times(match["hour"], 0, match["half"] or match["part"]))
    for match in _SPOKEN.finditer(text):
        yield Stated(*match.span("time"), _times(match["hour"], 0, match["part"]))
    for match in _DATES.finditer(text):
        month, start = MONTHS.index(match["month"].casefold()) + 1, match.start("days")
        for each in re.finditer(_DAY, match["days"]):
            day = int(re.sub(r"\D", "", each[0]))
            if 1 <= day <= 31:
                yield Stated(start + each.start(), start + each.end(), (Moment(month=month, day=day),))
    for match in _NTH.finditer(text):
        if 1 <= int(match["number"]) <= 31:
            yield Stated(*match.span("day"), (Moment(day=int(match["number"])),))


def _times(hour: str, minutes: int, half: str | None) -> tuple[Moment, ...]:
    """The times of day that an hour, minutes after it and a half of the day ("p", "evening") stand for."""
    number = (NUMBER_WORDS.get(hour.casefold()) or int(hour)) % 12
    mark = (half or "").casefold()
    halves = (0, 12) if not mark else (0,) if mark in {"a", "morning"} else (12,)
    totals = ((number + first) * 60 + minutes for first in halves)
    return tuple(Moment(hour=total // 60 % 24, minute=total % 60) for total in totals)
