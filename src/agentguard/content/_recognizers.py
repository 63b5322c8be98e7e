"""Of things found at the same place, the one to tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from agentguard.content._findings import Finding
from agentguard.content._patterns import Catalogue, Occurrences, Pattern
from agentguard.errors import ConfigurationError
from agentguard.limits import LIMITS

UNNAMED = 1_000  # a distance beyond every window in which words are looked for


class Candidate(NamedTuple):
    """A finding that may have to give way to another at the same place.

    Attributes:
        finding: what was found.
        certainty: how certain it is, 0 to 1.
        distance: how many characters away the word stands that names it; ``UNNAMED`` where there is none.
    """

    finding: Finding
    certainty: float
    distance: int = UNNAMED


def best(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that do not overlap, in the text's order: the surest first, then the longest, then the nearest to its name.

    >>> card, account = Finding("card", "", 4, 20), Finding("account", "", 4, 12)
    >>> [each.finding.kind for each in best([Candidate(account, 0.7), Candidate(card, 0.9)])]
    ['card']
    """
    if len(candidates) < 2:
        return list(candidates)
    taken = bytearray(max(each.finding.end for each in candidates))
    kept = []
    for each in sorted(
        candidates, key=lambda each: (-each.certainty, each.finding.start - each.finding.end, each.distance)
    ):
        start, end = each.finding.start, each.finding.end
        if taken.find(1, start, end) < 0:
            taken[start:end] = b"\x01" * (end - start)
            kept.append(each)
    return sorted(kept, key=lambda each: each.finding.start)


# --- nearby ---
# Whether a word stands near a place in a text that names what is there: a label, a field's name, a phrase.


BEFORE, AFTER = 50, 30  # characters in which a name is looked for
# "userSsn" and "user_ssn" name what they hold as "user ssn" does.
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
# The next or the last member of an object names something else.
MEMBER = re.compile(r"[,{}]\s*[\"']")


@lru_cache(maxsize=512)
def _names(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W\d_])(?:{words})(?![^\W\d_])", re.IGNORECASE)


def distance_to_name(text: str, start: int, end: int, words: str) -> int | None:
    """How many characters lie between a place and the nearest word that names it; None where there is none.

    A name stands in the same line or, where the place opens its line, in the line before; in structured text, in the
    same member of an object.

    >>> distance_to_name('{"ssn": "078051121"}', 9, 18, "ssn"), distance_to_name("on 12 May", 3, 9, "ssn")
    (4, None)
    """
    names = _names(words)
    before = _same_member(CAMEL.sub(" ", _same_line(text[max(0, start - BEFORE) : start])))
    last = None
    for last in names.finditer(before):  # noqa: B007 - the last match is the nearest
        pass
    after = CAMEL.sub(" ", MEMBER.split(text[end : end + AFTER].partition("\n")[0], maxsplit=1)[0])
    following = names.search(after)
    distances = [] if last is None else [len(before) - last.end()]
    if following is not None:
        # A name that follows belongs to the place less often than one that precedes.
        distances.append(2 * following.start() + 1)
    return min(distances, default=None)


def _same_line(before: str) -> str:
    *earlier, line = before.split("\n")
    return line if line.strip(" \t\"'") or not earlier else f"{earlier[-1]} {line}"


def _same_member(before: str) -> str:
    member = MEMBER.split(before)[-1]
    # The quotation mark of the place itself opens no member.
    return member if member.strip() else before


def stands_alone(text: str, start: int, end: int) -> bool:
    """Whether a place is not a piece of something longer: a word, a decimal number, an identifier with separators.

    >>> stands_alone("id-078051121", 3, 12), stands_alone("3.078051121", 2, 11), stands_alone("(078051121).", 1, 10)
    (True, False, True)
    """
    left, right = text[max(0, start - 2) : start], text[end : end + 2]
    if (left[-1:].isalnum() or left[-1:] == "_") or (right[:1].isalnum() or right[:1] == "_"):
        return False
    return not (left[-1:] in "-.," and left[:1].isdigit() and len(left) == 2) and not (
        right[:1] in "-." and right[1:].isdigit()
    )


# --- forms ---
# How a kind of data is declared that can be told by its form, and where such forms stand in a text.


AT_LEAST = 0.5
MOST_PLACES = LIMITS.values  # of a text that have the form of something
DENIAL_REACH = 3  # "version 1.2.3.4", "v=1.2.3.4"
BARE_9, BARE_10, BARE_11, BARE_13 = (rf"\b[0-9]{{{count}}}\b" for count in (9, 10, 11, 13))


class Form(NamedTuple):
    """One way in which a kind is written.

    The two certainties are judgements of how many other things look alike, not measured frequencies: 0.9 where hardly
    anything does, 0.5 where about as much does, 0.1 where most digits of that length do.

    Attributes:
        kind: the kind's name.
        shape: what it looks like, in re2's syntax.
        alone: how certain it is where nothing nearby names it, 0 to 1.
        named: how certain where one of ``words`` stands nearby.
        words: what names it, in re2's syntax, matched without regard to case; "" for nothing.
        valid: what must hold of the text found; None where its form says all.
        part: from where to where in the text found the data stands; None where all of it is.
        reach: how many characters away a word may stand that names it.
        unless: words right before it that say that it is something else.
        whole: whether it must not be a piece of something longer.
    """

    kind: str
    shape: str
    alone: float
    named: float
    words: str = ""
    valid: Callable[[str], bool] | None = None
    part: Callable[[str], tuple[int, int]] | None = None
    reach: int = 50
    unless: str = ""
    whole: bool = True


