"""Many patterns in one pass over a text, in time linear in its length (google-re2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import re2

from agentguard._linear_patterns import LinearPattern, LinearSet
from agentguard.errors import ConfigurationError

__all__ = ["PatternSet"]

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
