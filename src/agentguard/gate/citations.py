"""Evidence as the records have it: a chunk once, however many claims it was found for.

Thousands of claims are held against the same few documents. Written out for each of them, the evidence of a long run
would be larger than a database or a cluster takes in one piece.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from agentguard.gate.types import Chunk, Evidence, Passage

__all__ = ["Citations", "cite", "resolve"]


@dataclass(frozen=True, slots=True)
class Citations:
    """Evidence, in the form in which it is kept.

    Attributes:
        chunks: each of them once.
        found: of each claim its id and its passages, the best first: the chunk's place in ``chunks``, and the score.
    """

    chunks: tuple[Chunk, ...]
    found: tuple[tuple[str, tuple[tuple[Annotated[int, Field(ge=0)], float], ...]], ...]


def cite(evidence: Iterable[Evidence]) -> Citations:
    """Evidence with every chunk once.

    >>> chunk = Chunk("k1", "returns.md", "Returns", "", "Within 30 days.", 0, 15)
    >>> evidence = (Evidence("p1.c1", (Passage(chunk, 0.5),)), Evidence("p1.c2", (Passage(chunk, 0.25),)))
    >>> len(cite(evidence).chunks), cite(evidence).found
    (1, (('p1.c1', ((0, 0.5),)), ('p1.c2', ((0, 0.25),))))
    >>> resolve(cite(evidence)) == evidence
    True
    """
    places: dict[Chunk, int] = {}
    found = tuple(
        (each.claim_id, tuple((places.setdefault(p.chunk, len(places)), p.score) for p in each.passages))
        for each in evidence
    )
    return Citations(tuple(places), found)


def resolve(citations: Citations) -> tuple[Evidence, ...]:
    """The evidence that ``cite`` was given.

    Raises:
        ValueError: where a place names no chunk.
    """
    try:
        return tuple(
            Evidence(claim_id, tuple(Passage(citations.chunks[place], score) for place, score in passages))
            for claim_id, passages in citations.found
        )
    except IndexError:
        raise ValueError("a passage names a chunk that is not there") from None
