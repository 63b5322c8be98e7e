"""An engine that judges some of the tools of a log while other engines judge the others.

What tools have in common is learned by one engine from the calls of all (see ``_pool``). Where the tools are divided,

- the beginning of the log is judged by each engine as a whole, until the rates and surprises of all tools are settled;
- after it each part of the tools goes on with a pool of its own, which began as that of all: in it are those results
  and forms of results that the part's own tools have from there on;
- and the calls of a session are told to every engine that judges a tool of the session, in recorded order.

So the verdicts hang on the parts where tools of two of them have the same results or forms, and nowhere on how many
engines there are, or on which of them has which part.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from agentguard.verification import _snapshot as snapshot
from agentguard.verification._canonical import digest
from agentguard.verification._engine import VerificationEngine, verify_read
from agentguard.verification._judging import CallRead
from agentguard.verification._pool import Pool, SessionLog, _pair_of
from agentguard.verification.types import VerificationResult


class Made(NamedTuple):
    """A call as the later ones of its session see it; see ``SessionLog``."""

    session_id: str
    tool: int
    result: int
    marks: tuple[int, ...]


def made(one: CallRead) -> Made | None:
    """What a call is to its session; None without one, and of an error report."""
    session_id = one.call.session_id
    if session_id is None or one.document.is_error:
        return None
    return Made(session_id, _id_of(one.call.tool), one.document.digest, one.arguments.marks)


@lru_cache(maxsize=1_024)
def _id_of(tool: str) -> int:
    return digest(tool.encode("utf-8", "surrogatepass")) or 1  # as a tool's memory is known in the pool


class Division:
    """One of the engines; used by one thread.

    Args:
        engine: a new one.
        part_of: the part that a tool belongs to.
    """

    def __init__(self, engine: VerificationEngine, part_of: Callable[[str], int]) -> None:
        self._engine, self._part_of = engine, part_of
        self._method: Any = engine._method
        self._written: Any = None  # the pool as it was when the tools were divided
        self._pools: dict[int, Pool] = {}
        self._sessions: SessionLog | None = None

    def divide(self) -> None:
        """From here on each part has a pool of its own. Nothing is to be done where a method shares nothing."""
        if self._method.shared is None:
            return
        self._written = snapshot.encode(self._method.shared)
        self._sessions = self._method.shared.calls
        for tool, state in self._engine._tools.known():
            state.memory.pool = self._pool(self._part_of(tool))

    def verify(self, one: CallRead) -> VerificationResult:
        """Judge the next call, and learn from it."""
        if self._sessions is None:
            return verify_read(self._engine, one)
        self._method.pool = self._method.shared = self._pool(self._part_of(one.call.tool))
        call = made(one)
        before = self._latest(call)
        result = verify_read(self._engine, one)
        # What an engine makes of a call is not told to the others: to them it was made in any case.
        if call is not None and self._latest(call) is before:
            self.hear(call)
        return result

    def hear(self, call: Made) -> None:
        """Take note of a call that another engine judges."""
        if self._sessions is not None:
            self._sessions.push(*call)

    def _latest(self, call: Made | None) -> object:
        if call is None or self._sessions is None:
            return None
        calls = self._sessions.calls.get(_pair_of(call.session_id))
        return calls[-1] if calls else None

    def _pool(self, part: int) -> Pool:
        pool = self._pools.get(part)
        if pool is None:
            pool = self._pools[part] = Pool()
            snapshot.restore(pool, self._written)
            if self._sessions is not None:
                pool.calls = self._sessions
        return pool
