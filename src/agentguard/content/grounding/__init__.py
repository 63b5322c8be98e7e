"""Grounding: every number, date, identifier and name of an answer, traced to the tool result that it comes from.

What is not found as it stands is looked for rounded, converted, in other forms, and calculated from numbers that
belong together; what is not found then is reported with the nearest value there is. A number that so many results
would contain by chance counts only where the words around it are those of its place. English is assumed for names and
number words.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentguard.content.grounding._answer import Trace
from agentguard.content.grounding._arguments import ArgumentsResult, check_arguments
from agentguard.content.grounding._tracing import CHANCE_AT, SMALL, UNGROUNDED_AT, GroundingResult, Tracer

__all__ = ["ArgumentsResult", "GroundingResult", "Trace", "check", "check_arguments"]


def check(
    answer: str,
    tool_results: Iterable[Any],
    *,
    question: str | None = None,
    given: Iterable[str] = (),
    chance_at: float = CHANCE_AT,
    ungrounded_at: float = UNGROUNDED_AT,
    small: int = SMALL,
) -> GroundingResult:
    """Trace each number, date, identifier and name of an answer to the tool results that it rests on.

    Args:
        answer: the answer as its reader sees it.
        tool_results: the results in the order of their calls: JSON-like values, or text.
        question: what was asked; its values count as given.
        given: further texts whose values do: a system prompt, a policy.
        chance_at: a number that unrelated results are expected to contain more often than so is believed only where
            the words around it are those of its place in a result.
        ungrounded_at: the score from which the label is ``ungrounded``.
        small: integers up to this one are believed only where words around them agree.

    >>> results = [{"hotel": "Aurora", "price": 65.0, "was": 82.5}]
    >>> found = check("The Aurora costs 650 a night, 21% less than before.", results)
    >>> [finding.detail for finding in found.findings]
    ["the answer says '650'; the nearest that results have is 65 at price"]
    >>> [(trace.kind, trace.path, trace.how) for trace in found.supported]
    [('name', 'hotel', 'as written'), ('number', 'price', 'change between price and was')]
    """
    tracer = Tracer(tool_results, [*(() if question is None else (question,)), *given])
    return tracer.check(answer, chance_at=chance_at, ungrounded_at=ungrounded_at, small=small)
