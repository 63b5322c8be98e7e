"""The blocks of an answer in Markdown: what is a paragraph, a list item, a row of a table; marks taken off.

One pass over lines, and patterns whose repetitions are bounded: linear on any text. Positions lead back to the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

__all__ = ["MAX_CHARACTERS", "Block", "Plain", "blocks", "plain"]

MAX_CHARACTERS: Final = 200_000  # of an answer; what stands beyond is not read
_FENCE = re.compile(r"[ \t]{0,8}(?:```|~~~)")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+(?=\S)")
_QUOTE = re.compile(r"(?:[ \t]{0,3}>[ \t]?){1,8}")
_ITEM = re.compile(
    r"[ \t]{0,40}(?:[-*+•–][ \t]{1,8}(?:\[[ xX]\][ \t])?|\(?\d{1,4}[.)][ \t]{1,8}|[a-zA-Z]\)[ \t]{1,8})(?=\S)"
)
_RULE = re.compile(r"[ \t]{0,3}(?:[-*_=][ \t]{0,2}){3,}\s*$")
_DIVIDER = re.compile(r"[ \t|:-]{3,2000}$")
_CELL = re.compile(r"(?<!\\)\|")
_INLINE = re.compile(
    r"""
    !\[[^\[\]\n]{0,300}\]\([^()\s]{0,1000}\)
    |\[(?P<link>[^\[\]\n]{1,300})\]\([^()\s]{0,1000}\)
    |\[\^?\d{1,3}\]
    |</?[a-zA-Z][^<>\n]{0,300}>
    |\\(?P<escaped>[^\w\s])
    |\*{2,3}|(?<!\s)\*|\*(?!\s)|_{2,3}|(?<!\w)_(?=\w)|(?<=\w)_(?!\w)|~~|`{1,2}
    |(?P<blank>[ \t\u00a0]*\n\s*)
    """,
    re.VERBOSE,
)


class Plain(NamedTuple):
    """Text without marks, and for each of its characters the place in the answer."""

    text: str
    places: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of the text stands in the answer."""
        return (self.places[start], self.places[end - 1] + 1) if start < end else (-1, -1)


class Block(NamedTuple):
    """One block.

    Attributes:
        kind: ``heading``, ``paragraph``, ``item`` of a list, or ``cell`` of a table.
        plain: its text.
        label: what makes a cell understandable: the row's first cell and the column's head; empty elsewhere.
    """

    kind: Literal["heading", "paragraph", "item", "cell"]
    plain: Plain
    label: str = ""


def plain(text: str, start: int, end: int) -> Plain:
    """A part of an answer without marks, line ends as blanks.

    >>> plain("see **the [docs](x)**", 0, 21).text
    'see the docs'
    """
    parts: list[str] = []
    places: list[int] = []
    at = start
    for match in _INLINE.finditer(text, start, end):
        parts.append(text[at : match.start()])
        places.extend(range(at, match.start()))
        at = match.end()
        kind = match.lastgroup
        if kind == "blank":
            parts.append(" ")
            places.append(match.start())
        elif kind:
            parts.append(match[kind])
            places.extend(range(match.start(kind), match.end(kind)))
    parts.append(text[at:end])
    places.extend(range(at, end))
    joined = "".join(parts)
    left = len(joined) - len(joined.lstrip())
    right = len(joined.rstrip())
    return Plain(joined[left:right], places[left:right])


def blocks(text: str) -> Iterator[Block]:
    r"""The blocks of an answer that may claim something, in their order; code is none.

    >>> [(block.kind, block.plain.text) for block in blocks("# A\nOne\nline.\n- two\n```\ncode\n```")]
    [('heading', 'A'), ('paragraph', 'One line.'), ('item', 'two')]
    """
    kind: Literal["paragraph", "item"] = "paragraph"
    begin = end = -1  # of the block that is being read
    fenced = quoted = False
    head: list[str] = []
    at = 0
    for line in text[:MAX_CHARACTERS].splitlines(keepends=True):
        start, at = at, at + len(line)
        stripped = line.strip()
        row = not fenced and stripped.count("|") >= 2 and len(stripped) > 2 and (stripped[0] == "|" or bool(head))
        item = _ITEM.match(line)
        heading = _HEADING.match(line)
        quote = _QUOTE.match(line)
        marked = item or heading or _FENCE.match(line) or _RULE.match(line)
        ends = not stripped or fenced or row or marked is not None or (quote is not None) != quoted
        if ends and begin >= 0:
            yield Block(kind, plain(text, begin, end))
            begin = -1
        quoted = quote is not None
        if not row:
            head = []
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced or not stripped or (_RULE.match(line) and not row):
            continue
        elif row:
            cells = list(_cells(text, start, at))
            if _DIVIDER.match(stripped):
                continue
            if not head:
                head = [cell.text for cell in cells]
                continue
            yield from _row(head, cells)
        elif heading:
            yield Block("heading", plain(text, start + heading.end(), at))
        elif item:
            kind, begin, end = "item", start + item.end(), at
        elif begin >= 0:
            end = at  # the mark of a quotation's further lines stays; it is no word
        else:
            kind, begin, end = "paragraph", start + (quote.end() if quote else 0), at
    if begin >= 0:
        yield Block(kind, plain(text, begin, end))


def _cells(text: str, start: int, end: int) -> Iterator[Plain]:
    line = text[start:end]
    left = start + len(line) - len(line.lstrip())
    right = start + len(line.rstrip())
    left += text[left] == "|"
    right -= text[right - 1] == "|"
    for match in _CELL.finditer(text, left, right):
        yield plain(text, left, match.start())
        left = match.end()
    yield plain(text, left, right)


def _row(head: list[str], cells: list[Plain]) -> Iterator[Block]:
    """A statement of each cell but the first, which says what the row is about."""
    first = cells[0].text
    for name, cell in zip(head[1:], cells[1:], strict=False):
        if cell.text.strip("-–— ") and (first or name):
            yield Block("cell", cell, f"{first}: {name}".strip(": "))
