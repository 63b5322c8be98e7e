"""The pool of all tools: whose results are whose, the calls of each session, how often genuine results are odd."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from agentguard import _forks as forks
from agentguard.verification._canonical import digest
from agentguard.verification._document import Document
from agentguard.verification.statistics import Rate, Surprises, new_scores

# --- Sessions: what was done between two answers to the same question may have changed them ---

MAX_SESSIONS: Final = 500  # the least recently used is forgotten first
MAX_CALLS: Final = 16  # of one session
MARKS: Final = 4  # values of a call's arguments by which it is held against others


class Between(NamedTuple):
    """Calls of a session since the same call was made there, or since it began.

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
        session = _pair_of(session_id)
        calls = self.calls.pop(session, None)
        if calls is None:
            calls = []
            if len(self.calls) >= MAX_SESSIONS:
                del self.calls[next(iter(self.calls))]
        self.calls[session] = calls
        if len(calls) >= MAX_CALLS:
            del calls[0]
        calls.append((tool, result, marks[:MARKS]))

    def between(self, session_id: str, tool: int, marks: tuple[int, ...]) -> Between:
        """The calls since this one was last made in the session."""
        calls = self.calls.get(_pair_of(session_id))
        if calls is None:
            return NOTHING
        asked = marks[:MARKS]
        others = frozenset(asked)
        tools: dict[int, None] = {}
        results: list[int] = []
        latest, shared = -1, False
        for other, result, values in reversed(calls):
            if other == tool and values == asked:
                return Between(True, tuple(tools), tuple(results))
            shares = not others.isdisjoint(values)
            if shares:
                results.append(result)
            if shares != shared or other != latest:  # one tool is often called several times in a row
                latest, shared = other, shares
                tools[2 * other + shares] = None
        return Between(False, tuple(tools), tuple(results))


NOTHING: Final = Between(False, (), ())


def session_of(session_id: str | None) -> int:
    """The digest of a session's name; 0 where none is told."""
    return 0 if session_id is None else _pair_of(session_id)


@lru_cache(maxsize=64)
def _pair_of(session_id: str) -> int:
    return digest(session_id.encode("utf-8", "surrogatepass"))


# --- What all tools share ---

POOLED_RESULTS: Final = 20_000  # digests of results, of all tools
POOLED_FORMS: Final = 5_000  # forms of results, of all tools
POOLED_SESSIONS: Final = 10_000  # latest results by tool, arguments and session
POOLED_SIGNALS: Final = ("relation_mismatch",)  # whose surprises are ranked over all tools too
SETTLED: Final = 10_000  # calls of all tools that rates and surprises are learned from: a judgement, see ``Pool``
OWNED: Final = 0.6  # votes for the owner of a form, less those against it
SHORTEST_OWNED: Final = 20  # bytes; shorter results are shared by chance


class Pool:
    """One for all tools of an engine, used under its lock; bounded.

    Rates and surprises are where a tool that is little known starts from. They are learned from the engine's first
    10,000 calls, and stand from then on: what one tool is judged by does not hang on what the others do meanwhile, and
    engines that judge a part of the tools each say what one engine for all of them says (see ``_division``).
    """

    def __init__(self) -> None:
        self.lock = forks.lock(forks.Rank.POOL)
        self.met = 0  # calls that were judged to be learned from
        self.scores = new_scores()
        self.broken = Rate()
        self.surprises: dict[str, Surprises] = {name: Surprises(0.002) for name in POOLED_SIGNALS}
        self.errors = Rate()
        self.changes = Rate()  # of calls with a known key: another result than the current one
        self.owners: dict[int, int] = {}  # a result's digest to the one tool it belongs to, or 0
        self.forms: dict[int, Owner] = {}  # whose form it is, by the result's outermost keys
        self.results = 0
        self.calls = SessionLog()
        self.after_shared = Rate()  # of calls made again after one with an argument in common: another result
        self.after_other = Rate()  # the same, of none in common
        self.sessions: dict[int, int] = {}  # the latest result of each tool, key and session, by their digest
        self.foreign = Rate()  # of all results: known only under quite other arguments
        self.foreign_tool = Rate()  # of a form new to its tool: known from one other tool only
        self.foreign_sister = Rate()  # the same, of a form that the tool's results have too
        self.foreign_form = Rate()  # of a form new to its tool: known from one other tool only

    @property
    def learns(self) -> bool:
        """Rates and surprises are still learned."""
        return self.met <= SETTLED

    def is_anothers(self, digest: int, tool: int) -> bool:
        """The result was learned from exactly one tool, and not from this one; what several tools say is a formula."""
        return self.owners.get(digest, 0) not in (0, tool)

    def is_shared(self, digest: int) -> bool:
        """Word for word the result of several tools."""
        return self.owners.get(digest, -1) == 0

    def has_anothers_form(self, document: Document, tool: int) -> bool:
        """Whether the result's outermost keys are another tool's; False where it has none."""
        form = outermost_form(document)
        owner = None if form is None else self.forms.get(form)
        return owner is not None and owner.is_not(tool)

    def own(self, document: Document, tool: int) -> None:
        """Note whose the result and its form are."""
        self.results += 1
        if document.size >= SHORTEST_OWNED:
            owners, digest = self.owners, document.digest
            if digest not in owners:
                owners[digest] = tool
                if len(owners) > POOLED_RESULTS:
                    del owners[next(iter(owners))]
            elif owners[digest] != tool:
                owners[digest] = 0
        form = outermost_form(document)
        if form is not None:
            forms = self.forms
            owner = forms.get(form)
            if owner is None:
                owner = forms[form] = Owner(tool)
                if len(forms) > POOLED_FORMS:
                    del forms[next(iter(forms))]
            owner.push(tool)

    def in_session(self, session_id: str, tool: int, key: bytes) -> int | None:
        """The digest of the latest result of a tool for these arguments in this session."""
        return self.sessions.get(_session_key(session_id, tool, key))

    def swap_session(self, session_id: str, tool: int, key: bytes, digest: int) -> int | None:
        """Put the digest in the place of the latest one, which is returned."""
        asked = _session_key(session_id, tool, key)
        earlier = self.sessions.pop(asked, None)
        self.sessions[asked] = digest
        if len(self.sessions) > POOLED_SESSIONS:
            del self.sessions[next(iter(self.sessions))]
        return earlier


@lru_cache(maxsize=64)
def _session_key(session_id: str, tool: int, key: bytes) -> int:
    return digest(tool.to_bytes(8, "little") + key + session_id.encode("utf-8", "surrogatepass"))


class Owner:
    """The tool from which most of the results come that have one form, by majority vote in constant memory.

    Each result of the candidate is a vote for it, each of another tool a vote against it; at no votes the next tool is
    the candidate (Boyer & Moore 1991). It is the owner where it has three votes in five: then at least four results in
    five are its own.
    """

    __slots__ = ("results", "tool", "votes")

    def __init__(self, tool: int) -> None:
        self.tool = tool
        self.votes = 0
        self.results = 0

    def push(self, tool: int) -> None:
        self.results += 1
        if tool == self.tool:
            self.votes += 1
        elif self.votes:
            self.votes -= 1
        else:
            self.tool, self.votes = tool, 1

    def is_not(self, tool: int) -> bool:
        """Whether some other tool is the owner."""
        return tool != self.tool and self.votes >= OWNED * self.results


def outermost_form(document: Document) -> int | None:
    """The digest of the first object's path and keys, by which one tool's records are told from another's.

    None below two keys, and where the result has none.
    """
    return document.layout.outermost if document.layout is not None else None
