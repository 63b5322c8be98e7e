"""Cut documents into pieces that overlap: large enough to hold a thought, small enough to be found for it.

A token is taken as four characters, the average of English text; tokenizers differ, and none is asked, so that every
machine cuts a document in the same places.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from agentguard.errors import ConfigurationError
from agentguard.gate._types import Chunk, Document

CHARACTERS_PER_TOKEN: Final = 4

_HEADING: Final = re.compile(r"(#{1,6}) (.*)")
_ITEM: Final = re.compile(r" *(?:[-*+]|\d{1,9}[.)]) ")
#: A sentence ends before white space and what may begin one; abbreviations and initials do not end it.
_SENTENCE_END: Final = re.compile(
    r"""[.!?\u3002\uff01\uff1f]["'\u201d\u2019)\]]{0,3}"""  # the full-width marks need no space behind them
    r"""(?:(?<=[\u3002\uff01\uff1f])|\s+(?=["'\u201c\u2018(\[]{0,3}[^\W_a-z]))"""
)
_NO_END: Final = re.compile(
    r"(?:^|[^\w])(?:[A-Z]|e\.g|i\.e|cf|vs|etc|approx|Dr|Mr|Mrs|Ms|Prof|St|No|Nr|Fig|Art|Sec|Inc|Ltd|Co)\.$"
)


@dataclass(frozen=True, slots=True)
class Chunking:
    """Sizes of chunks, in tokens of four characters.

    Attributes:
        least: A chunk is ended from here on, where a section, a paragraph, a list item or a sentence ends.
        most: No chunk is longer.
        overlap_least, overlap_most: How much of a chunk its follower repeats, from the beginning of a sentence where
            one lies between the two.

    Raises:
        ConfigurationError: If the figures contradict each other.
    """

    least: int = 500
    most: int = 1000
    overlap_least: int = 50
    overlap_most: int = 100

    def __post_init__(self) -> None:
        if not 0 <= self.overlap_least <= self.overlap_most < self.least <= self.most:
            raise ConfigurationError(
                f"chunks of {self.least} to {self.most} tokens cannot overlap by {self.overlap_least} to "
                f"{self.overlap_most}: needed is 0 <= overlap_least <= overlap_most < least <= most"
            )


#: How good it is to begin a chunk at a sentence, at a line of a list, a table or code, at a paragraph; at a heading it
#: is ``_TOP`` less its level.
_SENTENCE, _LINE, _PARAGRAPH, _TOP = 0, 1, 2, 9


class _Unit(NamedTuple):
    """Smallest piece that is kept whole if possible: a sentence, a list item, a row, a line of code, a heading.

    ``strength`` says how good it is to begin a chunk here; the units follow each other without a gap.
    """

    start: int
    strength: int
    path: tuple[str, ...]


def chunk_document(document: Document, chunking: Chunking | None = None) -> list[Chunk]:
    r"""The chunks of a document, in its order; together they hold all of its text that is not white space.

    The same document is cut the same way everywhere. A chunk's heading is what the headings above all of its text
    have in common, its own first line included, not counting what it repeats of the chunk before.

    >>> text = "# Returns\n\nItems may be returned within 30 days.\n\n## Refunds\n\nRefunds take 5 days."
    >>> [(chunk.heading, chunk.start, chunk.end) for chunk in chunk_document(Document("a.md", "Returns", text, ""))]
    [('Returns', 0, 82)]
    """
    chunking = Chunking() if chunking is None else chunking
    text = document.text
    units = list(_units(text))
    seen: Counter[str] = Counter()
    chunks = []
    starts = [unit.start for unit in units]
    for start, fresh, end in _spans(text, units, starts, chunking):
        piece = text[start:end]
        chunks.append(
            Chunk(
                id=_id(document.uri, piece, seen[piece]),
                document=document.uri,
                title=document.title,
                heading=" > ".join(
                    _common_path(units[max(bisect_right(starts, fresh) - 1, 0) : bisect_left(starts, end)])
                ),
                text=piece,
                start=start,
                end=end,
            )
        )
        seen[piece] += 1
    return chunks


