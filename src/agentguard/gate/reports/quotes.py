"""Where a quote stands in a passage: the place itself, and the headings above it."""

from __future__ import annotations

import re

from agentguard.gate.types import Chunk

__all__ = ["heading_at", "place_of"]

SEPARATOR = " > "

_HEADING = re.compile(r"^(#{1,6})[ \t]+(\S.*)$", re.MULTILINE)


def place_of(quote: str, text: str) -> tuple[int, int] | None:
    r"""Where a quote begins and ends; white space may differ, since who quotes puts lines together.

    >>> place_of("two years", "It lasts two\nyears.")
    (9, 18)
    """
    words = quote.split()
    if not words:
        return None
    found = re.search(r"\s+".join(map(re.escape, words)), text)
    return None if found is None else found.span()


def heading_at(chunk: Chunk, offset: int) -> str:
    r"""The headings above a place in a chunk, those before the chunk and those inside of it.

    >>> chunk = Chunk("c1", "returns.md", "Returns", "Returns", "# Returns\n\nAll.\n\n## Refunds\n\nIn 10 days.", 0, 40)
    >>> heading_at(chunk, 0), heading_at(chunk, 35)
    ('Returns', 'Returns > Refunds')
    """
    above = [part for part in chunk.heading.split(SEPARATOR) if part]
    for found in _HEADING.finditer(chunk.text, 0, offset):
        above = [*above[: len(found[1]) - 1], found[2].strip()]
    return SEPARATOR.join(above)