class Kept(NamedTuple):
    """What was found of some kinds.

    Attributes:
        candidates: what is certain enough, in the order of the text, not overlapping.
        more: there may be more: so much was found, or had the form of it, that the search was given up.
    """

    candidates: list[Candidate]
    more: bool


class Forms:
    """The forms of several kinds, looked for together.

    What is certain enough by itself is looked for by its shape. The rest is looked for by the words that name it, and
    by its shape only where one of them occurs: few texts name a passport, many hold nine digits.

    Args:
        forms: the forms.
        titles: what each kind is called in a finding, by its name.
        prefix: what the patterns' names begin with; no other patterns of a catalogue have it.
        on_request: kinds that are looked for only where they are asked for.
    """

    def __init__(
        self, forms: tuple[Form, ...], titles: Mapping[str, str], prefix: str, on_request: frozenset[str] = frozenset()
    ) -> None:
        self.titles = titles
        sure: list[Form] = []
        self._unsure: list[Form] = []
        for form in forms:
            (sure if form.alone >= AT_LEAST and form.kind not in on_request else self._unsure).append(form)
        self._by_shape = _grouped(sure, f"{prefix} shape", lambda form: form.shape)
        self._by_words = _grouped(
            [form for form in self._unsure if form.words], f"{prefix} words", lambda form: form.words
        )
        self._names = frozenset((*self._by_shape, *self._by_words))
        self.patterns = (
            *(Pattern(name, same[0].shape) for name, same in self._by_shape.items()),
            *(Pattern(name, f"(?i){same[0].words}") for name, same in self._by_words.items()),
        )
        self._later = Catalogue(tuple(Pattern(shape, shape) for shape in {form.shape: None for form in self._unsure}))
        self.on_request = on_request

    def find(
        self, found: Occurrences, wanted: frozenset[str] | None, at_least: float, most: int = LIMITS.values
    ) -> Kept:
        """The data that is certain enough.

        Args:
            found: what a catalogue that holds these patterns found.
            wanted: the kinds; None for all but those on request.
            at_least: how certain it must be, 0 to 1.
            most: what is found beyond so many is left.

        Raises:
            ConfigurationError: a kind that does not exist.
        """
        if wanted is not None and not wanted <= self.titles.keys():
            names = ", ".join(sorted(map(repr, wanted - self.titles.keys())))
            raise ConfigurationError(f"no kind is called {names}: the kinds are {', '.join(sorted(self.titles))}")
        hits = found.names & self._names
        asked_for_more = at_least < AT_LEAST or not (wanted is None or self.on_request.isdisjoint(wanted))
        if not hits and not asked_for_more:
            return Kept([], more=False)
        named = {form.words for name in hits & self._by_words.keys() for form in self._by_words[name]}
        looked_for = [
            (form, found.spans(name)) for name in sorted(hits & self._by_shape.keys()) for form in self._by_shape[name]
        ]
        looked_for += [
            (form, self._later.spans(form.shape, found.text))
            for form in self._unsure
            if form.words in named or form.alone >= at_least
        ]
        candidates: list[Candidate] = []
        left = MOST_PLACES
        for form, spans in looked_for:
            if not _wanted(form, wanted, self.on_request):
                continue
            for span in spans:
                if not left or len(candidates) > most:
                    return Kept(best(candidates)[:most], more=True)
                left -= 1
                candidate = self._candidate(form, span, found.text, at_least)
                if candidate is not None:
                    candidates.append(candidate)
        kept = best(candidates)
        return Kept(kept[:most], more=len(kept) > most)

    def _candidate(self, form: Form, span: tuple[int, int], text: str, at_least: float) -> Candidate | None:
        """What has the form of a kind, if it is certain enough to be of it."""
        first, last = span
        begin, finish = form.part(text[first:last]) if form.part else (0, last - first)
        start, end = first + begin, first + finish
        if form.whole and not stands_alone(text, start, end):
            return None
        if form.valid is not None and not form.valid(text[start:end]):
            return None
        if form.unless and _named(text, start, start, form.unless, DENIAL_REACH) is not None:
            return None
        distance = _named(text, start, end, form.words, form.reach) if form.words else None
        certainty = form.alone if distance is None else form.named
        if certainty < at_least:
            return None
        finding = Finding(form.kind, self._detail(form, distance is not None), start, end)
        return Candidate(finding, certainty, UNNAMED if distance is None else distance)

    def _detail(self, form: Form, named: bool) -> str:
        holds = "" if form.valid is None else ", and what must hold of one"
        return f"the form of {self.titles[form.kind]}{holds}{', named nearby' if named else ''}"


def _grouped(forms: Iterable[Form], prefix: str, key: Callable[[Form], str]) -> dict[str, tuple[Form, ...]]:
    """The forms that share a pattern, by a name for it."""
    groups: dict[str, list[Form]] = {}
    for form in forms:
        groups.setdefault(key(form), []).append(form)
    return {f"{prefix} {number}": tuple(same) for number, same in enumerate(groups.values())}


def _wanted(form: Form, wanted: frozenset[str] | None, on_request: frozenset[str]) -> bool:
    return form.kind not in on_request if wanted is None else form.kind in wanted


def _named(text: str, start: int, end: int, words: str, reach: int) -> int | None:
    distance = distance_to_name(text, start, end, words)
    return distance if distance is not None and distance <= reach else None
