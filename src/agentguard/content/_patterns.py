"""Linear-time patterns, declared so that one pass over a text serves several detectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import re2

from agentguard import forks
from agentguard.errors import ConfigurationError
from agentguard.linear_patterns import LinearPattern, LinearSet

# --- matching ---
# Many patterns in one pass over a text, in time linear in its length (google-re2).


MEMORY = 32 << 20  # bytes that the automaton may grow to before it begins anew


class PatternSet:
    """Patterns that are looked for together: which occur at all, then where.

    Patterns have re2's syntax: no lookaround, no backreferences. Lone surrogates match nothing but any character.

    Raises:
        ConfigurationError: for a pattern that re2 does not take.

    >>> found = PatternSet([r"(?i)ignore", r"[0-9]{3}", r"never"])
    >>> found.hits("Ignore 650."), list(found.spans(1, "é 650."))
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
        found = sorted(self._set.matches(data))
        if not found or found[-1] != len(self._single):
            return tuple(number for number, single in enumerate(self._single) if single.search(data))
        return tuple(found[:-1])

    def spans(self, number: int, text: str) -> Iterator[tuple[int, int]]:
        """Where one pattern occurs, as characters of the text; not overlapping."""
        readable = text if text.isascii() else text.encode("utf-8", "replace").decode()  # as long, without surrogates
        for match in self._single[number].finditer(readable):
            yield match.span()


# --- patterns ---
# The form in which detectors declare what they look for, so that one pass over a text serves all of them.
#
# A detector has three parts: ``PATTERNS``, a tuple of :class:`Pattern`; a function from an :class:`Occurrences` to its
# result; and ``scan(text)``, which is that function on what its own :class:`Catalogue` finds. A scanner of several
# detectors has one catalogue of all their patterns and hands the same :class:`Occurrences` to each.


class Pattern(NamedTuple):
    """One thing to look for.

    Attributes:
        name: what the detector knows it by; no two patterns of a catalogue share one.
        regex: re2's syntax, without lookaround and backreferences; literal words make it cheap.
    """

    name: str
    regex: str


class Occurrences:
    """What of a catalogue occurs in a text: the names at once, the places when they are asked for.

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
        """Where a pattern occurs, as character offsets, leftmost first, not overlapping; nothing where it does not."""
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
        """Where one of the patterns occurs in a text, whether or not it was looked for before."""
        return self._compiled.spans(self._numbers[name], text)
