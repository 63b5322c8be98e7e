"""Claims of action: what an answer says was done, held against the ledger of the calls that were made.

"I ran the tests and pushed the branch" is two claims. Each is supported by a call, contradicted by what its call was
or returned, was never called, or cannot be checked; no model is asked. English.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from agentguard.content.actions._claims import claims
from agentguard.content.actions._holding import Verdict, hold
from agentguard.content.actions._ledger import Call, Tool, ability_of, deeds
from agentguard.content.grounding import GroundingResult
from agentguard.content.grounding import check as check_values

__all__ = ["ActionClaim", "ActionsResult", "Call", "Tool", "check"]


class ActionClaim(NamedTuple):
    """What an answer says was done.

    Attributes:
        start, end: where it stands in the answer, in characters.
        text: its words.
        verdict: ``supported``, ``contradicted``, ``never called`` or ``not checkable``.
        call: the position of the call that supports or contradicts it; None where there is none.
        reason: why, in a sentence.
    """

    start: int
    end: int
    text: str
    verdict: Verdict
    call: int | None
    reason: str


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
) -> ActionsResult:
    """Hold what an answer says was done against the calls that were made.

    Args:
        answer: the answer as its reader sees it.
        calls: the calls of the session so far, in their order.
        tools: the tools that the agent has, in their own words; a tool that is not among them is known by its name
            and arguments.
        question: what was asked.
        given: further texts whose values count as known: a system prompt, a policy.

    >>> ledger = [Call("run_tests", {"path": "tests"}, "3 failed, 45 passed")]
    >>> result = check("All tests pass, and I emailed the report to Ada.", ledger, [Tool("send_email")])
    >>> [(claim.text, claim.verdict, claim.call) for claim in result.claims]
    [('All tests pass', 'contradicted', 0), ('I emailed the report to Ada', 'never called', None)]
    """
    made = list(calls)
    known = {tool.name: tool for tool in tools}
    given = [*given]
    abilities = {name: ability_of(tool) for name, tool in known.items()}
    stated = list(claims(answer))
    done = list(deeds(made, known))
    held = hold(stated, done, abilities, [*([question] if question else []), *given])
    found = tuple(
        ActionClaim(each.start, each.end, answer[each.start : each.end], one.verdict, one.call, one.reason)
        for each, one in zip(stated, held, strict=True)
    )
    values = check_values(
        answer, [result for call in made for result in (call.args, call.result)], question=question, given=given
    )
    label: Literal["supported", "unsupported", "nothing claimed"] = "nothing claimed"
    if any(claim.verdict in ("contradicted", "never called") for claim in found):
        label = "unsupported"
    elif any(claim.verdict == "supported" for claim in found):
        label = "supported"
    return ActionsResult(label, found, values, values.complete)
