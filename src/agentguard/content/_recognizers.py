"""Recognizers of data that can be told by its form: patterns, context words, validation, overlap resolution.

The recognizers of a domain (personal data, credentials) are declared in a file ``recognizers.ini`` beside its code.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from operator import itemgetter
from types import ModuleType
from typing import NamedTuple

from agentguard import _forks as forks
from agentguard._limits import LIMITS
from agentguard._linear_patterns import LinearPattern
from agentguard.content._findings import Finding
from agentguard.content._patterns import (
    Catalogue,
    Occurrences,
    Pattern,
    PatternSet,
    compiled,
    joined,
    located,
    read_table,
)
from agentguard.content._redaction import Redaction, Vault, complete, replace
from agentguard.errors import ConfigurationError

AT_LEAST = 0.5
MOST_CANDIDATES = LIMITS.values  # of a text that have the form of something
DENIAL_REACH = 3  # "version 1.2.3.4", "v=1.2.3.4"

Span = tuple[int, int]


# --- Declarations ---


class Recognizer(NamedTuple):
    """One way in which a kind of data is written.

    Attributes:
        kind: the kind's name.
        pattern: its form, in re2's syntax.
        score: how certain it is without a context word nearby, 0 to 1.
        context_score: how certain with one.
        context: context words, which name the kind, in re2's syntax, matched without regard to case; "" for none.
        validate: what must hold of the matched text; None where its form says all.
        part: from where to where in the match the data stands; None for all of it.
        reach: how many characters away a context word may stand.
        unless: words right before it that say it is something else.
        whole: whether it must not be a piece of something longer.
        extent: from where to where in the text the data stands, by the match's start and end; None where the match
            holds all of it. An empty span says that it is something else.
    """

    kind: str
    pattern: str
    score: float
    context_score: float
    context: str = ""
    validate: Callable[[str], bool] | None = None
    part: Callable[[str], Span] | None = None
    reach: int = 50
    unless: str = ""
    whole: bool = True
    extent: Callable[[str, int, int], Span] | None = None


def load_recognizers(
    package: str,
    functions: ModuleType,
    fragments: Mapping[str, str] | None = None,
    extents: ModuleType | None = None,
) -> tuple[tuple[Recognizer, ...], dict[str, str]]:
    """Read ``recognizers.ini`` of a package.

    Args:
        package: the dotted name of the package.
        functions: holds the functions that ``validate`` and ``part`` name.
        fragments: pieces of patterns that are not in the file.
        extents: holds the functions that ``extent`` names.

    Returns:
        The recognizers in the file's order, and what each kind is called in a finding.
    """
    table = read_table(package, "recognizers.ini", fragments)
    recognizers, titles = [], {}
    for section in table.sections():
        kind = section.partition("/")[0]
        own, base = table[section], table[kind]
        if section == kind:
            titles[kind] = own["title"]

        def field(name: str, missing: str = "", own: Mapping[str, str] = own, base: Mapping[str, str] = base) -> str:
            return joined(own.get(name, base.get(name, missing)))

        score, *in_context = map(float, own["scores"].split())
        recognizers.append(
            Recognizer(
                kind,
                field("pattern"),
                score,
                in_context[0] if in_context else score,
                field("context"),
                _validator(field("validate"), functions),
                _part(field("part"), functions),
                int(field("reach", "50")),
                field("unless"),
                field("whole", "yes") == "yes",
                getattr(extents, field("extent")) if field("extent") else None,
            )
        )
    return tuple(recognizers), titles


def _validator(name: str, functions: ModuleType) -> Callable[[str], bool] | None:
    if not name.startswith("stdnum."):
        return getattr(functions, name) if name else None

    def valid(text: str) -> bool:
        return bool(import_module(name).is_valid(text))  # loaded at the first number that has the form

    valid.__name__ = name
    return valid


def _part(name: str, functions: ModuleType) -> Callable[[str], Span] | None:
    if not name or hasattr(functions, name):
        return getattr(functions, name) if name else None
    compiled = re.compile(name)

    def part(text: str) -> Span:
        match = compiled.search(text)
        return (0, len(text)) if match is None else match.span(1)

    return part


# --- Detection ---


class ScanResult(NamedTuple):
    """The data of some kinds in a text.

    Attributes:
        score: how certain the surest finding is, 0 to 1; 0 where there is none.
        label: ``"clean"``, else ``"pii"`` or ``"secret"``.
        findings: in the order of the text, not overlapping. They quote nothing of the text.
        more: there may be more: the search was given up at 200,000.
    """

    score: float
    label: str
    findings: tuple[Finding, ...]
    more: bool = False


class Detector:
    """The recognizers of a domain, looked for together.

    What is certain enough by itself is looked for by its pattern. The rest is looked for by its context words, and by
    its pattern only where one of them occurs: few texts name a passport, many hold nine digits.

    Args:
        recognizers: the recognizers.
        titles: what each kind is called in a finding, by its name.
        label: of a text that holds some of it; the patterns' names begin with it.
        on_request: kinds that are looked for only where they are asked for.
        joined: findings that overlap are one, of the surest kind, as far as they reach together; else the surest alone.
    """

    def __init__(
        self,
        recognizers: Sequence[Recognizer],
        titles: Mapping[str, str],
        label: str,
        on_request: frozenset[str] = frozenset(),
        *,
        joined: bool = False,
    ) -> None:
        self.recognizers = recognizers
        self.titles = titles
        self.label = label
        self.on_request = on_request
        self._joined = joined
        sure: list[Recognizer] = []
        self._unsure: list[Recognizer] = []
        for recognizer in recognizers:
            is_sure = recognizer.score >= AT_LEAST and recognizer.kind not in on_request
            (sure if is_sure else self._unsure).append(recognizer)
        self._by_pattern = _grouped(sure, f"{label} pattern", lambda recognizer: recognizer.pattern)
        named = [recognizer for recognizer in self._unsure if recognizer.context]
        self._by_context = _grouped(named, f"{label} context", lambda recognizer: recognizer.context)
        self._names = frozenset((*self._by_pattern, *self._by_context))
        self.groups = (
            tuple(Pattern(name, f"(?i){same[0].context}") for name, same in self._by_context.items()),
            tuple(Pattern(name, same[0].pattern) for name, same in self._by_pattern.items()),
        )
        self._catalogue = Catalogue(*self.groups)
        self._later = _Forms(recognizer.pattern for recognizer in self._unsure)

    def scan(self, text: str, kinds: Collection[str] | None = None, *, at_least: float = AT_LEAST) -> ScanResult:
        """Look through one text; arguments and errors as of ``judge``."""
        return self.judge(self._catalogue.look(text), kinds, at_least=at_least)

    def judge(
        self,
        found: Occurrences,
        kinds: Collection[str] | None = None,
        *,
        at_least: float = AT_LEAST,
        most: int = LIMITS.values,
    ) -> ScanResult:
        """Judge a text by the patterns that occur in it.

        Args:
            found: what a catalogue that holds ``groups`` found in a text.
            kinds: the kinds to look for; None for all but those on request.
            at_least: how certain it must be, 0 to 1.
            most: findings at which the search ends.

        Raises:
            ConfigurationError: for a kind that does not exist.
        """
        wanted = None if kinds is None else frozenset(kinds)
        candidates, more = self._candidates(found, wanted, at_least, most)
        if not candidates:
            return ScanResult(0.0, "clean", (), more)
        kept = join_overlaps(candidates) if self._joined else resolve_overlaps(candidates)
        findings = tuple([candidate.finding for candidate in kept[:most]])
        score = max([candidate.score for candidate in kept[:most]], default=0.0)
        return ScanResult(score, self.label if findings else "clean", findings, more or len(kept) > most)

    def needs_pattern(self, kinds: Collection[str] | None, at_least: float) -> bool:
        """Tell whether a text holds none of these kinds if no pattern of ``groups`` occurs in it."""
        return at_least >= AT_LEAST and (kinds is None or self.on_request.isdisjoint(kinds))

    def redact(
        self,
        text: str,
        kinds: Collection[str] | None = None,
        *,
        findings: Collection[Finding] | None = None,
        vault: Vault | None = None,
        at_least: float = AT_LEAST,
    ) -> Redaction:
        """Put a placeholder in the place of each finding.

        Args:
            text: any text.
            kinds: as for ``judge``.
            findings: what was found in this text before, by any detector; None to look for it.
            vault: where placeholders are kept: the same value has the same one in several texts, and can be put back.
            at_least: as for ``judge``.

        Raises:
            DataError: for a text with more findings than can be taken out.
        """
        if findings is None:
            result = self.scan(text, kinds, at_least=at_least)
            findings = complete(result.findings, more=result.more)
        return replace(text, findings, vault)

    def _candidates(
        self, found: Occurrences, wanted: frozenset[str] | None, at_least: float, most: int
    ) -> tuple[list[Candidate], bool]:
        """The candidates that are certain enough, overlapping, and whether the search was given up."""
        if wanted is not None and not wanted <= self.titles.keys():
            names = ", ".join(sorted(map(repr, wanted - self.titles.keys())))
            raise ConfigurationError(f"no kind is called {names}: the kinds are {', '.join(sorted(self.titles))}")
        hits = found.names & self._names
        if not hits and self.needs_pattern(wanted, at_least):
            return [], False
        # First what its pattern alone gives away, then what its context does, or what little certainty is asked of.
        matches = [
            (recognizer, found.spans(name))
            for name in sorted(hits & self._by_pattern.keys())
            for recognizer in self._by_pattern[name]
        ]
        nearby = _Nearby(found.text)
        named = {self._by_context[name][0].context for name in hits & self._by_context.keys()}
        if named or not self.needs_pattern(wanted, at_least):
            matches += self._unsure_matches(nearby, named, at_least)
        candidates: list[Candidate] = []
        left = MOST_CANDIDATES
        for recognizer, spans in matches:
            if recognizer.kind in self.on_request if wanted is None else recognizer.kind not in wanted:
                continue
            for span in spans:
                if not left or len(candidates) > most:
                    return candidates, True
                left -= 1
                candidate = self._candidate(recognizer, span, nearby, at_least)
                if candidate is not None:
                    candidates.append(candidate)
        return candidates, False

    def _unsure_matches(
        self, nearby: _Nearby, named: set[str], at_least: float
    ) -> Iterator[tuple[Recognizer, Iterator[Span]]]:
        """The matches of the patterns that say little by themselves: near their context words, or anywhere."""
        forms = self._later.occurring(nearby.text)
        for recognizer in self._unsure:
            if recognizer.pattern not in forms:
                continue
            if recognizer.score >= at_least:
                yield recognizer, _spans(recognizer.pattern, nearby.text)
            elif recognizer.context in named:
                yield recognizer, _spans_in(nearby.stretches(recognizer.context), recognizer.pattern, nearby.text)

    def _candidate(self, recognizer: Recognizer, span: Span, nearby: _Nearby, at_least: float) -> Candidate | None:
        """Turn a match into a candidate; None where it is invalid or not certain enough."""
        text = nearby.text
        first, last = span
        if recognizer.extent is not None:
            start, end = recognizer.extent(text, first, last)
            if start >= end:
                return None
        else:
            begin, finish = recognizer.part(text[first:last]) if recognizer.part else (0, last - first)
            start, end = first + begin, first + finish
        if recognizer.whole and not stands_alone(text, start, end):
            return None
        if recognizer.validate is not None and not recognizer.validate(text[start:end]):
            return None
        if recognizer.unless and _within(DENIAL_REACH, text, start, start, recognizer.unless) is not None:
            return None
        context = recognizer.context
        named = bool(context) and nearby.named(context, start, end)
        distance = _within(recognizer.reach, text, start, end, context) if named else None
        score = recognizer.score if distance is None else recognizer.context_score
        if score < at_least:
            return None
        holds = "" if recognizer.validate is None else ", and what must hold of one"
        context_named = "" if distance is None else ", named nearby"
        detail = f"the form of {self.titles[recognizer.kind]}{holds}{context_named}"
        return Candidate(Finding(recognizer.kind, detail, start, end), score, distance)


class _Forms:
    """Patterns of numbers, looked for together once one of them is wanted: the automaton is made when it is used."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = tuple(dict.fromkeys(patterns))
        self._set: PatternSet | None = None

    def occurring(self, text: str) -> set[str]:
        """Those of the patterns that occur in a text."""
        if self._set is None:
            with forks.undivided():
                self._set = PatternSet(self._patterns)
        return {self._patterns[number] for number in self._set.hits(text)}


