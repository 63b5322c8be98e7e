"""Linear-time patterns (google-re2), declared so that one pass over a text serves several detectors.

A detector declares its patterns, and judges what a :class:`Catalogue` that holds them found in a text. A scanner of
several detectors has one catalogue of all their patterns and hands the same :class:`Occurrences` to each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from configparser import ConfigParser, ExtendedInterpolation
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import re2

from agentguard import _forks as forks
from agentguard._linear_patterns import LinearFilter, LinearPattern, LinearSet
from agentguard.errors import ConfigurationError

MEMORY = 16 << 20  # bytes that an automaton may grow to before it begins anew; a judgement
# Rare patterns that share an automaton. Its states multiply with its patterns: on texts that do not come again, one of
# forty takes up to twice as long as two of twenty, and one of all of them ten times as long.
TOGETHER = 20
# What most texts hold: frequent words of English and of records, and single marks. A pattern that needs no more than
# this is looked for in every text.
COMMON = """the of and to in is you that it he was for on are as with his they i at be this have from or one had by
words but not what all were we when your can said there use an each which she do how their if will up other about out
many then them these so some her would make like him into time has look two more write go see number no way could people
my than first been call who its now find long down day did get come made may part over new take only little work know
place year back give most very after our just name good sentence think say great where help through much before line
right too any same tell also around form small set put end does another well large must even such because turn here why
ask read need different us move try kind again change off page answer found still should
version file data code user system date id list type value http https www com : - * # ( ) [ ] { } < > = / . , ; ! ? ' "
0 1 2 3 4 5 6 7 8 9 _ https://www.example.com/ |"""


class Pattern(NamedTuple):
    """A pattern of a catalogue.

    Attributes:
        name: what the detector knows it by; no two patterns of a catalogue share one.
        regex: re2's syntax, without lookaround and backreferences; literal words make it cheap.
    """

    name: str
    regex: str


Spans = list[tuple[int, int]]


def located(pattern: LinearPattern, text: str, groups: int = 0) -> Iterator[Spans]:
    """Find all matches, not overlapping: the spans of each and of its first groups, in characters.

    A group without a part in the match has the span (-1, -1).

    re2 searches bytes. Its wrapper turns the places in a string into characters by a call into C each; done here, and
    not at all for ASCII, a match costs a third. A lone surrogate counts as ``?``.

    >>> list(located(LinearPattern("x(y?)"), "éxy x", 1))
    [[(1, 3), (2, 3)], [(4, 5), (5, 5)]]
    """
    data = text.encode("utf-8", "replace")
    if len(data) == len(text):
        numbers = range(1, groups + 1)
        for match in pattern.finditer(data):
            yield [match.span(), *map(match.span, numbers)] if groups else [match.span()]
        return
    numbers = range(groups + 1)
    byte = character = 0  # the place up to which bytes have been counted
    for match in pattern.finditer(data):
        spans = [match.span(number) for number in numbers]
        start = spans[0][0]
        character += len(data[byte:start].decode())
        byte = start
        yield [
            (-1, -1)
            if first < 0
            else (character + len(data[byte:first].decode()), character + len(data[byte:last].decode()))
            for first, last in spans
        ]


