"""Answers traced to results that come and go: of a session, each result is read once for all of its answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from agentguard.content._findings import Finding
from agentguard.content.grounding._answer import Answer, Dates, Numbers, Trace, trace_identifiers, trace_names
from agentguard.content.grounding._arithmetic import Calculations
from agentguard.content.grounding._sources import Sources

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


class Tracer:
    """Traces answers to results; what is read of these stays read until they go.

    Args:
        results: the results in the order of their calls, at the places from 0 on.
        given: further texts whose values are known.

    >>> tracer = Tracer(["7 of 48 tests failed"])
    >>> tracer.check("7 failed.").label
    'grounded'
    >>> tracer.change({1: "48 tests passed"}, go=[0], given=[])
    >>> [finding.kind for finding in tracer.check("37 failed.").findings]
    ['unsupported number']
    """

    def __init__(self, results: Iterable[Any] = (), given: Iterable[str] = ()) -> None:
        self._sources = Sources(results, given)
        self._calculations = Calculations(self._sources)

    def change(self, come: Mapping[int, Any], go: Iterable[int], given: Iterable[str]) -> None:
        """Take results, and forget others.

        Args:
            come: by their places, later ones at greater ones; the results that are there have places without gaps. What
                stood at the place of one is forgotten.
            go: the places of those to forget.
            given: the texts that are known beside the results from now on.
        """
        self._sources.change(come, go, given)
        self._calculations.settle()

    def check(
        self, answer: str, *, chance_at: float = CHANCE_AT, ungrounded_at: float = UNGROUNDED_AT, small: int = SMALL
    ) -> GroundingResult:
        """Trace an answer, as ``grounding.check`` does."""
        claims = Answer(answer, self._sources)
        # Who is spoken of comes first: numbers and dates are then held to be theirs.
        trace_identifiers(claims)
        trace_names(claims)
        numbers = Numbers(claims, self._calculations, chance_at, small)
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
            numbers.complete and self._sources.complete,
            tuple(sorted(claims.artefacts, key=lambda finding: finding.start)),
        )
