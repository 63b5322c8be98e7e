"""Grounding: every number, date, identifier and name of an answer, traced to the tool result that it comes from.

What is not found as it stands is looked for rounded, converted, in other forms, and calculated from numbers that
belong together; what is not found then is reported with the nearest value there is. A number that so many results
would contain by chance counts only where the words around it are those of its place. English is assumed for names and
number words.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from agentguard.content._findings import Finding
from agentguard.content.grounding._answer import Answer, Dates, Numbers, Trace, trace_identifiers, trace_names
from agentguard.content.grounding._arguments import ArgumentsResult, check_arguments
from agentguard.content.grounding._sources import Sources

__all__ = ["ArgumentsResult", "GroundingResult", "Trace", "check", "check_arguments"]

CHANCE_AT: Final = 0.2
UNGROUNDED_AT: Final = 0.5
SMALL: Final = 12


class GroundingResult(NamedTuple):
    """The claims of an answer, traced to its tool results.

    Attributes:
        score: the share of what is claimed that no result supports, 0 to 1; 0 where nothing is claimed.
        label: ``grounded`` (all is supported), ``partly grounded``, ``ungrounded`` or ``nothing to trace``.
        findings: what is not supported, for a person to check: kinds ``unsupported number``, ``… date``,
            ``… identifier`` and ``… name``, each with the nearest value that results have, and ``misattributed number``
            and ``… date``: what results say of another element of the same list.
        supported: what is supported, and by what.
        complete: whether all results and all claims were read; False where there are more than are read.
        artefacts: what no result says either, and is not claimed: numbers of headings and citations, references, the
            writer's own ratings, programs. They count in nothing.
    """

    score: float
    label: str
    findings: tuple[Finding, ...]
    supported: tuple[Trace, ...]
    complete: bool
    artefacts: tuple[Finding, ...] = ()


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
    sources = Sources(tool_results, [*(() if question is None else (question,)), *given])
    claims = Answer(answer, sources)
    # Who is spoken of comes first: numbers and dates are then held to be theirs.
    trace_identifiers(claims)
    trace_names(claims)
    numbers = Numbers(claims, chance_at, small)
    Dates(claims)
    score = claims.missing / claims.weight if claims.weight else 0.0
    if not claims.weight:
        label = "nothing to trace"
    elif not claims.findings:
        label = "grounded"
    else:
        label = "ungrounded" if score >= ungrounded_at else "partly grounded"
    findings = tuple(sorted(claims.findings, key=lambda finding: finding.start))
    return GroundingResult(
        score,
        label,
        findings,
        tuple(sorted(claims.traced, key=lambda trace: trace.start)),
        numbers.complete and sources.complete,
        tuple(sorted(claims.artefacts, key=lambda finding: finding.start)),
    )
