"""Texts with parts of them rewritten, and the way back to the text as it was given."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple


class Rewritten(NamedTuple):
    """A text that was made of another.

    Attributes:
        text: the text as it is now.
        starts: offsets in ``text`` at which stretches begin, ascending, the first 0.
        origins: the offset of each stretch in the text as it was given.
    """

    text: str
    starts: tuple[int, ...]
    origins: tuple[int, ...]

    def origin(self, offset: int) -> int:
        """Find the offset of a character in the text as it was given."""
        number = bisect_right(self.starts, offset) - 1
        return self.origins[number] + offset - self.starts[number]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Find the span of a part in the text as it was given; what was dropped within it belongs to it."""
        return (self.origin(start), self.origin(end - 1) + 1) if end > start else (self.origin(start),) * 2


def rewrite(text: str, changes: Iterable[tuple[int, int, str]]) -> Rewritten:
    """Put other words in the place of parts of a text.

    Args:
        text: the text.
        changes: start, end and new words of each part, in the order of the text, not overlapping. The letters of the
            new words stand where those of the part do, the last letter at its end.

    >>> changed = rewrite("see ignoore", [(4, 11, "ignore")])
    >>> changed.text, changed.span(4, 10), changed.span(4, 6)
    ('see ignore', (4, 11), (4, 6))
    """
    pieces: list[str] = []
    starts, origins, length, done = [0], [0], 0, 0
    for start, end, new in changes:
        pieces += text[done:start], new
        length += start - done
        starts += range(length, length + len(new) + 1)
        origins += (min(start + number, max(start, end - 1)) for number in range(len(new)))
        if new:
            origins[-1] = max(start, end - 1)
        origins.append(end)
        length += len(new)
        done = end
    pieces.append(text[done:])
    return Rewritten("".join(pieces), tuple(starts), tuple(origins))