def _id(uri: str, text: str, number: int) -> str:
    """The same wherever the chunk lies in its document; equal chunks of one document are counted."""
    content = "\0".join((uri, text, str(number)))
    return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _spans(text: str, units: list[_Unit], starts: list[int], chunking: Chunking) -> Iterator[tuple[int, int, int]]:
    """Yield each chunk's start, the start of what is new in it, and its end."""
    least, most = chunking.least * CHARACTERS_PER_TOKEN, chunking.most * CHARACTERS_PER_TOKEN
    done = _skip(text, 0)
    start = done
    total = len(text.rstrip())
    while done < total:
        end = total if total - start <= most else _best_end(text, units, starts, start, done, least, most)
        stripped = start + len(text[start:end].rstrip())
        yield start, done, stripped
        done = _skip(text, end)
        start = _overlap_start(text, starts, stripped, chunking)
        if done >= start + most:
            start = done  # behind so long a gap, what is repeated would leave no room for anything new


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _best_end(text: str, units: list[_Unit], starts: list[int], start: int, done: int, least: int, most: int) -> int:
    """The end that breaks least: before the highest heading, or else a paragraph, a line, a sentence; the last one."""
    earliest = max(start + least, done + 1)
    first, last = bisect_left(starts, earliest), bisect_right(starts, start + most)
    if first < last:
        return max(units[first:last], key=lambda unit: (unit.strength, unit.start)).start
    # One unit that is longer than a chunk may be: between words, or else through one.
    space = max(text.rfind(" ", earliest, start + most), text.rfind("\n", earliest, start + most))
    return space + 1 if space >= 0 else start + most


def _overlap_start(text: str, starts: list[int], end: int, chunking: Chunking) -> int:
    most = max(end - chunking.overlap_most * CHARACTERS_PER_TOKEN, 0)
    least = max(end - chunking.overlap_least * CHARACTERS_PER_TOKEN, 0)
    at = bisect_left(starts, most)
    if at < len(starts) and starts[at] <= least:
        return _skip(text, starts[at])
    space = max(text.find(" ", most, least), text.find("\n", most, least))
    return _skip(text, space if space >= 0 else least)


def _common_path(units: list[_Unit]) -> tuple[str, ...]:
    # A heading with nothing of its own, right above a deeper one, says no more than that.
    paths = [
        unit.path
        for unit, follower in zip(units, [*units[1:], None], strict=True)
        if not (follower and follower.strength > _PARAGRAPH < unit.strength and len(follower.path) > len(unit.path))
    ]
    common = paths[0] if paths else ()
    for path in paths:
        agreed = 0
        while agreed < min(len(common), len(path)) and common[agreed] == path[agreed]:
            agreed += 1
        common = common[:agreed]
    return common


def _units(text: str) -> Iterator[_Unit]:
    path: list[tuple[int, str]] = []
    fence = ""
    at = 0
    after_gap = True
    for line in text.split("\n"):
        names = tuple(name for _, name in path)
        heading = None if fence else _HEADING.match(line)
        if heading:
            level = len(heading[1])
            path = [*((above, name) for above, name in path if above < level), (level, heading[2].strip())]
            yield _Unit(at, _TOP - level, tuple(name for _, name in path))
        elif line.strip():
            yield _Unit(at, _PARAGRAPH if after_gap and not fence else _LINE, names)
            if not fence and not _ITEM.match(line) and " | " not in line:
                for end in _sentence_ends(line):
                    yield _Unit(at + end, _SENTENCE, names)
            mark = line.strip()
            if fence:
                fence = "" if mark.startswith(fence) and not mark.strip(fence[0]) else fence
            elif mark.startswith(("```", "~~~")):
                fence = mark[: len(mark) - len(mark.lstrip(mark[0]))]
        after_gap = not line.strip()
        at += len(line) + 1


def _sentence_ends(line: str) -> Iterator[int]:
    for match in _SENTENCE_END.finditer(line):
        if match[0][0] != "." or not _NO_END.search(line[max(match.start() - 10, 0) : match.start() + 1]):
            yield match.end()
