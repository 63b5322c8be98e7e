"""Fields that only ever go forward: timestamps, versions, sequence numbers. One that goes back betrays a stale answer.

A field is followed twice: over all calls of the tool (the server's clock) and over the calls with the same arguments
(a record's version). How often it has gone back so far says how much a step back means.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

from .document import Document
from .statistics import Rate

__all__ = ["NO_CLOCKS", "Clocks", "clock_values"]

MAX_PATHS: Final = 32
GIVEN_UP_AT: Final = 0.25
WARM_UP: Final = 6
LONGEST_TIME: Final = 35
TIMES: Final = 0.05  # before anything is known: how often a field that is written as a time goes back
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$")

ClockValue = float | str
NO_CLOCKS: Final[dict[str, ClockValue]] = {}  # one for all that have none


def clock_values(document: Document) -> dict[str, ClockValue]:
    """The numbers and ISO 8601 times of a result that stand once each, by path.

    >>> from agentguard.verification.document import read
    >>> clock_values(read({"as_of": "2025-03-01T10:00:00", "price": 4.5, "name": "x", "rows": [{"id": 1}]}))
    {'as_of': '2025-03-01T10:00:00', 'price': 4.5}
    """
    if document.clocks is None:
        leaves = document.leaves
        document.clocks = {}
        for path in () if document.layout is None else document.layout.singles[:MAX_PATHS]:
            values = leaves[path]
            if len(values) == 1:
                value = values[0]
                kind = type(value)
                if kind is str:
                    if value[4:5] == "-" and len(value) <= LONGEST_TIME and _ISO.match(value):
                        document.clocks[path] = value
                elif (kind is float and math.isfinite(value)) or (kind is int and -(2**53) <= value <= 2**53):
                    document.clocks[path] = value
    return document.clocks


def _went_back(now: ClockValue, before: ClockValue | None) -> bool | None:
    """The clock stands earlier than before; None where it stands still, or where the two cannot be compared."""
    if isinstance(now, str):
        if not isinstance(before, str) or len(now) != len(before) or now == before:
            return None
        return now < before
    return None if before is None or isinstance(before, str) or now == before else now < before


class Clocks:
    """The fields of one tool, and how often each has gone back."""

    __slots__ = ("by_key", "overall", "standing")

    def __init__(self) -> None:
        self.standing: dict[str, ClockValue] = {}
        self.overall: dict[str, Rate | None] = {}  # None: given up, the field goes back as a matter of course
        self.by_key: dict[str, Rate | None] = {}

    def back_rate(self, values: dict[str, ClockValue], last_of_key: dict[str, ClockValue]) -> tuple[float, str]:
        """How often the steadiest field that went back has done so, and its path; (1, "") where none went back."""
        least, where = 1.0, ""
        for rates, last in ((self.overall, self.standing), (self.by_key, last_of_key)):
            for path, now in values.items():
                rate = rates.get(path)
                if rate is not None and rate.total >= WARM_UP and _went_back(now, last.get(path)):
                    usual = rate.mean(TIMES, 1.0) if isinstance(now, str) else rate.mean()
                    if usual < least:
                        least, where = usual, path
        return least, where

    def learn(self, values: dict[str, ClockValue], last_of_key: dict[str, ClockValue]) -> None:
        for rates, last in ((self.overall, self.standing), (self.by_key, last_of_key)):
            for path, now in values.items():
                back = _went_back(now, last.get(path))
                if back is not None:
                    self._count(rates, path, back)
        for path, now in values.items():
            if path not in self.standing and len(self.standing) >= MAX_PATHS:
                continue
            if not _went_back(now, self.standing.get(path)):
                self.standing[path] = now

    def kept(self, values: dict[str, ClockValue]) -> dict[str, ClockValue]:
        """Those of the values that may still turn out to be a record's clock."""
        given_up = [path for path in values if self.by_key.get(path, self) is None]
        kept = {path: value for path, value in values.items() if path not in given_up} if given_up else values
        return kept or NO_CLOCKS

    @staticmethod
    def _count(rates: dict[str, Any], path: str, back: bool) -> None:
        if path not in rates:
            if len(rates) >= MAX_PATHS:
                return
            rates[path] = Rate()
        rate = rates[path]
        if rate is not None:
            rate.push(back)
            if rate.total >= WARM_UP and rate.mean() > GIVEN_UP_AT:
                rates[path] = None
