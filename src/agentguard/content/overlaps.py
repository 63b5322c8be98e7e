"""Of things found at the same place, the one to tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agentguard.content.findings import Finding

__all__ = ["UNNAMED", "Candidate", "best"]

UNNAMED = 1_000  # a distance beyond every window in which words are looked for


class Candidate(NamedTuple):
    """A finding that may have to give way to another at the same place.

    Attributes:
        finding: what was found.
        certainty: how certain it is, 0 to 1.
        distance: how many characters away the word stands that names it; ``UNNAMED`` where there is none.
    """

    finding: Finding
    certainty: float
    distance: int = UNNAMED


def best(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that do not overlap, in the text's order: the surest first, then the longest, then the nearest to its name.

    >>> card, account = Finding("card", "", 4, 20), Finding("account", "", 4, 12)
    >>> [each.finding.kind for each in best([Candidate(account, 0.7), Candidate(card, 0.9)])]
    ['card']
    """
    if len(candidates) < 2:
        return list(candidates)
    taken = bytearray(max(each.finding.end for each in candidates))
    kept = []
    for each in sorted(
        candidates, key=lambda each: (-each.certainty, each.finding.start - each.finding.end, each.distance)
    ):
        start, end = each.finding.start, each.finding.end
        if taken.find(1, start, end) < 0:
            taken[start:end] = b"\x01" * (end - start)
            kept.append(each)
    return sorted(kept, key=lambda each: each.finding.start)
