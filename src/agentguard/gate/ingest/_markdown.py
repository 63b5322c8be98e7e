"""Markdown into text: what a reader sees is kept, with headings and code; marks and addresses are not."""

from __future__ import annotations

import html
import re
import string
from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from agentguard.gate.ingest._documents import Cleaned, decode, normalise

# Every pattern reads a line in time that grows with its length: none of them tries more than one way over a character.
_FENCE: Final = re.compile(r"[ ]*(`{3,}|~{3,})")
_ATX: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_CLOSING: Final = re.compile(r"(?:^|[ \t])#+[ \t]*$|\{#[\w-]+\}[ \t]*$")
_UNDERLINE: Final = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_RULE: Final = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_DEFINITION: Final = re.compile(r" {0,3}\[[^\[\]]+\]:[ \t]*\S")
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_QUOTE: Final = re.compile(r" {0,3}>[ ]?")
_TABLE_RULE: Final = re.compile(r"\|?[ ]*:?-+:?[ ]*(?:\|[ ]*:?-+:?[ ]*)*\|?$")
_BACKTICKS: Final = re.compile(r"`+")
_LINK: Final = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])")
_AUTOLINK: Final = re.compile(r"<((?:https?://|mailto:)[^<>\s]*)>")
_TAG: Final = re.compile(
    r"</?(?:a|abbr|b|blockquote|br|center|code|dd|details|div|dl|dt|em|font|h[1-6]|hr|i|img|kbd|li|ol|p|picture|pre|s"
    r"|small|source|span|strong|sub|summary|sup|table|tbody|td|th|thead|tr|u|ul)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_STRONG: Final = re.compile(r"\*\*([^*\n]+)\*\*|(?<!\w)__([^_\n]+)__(?!\w)")
#: What its author has struck out is not said.
_STRUCK: Final = re.compile(r"~~[^~\n]+~~")
_EMPHASIS: Final = re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+)\*(?![\w*])|(?<![\w_])_(?=\S)([^_\n]+)_(?![\w_])")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
#: While marks are looked for, what a backslash precedes is one of the 32 code points that are no characters.
_ESCAPED: Final = {mark: chr(0xFDD0 + number) for number, mark in enumerate(string.punctuation)}
_RESTORED: Final = {ord(stands): mark for mark, stands in _ESCAPED.items()}
_FRONT_TITLE: Final = re.compile(r"""^title[ \t]*[:=][ \t]*(["']?)(.+?)\1[ \t]*$""", re.MULTILINE)


def clean_markdown(data: bytes, charset: str = "") -> Cleaned:
    """A document in Markdown.

    Front matter, comments, link targets and marks of emphasis are taken out; headings of both forms become ``# …``;
    the lines of a paragraph are joined; each row of a table becomes a line with `` | `` between its cells; code stays
    as it is, in its fence.

    Raises:
        DataError: where it is no text.
    """
    text, note = decode(data, charset)
    front, body = _without_front_matter(normalise(text))
    blocks = list(_blocks(list(_lines(body))))
    title = front or next((block[2:] for block in blocks if block.startswith("# ")), "")
    title = title or next((block.lstrip("# ") for block in blocks if block.startswith("#")), "")
    return Cleaned(title, normalise("\n".join(blocks)), (note,) if note else ())


def _without_front_matter(text: str) -> tuple[str, str]:
    for mark in ("---", "+++"):
        if text.startswith(mark + "\n"):
            end = text.find(f"\n{mark}\n", len(mark))
            if text.endswith("\n" + mark) and end < 0:
                end = len(text) - len(mark) - 1
            if end >= 0:
                found = _FRONT_TITLE.search(text[: end + 1])
                return (found[2] if found else ""), text[end + len(mark) + 2 :]
    return "", text


class _Line(NamedTuple):
    text: str
    code: bool


def _lines(text: str) -> Iterator[_Line]:
    """The lines that a reader sees, fenced code apart; a comment that is never closed is text."""
    fence = ""
    commented = False
    lines = text.split("\n")
    last_end = max((at for at, line in enumerate(lines) if "-->" in line), default=-1)
    for at, line in enumerate(lines):
        if fence:
            yield _Line(line, True)
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        line, commented = _without_comments(line, commented, last_end > at)
        opening = _FENCE.match(line)
        if opening and not (opening[1][0] == "`" and "`" in line[opening.end() :]):
            fence = opening[1]
            yield _Line(line, True)
        else:
            yield _Line(_unquoted(line), False)


