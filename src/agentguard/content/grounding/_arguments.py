"""Before a call: each argument that names one thing, traced to the conversation or an earlier result.

An id, an address, a date, a path or a name that nobody said is made up, and the tool would run on it. Arguments that a
model is free to choose are left alone: text, enumerations, switches, limits, small numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Any, Final, NamedTuple

from agentguard._foreign import raised_by
from agentguard.content._findings import Finding
from agentguard.content._text import message_text, written
from agentguard.content.grounding._answer import Name, Trace, nearest_token, trace
from agentguard.content.grounding._reading import field_path
from agentguard.content.grounding._sources import Sources
from agentguard.content.grounding._values import NUMBER_WORDS, WEEKDAYS, Moment, plain, read, stem, stems

FLAG_AT: Final = 0.5
MAX_ARGUMENTS: Final = 1_000  # that name something
MAX_VALUES: Final = 20_000  # of all arguments, that are looked at
MAX_DEPTH: Final = 20
MAX_EXPLAINED: Final = 50  # findings that name the nearest known value
MAX_LENGTH: Final = 200  # characters beyond which an argument is text
LONGEST_KEY: Final = 200  # characters at the end of a key, which says what the argument is, that are read
_FREE: Final = frozenset(
    """body content message text subject title query question description summary note comment reason
    explanation thought prompt instruction expression formula pattern keyword detail resolution password code
    html sql command search template caption topic feedback review label""".split()
)
_CHOSEN: Final = frozenset(
    """type status mode format unit sort order_by orderby direction language lang locale cabin class priority
    level limit offset page size count max min top n k timezone currency method action operation scope
    visibility color colour amount quantity quantities baggage insurance recurring temperature seed""".split()
)
_NAMING: Final = frozenset(
    """id uuid guid key number no email mail recipient address url uri link href path file filename folder
    directory dir user username name account iban phone zip postcode token date day time start end from to city
    location origin destination place hotel restaurant company channel participant attendee sender receiver
    contact customer order reservation ticket product item sku isbn symbol ticker domain host flight repo
    repository branch""".split()
)
_KEY_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_KEY_NUMBERS = frozenset("id number no account zip postcode phone iban key".split())
_IN = re.compile(
    r"\b(?:in|after) (?:the next )?(\w+) (day|week)s?\b|\b(\w+) (day|week)s? (?:ago|later|from (?:now|today))\b",
    re.IGNORECASE,
)
_DAYS: Final = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1, "now": 0}
_LENGTH = re.compile(r"\b(\w+|\d+(?:\.\d+)?|half an?)[ -]?(minutes?|mins?|hours?|hrs?|h)\b", re.IGNORECASE)
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,5}$")
_ORDINARY: Final = frozenset(". .. ~ tmp temp home usr var etc root api v1 v2 http https index main".split())


class ArgumentsResult(NamedTuple):
    """The arguments of a call, traced to what was said before.

    Attributes:
        score: the share of the arguments that name something which nobody said, 0 to 1; 0 where none names anything.
        label: ``known``, ``invented`` (the score reaches ``flag_at``), ``partly invented`` or ``nothing to trace``.
        findings: of kind ``invented argument``; their places are characters of the argument's own text, and their
            details begin with the argument's path. That there are more arguments than can be traced is one too.
        supported: what is known, and from where; ``source`` is the position of a result, or negative: -1 the first
            message, -2 the second.
    """

    score: float
    label: str
    findings: tuple[Finding, ...]
    supported: tuple[Trace, ...]


def check_arguments(
    args: Mapping[str, Any],
    messages: Iterable[str | Mapping[str, Any]] = (),
    tool_results: Iterable[Any] = (),
    *,
    now: datetime | None = None,
    known: Iterable[str] = (),
    flag_at: float = FLAG_AT,
) -> ArgumentsResult:
    """Trace each argument that names one thing to what was said before the call.

    Args:
        args: the arguments of the call.
        messages: the conversation so far: texts, or mappings with ``content``. What earlier calls were given belongs
            here only where it was known itself.
        tool_results: the results of earlier calls.
        now: the time by which "tomorrow" is read; without it no relative date is derived.
        known: values that are always allowed: an account's own address, the names of an enumeration.
        flag_at: the score from which the label is ``invented``.

    >>> said = [{"role": "user", "content": "Mail the invoice to Anna, and book a table for tomorrow."}]
    >>> results = [{"name": "Anna Roth", "email": "a.roth@example.com"}]
    >>> args = {"to": ["anna.roth@example.com"], "date": "2025-03-04", "body": "See you"}
    >>> found = check_arguments(args, said, results, now=datetime(2025, 3, 3))
    >>> found.label, [finding.detail for finding in found.findings]
    ('invented', ["to[0]: nobody said 'anna.roth@example.com'; the nearest is 'a.roth@example.com' at email"])
    """
    contents = [message if isinstance(message, str) else message.get("content", "") for message in messages]
    texts = [*(message_text(content) for content in contents if isinstance(content, (str, list, tuple))), *known]
    sources = Sources(tool_results, texts)
    derived = _Derived(texts, sources, now)
    findings: list[Finding] = []
    supported: list[Trace] = []
    naming, whole = _naming(args)
    if not whole:
        findings.append(Finding("invented argument", "the arguments: more than can be traced", 0, 0))
    for path, key, value in naming:
        text = written(value)
        found = _traced(key, text, sources, derived)
        if found is not None:
            leaf, how = found
            if leaf < 0:
                supported.append(Trace("argument", 0, len(text), None, path, -1, -1, how))
            else:
                source, place = sources.source(leaf), sources.leaf(leaf)
                supported.append(Trace("argument", 0, len(text), source, place.path, place.start, place.end, how))
        else:
            near = nearest_token(text, sources) if len(findings) < MAX_EXPLAINED else ""
            shown = text if len(text) <= 80 else text[:77] + "..."
            findings.append(
                Finding("invented argument", f"{path}: nobody said {shown!r}" + (near and f"; {near}"), 0, len(text))
            )
    checked = len(findings) + len(supported)
    score = len(findings) / checked if checked else 0.0
    label = "known" if checked else "nothing to trace"
    if findings:
        label = "invented" if score >= flag_at else "partly invented"
    return ArgumentsResult(score, label, tuple(findings), tuple(supported))


def _naming(args: Mapping[str, Any]) -> tuple[list[tuple[str, str, Any]], bool]:
    """Path, key and value of each argument that names one thing, and whether those are all."""
    naming: list[tuple[str, str, Any]] = []
    stack: list[tuple[str, str, Any, int]] = [("", "", args, 0)]
    left, whole = MAX_VALUES, True
    while stack:
        path, key, value, depth = stack.pop()
        left -= 1
        if left < 0 or len(naming) >= MAX_ARGUMENTS:
            return naming, False
        try:
            if isinstance(value, (Mapping, list, tuple)):
                whole = whole and depth <= MAX_DEPTH
                stack.extend(_below(path, key, value, depth + 1, left + 1) if depth <= MAX_DEPTH else ())
            elif _names_something(key, value):
                naming.append((path, key, value))
        except BaseException as error:
            if not raised_by(value, error):
                raise
            whole = False
    return naming, whole


def _below(path: str, key: str, value: Any, depth: int, most: int) -> list[tuple[str, str, Any, int]]:
    """The first values in a container, the last of them first."""
    if not isinstance(value, Mapping):
        items = reversed(list(enumerate(islice(value, most))))
        return [(f"{path}[{at}]", key, inner, depth) for at, inner in items]
    fields = [(written(name), inner) for name, inner in islice(value.items(), most)]
    return [(field_path(path, name), name, inner, depth) for name, inner in fields[::-1]]


def _names_something(key: str, value: Any) -> bool:
    words = [stem(word) for word in _KEY_WORDS.findall(key[-LONGEST_KEY:])]
    last = words[-1] if words else ""
    if isinstance(value, bool) or value is None or not isinstance(value, (str, int)):
        return False
    if isinstance(value, int):
        return last in _KEY_NUMBERS and value.bit_length() < 256 and (abs(value) > 12 or last == "id")
    text = value.strip()
    if last == "id" and 0 < len(text) <= MAX_LENGTH:
        return True
    if not 2 <= len(text) <= MAX_LENGTH or "\n" in text:
        return False
    values = read(text)
    spans = [(found.start, found.end) for found in values.identifiers]
    spans += [(found.start, found.end) for found in values.moments]
    whole = any(end - start >= len(text) - 2 for start, end in spans)
    if last in _FREE or key in _CHOSEN or last in _CHOSEN:
        return False
    if whole:
        shape = values.identifiers[0].kind if values.identifiers else "date"
        return shape != "identifier" or any(map(str.isdigit, text)) or last in _NAMING
    if len(values.words) > 6:
        return False
    if text.isdecimal():
        return len(text) >= 5 or (last in _KEY_NUMBERS and len(text) > 2)
    return bool(_NAMING.intersection(words)) and any(map(str.isalnum, text))


class _Derived:
    """Dates and times that follow from what was said: "tomorrow", "in two weeks", "for half an hour"."""

    def __init__(self, texts: list[str], sources: Sources, now: datetime | None) -> None:
        text = "\n".join(texts)[:1_000_000].casefold()
        self.dates: set[date] = set()
        moments = [moment for moment, _ in sources.moments()]
        self.hours = {(moment.hour, moment.minute) for moment in moments if moment.hour is not None}
        self.months = {moment.month for moment in moments if moment.day is None and moment.month}
        self.days = {(moment.month, moment.day) for moment in moments if moment.day is not None}
        for number, unit in _LENGTH.findall(text)[:50]:
            length = _number(number)
            if length is not None and length < 1000:
                minutes = length * (1 if unit.startswith("m") else 60)
                for hour, minute in list(self.hours)[:500]:
                    end = (60 * (hour or 0) + (minute or 0) + minutes) % 1440
                    self.hours.add((int(end // 60), int(end % 60)))
        if now is not None:
            self._relative(text, now.date())

    def _relative(self, text: str, today: date) -> None:
        words = set(re.findall(r"[a-z]+", text))
        self.dates |= _shifted(today, (shift for word, shift in _DAYS.items() if word in words))
        for name, number in WEEKDAYS.items():
            if name in words:
                ahead = (number - today.weekday()) % 7
                self.dates |= _shifted(today, (ahead + shift for shift in (-7, 0, 7)))
        if "week" in words or "weekend" in words:
            self.dates |= _shifted(today, range(-today.weekday(), 14 - today.weekday()))
        for match in list(_IN.finditer(text))[:100]:
            count = _number(match[1] or match[3])
            if count is not None and count < 1000:
                days = count * (7 if (match[2] or match[4]) == "week" else 1)
                self.dates |= _shifted(today, (days, -days))

    def says(self, moment: Moment) -> bool:
        """Whether a date and a time follow, each for itself, from what was said."""
        if (
            moment.hour is not None
            and (moment.hour, moment.minute) not in self.hours
            and (moment.hour, moment.minute) != (0, 0)
        ):
            return False
        if moment.day is None:
            return moment.hour is not None
        day = moment.date
        if (moment.month, moment.day) in self.days or day in self.dates:
            return True
        # "in June" gives the month's first day and its last
        is_edge = moment.day == 1 or (day is not None and any(next_day.day == 1 for next_day in _shifted(day, (1,))))
        return is_edge and moment.month in self.months


def _shifted(day: date, shifts: Iterable[float]) -> set[date]:
    """The days that lie so many days away, as far as the calendar goes: from the year 1 to 9999."""
    days = set()
    for shift in shifts:
        with suppress(OverflowError):
            days.add(day + timedelta(days=shift))
    return days


def _number(word: str) -> float | None:
    if word in {"a", "an"}:
        return 1.0
    if word.startswith("half"):
        return 0.5
    try:
        return float(word)
    except ValueError:
        number = NUMBER_WORDS.get(word)
        return None if number is None else float(number)


def _traced(key: str, text: str, sources: Sources, derived: _Derived) -> tuple[int, str] | None:
    """The leaf that an argument comes from, or -1 for one that follows from what was said; None where it is made up."""
    leaf = sources.token(plain(text))
    if leaf is not None:
        return leaf, "as written"
    values = read(text)
    for stated in values.moments:
        if stated.end - stated.start >= len(text.strip()) - 6:
            for reading in stated.readings:
                for moment, place in sources.moments():
                    if reading.agrees(moment):
                        return place, "as a date"
                if derived.says(reading):
                    return -1, "a date or a time that follows from what was said"
            return None
    kind = next((found.kind for found in values.identifiers if found.end - found.start >= len(text) - 2), "")
    if kind == "email":
        return None
    parts = [part for part in re.split(r"[/\\]", plain(text)) if part and part not in _ORDINARY]
    if "/" in text or "\\" in text or _EXTENSION.search(text):
        places = [_segment(part, sources) for part in parts]
        if places and all(place is not None for place in places):
            return next(place for place in places if place is not None), "joined from known parts"
        return None
    if any(map(str.isdigit, text)) and not any(map(str.isspace, text)):
        return _inside(plain(text), sources)
    words = tuple(stems(text))
    found, how = trace(Name(0, len(text), text, words[:20], False), sources)
    return None if found is None else (found, how)


def _segment(part: str, sources: Sources) -> int | None:
    for form in dict.fromkeys((part, _EXTENSION.sub("", part))):
        leaf = sources.token(form)
        if leaf is not None:
            return leaf
        words = tuple(stems(form))
        if words:
            found, _ = trace(Name(0, len(form), form, words[:20], False), sources)
            if found is not None:
                return found
    return None


def _inside(token: str, sources: Sources) -> tuple[int, str] | None:
    """A token that results say as part of a longer one, or in other punctuation (``555-1234`` of ``5551234``)."""
    bare = re.sub(r"[\W_]", "", token)
    if len(bare) < 4:
        return None
    leaf = sources.bare.get(bare)
    return None if leaf is None else (leaf, "in other punctuation")
