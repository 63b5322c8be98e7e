"""Regular expressions that run in time linear in the text (google-re2), and that a fork does not cut in two.

re2 searches without the interpreter's lock and under locks of its own. A child process that was forked in the middle of
another thread's search would wait for these for ever.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, cast

import re2

from agentguard import _forks as forks

MOST_AT_ONCE = 64  # matches that are looked for without a fork between: who wants the first few waits for no more


class LinearPattern:
    """One pattern in re2's syntax: no lookaround, no backreferences.

    Raises:
        re2.error: for a pattern that re2 does not take.

    >>> LinearPattern("[0-9]+").search("room 650").span()
    (5, 8)
    """

    __slots__ = ("_compiled",)

    def __init__(self, pattern: str, options: Any = None) -> None:
        self._compiled: Any = re2.compile(pattern, options)

    def search(self, text: str | bytes) -> re.Match[Any] | None:
        """The first match."""
        with forks.undivided():
            return cast("re.Match[Any] | None", self._compiled.search(text))

    def match(self, text: str | bytes) -> re.Match[Any] | None:
        """The match at the beginning."""
        with forks.undivided():
            return cast("re.Match[Any] | None", self._compiled.match(text))

    def fullmatch(self, text: str | bytes) -> re.Match[Any] | None:
        """The match of all of the text."""
        with forks.undivided():
            return cast("re.Match[Any] | None", self._compiled.fullmatch(text))

    def finditer(self, text: str | bytes) -> Iterator[re.Match[Any]]:
        """All matches, not overlapping, from the first on."""
        matches = self._compiled.finditer(text)
        count = 1
        while True:
            with forks.undivided():
                some = list(islice(matches, count))
            yield from some
            if len(some) < count:
                return
            count = min(2 * count, MOST_AT_ONCE)

    def sub(self, replacement: str | Callable[[re.Match[Any]], str], text: str) -> str:
        """The text with each match replaced."""
        with forks.undivided():
            return str(self._compiled.sub(replacement, text))


class LinearSet:
    """Patterns that are looked for in one pass.

    Args:
        options: of re2, for all of them.
    """

    __slots__ = ("_set",)

    def __init__(self, options: Any) -> None:
        self._set: Any = re2.Set.SearchSet(options)

    def add(self, pattern: str) -> None:
        """Add a pattern; the first is number 0.

        Raises:
            re2.error: for one that re2 does not take.
        """
        self._set.Add(pattern)

    def compile(self) -> None:
        """Make the set ready: nothing is added afterwards."""
        self._set.Compile()

    def matches(self, text: bytes) -> list[int]:
        """The numbers of the patterns that occur in the text; none where re2 has given up for want of memory."""
        return LinearSet.all_matches((self,), text)[0]

    @staticmethod
    def all_matches(sets: Iterable[LinearSet], text: bytes) -> list[list[int]]:
        """Match a text against several sets; for each of them the numbers, as of ``matches``."""
        with forks.undivided():
            return [each._set.Match(text) or [] for each in sets]


class LinearFilter:
    """Patterns by the literals that their matches hold: which of them may occur in a text is told in one pass.

    Args:
        options: of re2, for all of them.
    """

    __slots__ = ("_count", "_filter", "_options")

    def __init__(self, options: Any) -> None:
        self._options = options
        self._filter: Any = re2.Filter()
        self._count = 0  # re2 takes no filter without patterns

    def add(self, pattern: str) -> None:
        """Add a pattern; the first is number 0.

        Raises:
            re2.error: for one that re2 does not take.
        """
        self._filter.Add(pattern, self._options)
        self._count += 1

    def compile(self) -> None:
        """Make the filter ready: nothing is added afterwards.

        Raises:
            re2.error: the literals take more memory than re2 gives them.
        """
        if self._count:
            self._filter.Compile()

    def candidates(self, text: bytes) -> list[int]:
        """The numbers of the patterns whose literals occur in the text, and of those that have none."""
        with forks.undivided():
            return (self._filter.Match(text, potential=True) or []) if self._count else []
