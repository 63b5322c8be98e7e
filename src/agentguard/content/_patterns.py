"""Linear-time patterns (google-re2), declared so that one pass over a text serves several detectors.

A detector declares its patterns, and judges what a :class:`Catalogue` that holds them found in a text. A scanner of
several detectors has one catalogue of all their patterns and hands the same :class:`Occurrences` to each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from configparser import ConfigParser, ExtendedInterpolation
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import re2

from agentguard import _forks as forks
from agentguard._linear_patterns import LinearPattern, LinearSet
from agentguard.content._text import encodable
from agentguard.errors import ConfigurationError

MEMORY = 32 << 20  # bytes that an automaton may grow to before it begins anew; a judgement


class Pattern(NamedTuple):
    """A pattern of a catalogue.

    Attributes:
        name: what the detector knows it by; no two patterns of a catalogue share one.
        regex: re2's syntax, without lookaround and backreferences; literal words make it cheap.
    """

    name: str
    regex: str


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
        options = re2.Options()
        options.max_mem = MEMORY
        options.log_errors = False
        self._set = LinearSet(options)
        self._single = []
        for pattern in patterns:
            try:
                self._single.append(LinearPattern(pattern, options))
                self._set.add(pattern)
            except re2.error as error:
                raise ConfigurationError(f"re2 does not take the pattern {pattern!r}: {error}") from None
        self._set.add("")  # occurs in every text: where it was not found, re2 has given up
        self._set.compile()

    def __len__(self) -> int:
        return len(self._single)

    def hits(self, text: str) -> tuple[int, ...]:
        """The numbers of the patterns that occur in the text, in their order."""
        if not self._single:
            return ()
        data = text.encode("utf-8", "replace")
        numbers = sorted(self._set.matches(data))
        if not numbers or numbers[-1] != len(self._single):
            return tuple(number for number, single in enumerate(self._single) if single.search(data))
        return tuple(numbers[:-1])

    def spans(self, number: int, text: str) -> Iterator[tuple[int, int]]:
        """The spans of one pattern in a text, in characters, not overlapping."""
        for match in self._single[number].finditer(encodable(text)):
            yield match.span()


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

    Raises:
        ConfigurationError: two patterns share a name; on first use, re2 does not take one.

    >>> numbers = Catalogue((Pattern("short", r"[0-9]{3}-[0-9]{4}"), Pattern("long", r"[0-9]{9}")))
    >>> found = numbers.look("Ring 555-0132.")
    >>> found.names, list(found.spans("short")), list(found.spans("long"))
    (frozenset({'short'}), [(5, 13)], [])
    """

    def __init__(self, *groups: tuple[Pattern, ...]) -> None:
        self.patterns = tuple(pattern for group in groups for pattern in group)
        self._names = [pattern.name for pattern in self.patterns]
        self._numbers = {name: number for number, name in enumerate(self._names)}
        self._set: PatternSet | None = None
        if len(self._numbers) < len(self._names):
            repeated = sorted({name for name in self._names if self._names.count(name) > 1})
            raise ConfigurationError(f"two patterns are called {', '.join(repeated)}: give each a name of its own")

    @property
    def _compiled(self) -> PatternSet:
        if self._set is None:
            with forks.undivided():
                self._set = PatternSet([pattern.regex for pattern in self.patterns])
        return self._set

    def look(self, text: str) -> Occurrences:
        """Look for all the patterns in one pass, in time linear in the length of the text."""
        return Occurrences(text, frozenset([self._names[number] for number in self._compiled.hits(text)]), self)

    def spans(self, name: str, text: str) -> Iterator[tuple[int, int]]:
        """The spans of a pattern in any text, whether or not it was looked for before."""
        return self._compiled.spans(self._numbers[name], text)


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