def _without_comments(line: str, inside: bool, closed_later: bool) -> tuple[str, bool]:
    kept: list[str] = []
    while True:
        if inside:
            end = line.find("-->")
            if end < 0:
                return "".join(kept), True
            line, inside = line[end + 3 :], False
        start = line.find("<!--")
        if start < 0 or (not closed_later and line.find("-->", start + 4) < 0):
            return "".join((*kept, line)), False
        kept.append(line[:start])
        line, inside = line[start + 4 :], True


def _unquoted(line: str) -> str:
    for _ in range(20):
        found = _QUOTE.match(line)
        if not found:
            break
        line = line[found.end() :]
    return line


def _blocks(lines: list[_Line]) -> Iterator[str]:
    """Lines of the cleaned text; a paragraph is one line, as is a list item."""
    paragraph: list[str] = []
    verbatim = table = False  # of the line before: it was indented code, it was of a table
    before = ""
    for at, (line, code) in enumerate(lines):
        ahead = lines[at + 1].text.strip() if at + 1 < len(lines) else ""
        rule = not code and "|" in line and bool(_TABLE_RULE.match(line.strip()))
        table = not code and "|" in line and (table or rule or line.lstrip()[:1] == "|" or _heads_table(ahead))
        verbatim = line.startswith("    ") and (verbatim or not (before or paragraph or _ITEM.match(line)))
        atx = _ATX.match(line)
        underline = _UNDERLINE.match(line) if paragraph and not _ITEM.match(paragraph[0]) else None
        if code or table or verbatim or atx or not line.strip() or (_ITEM.match(line) and not underline):
            yield from _joined(paragraph)
        if code or verbatim:
            yield line
        elif table:
            if not rule:
                yield _row(line)
        elif atx:
            yield from ("", f"{atx[1]} {_inline(_CLOSING.sub('', atx[2] or ''))}".rstrip(), "")
        elif underline:
            yield from ("", f"{'#' if underline[1][0] == '=' else '##'} {''.join(_joined(paragraph)).strip()}", "")
        elif not line.strip() or _RULE.match(line):
            yield from _joined(paragraph)
            yield ""
        elif paragraph or not _DEFINITION.match(line):
            paragraph.append(line)
        before = line.strip()
    yield from _joined(paragraph)


def _heads_table(ahead: str) -> bool:
    return "|" in ahead and bool(_TABLE_RULE.match(ahead))


def _joined(paragraph: list[str]) -> Iterator[str]:
    if paragraph:
        first, *others = paragraph
        text = " ".join((first.rstrip(), *(line.strip() for line in others)))
        paragraph.clear()
        indent = len(text) - len(text.lstrip())
        yield " " * indent + _inline(text.strip()).strip()


def _row(line: str) -> str:
    cells = re.split(r"(?<!\\)\|", line.strip())
    if cells and not cells[0].strip():
        cells = cells[1:]
    if cells and not cells[-1].strip():
        cells = cells[:-1]
    return " | ".join(_inline(cell.strip()) for cell in cells)


def _inline(text: str) -> str:
    """Without marks; what stands between backticks is kept letter by letter."""
    runs = list(_BACKTICKS.finditer(text))
    of_length: dict[int, deque[int]] = {}
    for number, run in enumerate(runs):
        of_length.setdefault(len(run[0]), deque()).append(number)
    parts = []
    done = at = 0
    while at < len(runs):
        closing = of_length[len(runs[at][0])]
        while closing and closing[0] <= at:
            closing.popleft()
        if closing:
            parts += [_plain(text[done : runs[at].start()]), text[runs[at].end() : runs[closing[0]].start()].strip()]
            at = closing[0]
            done = runs[at].end()
        at += 1
    parts.append(_plain(text[done:]))
    return "".join(parts)


def _plain(text: str) -> str:
    text = _AUTOLINK.sub(r"\1", _ESCAPE.sub(lambda found: _ESCAPED[found[1]], text))
    for _ in range(3):  # an image may be the text of a link
        text, found = _LINK.subn(r"\1", text)
        if not found:
            break
    text = _TAG.sub("", _STRUCK.sub("", text))
    for pattern in (_STRONG, _EMPHASIS, _STRONG):
        text = pattern.sub(lambda found: next(group for group in found.groups() if group is not None), text)
    return html.unescape(text).translate(_RESTORED)
