"""An answer traced to its tool results: its names, dates, identifiers and numbers.

First come the names (English): runs of capitalised words, and what stands in double quotation marks. A capital at the
beginning of a sentence or of a label says little: such a run is *weak*, traced where it can be and never reported.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from agentguard.content._findings import Finding
from agentguard.content.grounding._arithmetic import CUES, Calculations, Derived, combined
from agentguard.content.grounding._artefacts import Artefacts
from agentguard.content.grounding._sources import Match, NumberIndex, Sources, chance
from agentguard.content.grounding._values import (
    COUNTED,
    PERCENT,
    SENTENCE_END,
    WEEKDAYS,
    Identifier,
    Moment,
    Quantity,
    Stated,
    Word,
    plain,
    read,
    stem,
    stems,
    stems_of_key,
    written,
)

MAX_WORDS: Final = 8
MAX_LABEL: Final = 3  # words of a quotation that may be a button's
MAX_LEAVES: Final = 300  # of one word that a name is looked for in
_QUOTED = re.compile(r"[\"“]([^\"“”\n]{2,80})[\"”]")
_GAP = re.compile(" |[.] |['\u2019]s ")
_PARTICLES: Final = frozenset("of de da del van von der den la le du di bin al y".split())
_SENTENCE_END: Final = ".!?:;\n•*-–—>|([{#"
# Words that are capitalised for their place and not because they name something; they begin sentences and headings.
COMMON: Final = frozenset(
    """a about above absolutely according additionally after again all already also although always am an and
    another any anyone anything are as at available based be because been before below best both but by call can
    certainly check could currently date dear details did do does done due during each either email enjoy ensure
    every everything excellent feel finally find first following for found fourth from further furthermore given
    good great had has have he hello help her here hers hi his how however i i'd i'll i'm i've id if important
    in including indeed information initially instead into is it it's its just kindly last lastly let let's list
    looking made make many may me meanwhile might more moreover most much must my name need next no none nope
    not note nothing now of off ok okay on once one only or other otherwise our out over overall per perfect
    please possible price prior provided rather re regarding regards remember result results second see sent
    several shall she should similarly since so some someone something soon sorry still subject subsequently
    such summary sure take thank thanks that that's the their them then there there's therefore these they
    things third this those though thus time title to today tomorrow tonight too total two type unfortunately
    unless until up upon update us use user very via want was way we we'd we'll we're we've welcome well were
    what what's when where whether which while who whole why will with within without would yes yesterday yet
    you you'd you'll you're you've your yours am pm usd eur gbp ok api url json html csv pdf ai faq asap fyi n/a
    tbd utc gmt est pst cet edt pdt etc vs min max avg january february march april june july august september
    october november december jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday
    friday saturday sunday mon tue tues wed thu thur thurs fri sat sun am celsius fahrenheit million billion""".split()
)
# Nouns that stand before a name and say what kind of thing it names.
_KINDS: Final = frozenset(
    """mr mrs ms miss dr prof professor sir madam order flight hotel room customer user product item account
    booking reservation restaurant city airport company channel ticket invoice team project document file
    message event meeting appointment passenger address street city state country region station museum doctor
    captain gate terminal section chapter step option figure table transaction payment card subject""".split()
)


class Name(NamedTuple):
    """A run of words that may name something, reported where it has more than ``needs`` words and is not ``weak``."""

    start: int
    end: int
    text: str
    words: tuple[str, ...]
    weak: bool
    needs: int = 1


def names(text: str, words: Sequence[Word]) -> list[Name]:
    """Find the names and quotations of a text, given its words.

    >>> from agentguard.content.grounding._values import read
    >>> text = 'Yesterday Anna de Vries flew to Oslo. Rooms at "the blue house" are free.'
    >>> [name.text for name in names(text, read(text).words) if not name.weak]
    ['the blue house', 'Anna de Vries', 'Oslo']
    """
    result = [
        Name(match.start(1), match.end(1), match[1], tuple(stems(match[1])), False, MAX_LABEL)
        for match in _QUOTED.finditer(text)
        if any(character.isalpha() for character in match[1]) and len(match[1].split()) <= MAX_WORDS
    ]
    quoted = [(name.start, name.end) for name in result]
    run: list[Word] = []
    for word in words:
        capital = word.text[:1].isupper() and word.text != "I"
        if run and _GAP.fullmatch(text, run[-1].end, word.start) and len(run) < MAX_WORDS:
            initial = (len(run[-1].text) == 1 or stem(run[-1].text) in _KINDS) and word.text.casefold() not in COMMON
            if (capital or word.text in _PARTICLES) and (text[run[-1].end] != "." or initial):
                run.append(word)
                continue
        result.extend(_named(text, run, quoted))
        run = [word] if capital else []
    result.extend(_named(text, run, quoted))
    return result


def _named(text: str, run: list[Word], quoted: list[tuple[int, int]]) -> Iterator[Name]:
    while run and run[-1].text in _PARTICLES:
        run = run[:-1]
    first = _begins(text, run[0].start) if run else False
    while run and (run[0].text.casefold() in COMMON or (first and run[0].text in _PARTICLES)):
        run, first = run[1:], False
    if (
        not run
        or all(word.text.casefold() in COMMON for word in run)
        or any(start <= run[0].start < end for start, end in quoted)
    ):
        return
    start, end = run[0].start, run[-1].end
    lone = len(run) == 1 and (first or len(run[0].text) == 1 or stem(run[0].text) in _KINDS)
    label = text[end : end + 4].lstrip("*_ ")[:1] == ":"
    heading = _heading(text, start, end)
    needs = 1 + first + any(stem(word.text) in _KINDS for word in run[:1])
    yield Name(start, end, text[start:end], tuple(stem(word.text) for word in run), lone or label or heading, needs)


def _begins(text: str, start: int) -> bool:
    before = text[max(0, start - 6) : start].rstrip(" \"'“‘*_")  # noqa: RUF001 - quotation marks as texts have them
    return not before or before[-1] in _SENTENCE_END or (start >= 1 and text[start - 1] == "\n")


def _heading(text: str, start: int, end: int) -> bool:
    """Tell whether a name is a whole line of a heading, in which every word is capitalised."""
    before = text[max(0, start - 8) : start].rpartition("\n")[2].strip(" *_")
    return before.startswith("#") or (bool(re.match(r"\*\*\s{0,2}(?:\n|$)", text[end : end + 5])) and before == "")


def trace(name: Name, sources: Sources) -> tuple[int | None, str]:
    """Find the leaf that says a name, and how; or None, and what is missing.

    >>> sources = Sources([{"user": {"first_name": "José", "last_name": "Doe"}}, "Kim, Mia and Tom Li"])
    >>> from agentguard.content.grounding._values import read
    >>> def traced(text): return trace(names(text, read(text).words)[0], sources)[1]
    >>> traced("by Jose Doe"), traced("by Mia Kim"), traced("by J. Doe"), traced("by Mia Doe")
    ('in one record', 'in other order', 'by its initials', 'its words stand apart')
    """
    leaf = sources.token(plain(name.text))
    if leaf is not None:
        return leaf, "as written"
    words = [word for word in name.words if word not in _PARTICLES]
    found = _together(words, sources) if words else None
    while found is None and len(words) > 1 and words[0] in _KINDS:
        words = words[1:]
        found = _together(words, sources)
    if found is not None or not words:
        return found or (None, "nothing like it")
    if all(word in sources.key_words or word in sources.words or word in COMMON for word in words):
        if all(word in sources.key_words or word in COMMON for word in words):
            return None, "a field's name"
        return None, "its words stand apart"
    missing = [word for word in words if word not in sources.words and word not in COMMON]
    return None, "nothing like it" if len(missing) == len(words) else f"no {' '.join(missing)!s}"


def _together(words: list[str], sources: Sources) -> tuple[int, str] | None:
    full = [word for word in words if len(word) > 1] or words
    lists = [sources.words.get(word, []) for word in full]
    if not all(lists):
        return None
    smallest = min(lists, key=len)
    for leaf in smallest[:MAX_LEAVES]:
        if all(leaf in leaves[at : at + 1] for leaves in lists for at in (bisect_left(leaves, leaf),)):
            how = _adjacent(words, sources.said(leaf))
            if how:
                return leaf, how
    # A name may be spread over fields that say nothing else: first_name, last_name.
    parts = set(words)
    records = [
        {
            sources.record(leaf)
            for leaf in leaves[:MAX_LEAVES]
            if len(sources.leaf(leaf).text) <= 40 and parts.issuperset(sources.said(leaf))
        }
        for leaves in lists
    ]
    common = set.intersection(*records)
    initials = [word for word in words if len(word) == 1]
    if initials:
        common = {
            record
            for record in common
            if all(any(word.startswith(initial) for word in sources.own_words(record)) for initial in initials)
        }
    if common and len(words) > 1:
        how = "by its initials" if initials else "in one record"
        return next(leaf for leaf in smallest if sources.record(leaf) in common), how
    return None


def _adjacent(words: list[str], stated: list[str]) -> str:
    """How a leaf says words side by side: as written, in another order, abbreviated; "" where it does not."""
    size = len(words)
    wanted = sorted(words)
    initials = any(len(word) == 1 for word in words)
    for at in range(max(0, len(stated) - size + 1)):
        part = stated[at : at + size]
        if part == words:
            return "as written"
        if sorted(part) == wanted:
            return "in other order"
        if initials and all(
            one == two or (len(one) == 1 and two.startswith(one)) for one, two in zip(words, part, strict=True)
        ):
            return "by its initials"
    if size > 1 and len(stated) <= 4 * size and set(words) <= set(stated) and _spread(words, stated) <= size + 2:
        return "with words between"
    return ""


def _spread(words: list[str], stated: list[str]) -> int:
    places = [stated.index(word) for word in words]
    return max(places) - min(places) + 1


# --- The account of an answer's claims ---


MAX_EXPLAINED: Final = 50
MAX_TOKENS: Final = 5_000  # that the nearest identifier is looked for among
_SENTENCE = re.compile(rf"(?:(?!{SENTENCE_END})[^\n])+[.!?]?")


class Trace(NamedTuple):
    """The source of one claim.

    Attributes:
        kind: ``number``, ``date``, ``identifier`` or ``name``; ``argument`` for one of a call.
        start, end: the claim, in characters of the answer or of the argument.
        source: the position of the result; negative for what was asked or said; None for a calculation over several.
        path: where in the result; empty in prose.
        first, last: characters of the result, where it is text; -1 where it is not.
        how: ``as written``, ``rounded``, ``converted``, what was calculated, …
    """

    kind: str
    start: int
    end: int
    source: int | None
    path: str
    first: int
    last: int
    how: str


class Answer:
    """An answer beside the results that it rests on, and the account of its claims.

    Attributes:
        text, values, sources: the answer, what it states, and what results say.
        traced, findings: what was found, and what was not.
        artefacts: what was not found either, and is not claimed: it comes with the writing.
        writing: the places of such.
        weight, missing: how much is claimed in all, and how much of it was not found.
    """

    def __init__(self, text: str, sources: Sources) -> None:
        self.text = text.replace("\\n", "\n ")  # a line's end that was escaped once too often
        self.sources = sources
        self.values = read(self.text)
        self.traced: list[Trace] = []
        self.findings: list[Finding] = []
        self.artefacts: list[Finding] = []
        self.writing = Artefacts(self.text)
        self.weight = self.missing = 0.0
        self._sentences = [match.span() for match in _SENTENCE.finditer(self.text)]
        self._spoken_of: dict[int, set[int]] = {}

    def found(self, kind: str, start: int, end: int, leaf: int, how: str, weight: float = 1.0) -> None:
        """Note a claim that a leaf supports."""
        source, place = self.sources.source(leaf), self.sources.leaf(leaf)
        self.weight += weight
        self.traced.append(Trace(kind, start, end, source, place.path, place.start, place.end, how))

    def calculated(self, start: int, end: int, leaf: int | None, how: str, weight: float) -> None:
        """Note a number that a calculation gives."""
        source, path = (None, "") if leaf is None else (self.sources.source(leaf), self.sources.leaf(leaf).path)
        self.weight += weight
        self.traced.append(Trace("number", start, end, source, path, -1, -1, how))

    def report(
        self, kind: str, start: int, end: int, detail: str, weight: float = 1.0, wrong: str = "unsupported"
    ) -> None:
        """Note a claim that nothing supports, or a part of the writing that looks like one."""
        part = self.writing.at(start, end)
        if part:
            self.artefacts.append(Finding(part, f"{self.text[start:end]!r} comes with the writing", start, end))
            return
        self.weight += weight
        self.missing += weight
        claim = self.text[start:end]
        shown = claim if len(claim) <= 80 else claim[:77] + "..."
        message = f"the answer says {shown!r}; {detail or 'results do not'}"
        self.findings.append(Finding(f"{wrong} {kind}", message, start, end))

    @property
    def explains(self) -> bool:
        """Tell whether to look for the nearest value, as for the first ``MAX_EXPLAINED`` reports."""
        return len(self.findings) < MAX_EXPLAINED

    def at(self, leaf: int) -> str:
        """The path of a leaf, as the end of a sentence."""
        path = self.sources.leaf(leaf).path
        return f" at {path}" if path else ""

    # Sentences

    def sentence(self, at: int) -> tuple[int, int]:
        """The span of the sentence that a character stands in."""
        low, high = 0, len(self._sentences)
        while low < high:
            middle = (low + high) // 2
            if self._sentences[middle][1] <= at:
                low = middle + 1
            else:
                high = middle
        return self._sentences[low] if low < len(self._sentences) else (at, at)

    def said(self, begin: int, end: int) -> set[str]:
        """The stems of the words, and the percent sign, in a part of the answer."""
        return {stem(word) for word in re.findall(r"[^\W\d_]+|%", self.text[begin : min(end, begin + 2000)])}

    def around(self, at: int) -> set[str]:
        """The stems that tell the subject of a claim: of its sentence, and of the line above it."""
        begin, end = self.sentence(at)
        line = self.text.rfind("\n", max(0, begin - 400), begin)
        above = self.text[max(0, begin - 400) : line].rpartition("\n")[2] if line >= 0 else ""
        keys = self.sources.key_words
        return {
            root
            for root in stems(self.text[begin : min(end, begin + 600)] + " " + above)
            if not root.isdecimal() and (root not in COMMON or (root in keys and (len(root) > 2 or root == "id")))
        }

    # Whose a value is

    def speaks_of(self, start: int, text: str, leaf: int) -> None:
        """Note that a sentence names the record of a leaf, by a value which no other record has."""
        if not self.sources.is_given(leaf) and not self.sources.is_repeated(plain(text)):
            self._spoken_of.setdefault(self.sentence(start)[0], set()).add(leaf)

    def of_another(self, start: int, leaves: list[int]) -> str | None:
        """Say whose values these are, where the sentence speaks only of others of their list; else None."""
        sources = self.sources
        named = self._spoken_of.get(self.sentence(start)[0])
        if not named or not leaves or any(sources.is_given(leaf) for leaf in leaves):
            return None
        lines = [sources.line(leaf) for leaf in leaves[:100]]
        for leaf in sorted(named)[:20]:
            own = sources.line(leaf)
            if any(own[0] in line or line[0] in own for line in lines):
                return None
            if not all(self._are_siblings(leaf, other) for other in leaves):
                return None
        return f"results say it of another, at {sources.leaf(leaves[0]).path}"

    def _are_siblings(self, one: int, two: int) -> bool:
        """Tell whether two leaves stand in elements of one list."""
        sources = self.sources
        heads = [sources.leaf(leaf).path.partition("[") for leaf in (one, two)]
        same = sources.source(one) == sources.source(two)
        return same and heads[0][0] == heads[1][0] and all(mark for _, mark, _ in heads)


def nearest_token(text: str, sources: Sources) -> str:
    """Name the known token most like an unknown one, as the end of a sentence; "" where none is like it."""
    wanted = plain(text)
    ends = wanted[:1], wanted[-1:]
    tokens = islice(sources.in_order(), MAX_TOKENS)
    alike = ((_alike(wanted, token), leaf) for token, leaf in tokens if token[:1] == ends[0] or token[-1:] == ends[1])
    best, place = max(alike, default=(0, 0))
    if 2 * best <= len(wanted):
        return ""
    leaf = sources.leaf(place)
    return f"the nearest is {leaf.text.strip()[:80]!r}" + (f" at {leaf.path}" if leaf.path else "")


def _alike(one: str, two: str) -> int:
    """Characters that two tokens share at their beginnings and at their ends."""
    size = min(len(one), len(two), 64)
    head = next((at for at in range(size) if one[at] != two[at]), size)
    tail = next((at for at in range(size - head) if one[-1 - at] != two[-1 - at]), size - head)
    return head + tail


# --- Identifiers, names and dates, one by one ---


MAX_CLAIMS: Final = 1_000
MAX_ALIKE: Final = 200  # moments that are remembered of one day, month or minute
MAX_MOMENTS: Final = 5_000  # that the nearest is looked for among
_WEEKDAY = re.compile(r"\b(" + "|".join(WEEKDAYS) + r")\b,?(?: the| on)? ?$", re.IGNORECASE)

_PREFIXED = re.compile(r"#?[A-Za-z]{1,3}[-#]?(\d{1,12})")
_CHANNEL = re.compile(r"#[A-Za-z_-]+")  # the name of a channel or a tag, which a writer may know

Places = list[tuple[Moment, int]]


def trace_identifiers(answer: Answer) -> None:
    """Trace addresses, paths and ids: each is said exactly, or it is not."""
    for identifier in answer.values.identifiers[:MAX_CLAIMS]:
        leaf, how = _known(identifier, answer.sources)
        if leaf is not None:
            answer.speaks_of(identifier.start, identifier.text, leaf)
            answer.found("identifier", identifier.start, identifier.end, leaf, how)
        elif how != "a field's name" and not _CHANNEL.fullmatch(identifier.text):
            near = nearest_token(identifier.text, answer.sources) if answer.explains else ""
            answer.report("identifier", identifier.start, identifier.end, near)


def _known(identifier: Identifier, sources: Sources) -> tuple[int | None, str]:
    leaf = sources.token(plain(identifier.text))
    if leaf is not None:
        return leaf, "as written"
    number = _PREFIXED.fullmatch(identifier.text)
    leaf = sources.token(number[1]) if number else None
    if leaf is not None:
        return leaf, "without its prefix"
    if identifier.kind == "email":
        return None, ""
    return trace(Name(0, 0, identifier.text, tuple(stems(identifier.text)[:20]), False), sources)


def trace_names(answer: Answer) -> None:
    """Trace names; a single word counts half, and the name of a field is no claim."""
    taken = {identifier.start for identifier in answer.values.identifiers}
    words = [word for word in answer.values.words if word.start not in taken]
    for name in names(answer.text, words)[:MAX_CLAIMS]:
        weight = 0.5 if len(name.words) == 1 else 1.0
        leaf, how = trace(name, answer.sources)
        if leaf is not None:
            answer.speaks_of(name.start, name.text, leaf)
            answer.found("name", name.start, name.end, leaf, how, weight)
        elif not name.weak and len(name.words) > name.needs and how != "a field's name":
            detail = "" if how == "nothing like it" else how
            answer.report("name", name.start, name.end, detail, weight)


class Dates:
    """Traces the dates and times of an answer when it is made."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        for stated in answer.values.moments[:MAX_CLAIMS]:
            self._trace(stated)

    def _trace(self, stated: Stated) -> None:
        answer, start, end = self._answer, stated.start, stated.end
        places = self._places(stated)
        if not places:
            # A model knows the calendar, so a day without a year is reported only where results have dates.
            if stated.readings[0].year is not None or next(answer.sources.moments(), None) is not None:
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
        """The places where results say a date and its time, in one value or in two of one record."""
        sources, found = self._answer.sources, Places()
        for reading in stated.readings:
            if reading.day is not None:
                near = sources.days.get((reading.month, reading.day), [])
            elif reading.month is not None:
                near = sources.months.get(reading.month, [])
            elif reading.hour is not None:
                near = sources.clocks.get((reading.hour, reading.minute), [])
            else:
                near = []
            for moment, leaf in map(sources.moment, near[:MAX_ALIKE]):
                is_there = reading.agrees(moment)
                if (
                    not is_there
                    and reading.hour is not None
                    and reading._replace(hour=None, minute=None).agrees(moment)
                ):
                    is_there = (reading.hour, reading.minute) in sources.clocks_beside(leaf)
                if is_there:
                    found.append((moment, leaf))
        return found

    def _nearest(self, reading: Moment) -> str:
        if not self._answer.explains:
            return ""
        moments = list(islice(self._answer.sources.moments(), MAX_MOMENTS))
        if not moments:
            return "results have no date"
        moment, leaf = min(moments, key=lambda place: _distance(place[0], reading))
        return f"the nearest that results have is {written(moment)}{self._answer.at(leaf)}"