class PatternSet:
    """Patterns that are looked for together: which of them occur in a text.

    Lone surrogates match nothing but any character.

    Raises:
        ConfigurationError: for a pattern that re2 does not take.

    >>> PatternSet([r"(?i)ignore", r"[0-9]{3}", r"never"]).hits("Ignore 650.")
    (0, 1)
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = tuple(patterns)
        self._none = [len(self._patterns)]  # what the set finds in a text where none of them occurs
        self._set = LinearSet(_options())
        for pattern in self._patterns:
            _add(self._set, pattern)
        self._set.add(r"\z")  # occurs in every text: where it was not found, re2 has given up
        self._set.compile()

    def __len__(self) -> int:
        return len(self._patterns)

    def hits(self, text: str) -> tuple[int, ...]:
        """The numbers of the patterns that occur in the text, in their order."""
        return PatternSet.all_hits((self,), text.encode("utf-8", "replace"))[0]

    @staticmethod
    def all_hits(sets: Sequence[PatternSet], data: bytes) -> list[tuple[int, ...]]:
        """Match an encoded text against several sets; for each of them the numbers, as of ``hits``."""
        matches = LinearSet.all_matches([each._set for each in sets], data)
        return [
            () if numbers == each._none else each._hits(numbers, data)
            for each, numbers in zip(sets, matches, strict=True)
        ]

    def _hits(self, matches: list[int], data: bytes) -> tuple[int, ...]:
        if self._none[0] not in matches:
            return tuple(number for number, pattern in enumerate(self._patterns) if compiled(pattern).search(data))
        return tuple(sorted(matches)[:-1])


def _options() -> Any:
    options = re2.Options()
    options.max_mem = MEMORY
    options.log_errors = False
    return options


def _add(patterns: LinearSet | LinearFilter, pattern: str) -> None:
    try:
        patterns.add(pattern)
    except re2.error as error:
        raise ConfigurationError(f"re2 does not take the pattern {pattern!r}: {error}") from None


class Occurrences:
    """The patterns of a catalogue that occur in a text: names at once, spans when they are asked for.

    Attributes:
        text: the text that was looked through.
        names: the names of the patterns that occur in it.
    """

    __slots__ = ("_catalogue", "names", "text")

    def __init__(self, text: str, names: frozenset[str], catalogue: Catalogue) -> None:
        self.text = text
        self.names = names
        self._catalogue = catalogue

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def spans(self, name: str) -> Iterator[tuple[int, int]]:
        """The spans of a pattern, in characters, leftmost first, not overlapping."""
        return self._catalogue.spans(name, self.text) if name in self.names else iter(())


class Catalogue:
    """Patterns that are looked for together, compiled when they are first used.

    Most of the patterns hold words that most texts do not: which of them may occur, one pass over the text tells. Only
    the automata that hold such a one run, beside those of the patterns that need no rare word.

    Args:
        groups: patterns that are alike: phrases; words and numbers of an exact form; what is told by its marks. Those
            of a group share automata, which have few states where the patterns share words, digits or marks.

    Raises:
        ConfigurationError: two patterns share a name; on first use, re2 does not take one.

    >>> numbers = Catalogue((Pattern("short", r"[0-9]{3}-[0-9]{4}"), Pattern("long", r"[0-9]{9}")))
    >>> found = numbers.look("Ring 555-0132.")
    >>> found.names, list(found.spans("short")), list(found.spans("long"))
    (frozenset({'short'}), [(5, 13)], [])
    """

    def __init__(self, *groups: tuple[Pattern, ...]) -> None:
        self._groups = groups
        self._made: _Automata | None = None
        self._regexes = {pattern.name: pattern.regex for group in groups for pattern in group}
        names = [pattern.name for group in groups for pattern in group]
        if len(self._regexes) < len(names):
            repeated = sorted({name for name in names if names.count(name) > 1})
            raise ConfigurationError(f"two patterns are called {', '.join(repeated)}: give each a name of its own")

    @property
    def _automata(self) -> _Automata:
        if self._made is None:
            with forks.undivided():
                self._made = _automata(self._groups)
        return self._made

    def look(self, text: str) -> Occurrences:
        """Look for all the patterns, in time linear in the length of the text."""
        data = text.encode("utf-8", "replace")
        common, literals, rare = self._automata
        candidates = literals.candidates(data)
        parts = [*common, *{rare[number] for number in candidates}] if candidates else common
        hits = PatternSet.all_hits([part.patterns for part in parts], data)
        if not any(hits):
            return Occurrences(text, frozenset(), self)
        names = [part.members[number].name for part, numbers in zip(parts, hits, strict=True) for number in numbers]
        return Occurrences(text, frozenset(names), self)

    def spans(self, name: str, text: str) -> Iterator[tuple[int, int]]:
        """The spans of a pattern in any text, whether or not it was looked for before."""
        for match in located(compiled(self._regexes[name]), text):
            yield match[0]


class _Part:
    """Patterns of a catalogue that share an automaton, which is made when it is first used."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.members = patterns
        self._set: PatternSet | None = None

    @property
    def patterns(self) -> PatternSet:
        if self._set is None:
            with forks.undivided():
                self._set = PatternSet([pattern.regex for pattern in self.members])
        return self._set


class _Automata(NamedTuple):
    """The automata of a catalogue.

    Attributes:
        common: those of patterns that need no rare word.
        literals: tells which of the other patterns may occur in a text.
        rare: their automata, by their numbers in ``literals``.
    """

    common: list[_Part]
    literals: LinearFilter
    rare: list[_Part]


def _automata(groups: Sequence[tuple[Pattern, ...]]) -> _Automata:
    """Part the patterns of a catalogue by what they need of a text."""
    patterns = [pattern for group in groups for pattern in group]
    everywhere = {patterns[number] for number in _filter(patterns).candidates(COMMON.encode())}
    common = [_Part(part) for group in groups if (part := [pattern for pattern in group if pattern in everywhere])]
    others = ([pattern for pattern in group if pattern not in everywhere] for group in groups)
    rare = [_Part(part) for group in others for part in _parted(group)]
    literals = _filter([pattern for part in rare for pattern in part.members])
    return _Automata(common, literals, [part for part in rare for _ in part.members])


def _parted(group: Sequence[Pattern]) -> Iterator[Sequence[Pattern]]:
    """A group in parts of equal size, none larger than ``TOGETHER``."""
    parts = -(-len(group) // TOGETHER)
    for part in range(parts):
        yield group[part * len(group) // parts : (part + 1) * len(group) // parts]


def _filter(patterns: Sequence[Pattern]) -> LinearFilter:
    made = LinearFilter(_options())
    for pattern in patterns:
        _add(made, pattern.regex)
    made.compile()
    return made


@cache
def compiled(regex: str) -> LinearPattern:
    """One of the project's own patterns, compiled when it is first used."""
    return LinearPattern(regex, _options())


# --- Tables of patterns ---


def read_table(package: str, name: str, fragments: Mapping[str, str] | None = None) -> ConfigParser:
    """Read a table of patterns from an INI file of a package.

    ``${name}`` stands for an entry of ``[DEFAULT]``, and ``$$`` for a dollar sign.

    Args:
        package: the dotted name of the package that holds the file.
        name: the file's name.
        fragments: further entries of ``[DEFAULT]``.
    """
    table = ConfigParser(
        fragments, interpolation=ExtendedInterpolation(), delimiters=("=",), comment_prefixes=("#",), strict=True
    )
    table.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their case
    table.read_string(files(package).joinpath(name).read_text("utf-8"))
    return table


def joined(value: str) -> str:
    """Join a pattern that was written on several lines."""
    return value.replace("\n", "")