def _spans(pattern: str, text: str) -> Iterator[Span]:
    for match in located(compiled(pattern), text):
        yield match[0]


def _spans_in(stretches: Iterable[Span], pattern: str, text: str) -> Iterator[Span]:
    for first, last in stretches:
        for start, end in _spans(pattern, text[first:last]):
            yield first + start, first + end


def _grouped(
    recognizers: Iterable[Recognizer], prefix: str, key: Callable[[Recognizer], str]
) -> dict[str, tuple[Recognizer, ...]]:
    """Group the recognizers by a key, under a numbered name for each group."""
    groups: dict[str, list[Recognizer]] = {}
    for recognizer in recognizers:
        groups.setdefault(key(recognizer), []).append(recognizer)
    return {f"{prefix} {number}": tuple(same) for number, same in enumerate(groups.values())}


# --- Overlap resolution ---


class Candidate(NamedTuple):
    """A finding that may have to give way to another at the same place.

    Attributes:
        finding: the finding.
        score: how certain it is, 0 to 1.
        distance: characters to its context word; None where there is none.
    """

    finding: Finding
    score: float
    distance: int | None = None


def resolve_overlaps(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Keep those that do not overlap, in the order of the text.

    The most certain goes first, then the longest, then the nearest to its context word.

    >>> card, account = Finding("card", "", 4, 20), Finding("account", "", 4, 12)
    >>> [each.finding.kind for each in resolve_overlaps([Candidate(account, 0.7), Candidate(card, 0.9)])]
    ['card']
    """
    if len(candidates) < 2:
        return list(candidates)
    taken = bytearray(max(each.finding.end for each in candidates))
    kept = []
    for each in sorted(candidates, key=_precedence):
        start, end = each.finding.start, each.finding.end
        if taken.find(1, start, end) < 0:
            taken[start:end] = b"\x01" * (end - start)
            kept.append(each)
    return sorted(kept, key=lambda each: each.finding.start)


def join_overlaps(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Join those that overlap, in the order of the text: the surest of them, as far as they reach together.

    >>> key, password = Finding("key", "", 9, 40), Finding("password", "", 9, 44)
    >>> [each.finding for each in join_overlaps([Candidate(password, 0.7), Candidate(key, 0.9)])]
    [Finding(kind='key', detail='', start=9, end=44, decoded=None)]
    """
    kept: list[Candidate] = []
    for each in sorted(candidates, key=lambda candidate: candidate.finding.start):
        if kept and each.finding.start < kept[-1].finding.end:
            last = kept.pop()
            surest = min(last, each, key=_precedence)
            end = max(last.finding.end, each.finding.end)
            each = surest._replace(finding=surest.finding._replace(start=last.finding.start, end=end))
        kept.append(each)
    return kept


def _precedence(candidate: Candidate) -> tuple[float, int, float]:
    finding, distance = candidate.finding, candidate.distance
    return -candidate.score, finding.start - finding.end, float("inf") if distance is None else distance


# --- Context words ---

BEFORE, AFTER = 50, 30  # characters in which a context word is looked for
# "userSsn" and "user_ssn" name what they hold as "user ssn" does.
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
# The next or the last member of an object names something else.
MEMBER = re.compile(r"[,{}]\s*[\"']")


@lru_cache(maxsize=512)
def _compiled(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W\d_])(?:{words})(?![^\W\d_])", re.IGNORECASE)


