"""Declared regular expressions, searched in bounded time.

``re2`` takes linear time. What needs lookaround or backreferences is searched by ``regex``, which knows Python's syntax
and can be stopped: the first 20,000 bytes, a tenth of a second a pattern.
"""

from __future__ import annotations

from typing import Any, Final

from agentguard.linear_patterns import LinearPattern

from .types import NotLookedAt

__all__ = ["MOST_SEARCHED", "Patterns", "backtracking"]

MOST_SEARCHED: Final = 20_000  # bytes of a text that a pattern is looked for in by backtracking
SECONDS: Final = 0.1  # that one such search may take


class Patterns:
    """Some patterns, of which at least one is to be found.

    Args:
        patterns: regular expressions that compile.
        engine: ``re2``, or ``re`` for Python's syntax.
    """

    __slots__ = ("_compiled", "_linear")

    def __init__(self, patterns: tuple[str, ...], engine: str) -> None:
        self._linear: bool = engine == "re2"
        self._compiled: list[Any] = [LinearPattern(each) if self._linear else backtracking(each) for each in patterns]

    def found_in(self, text: bytes) -> bool:
        """At least one is found in the text, or in the part of it that is searched.

        Raises:
            NotLookedAt: where none was found, and one could not be searched to the end.
        """
        if self._linear:
            # One by one, since a search ends at its first match, while re2's Set reads the whole text every time.
            for pattern in self._compiled:  # noqa: SIM110 - on every call's path, where a generator is the slower
                if pattern.search(text) is not None:
                    return True
            return False
        readable = text[:MOST_SEARCHED].decode("utf-8", "replace")
        stopped = False
        for pattern in self._compiled:
            try:
                if pattern.search(readable, timeout=SECONDS) is not None:
                    return True
            except TimeoutError:
                stopped = True
        if stopped:
            raise NotLookedAt(f"a pattern was not searched to its end within {SECONDS} s")
        return False

    def covers(self, size: int) -> bool:
        """All of a text of this size is searched."""
        return self._linear or size <= MOST_SEARCHED


def backtracking(pattern: str) -> Any:
    """A pattern of Python's syntax, whose search can be stopped.

    Raises:
        regex.error: where it is none.
    """
    import regex  # takes 20 ms, and few profiles have such patterns

    return regex.compile(pattern, regex.VERSION0)
