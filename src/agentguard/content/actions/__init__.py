"""Claims of action: what an answer says was done, held against the ledger of the calls that were made.

"I ran the tests and pushed the branch" is two claims. Each is supported by a call, contradicted by what its call was
or returned, was never called, or cannot be checked; no model is asked. English.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from agentguard.content.actions._claims import MOST_CLAIMS, claims
from agentguard.content.actions._holding import FALSE_AT, Verdict, hold
from agentguard.content.actions._ledger import MOST_CALLS, Call, deeds
from agentguard.content.actions._sentences import MOST_CHARACTERS
from agentguard.content.actions._tools import Tool, ability_of
from agentguard.content.grounding import GroundingResult
from agentguard.content.grounding import check as check_values

__all__ = ["FALSE_AT", "ActionClaim", "ActionsResult", "Call", "Tool", "check"]


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

    >>> ledger = [Call("run_tests", {"path": "tests"}, "3 failed, 45 passed in 2.1s")]
    >>> result = check("All tests pass, and I emailed the report to Ada.", ledger, [Tool("send_email")], false_at=0.5)
    >>> [(claim.text, claim.verdict, claim.call) for claim in result.claims]
    [('All tests pass', 'contradicted', 0), ('I emailed the report to Ada', 'never called', None)]
    """
    made, given = list(calls), list(given)
    tools_by_name = {tool.name: tool for tool in tools}
    stated = list(claims(answer))
    abilities = {name: ability_of(tool) for name, tool in tools_by_name.items()}
    known = [*([question] if question else []), *given]
    held = hold(answer, stated, list(deeds(made, tools_by_name)), abilities, known, false_at)
    found = tuple(
        ActionClaim(each.start, each.end, answer[each.start : each.end], *one)
        for each, one in zip(stated, held, strict=True)
    )
    values = check_values(
        answer, [value for call in made for value in (call.args, call.result)], question=question, given=given
    )
    verdicts = {claim.verdict for claim in found}
    label: Literal["supported", "unsupported", "nothing claimed"] = "nothing claimed"
    if verdicts & {"contradicted", "never called"}:
        label = "unsupported"
    elif "supported" in verdicts:
        label = "supported"
    whole = len(answer) <= MOST_CHARACTERS and len(found) < MOST_CLAIMS and len(made) <= MOST_CALLS
    return ActionsResult(label, found, values, values.complete and whole)