def distance_to_context(text: str, start: int, end: int, words: str) -> int | None:
    """Count the characters between a place and the nearest context word; None where there is none.

    A context word stands in the same line or, where the place opens its line, in the line before; in structured text,
    in the same member of an object. Behind the place it counts as twice as far, since it belongs to it less often.

    >>> distance_to_context('{"ssn": "078051121"}', 9, 18, "ssn"), distance_to_context("on 12 May", 3, 9, "ssn")
    (4, None)
    """
    names = _compiled(words)
    before = _same_member(CAMEL.sub(" ", _same_line(text[max(0, start - BEFORE) : start])))
    after = CAMEL.sub(" ", MEMBER.split(text[end : end + AFTER].partition("\n")[0], maxsplit=1)[0])
    last = None
    for last in names.finditer(before):  # noqa: B007 - the last match is the nearest
        pass
    following = names.search(after)
    distances = [] if last is None else [len(before) - last.end()]
    if following is not None:
        distances.append(2 * following.start() + 1)
    return min(distances, default=None)


NEAR = 200  # characters on either side of a context word: BEFORE or AFTER, and more than a number is long
FARTHEST = 1_000  # characters beyond, in which something is looked for that no number goes on over
_BREAK = re.compile(r"[,;|\"\t\n]")
_LAST_BREAK = re.compile(r"(?s).*[,;|\"\t\n]")


