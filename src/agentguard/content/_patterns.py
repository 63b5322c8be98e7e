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
from agentguard._linear_patterns import LinearPattern, LinearSet
from agentguard.errors import ConfigurationError

MEMORY = 16 << 20  # bytes that an automaton may grow to before it begins anew; a judgement
# Patterns that share an automaton. Its states multiply with its patterns: measured on 2.4 MB of package metadata,
# 40 patterns took 1.5 to 2 times as long as 20, and 213 took thirty times as long.
TOGETHER = 20


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

    Whether any of them occurs is asked first, of an automaton that remembers none by number and so stays small: in most
    texts, none does. Lone surrogates match nothing but any character.

    Raises:
        ConfigurationError: for a pattern that re2 does not take.

    >>> patterns = PatternSet([r"(?i)ignore", r"[0-9]{3}", r"never"])
    >>> patterns.hits("Ignore 650."), list(patterns.spans(1, "é 650."))
    ((0, 1), [(2, 5)])
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._options = re2.Options()
        self._options.max_mem = MEMORY
        self._options.log_errors = False
        self._patterns = tuple(patterns)
        self._singles: dict[int, LinearPattern] = {}
        self._set = LinearSet(self._options)
        for pattern in self._patterns:
            try:
                self._set.add(pattern)
            except re2.error as error:
                raise ConfigurationError(f"re2 does not take the pattern {pattern!r}: {error}") from None
        self._set.add("")  # occurs in every text: where it was not found, re2 has given up
        self._set.compile()
        self._any: Any = re2.compile("|".join(f"(?:{pattern})" for pattern in self._patterns), self._options)

    def __len__(self) -> int:
        return len(self._patterns)

    def hits(self, text: str | bytes) -> tuple[int, ...]:
        """The numbers of the patterns that occur in the text, in their order; the text may be encoded already."""
        data = text.encode("utf-8", "replace") if isinstance(text, str) else text
        if not self._patterns:
            return ()
        with forks.undivided():  # not by a LinearPattern: of a short text, its calls take as long as the search
            if self._any.search(data) is None:
                return ()
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
            single = self._singles[number] = LinearPattern(self._patterns[number], self._options)
        return single


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

    Args:
        groups: patterns that are alike, such as those of one detector; each group has automata of its own.

    Raises:
        ConfigurationError: two patterns share a name; on first use, re2 does not take one.

    >>> numbers = Catalogue((Pattern("short", r"[0-9]{3}-[0-9]{4}"), Pattern("long", r"[0-9]{9}")))
    >>> found = numbers.look("Ring 555-0132.")
    >>> found.names, list(found.spans("short")), list(found.spans("long"))
    (frozenset({'short'}), [(5, 13)], [])
    """

    def __init__(self, *groups: tuple[Pattern, ...]) -> None:
        self._groups = [part for group in groups for part in _parted(group)]
        self._numbers = {
            pattern.name: (index, number)
            for index, group in enumerate(self._groups)
            for number, pattern in enumerate(group)
        }
        self._sets: list[PatternSet] | None = None
        names = [pattern.name for group in groups for pattern in group]
        if len(self._numbers) < len(names):
            repeated = sorted({name for name in names if names.count(name) > 1})
            raise ConfigurationError(f"two patterns are called {', '.join(repeated)}: give each a name of its own")

    @property
    def _compiled(self) -> list[PatternSet]:
        if self._sets is None:
            with forks.undivided():
                self._sets = [PatternSet([pattern.regex for pattern in group]) for group in self._groups]
        return self._sets

    def look(self, text: str) -> Occurrences:
        """Look for all the patterns, in time linear in the length of the text."""
        data = text.encode("utf-8", "replace")
        names = [
            group[number].name
            for group, patterns in zip(self._groups, self._compiled, strict=True)
            for number in patterns.hits(data)
        ]
        return Occurrences(text, frozenset(names), self)

    def spans(self, name: str, text: str) -> Iterator[tuple[int, int]]:
        """The spans of a pattern in any text, whether or not it was looked for before."""
        index, number = self._numbers[name]
        return self._compiled[index].spans(number, text)


def _parted(group: tuple[Pattern, ...]) -> Iterator[tuple[Pattern, ...]]:
    """A group in parts of equal size, none larger than ``TOGETHER``."""
    parts = -(-len(group) // TOGETHER)
    for part in range(parts):
        yield group[part * len(group) // parts : (part + 1) * len(group) // parts]


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
