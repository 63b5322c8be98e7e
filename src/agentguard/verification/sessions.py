"""The latest calls of each session: what was done between two answers to the same question may have changed them."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from .canonical import digest

__all__ = ["Between", "SessionLog"]

MAX_SESSIONS: Final = 500  # the least recently used is forgotten first
MAX_CALLS: Final = 16  # of one session
MARKS: Final = 4  # values of a call's arguments by which it is held against others


class Between(NamedTuple):
    """What was called in a session since the same call was made there, or since it began.

    Attributes:
        asked_before: the same call was made earlier in the session.
        tools: twice the number of each tool called since, and one more where it had an argument in common.
        results: digests of the results that those with an argument in common had.
    """

    asked_before: bool
    tools: tuple[int, ...]
    results: tuple[int, ...]


class SessionLog:
    """Tool, result and arguments of the latest calls by session: 64 bits of each; bounded.

    >>> log = SessionLog()
    >>> log.push("s", 7, 1001, (5,))
    >>> log.push("s", 8, 1002, (5, 6))
    >>> log.between("s", 7, (5,))
    Between(asked_before=True, tools=(17,), results=(1002,))
    """

    __slots__ = ("calls",)

    def __init__(self) -> None:
        self.calls: dict[int, list[tuple[int, int, tuple[int, ...]]]] = {}

    def push(self, session_id: str, tool: int, result: int, marks: tuple[int, ...]) -> None:
        """Take in a call that was made, whatever is believed of its result."""
        place = _place(session_id)
        calls = self.calls.pop(place, None)
        if calls is None:
            calls = []
            if len(self.calls) >= MAX_SESSIONS:
                del self.calls[next(iter(self.calls))]
        self.calls[place] = calls
        if len(calls) >= MAX_CALLS:
            del calls[0]
        calls.append((tool, result, marks[:MARKS]))

    def between(self, session_id: str, tool: int, marks: tuple[int, ...]) -> Between:
        """What was called since this call was last made in the session."""
        calls = self.calls.get(_place(session_id))
        if calls is None:
            return NOTHING
        asked = marks[:MARKS]
        others = frozenset(asked)
        tools: dict[int, None] = {}
        results: list[int] = []
        latest, shared = -1, False
        for place in range(len(calls) - 1, -1, -1):
            other, result, values = calls[place]
            if values == asked and other == tool:
                return Between(True, tuple(tools), tuple(results))
            shares = not others.isdisjoint(values)
            if shares:
                results.append(result)
            if shares != shared or other != latest:  # one tool is often called several times in a row
                latest, shared = other, shares
                tools[2 * other + shares] = None
        return Between(False, tuple(tools), tuple(results))


NOTHING: Final = Between(False, (), ())


@lru_cache(maxsize=64)
def _place(session_id: str) -> int:
    return digest(session_id.encode("utf-8", "surrogatepass"))
