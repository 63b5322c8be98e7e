"""Answers of a log held against its calls: what an agent said that it did, and no call says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentguard.traces._formats import Found
from agentguard.traces._read import BrokenLine
from agentguard.traces._turns import Made, Sessions, Turn

if TYPE_CHECKING:
    from agentguard.content.actions import ActionClaim, ActionsResult, Judge, Session, Tool

#: What a tool does, by its name, where its owner has declared it.
Does = Callable[[str], tuple[str, ...]]

VERDICTS: Final = ("supported", "contradicted", "never called", "not checkable")
UNSUPPORTED: Final = ("contradicted", "never called")
KEPT: Final = 1_000  # answers with something that nothing supports, which an audit keeps
BROKEN_KEPT: Final = 20

_NOT_WHOLE: Final = "the session has earlier calls, which are not held any more"


class AuditedAnswer(NamedTuple):
    """An answer held against its session's calls.

    Attributes:
        turn: the answer, with the calls.
        result: what it claims, and what supports that.
    """

    turn: Turn
    result: ActionsResult

    def made(self, claim: ActionClaim) -> Made | None:
        """The call that supports or contradicts a claim; None where there is none."""
        return None if claim.call is None else self.turn.calls[claim.call]


def held(
    turn: Turn, does: Does = lambda tool: (), session: Session | None = None, judge: Judge | None = None
) -> AuditedAnswer:
    """Hold an answer against the calls of its session.

    Where earlier calls of the session are not there, nothing is said to have been never called.

    Args:
        turn: the answer, with the calls.
        does: what tools do, as declared.
        session: of which earlier answers were held already: what it has read of the calls is not read again.
        judge: is asked about claims that the rules leave open, where all calls of the session are there.
    """
    from agentguard.content.actions import Call, Session, check  # with all their patterns

    # To read a session's calls takes time; most answers claim nothing, and are not held against them.
    result = check(turn.answer, ())
    if result.claims or result.values.findings:
        calls = [Call(made.tool, made.args, made.result, made.failed) for made in turn.calls]
        session = Session() if session is None else session
        # What a judge misses may be among the calls that are not there.
        judge = judge if turn.whole else None
        asked = turn.question or None
        result = session.check(turn.answer, calls, _tools(turn, does), question=asked, given=turn.given, judge=judge)
    if not turn.whole and result.unsupported:
        claims = tuple(
            claim._replace(verdict="not checkable", reason=_NOT_WHOLE) if claim.verdict == "never called" else claim
            for claim in result.claims
        )
        verdicts = {claim.verdict for claim in claims}
        label: Any = "unsupported" if "contradicted" in verdicts else "nothing claimed"
        if label != "unsupported" and "supported" in verdicts:
            label = "supported"
        result = result._replace(claims=claims, complete=False, label=label)
    return AuditedAnswer(turn, result)


def _tools(turn: Turn, does: Does) -> Iterator[Tool]:
    from agentguard.content.actions import Tool

    offered = {tool.name for tool in turn.tools}
    for tool in turn.tools:
        yield Tool(tool.name, tool.description, tool.arguments, does(tool.name))
    for name in dict.fromkeys(made.tool for made in turn.calls):
        declared = does(name) if name not in offered else ()
        if declared:
            arguments = {
                str(key)
                for made in turn.calls
                if made.tool == name and isinstance(made.args, dict)
                for key in made.args
            }
            yield Tool(name, "", tuple(sorted(arguments)), declared)


class Audit:
    """Holds the answers of a log against its sessions' calls, and counts.

    A session is judged when it is done: the last ones by ``end``.

    Args:
        does: what tools do, as declared.
        judge: is asked about claims that the rules leave open.

    Attributes:
        answers: how many were held against calls.
        claims: how many claims of action there are, by verdict.
        values: how many numbers, dates, identifiers and names no result has.
        traced: how many are supported.
        kept: the first answers with a claim or a value that nothing supports.
        left_out: how many such answers are not kept.
        broken: how many lines could not be read.
        first_broken: the first of them.

    >>> from agentguard.traces._formats import Said
    >>> audit = Audit()
    >>> audit.push(Said("log", 1, "agent", "I sent Ada an email.", "s1"))
    >>> [answer.result.label for answer in audit.end()], audit.unsupported
    (['unsupported'], 1)
    """

    def __init__(self, does: Does = lambda tool: (), judge: Judge | None = None) -> None:
        self.answers = self.values = self.traced = self.left_out = self.broken = 0
        self.claims: Counter[str] = Counter(dict.fromkeys(VERDICTS, 0))
        self.kept: list[AuditedAnswer] = []
        self.first_broken: list[BrokenLine] = []
        self._sessions, self._does, self._judge_of_claims = Sessions(), does, judge
        self._session: tuple[str, Session] | None = None  # that was judged last, with its name

    def push(self, found: Found | BrokenLine) -> None:
        """Take what ``read_found`` has found."""
        if isinstance(found, BrokenLine):
            self.broken += 1
            if len(self.first_broken) < BROKEN_KEPT:
                self.first_broken.append(found)
            return
        for turn in self._sessions.push(found):
            self._judge(turn)

    def end(self) -> Iterator[AuditedAnswer]:
        """Judge the sessions that are not done; the log has no more, or no more of it is wanted."""
        for turn in self._sessions.end():
            yield self._judge(turn)

    def _judge(self, turn: Turn) -> AuditedAnswer:
        from agentguard.content.actions import Session

        if self._session is None or self._session[0] != turn.session:
            self._session = (turn.session, Session())
        answer = held(turn, self._does, self._session[1], self._judge_of_claims)
        result = answer.result
        self.answers += 1
        self.claims.update(claim.verdict for claim in result.claims)
        self.values += len(result.values.findings)
        self.traced += len(result.values.supported)
        if result.unsupported or result.values.findings:
            if len(self.kept) < KEPT:
                self.kept.append(_slim(answer))
            else:
                self.left_out += 1
        return answer

    @property
    def unsupported(self) -> int:
        """How many claims are contradicted, or were never called."""
        return sum(self.claims[verdict] for verdict in UNSUPPORTED)

    def as_dict(self) -> dict[str, Any]:
        """The counts as plain data."""
        return {
            "answers": self.answers,
            "claims": {verdict.replace(" ", "_"): self.claims[verdict] for verdict in VERDICTS},
            "values": {"supported": self.traced, "unsupported": self.values},
        }


def _slim(answer: AuditedAnswer) -> AuditedAnswer:
    """The answer with those of its calls alone that claims name."""
    turn, result = answer
    numbers = sorted({claim.call for claim in result.claims if claim.call is not None})
    places = {number: place for place, number in enumerate(numbers)}
    claims = tuple(claim if claim.call is None else claim._replace(call=places[claim.call]) for claim in result.claims)
    return AuditedAnswer(
        turn._replace(calls=tuple(turn.calls[number] for number in numbers), given=(), tools=()),
        result._replace(claims=claims),
    )