def _distance(one: Moment, two: Moment) -> tuple[bool, int]:
    """Minutes between two moments, roughly; a part that either lacks counts nothing, a missing day most."""
    scales = (525_600, 43_800, 1_440, 60, 1)
    pairs = zip(one, two, scales, strict=True)
    minutes = sum((this - that) * scale for this, that, scale in pairs if this is not None and that is not None)
    return (one.day is None) != (two.day is None), abs(minutes)


# --- Numbers: as results say them, as they can be calculated, or reported ---


MAX_LEFT: Final = 50  # numbers that are looked for among what other numbers of the answer give
MAX_OPERANDS: Final = 8
MAX_LENGTHS: Final = 3  # of lists, up to which a count needs no word that names a list
WITH_WORDS: Final = 10.0  # how much more chance is put up with where the words around a calculated number agree
_MARKER = re.compile(r"(?:^|\n)[ \t>]{0,8}[(\[*|]{0,2} ?$")
_AMONG_NUMBERS = re.compile(r"\s?(?:[-–,/]|and|or|to|until)\s?\d")
_BEHIND_NUMBER = re.compile(r"\d\s?(?:[-–,/]|and|or|to|until)\s?$")
MAX_DAY: Final = 31  # a number among others up to this may be a day, an hour or a place in a list
_COUNTED = re.compile(r"(?:^|\n)[ \t#*_-]{0,8}[A-Z][a-z]{1,20} $")
_BULLET = re.compile(r"^[ \t]{0,8}(?:[-*•]|\d{1,3}[.)])[ \t]", re.MULTILINE)
_COUNTING = re.compile(
    r"\b(?:there (?:are|is|were|was)|has|have|had|contains?|includes?|lists?|found|a total of|all|exactly|only)"
    r"(?: only| exactly| a total of)?\s$",
    re.IGNORECASE,
)
_NOUN = re.compile(r"\s([^\W\d_]{2,30})(?:\s([^\W\d_]{2,30}))?(?:\s([^\W\d_]{2,30}))?")
_ELEMENTS: Final = frozenset("result entry entrie row record match matche element".split())
_ENDING = re.compile(r"(?:ending|ends|end)(?: in| with)?\W{0,5}$|last (?:four|4|digits)[^.\n]{0,16}$", re.IGNORECASE)


