"""The latest calls of each session: what was done between two answers to the same question may have changed them."""

from __future__ import annotations

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
        tools: dict[int, None] = {}
        results: list[int] = []
        for other, result, values in reversed(calls):
            if other == tool and values == asked:
                return Between(True, tuple(tools), tuple(results))
            shares = False
            for value in values:
                if value in asked:
                    shares = True
            tools[2 * other + shares] = None
            if shares:
                results.append(result)
        return Between(False, tuple(tools), tuple(results))


NOTHING: Final = Between(False, (), ())


def _place(session_id: str) -> int:
    return digest(session_id.encode("utf-8", "surrogatepass"))
