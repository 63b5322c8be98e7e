"""Places in a text that is gone through: their lines and columns, and what is put in their stead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agentguard.content._findings import Finding

__all__ = ["Places", "Replaced", "merged"]


class Places:
    r"""Lines and columns of offsets in a piece of a file, reckoned from the one that was asked for last.

    Args:
        text: the piece.
        source: the file.
        line: the number of its first line.

    >>> places = Places("one\ntwo", "a.txt", 7)
    >>> places.at(5), places.at(1)
    ((8, 2), (7, 2))
    """

    def __init__(self, text: str, source: str, line: int) -> None:
        self.source = source
        self._text = text
        self._offset, self._line, self._begin = 0, line, 0  # the last one, its line, and where that begins

    def at(self, offset: int) -> tuple[int, int]:
        """The line and the column of a place, both from 1."""
        text, before = self._text, self._offset
        if offset >= before:
            feeds = text.count("\n", before, offset)
            if feeds:
                self._begin = text.rindex("\n", before, offset) + 1
        else:
            feeds = -text.count("\n", offset, before)
            if feeds:
                self._begin = text.rfind("\n", 0, offset) + 1
        self._offset, self._line = offset, self._line + feeds
        return self._line, offset - self._begin + 1


class Replaced:
    """A text with other words in some places, handed out as far as these are known."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._done = 0

    def upto(self, end: int, changes: Iterable[tuple[int, int, str]]) -> str:
        """What comes next, up to a place, or to the end of what is replaced there.

        Args:
            end: the place.
            changes: begin, end and new words of what is replaced, in any order. What overlaps another is left out: of a
                number that held more than one finding, and of one that was seen twice.
        """
        pieces: list[str] = []
        for start, stop, new in sorted(changes):
            if start >= self._done:
                pieces += (self._text[self._done : start], new)
                self._done = stop
        if end > self._done:
            pieces.append(self._text[self._done : end])
            self._done = end
        return "".join(pieces)


def merged(findings: Iterable[Finding]) -> Iterator[tuple[str, int, int]]:
    """Places that overlapping findings cover together, under the name of the longest."""
    name, start, end, longest = "", 0, 0, 0
    for each in sorted(findings, key=lambda each: (each.start, each.end)):
        if each.start >= end:
            if end:
                yield name, start, end
            start, longest = each.start, 0
        if each.end - each.start > longest:
            name, longest = each.kind, each.end - each.start
        end = max(end, each.end)
    if end:
        yield name, start, end
