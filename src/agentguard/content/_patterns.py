"""Linear-time patterns (google-re2), declared so that one pass over a text serves several detectors.

A detector declares its patterns, and judges what a :class:`Catalogue` that holds them found in a text. A scanner of
several detectors has one catalogue of all their patterns and hands the same :class:`Occurrences` to each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
FEWEST = 10  # patterns that have an automaton of their own; a judgement
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
    is_ascii = len(data) == len(text)
    numbers = range(groups + 1)
    byte = character = 0  # the place up to which bytes have been counted
    for match in pattern.finditer(data):
        spans = [match.span(number) for number in numbers]
        if not is_ascii:
            start = spans[0][0]
            character += len(data[byte:start].decode())
            byte = start
            spans = [
                (-1, -1)
                if first < 0
                else (character + len(data[byte:first].decode()), character + len(data[byte:last].decode()))
                for first, last in spans
            ]
        yield spans


class PatternSet:
    """Patterns that are looked for together: which occur at all, then where.

    Lone surrogates match nothing but any character.

    Raises:
        ConfigurationError: for a pattern that re2 does not take.

    >>> patterns = PatternSet([r"(?i)ignore", r"[0-9]{3}", r"never"])
    >>> patterns.hits("Ignore 650."), list(patterns.spans(1, "é 650."))
    ((0, 1), [(2, 5)])
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = tuple(patterns)
        self._singles: dict[int, LinearPattern] = {}
        self._set = LinearSet(_options())
        for pattern in self._patterns:
            _added(self._set, pattern)
        self._set.add(r"\z")  # occurs in every text: where it was not found, re2 has given up
        self._set.compile()

    def __len__(self) -> int:
        return len(self._patterns)

    def hits(self, text: str | bytes) -> tuple[int, ...]:
        """The numbers of the patterns that occur in the text, in their order; the text may be encoded already."""
        data = text.encode("utf-8", "replace") if isinstance(text, str) else text
        numbers = sorted(self._set.matches(data))
        if not numbers or numbers[-1] != len(self._patterns):
            return tuple(number for number in range(len(self._patterns)) if self._single(number).search(data))
        return tuple(numbers[:-1])

    def spans(self, number: int, text: str) -> Iterator[tuple[int, int]]:
        """The spans of one pattern in a text, in characters, not overlapping."""
        for match in located(self._single(number), text):
            yield match[0]

    def _single(self, number: int) -> LinearPattern:
        single = self._singles.get(number)
        if single is None:
            single = self._singles[number] = LinearPattern(self._patterns[number], _options())
        return single


def _options() -> Any:
    options = re2.Options()
    options.max_mem = MEMORY
    options.log_errors = False
    return options


def _added(patterns: LinearSet | LinearFilter, pattern: str) -> None:
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
        groups: patterns that are alike, such as those of one detector; these share automata.

    Raises:
        ConfigurationError: two patterns share a name; on first use, re2 does not take one.

    >>> numbers = Catalogue((Pattern("short", r"[0-9]{3}-[0-9]{4}"), Pattern("long", r"[0-9]{9}")))
    >>> found = numbers.look("Ring 555-0132.")
    >>> found.names, list(found.spans("short")), list(found.spans("long"))
    (frozenset({'short'}), [(5, 13)], [])
    """

    def __init__(self, *groups: tuple[Pattern, ...]) -> None:
        self._groups = groups
        self._automata: _Automata | None = None
        names = [pattern.name for group in groups for pattern in group]
        if len(set(names)) < len(names):
            repeated = sorted({name for name in names if names.count(name) > 1})
            raise ConfigurationError(f"two patterns are called {', '.join(repeated)}: give each a name of its own")

    @property
    def _compiled(self) -> _Automata:
        if self._automata is None:
            with forks.undivided():
                self._automata = _Automata(self._groups)
        return self._automata

    def look(self, text: str) -> Occurrences:
        """Look for all the patterns, in time linear in the length of the text."""
        return Occurrences(text, frozenset(self._compiled.names(text.encode("utf-8", "replace"))), self)

    def spans(self, name: str, text: str) -> Iterator[tuple[int, int]]:
        """The spans of a pattern in any text, whether or not it was looked for before."""
        return self._compiled.spans(name, text)


class _Automata:
    """The automata of a catalogue: the first of them for common patterns, the others for rare ones, by a filter."""

    def __init__(self, groups: Sequence[tuple[Pattern, ...]]) -> None:
        everything = [pattern for group in groups for pattern in group]
        candidates = _filter(everything).candidates(COMMON.encode()) if everything else []
        common = {everything[number] for number in candidates}
        parts = [*_parted(groups, lambda pattern: pattern in common, len(everything))]
        self._common = len(parts)
        parts += _parted(groups, lambda pattern: pattern not in common, TOGETHER)
        self._parts = parts
        self._sets: list[PatternSet | None] = [None] * len(parts)
        self._places = {
            pattern.name: (index, number) for index, part in enumerate(parts) for number, pattern in enumerate(part)
        }
        rare = [(index, pattern) for index, part in enumerate(parts[self._common :], self._common) for pattern in part]
        self._filter = _filter([pattern for _, pattern in rare]) if rare else None
        self._of = [index for index, _ in rare]

    def names(self, data: bytes) -> Iterator[str]:
        """The names of the patterns that occur in a text."""
        indices = {*range(self._common)}
        if self._filter is not None:
            indices.update([self._of[number] for number in self._filter.candidates(data)])
        for index in indices:
            part = self._parts[index]
            for number in self._set(index).hits(data):
                yield part[number].name

    def spans(self, name: str, text: str) -> Iterator[tuple[int, int]]:
        index, number = self._places[name]
        return self._set(index).spans(number, text)

    def _set(self, index: int) -> PatternSet:
        made = self._sets[index]
        if made is None:
            made = self._sets[index] = PatternSet([pattern.regex for pattern in self._parts[index]])
        return made


def _filter(patterns: Sequence[Pattern]) -> LinearFilter:
    made = LinearFilter(_options())
    for pattern in patterns:
        _added(made, pattern.regex)
    made.compile()
    return made


def _parted(
    groups: Sequence[tuple[Pattern, ...]], wanted: Callable[[Pattern], bool], most: int
) -> Iterator[list[Pattern]]:
    """The patterns that are wanted of each group, in parts of at most so many; of few, with those of the next group."""
    rest: list[Pattern] = []
    for last, group in enumerate(groups, 1 - len(groups)):
        rest += filter(wanted, group)
        if rest and (len(rest) >= FEWEST or not last):
            parts = -(-len(rest) // most)
            for part in range(parts):
                yield rest[part * len(rest) // parts : (part + 1) * len(rest) // parts]
            rest = []


@cache
def compiled(regex: str) -> LinearPattern:
    """One of the project's own patterns, compiled when it is first used."""
    return LinearPattern(regex)


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