class Numbers:
    """Traces the numbers of one answer when it is made.

    Args:
        answer: the answer; the account of its numbers is added to it.
        calculations: what the results give by calculation.
        chance_at: how many chance hits to put up with where no words agree.
        small: integers up to this one need words that agree.

    Attributes:
        complete: whether all were looked for everywhere.
    """

    def __init__(self, answer: Answer, calculations: Calculations, chance_at: float, small: int) -> None:
        self._answer, self._sources, self._chance_at, self._small = answer, answer.sources, chance_at, small
        self._calculations = calculations
        self._combined: dict[tuple[int, ...], tuple[list[Derived], NumberIndex, Counter[str]]] = {}
        self._bullets = len(_BULLET.findall(answer.text))
        claims = [
            quantity for quantity in answer.values.quantities if not self._counts(quantity) and self._is_claim(quantity)
        ]
        known: list[Quantity] = []
        left: list[Quantity] = []
        for quantity in claims[:MAX_CLAIMS]:
            found = self._direct(quantity)
            if found is None:
                found = self._calculated(quantity)
            if found is None:
                left.append(quantity)
            elif found:
                known.append(quantity)
        self.complete = len(claims) <= MAX_CLAIMS and len(left) <= MAX_LEFT
        for place, quantity in enumerate(left):
            if place < MAX_LEFT and self._of_the_answer(quantity, known):
                known.append(quantity)
            elif not self._is_hard_to_trace(quantity):
                answer.report("number", quantity.start, quantity.end, self._nearest(quantity), _weight(quantity))

    def _is_hard_to_trace(self, quantity: Quantity) -> bool:
        """Tell whether a number is a small one in words, among others, or that results have of something else."""
        (value, step, unit), text = quantity.readings[0], self._answer.text
        if step < 1 or abs(value) > MAX_DAY or self._answer.writing.at(quantity.start, quantity.end):
            return False
        start, end = quantity.start, quantity.end
        if unit is None and (_AMONG_NUMBERS.match(text, end) or _BEHIND_NUMBER.search(text, max(0, start - 9), start)):
            return True
        units = {self._sources.number(place).unit for place in self._sources.index.at(value)}
        in_words = quantity.text.endswith("(in words)")
        return abs(value) <= self._small and (in_words or not units.isdisjoint({None, COUNTED, unit}))

    def _counts(self, quantity: Quantity) -> bool:
        """Trace or report a number that counts the elements of a list; False for any other number.

        "There are 3 orders" is held to the length of ``orders``; "3 orders are late" may speak of some of them.
        """
        answer, start, end = self._answer, quantity.start, quantity.end
        noun = _NOUN.match(answer.text, end)
        if noun is None or not quantity.readings or quantity.bound or quantity.readings[0].unit is not None:
            return False
        words = tuple(stem(word) for word in noun.groups() if word)
        name = next((words[:size] for size in range(len(words), 0, -1) if words[:size] in self._sources.lists), ())
        if not name and words[0] in _ELEMENTS:
            words = words[:1]
        elif not name or name[0] in COMMON:
            return False
        lists = [self._sources.listing(listing) for listing in self._sources.lists.get(name, ())]
        value = quantity.readings[0].value
        lengths = [listing.length for listing in lists]
        if value in {*lengths, sum(lengths)}:
            where = next((listing.path for listing in lists if listing.length == value), "")
            answer.calculated(start, end, None, f"elements of {where or 'a list'}", _weight(quantity))
            return True
        is_of_all = _COUNTING.search(answer.text, max(0, start - 32), start)
        if not lengths or not (is_of_all or value > sum(lengths)) or self._is_counted_elsewhere(value, words):
            return False
        detail = f"results have {min(lengths)}"
        detail += f" to {max(lengths)}" if min(lengths) != max(lengths) else ""
        answer.report("number", start, end, f"{detail} at {lists[0].path or 'the top'}", _weight(quantity))
        return True

    def _is_counted_elsewhere(self, value: float, words: tuple[str, ...]) -> bool:
        """Tell whether a field named for what is counted, or the elements that say one thing, give this number."""
        counted = set(words)
        for number in map(self._sources.number, self._sources.index.at(value)):
            if number.whole:
                path = self._sources.leaf(number.leaf).path
                if not path.endswith("]") and counted & set(stems_of_key(path.rpartition(".")[2])):
                    return True
        whole = self._answer.said(0, len(self._answer.text))
        return any(
            number.operation == "count" and number.narrow and number.words & whole
            for number in self._calculations.giving(value)
        )

    def _is_claim(self, quantity: Quantity) -> bool:
        """Tell whether a number is a claim: no zero or one, no list marker, no number of a part of the answer."""
        if not quantity.readings:
            return False
        first, text = quantity.readings[0], self._answer.text
        if abs(first.value) <= 1 and first.step == 1.0 and not first.unit:
            return False
        follows, start = text[quantity.end : quantity.end + 2].lstrip()[:1], quantity.start
        is_marker = start == 0 or _MARKER.search(text, max(0, start - 10), start)
        if is_marker and follows in {".", ")", "]", ":", "|"} and quantity.digits < 4:
            return False
        # "Step 3: …" counts the answer's own parts.
        return not (follows == ":" and quantity.digits < 3 and _COUNTED.search(text, max(0, start - 40), start))

    def _direct(self, quantity: Quantity) -> bool | None:
        """Trace a number as it is, rounded or converted; None where no result has it, False where it is reported."""
        sources, answer, start, end = self._sources, self._answer, quantity.start, quantity.end
        leaf = sources.token(plain(quantity.text))
        matches = list(sources.index.within(quantity))
        leaves = [sources.number(match.place).leaf for match in matches] or ([] if leaf is None else [leaf])
        other = answer.of_another(start, leaves)
        if other is not None:
            answer.report("number", start, end, other, wrong="misattributed")
            return False
        how = "as written"
        if leaf is None or end - start <= 3:
            leaf, how = self._of_a_date(quantity) or self._best(quantity, matches)
            leaf, how = (leaf, how) if leaf is not None else self._last_digits(quantity) or (None, "")
        if leaf is None:
            return None
        answer.found("number", start, end, leaf, how, _weight(quantity))
        return True

    def _of_a_date(self, quantity: Quantity) -> tuple[int, str] | None:
        value = quantity.readings[0].value
        if not 1900 <= value <= 2100 or quantity.end - quantity.start != 4 or value not in self._sources.years:
            return None
        _, leaf = self._sources.moment(self._sources.years[int(value)][-1])
        return leaf, "the year of a date"

    def _last_digits(self, quantity: Quantity) -> tuple[int, str] | None:
        if _ENDING.search(self._answer.text, max(0, quantity.start - 30), quantity.start):
            for token, leaf in self._sources.in_order():
                if token.endswith(quantity.text) and len(token) > len(quantity.text):
                    return leaf, "as its last digits"
        of_id = self._sources.numbered.get(quantity.text)
        return None if of_id is None else (of_id, "as the number of an identifier")

    def _best(self, quantity: Quantity, matches: Sequence[Match]) -> tuple[int | None, str]:
        """The match that shares most words with the claim, if these or its digits make it believed."""
        sources, around = self._sources, self._answer.around(quantity.start)
        best: Match | None = None
        shared = -1
        for match in matches:
            leaf = sources.number(match.place).leaf
            common = 1000 if sources.is_given(leaf) else sources.common(around, leaf)
            if common > shared:
                best, shared = match, common
        if best is None:
            return None, ""
        number = sources.number(best.place)
        value, step, unit = best.reading
        # A stated unit that agrees leaves only the numbers of its dimension to be met by chance.
        is_same = number.unit is not None and unit is not None
        tried = sources.units[number.unit.dimension] if is_same and number.unit else len(sources.index)
        is_small = abs(value) <= self._small and step >= 1 and not is_same
        if not shared and (is_small or chance(quantity, tried) > (1.0 if is_same else self._chance_at)):
            return None, ""
        is_exact = abs(value - number.value) <= 1e-12 * abs(number.value)
        return number.leaf, best.how or ("as written" if is_exact else "rounded")

    def _calculated(self, quantity: Quantity) -> bool | None:
        answer, start, end = self._answer, quantity.start, quantity.end
        spoken, around = answer.said(*answer.sentence(start)), answer.around(start)
        if quantity.readings[0].value == self._bullets:
            answer.calculated(start, end, None, "counted in the answer", _weight(quantity))
            return True
        calculations = self._calculations
        for match in calculations.index.within(quantity):
            number = calculations.numbers[match.place]
            if not _same_sort(match, number) or (number.narrow and not number.words & spoken):
                continue
            cue = bool(CUES[number.operation] & spoken)
            if number.operation == "count":
                believed = bool(number.words & spoken) or cue or len(self._sources.lengths) <= MAX_LENGTHS
            else:
                expected = chance(
                    quantity, calculations.alike[number.operation] if cue else 4 * len(calculations.numbers)
                )
                shared = any(self._sources.common(around, leaf) for leaf in number.leaves[:3])
                believed = expected <= self._chance_at * (WITH_WORDS if cue and shared else 1.0)
            if believed:
                leaf = number.leaves[0] if number.leaves else None
                answer.calculated(start, end, leaf, number.detail, _weight(quantity))
                return True
        return None

    def _of_the_answer(self, quantity: Quantity, known: list[Quantity]) -> bool:
        """Calculate a number from traced numbers of the answer: of its sentence, then the nearest."""
        answer = self._answer
        begin, end = answer.sentence(quantity.start)
        spoken = answer.said(begin, end)
        is_written = any(mark in answer.text[begin:end] for mark in "+=×*−")
        inside = [other for other in known if begin <= other.start < end]
        nearest = sorted(known, key=lambda other: abs(other.start - quantity.start))
        same = [other for other in nearest if other.readings[0].unit == quantity.readings[0].unit]
        for operands in (inside[:MAX_OPERANDS], sorted(nearest[:MAX_OPERANDS]), sorted(same[:MAX_OPERANDS])):
            if len(operands) < 2:
                continue
            found, index, alike = self._combinations(operands)
            for match in index.within(quantity):
                number = found[match.place]
                cue = is_written or bool(CUES[number.operation] & spoken)
                tried = alike[number.operation] if cue else 4 * len(found)
                exact = cue and number.value == match.reading.value
                if _same_sort(match, number) and (exact or chance(quantity, tried) <= self._chance_at):
                    answer.calculated(quantity.start, quantity.end, None, number.detail, _weight(quantity))
                    return True
        return False

    def _combinations(self, operands: Sequence[Quantity]) -> tuple[list[Derived], NumberIndex, Counter[str]]:
        key = tuple(operand.start for operand in operands)
        if key not in self._combined:
            found = combined([(operand.readings[0].value, operand.readings[0].unit) for operand in operands])
            index = NumberIndex([(number.value, number.unit) for number in found])
            self._combined[key] = found, index, Counter(number.operation for number in found)
        return self._combined[key]

    def _nearest(self, quantity: Quantity) -> str:
        value, index = quantity.readings[0].value, self._sources.index
        if not self._answer.explains:
            return ""
        place = index.nearest(value)
        if place is None:
            return "results have no number"
        nearest = index.numbers[place][0]
        # The same digits at another power of ten are nearer than any neighbour; what is ten times as much is not near.
        is_near = 0.1 <= abs(nearest) / max(abs(value), 1e-300) <= 10.0
        for power in (10.0, 0.1, 100.0, 0.01, 1000.0, 0.001):
            shifted = index.nearest(value * power)
            if shifted is not None and abs(index.numbers[shifted][0] - value * power) <= abs(value * power) * 1e-9:
                place, nearest, is_near = shifted, index.numbers[shifted][0], True
        if not is_near:
            return "results have no number near it"
        where = self._answer.at(self._sources.number(place).leaf)
        if nearest == value:
            return f"results have {value:.15g} of something else{where}"
        return f"the nearest that results have is {nearest:.15g}{where}"


def _weight(quantity: Quantity) -> float:
    """The weight of a number: a single digit counts half."""
    return 0.5 if quantity.digits < 2 else 1.0


def _same_sort(match: Match, number: Derived) -> bool:
    """Tell whether both are percentages, or neither: "32" is no change by 32%."""
    return number.unit is None or number.unit.dimension != PERCENT or match.reading.unit is not None
