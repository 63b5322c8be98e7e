"""Several rankings of passages as one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agentguard.errors import ConfigurationError
from agentguard.gate.types import Chunk, Passage

__all__ = ["reciprocal_rank"]


def reciprocal_rank(rankings: Sequence[Sequence[Passage]], k: float = 60.0) -> list[Passage]:
    """Fuse rankings whose scores cannot be compared, by the ranks alone.

    A chunk's score is the sum of 1 / (k + rank) over the rankings that have it, where the best has rank 1. Of equal
    scores the chunk comes first that an earlier ranking has further up.

    Source: Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning
    methods", SIGIR 2009, which settles on k = 60.

    Args:
        rankings: each with the best first; of a chunk that one has twice, the first counts.
        k: how little the first ranks stand out; 0 or more.

    Raises:
        ConfigurationError: where k is something else.

    >>> from agentguard.gate.types import Chunk
    >>> a, b, c = (Passage(Chunk(name, "doc.md", "", "", name, 0, 1), 1.0) for name in "abc")
    >>> [(passage.chunk.id, round(passage.score, 5)) for passage in reciprocal_rank([[a, b], [b, c]])]
    [('b', 0.03252), ('a', 0.01639), ('c', 0.01613)]
    """
    if not 0 <= k < math.inf:
        raise ConfigurationError(f"k must be a finite number, 0 or more, not {k!r}")
    found: dict[str, Chunk] = {}
    ranks: dict[str, list[float]] = {}
    for number, ranking in enumerate(rankings):
        distinct = dict.fromkeys(passage.chunk.id for passage in ranking)
        for rank, chunk_id in enumerate(distinct, 1):
            ranks.setdefault(chunk_id, [math.inf] * len(rankings))[number] = rank
        for passage in ranking:
            found.setdefault(passage.chunk.id, passage.chunk)
    scores = {chunk_id: math.fsum(1 / (k + rank) for rank in places) for chunk_id, places in ranks.items()}
    order = sorted(found, key=lambda chunk_id: (-scores[chunk_id], ranks[chunk_id], chunk_id))
    return [Passage(found[chunk_id], scores[chunk_id]) for chunk_id in order]
