"""Claims of action: what an answer says was done, held against the ledger of the calls that were made.

"I ran the tests and pushed the branch" is two claims. Each is supported by a call, contradicted by what its call was
or returned, was never called, or cannot be checked; no model is asked, unless a judge is given. English.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, NamedTuple

from agentguard.content.actions._claims import MOST_CLAIMS, claims
from agentguard.content.actions._holding import FALSE_AT, Verdict, hold
from agentguard.content.actions._judge import Judge, Opinion, judged
from agentguard.content.actions._ledger import MOST_CALLS, Call, Deed, deed_of, deeds
from agentguard.content.actions._sentences import MOST_CHARACTERS
from agentguard.content.actions._tools import Ability, Tool, ability_of
from agentguard.content.grounding import GroundingResult
from agentguard.content.grounding._tracing import Tracer

__all__ = ["FALSE_AT", "ActionClaim", "ActionsResult", "Call", "Judge", "Opinion", "Tool", "check"]

ALIKE: Final = 3  # calls in a row by which the beginning of a ledger is known again


class ActionClaim(NamedTuple):
    """A claim of action, held against the calls.

    Attributes:
        start, end: where it stands in the answer, in characters.
        text: its words.
        verdict: ``supported``, ``contradicted``, ``never called`` or ``not checkable``.
        call: the position of the call that supports or contradicts it; None where there is none.
        reason: why, in a sentence.
        probability: that it is false, in [0, 1]; 0 for what cannot be checked at all.
    """

    start: int
    end: int
    text: str
    verdict: Verdict
    call: int | None
    reason: str
    probability: float


class ActionsResult(NamedTuple):
    """An answer held against its ledger.

    Attributes:
        label: ``unsupported`` where a claim of action is contradicted or was never called, ``supported`` where all
            that can be checked is supported, ``nothing claimed`` where there is nothing that can be checked.
        claims: the claims of action, in their order.
        values: the numbers, dates, identifiers and names of the answer, traced to the calls.
        complete: whether the answer and the ledger were read to their ends.
    """

    label: Literal["supported", "unsupported", "nothing claimed"]
    claims: tuple[ActionClaim, ...]
    values: GroundingResult
    complete: bool

    @property
    def unsupported(self) -> tuple[ActionClaim, ...]:
        """The claims that are contradicted or were never called."""
        return tuple(claim for claim in self.claims if claim.verdict in ("contradicted", "never called"))


def check(
    answer: str,
    calls: Iterable[Call],
    tools: Iterable[Tool] = (),
    *,
    question: str | None = None,
    given: Iterable[str] = (),
    false_at: float = FALSE_AT,
    judge: Judge | None = None,
) -> ActionsResult:
    """Hold what an answer says was done against the calls that were made.

    A claim's verbs are matched with what tools and calls say of themselves, what it says exactly has to stand in
    their arguments or results, and they have to have come out well. What speaks for and against it is weighed in
    log-odds (Good, "Weighing Evidence", 1960); the weights were fitted on labelled turns.

    Args:
        answer: the answer as its reader sees it.
        calls: the calls of the session so far, in their order.
        tools: the tools that the agent has, in their own words; a tool that is not among them is known by its name
            and arguments.
        question: what was asked.
        given: further texts whose values count as known: a system prompt, a policy.
        false_at: the probability from which a claim is held to be false, in (0, 1]. A lower one finds more of them,
            and accuses more honest answers.
        judge: is asked once about all claims that would be ``not checkable``, and decides those it is sure of.

    >>> ledger = [Call("run_tests", {"path": "tests"}, "3 failed, 45 passed in 2.1s")]
    >>> result = check("All tests pass, and I emailed the report to Ada.", ledger, [Tool("send_email")], false_at=0.5)
    >>> [(claim.text, claim.verdict, claim.call) for claim in result.claims]
    [('All tests pass', 'contradicted', 0), ('I emailed the report to Ada', 'never called', None)]
    """
    return Session().check(answer, calls, tools, question=question, given=given, false_at=false_at, judge=judge)


class Session:
    """The calls of a session as far as they are read, and its answers held against them.

    A call whose arguments and result are the very objects of the last time is not read again: they may not be changed
    in between. What is read is kept as long as the session is.

    >>> session = Session()
    >>> calls = [Call("run_tests", {"path": "tests"}, "48 passed")]
    >>> session.check("I ran the tests.", calls).label
    'supported'
    >>> calls.append(Call("send_email", {"to": "ada@example.org"}, "sent"))
    >>> session.check("I emailed Ada.", calls).claims[0].call
    1
    """

    def __init__(self) -> None:
        self._tracer = Tracer()
        self._calls: list[Call] = []
        self._first = 0  # the place of the first of them; the first ever has 0
        self._deeds: dict[int, Deed] = {}
        self._abilities: dict[tuple[Any, ...], Ability] = {}

    def check(
        self,
        answer: str,
        calls: Iterable[Call],
        tools: Iterable[Tool] = (),
        *,
        question: str | None = None,
        given: Iterable[str] = (),
        false_at: float = FALSE_AT,
        judge: Judge | None = None,
    ) -> ActionsResult:
        """Hold an answer against the calls of the session so far, as ``actions.check`` does."""
        made, texts = list(calls), [*([question] if question else []), *given]
        known = texts if question != "" else ["", *texts]
        self._follow(made, known)
        tools_by_name = {tool.name: tool for tool in tools}
        stated = list(claims(answer))
        abilities = {name: self._ability(tool) for name, tool in tools_by_name.items()}
        done = list(deeds(made, tools_by_name, self._ability, self._deed))
        held = hold(answer, stated, done, abilities, texts, false_at)
        found = tuple(
            ActionClaim(each.start, each.end, answer[each.start : each.end], *one)
            for each, one in zip(stated, held, strict=True)
        )
        found = judged(found, made, judge)
        values = self._tracer.check(answer)
        verdicts = {claim.verdict for claim in found}
        label: Literal["supported", "unsupported", "nothing claimed"] = "nothing claimed"
        if verdicts & {"contradicted", "never called"}:
            label = "unsupported"
        elif "supported" in verdicts:
            label = "supported"
        whole = len(answer) <= MOST_CHARACTERS and len(found) < MOST_CLAIMS and len(made) <= MOST_CALLS
        return ActionsResult(label, found, values, values.complete and whole)

    def _follow(self, made: list[Call], given: Sequence[str]) -> None:
        """Read the calls that are not known, and forget those that are not there any more."""
        first = self._first + self._gone(made)
        known = dict(enumerate(self._calls, self._first))
        now = dict(enumerate(made, first))
        old = [place for place in known if place not in now]
        new = {place: call for place, call in now.items() if place not in known or not _same(known[place], call)}
        for place in (*old, *new):
            self._deeds.pop(place, None)
        self._calls, self._first = made, first
        come = {2 * place + part: value for place, call in new.items() for part, value in enumerate(call[1:3])}
        self._tracer.change(come, [2 * place + part for place in old for part in (0, 1)], given)

    def _gone(self, made: Sequence[Call]) -> int:
        """How many of the first calls are not there any more."""
        for number in range(len(self._calls)):
            if all(map(_same, self._calls[number : number + ALIKE], made)):
                return number
        return len(self._calls)

    def _ability(self, tool: Tool) -> Ability:
        key = (tool.name, tool.description, tuple(tool.arguments), tuple(tool.does))
        known = self._abilities.get(key)
        if known is None:
            known = self._abilities[key] = ability_of(tool)
        return known

    def _deed(self, number: int, call: Call, ability: Ability) -> Deed:
        place = self._first + number
        known = self._deeds.get(place)
        if known is None or known.ability is not ability:
            known = self._deeds[place] = deed_of(number, call, ability)
        elif known.number != number:
            known = self._deeds[place] = known._replace(number=number)
        return known


def _same(one: Call, two: Call) -> bool:
    return (one.tool, one.failed) == (two.tool, two.failed) and one.args is two.args and one.result is two.result
