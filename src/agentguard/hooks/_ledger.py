"""The ledger: the calls of each session, as the helper saw them, for whoever holds an agent's words against them.

In memory alone, and bounded: what a session did long ago is forgotten, so are sessions that were not heard of for long,
and all of it with the helper. Texts are cut.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from agentguard.content._results import cut
from agentguard.verification.types import Verdict

MOST_SESSIONS: Final = 64
MOST_CALLS: Final = 1_000  # of a session
LONGEST_TEXT: Final = 2_000  # characters of a text in arguments or result
MOST_VALUES: Final = 200  # of arguments, or of a result


class Call(NamedTuple):
    """One call of a session.

    Attributes:
        tool, call_id: the agent's names for them.
        arguments, result: what was asked and answered, cut; of a failed call the error.
        failed: the agent's own word that the call failed.
        agent_id: the subagent that made it; None for the agent itself.
        verdict: None where the guard failed.
        posterior: P(fabricated or corrupted); None where the guard failed.
        hazard: what speaks against the result, in words that repeat no phrase of it; "" where it was accepted.
        at: seconds since the epoch.
    """

    tool: str
    call_id: str | None
    arguments: Any
    result: Any
    failed: bool
    agent_id: str | None
    verdict: Verdict | None
    posterior: float | None
    hazard: str
    at: float


class Ledger:
    """The calls of the last sessions, in the order in which they were judged.

    >>> ledger = Ledger()
    >>> ledger.add("s1", Call("Bash", "t1", {"command": "make"}, "done", False, None, "accept", 0.01, "", 0.0))
    >>> [call.tool for call in ledger.calls("s1")], ledger.calls("s2")
    (['Bash'], ())
    """

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, deque[Call]] = OrderedDict()
        self._untold: dict[str, int] = {}
        self._whole: dict[str, bool] = {}

    def knows(self, session: str) -> bool:
        """Tell whether the session was heard of before."""
        return session in self._sessions

    def begin(self, session: str, *, whole: bool) -> None:
        """Begin to keep a session's calls; ``whole``: it has made none yet."""
        self._sessions.setdefault(session, deque(maxlen=MOST_CALLS))
        self._whole.setdefault(session, whole)
        self._bound()

    def is_whole(self, session: str) -> bool:
        """Tell whether all calls of a session are here."""
        return self._whole.get(session, False) and len(self._sessions.get(session, ())) < MOST_CALLS

    def add(self, session: str, call: Call) -> None:
        """Enter a call."""
        calls = self._sessions.setdefault(session, deque(maxlen=MOST_CALLS))
        arguments, result = (cut(value, LONGEST_TEXT, MOST_VALUES) for value in (call.arguments, call.result))
        calls.append(call._replace(arguments=arguments, result=result))
        self._untold[session] = min(self._untold.get(session, 0) + 1, MOST_CALLS)
        self._sessions.move_to_end(session)
        self._bound()

    def _bound(self) -> None:
        while len(self._sessions) > MOST_SESSIONS:
            oldest, _ = self._sessions.popitem(last=False)
            self._untold.pop(oldest, None)
            self._whole.pop(oldest, None)

    def calls(self, session: str) -> Sequence[Call]:
        """The calls of a session, the oldest first."""
        return tuple(self._sessions.get(session, ()))

    def since_last_stop(self, session: str) -> Sequence[Call]:
        """The calls of a session since this was asked last."""
        number = self._untold.get(session, 0)
        if number:
            self._untold[session] = 0
        return self.calls(session)[-number:] if number else ()