def stretches_near_context(text: str, words: str) -> list[Span]:
    r"""Find the stretches in which ``distance_to_context`` may find one of the words: little of a long text.

    It errs on the side of more: a word counts within another one, and with its blanks left out. A stretch ends where
    the numbers that are looked for do not go on, so that they are found in it as in the whole text.

    >>> text = "0, " * 100 + "mySsn: 2" + ", 0" * 100
    >>> stretches_near_context(text, "ssn")
    [(101, 507)]
    """
    spans: list[Span] = []
    done = 0  # where the last stretch ends
    for [(first, last)] in located(_anywhere(words), text.replace("_", " ")):
        if last + NEAR <= done:
            continue
        start, end = max(0, first - NEAR), min(len(text), last + NEAR)
        before = _LAST_BREAK.match(text, max(0, start - FARTHEST), start)
        after = _BREAK.search(text, end, end + FARTHEST)
        start = before.end() if before else 0 if start <= FARTHEST else done
        done = after.end() if after else len(text)
        if spans and start <= spans[-1][1]:
            start = spans.pop()[0]
        spans.append((start, done))
    return spans


class _Nearby:
    """The stretches of a text near the context words of each kind, found when they are first asked for."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._stretches: dict[str, list[Span]] = {}

    def stretches(self, words: str) -> list[Span]:
        """The stretches near one of the words; see ``stretches_near_context``."""
        if words not in self._stretches:
            self._stretches[words] = stretches_near_context(self.text, words)
        return self._stretches[words]

    def named(self, words: str, start: int, end: int) -> bool:
        """Tell whether one of the words may stand near a place."""
        stretches = self.stretches(words)
        number = bisect_left(stretches, start, key=itemgetter(1))
        return number < len(stretches) and stretches[number][0] <= end


_BLANK_OR_CLASS = re.compile(r"\[[^\]]*\]| (?![?*])|\\b")


@cache
def _anywhere(words: str) -> LinearPattern:
    """The pattern of context words that finds them within other words and without their blanks too."""
    optional = {" ": " ?", r"\b": ""}
    return compiled(f"(?i){_BLANK_OR_CLASS.sub(lambda match: optional.get(match[0], match[0]), words)}")


def _within(reach: int, text: str, start: int, end: int, words: str) -> int | None:
    distance = distance_to_context(text, start, end, words)
    return distance if distance is not None and distance <= reach else None


def _same_line(before: str) -> str:
    *earlier, line = before.split("\n")
    return line if line.strip(" \t\"'") or not earlier else f"{earlier[-1]} {line}"


def _same_member(before: str) -> str:
    member = MEMBER.split(before)[-1]
    # The quotation mark of the place itself opens no member.
    return member if member.strip() else before


def stands_alone(text: str, start: int, end: int) -> bool:
    """Tell whether a place is no piece of something longer: a word, a decimal number, an identifier with separators.

    >>> stands_alone("id-078051121", 3, 12), stands_alone("3.078051121", 2, 11), stands_alone("(078051121).", 1, 10)
    (True, False, True)
    """
    left, right = text[max(0, start - 2) : start], text[end : end + 2]
    if (left[-1:].isalnum() or left[-1:] == "_") or (right[:1].isalnum() or right[:1] == "_"):
        return False
    return not (left[-1:] in "-.," and left[:1].isdigit() and len(left) == 2) and not (
        right[:1] in "-." and right[1:].isdigit()
    )
