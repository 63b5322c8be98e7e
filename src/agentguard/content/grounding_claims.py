"""The dates, identifiers and names of an answer, one by one: traced to what results say, or reported."""

from __future__ import annotations

import re
from typing import Final

from .grounding_answer import Answer, nearest_token
from .grounding_dates import WEEKDAYS, Moment, written
from .grounding_names import Name, names, trace
from .grounding_sources import Sources
from .grounding_values import Identifier, Stated
from .grounding_words import plain, stems

__all__ = ["Dates", "trace_identifiers", "trace_names"]

MAX_CLAIMS: Final = 1_000
MAX_ALIKE: Final = 200  # moments that are remembered of one day, month or minute
MAX_MOMENTS: Final = 5_000  # that the nearest is looked for among
_WEEKDAY = re.compile(r"\b(" + "|".join(WEEKDAYS) + r")\b,?(?: the| on)? ?$", re.IGNORECASE)

Places = list[tuple[Moment, int]]


def trace_identifiers(answer: Answer) -> None:
    """Traces addresses, paths, ids: each is said exactly, or it is not."""
    for identifier in answer.values.identifiers[:MAX_CLAIMS]:
        leaf, how = _known(identifier, answer.sources)
        if leaf is not None:
            answer.speaks_of(identifier.start, identifier.text, leaf)
            answer.found("identifier", identifier.start, identifier.end, leaf, how)
        elif how != "a field's name":
            near = nearest_token(identifier.text, answer.sources) if answer.explains else ""
            answer.report("identifier", identifier.start, identifier.end, near)


def _known(identifier: Identifier, sources: Sources) -> tuple[int | None, str]:
    leaf = sources.tokens.get(plain(identifier.text))
    if leaf is not None:
        return leaf, "as written"
    if identifier.kind == "email":
        return None, ""
    return trace(Name(0, 0, identifier.text, tuple(stems(identifier.text)[:20]), False), sources)


def trace_names(answer: Answer) -> None:
    """Traces names; a single word counts half, and the name of a field is no claim."""
    taken = {identifier.start for identifier in answer.values.identifiers}
    words = [word for word in answer.values.words if word.start not in taken]
    for name in names(answer.text, words)[:MAX_CLAIMS]:
        weight = 0.5 if len(name.words) == 1 else 1.0
        leaf, how = trace(name, answer.sources)
        if leaf is not None:
            answer.speaks_of(name.start, name.text, leaf)
            answer.found("name", name.start, name.end, leaf, how, weight)
        elif not name.weak and how != "a field's name":
            detail = "" if how == "nothing like it" else how
            answer.report("name", name.start, name.end, detail, weight)


class Dates:
    """The dates and times of results, found by day, month and minute; traces those of an answer when it is made."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._days: dict[tuple[int | None, int | None], Places] = {}
        self._clocks: dict[tuple[int | None, int | None], Places] = {}
        self._months: dict[int | None, Places] = {}
        self._in_record: dict[int, set[tuple[int | None, int | None]]] = {}
        for moment, leaf in answer.sources.moments:
            _keep(self._days.setdefault((moment.month, moment.day), []), moment, leaf)
            _keep(self._months.setdefault(moment.month, []), moment, leaf)
            if moment.hour is not None:
                _keep(self._clocks.setdefault((moment.hour, moment.minute), []), moment, leaf)
                record = answer.sources.leaves[leaf].record
                self._in_record.setdefault(record, set()).add((moment.hour, moment.minute))
        for stated in answer.values.moments[:MAX_CLAIMS]:
            self._trace(stated)

    def _trace(self, stated: Stated) -> None:
        answer, start, end = self._answer, stated.start, stated.end
        places = self._places(stated)
        if not places:
            answer.report("date", start, end, self._nearest(stated.readings[0]))
            return
        other = answer.of_another(start, [leaf for _, leaf in places])
        if other is not None:
            answer.report("date", start, end, other, wrong="misattributed")
            return
        moment, leaf = places[0]
        named = _WEEKDAY.search(answer.text, max(0, start - 18), start)
        day = moment.date
        if day is not None and named and WEEKDAYS[named[1].casefold()] != day.weekday():
            right = next(name for name, number in WEEKDAYS.items() if number == day.weekday())
            answer.report("date", named.start(1), end, f"{written(Moment(*moment[:3]))} is a {right.title()}")
            return
        answer.found("date", start, end, leaf, "as a date")

    def _places(self, stated: Stated) -> Places:
        """Where results say a date and its time, in one value or in two of one record."""
        found: Places = []
        for reading in stated.readings:
            if reading.day is not None:
                near = self._days.get((reading.month, reading.day), [])
            elif reading.month is not None:
                near = self._months.get(reading.month, [])
            else:
                near = self._clocks.get((reading.hour, reading.minute), [])
            for moment, leaf in near:
                is_there = reading.agrees(moment)
                if (
                    not is_there
                    and reading.hour is not None
                    and reading._replace(hour=None, minute=None).agrees(moment)
                ):
                    record = self._answer.sources.leaves[leaf].record
                    is_there = (reading.hour, reading.minute) in self._in_record.get(record, ())
                if is_there:
                    found.append((moment, leaf))
        return found

    def _nearest(self, reading: Moment) -> str:
        if not self._answer.explains:
            return ""
        moments = self._answer.sources.moments[:MAX_MOMENTS]
        if not moments:
            return "results have no date"
        moment, leaf = min(moments, key=lambda place: _distance(place[0], reading))
        return f"the nearest that results have is {written(moment)}{self._answer.at(leaf)}"


def _keep(places: Places, moment: Moment, leaf: int) -> None:
    if len(places) < MAX_ALIKE:
        places.append((moment, leaf))


def _distance(one: Moment, two: Moment) -> tuple[bool, int]:
    """Roughly, minutes between two moments; what either does not say counts nothing, a missing day more than any."""
    scales = (525_600, 43_800, 1_440, 60, 1)
    pairs = zip(one, two, scales, strict=True)
    minutes = sum((this - that) * scale for this, that, scale in pairs if this is not None and that is not None)
    return (one.day is None) != (two.day is None), abs(minutes)
