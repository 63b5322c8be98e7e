"""Read Markdown: what a reader sees is kept, with headings and code; marks and addresses are not."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from agentguard.gate.documents._text import Cleaned, decode, normalise

__all__ = ["clean_markdown"]

MAX_NESTING: Final = 40  # levels, two a list; the time for a line of brackets grows with it
_PARSER: Final = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable(["table", "strikethrough"])

_FRONT_TITLE: Final = re.compile(r"""^title[ \t]*[:=][ \t]*(["']?)(.+?)\1[ \t]*$""", re.MULTILINE)
_HEADING_ID: Final = re.compile(r"\{#[\w-]+\}[ \t]*$")
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_UNSEEN: Final = re.compile(r"\s*<(?:script|style)\b", re.IGNORECASE)
_TAG: Final = re.compile(
    r"</?(?:a|abbr|b|blockquote|br|center|code|dd|details|div|dl|dt|em|font|h[1-6]|hr|i|img|kbd|li|ol|p|picture|pre|s"
    r"|small|source|span|strong|sub|summary|sup|table|tbody|td|th|thead|tr|u|ul)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
#: ``[label]: destination``, which names the address of a link; and any label in brackets, which may refer to it.
_DEFINITION: Final = re.compile(r"^ {0,3}\[([^\[\]\n]+)\]:[ \t]*(\S*)", re.MULTILINE)
_LABEL: Final = re.compile(r"\[([^\[\]\n]+)\]")
_ADDRESS: Final = re.compile(r"[/.:#@]")


def clean_markdown(data: bytes, charset: str = "") -> Cleaned:
    """Read a document in Markdown: CommonMark with tables and strikethrough, as GitHub shows it.

    Front matter, comments, link targets, struck out text and marks of emphasis are taken out; headings of both forms
    become ``# …``; the lines of a paragraph are joined; each row of a table becomes a line with `` | `` between its
    cells; code stays as it is, in its fence; footnotes stay where they stand.

    Raises:
        DataError: The bytes are no text.
    """
    text, note = decode(data, charset)
    title, body = _without_front_matter(normalise(text))
    page = _Page(body.split("\n"))
    page.read(_PARSER.parse(_with_footnotes(body)))
    titles = sorted(page.headings, key=lambda heading: heading[0] != 1)  # the first of level 1, or else the first
    title = title or next((text for _, text in titles), "")
    return Cleaned(title, normalise("\n".join(page.lines)), (note,) if note else ())


def _without_front_matter(text: str) -> tuple[str, str]:
    for mark in ("---", "+++"):
        if text.startswith(mark + "\n"):
            end = text.find(f"\n{mark}\n", len(mark))
            if text.endswith("\n" + mark) and end < 0:
                end = len(text) - len(mark) - 1
            if end >= 0:
                match = _FRONT_TITLE.search(text[: end + 1])
                return (match[2] if match else ""), text[end + len(mark) + 2 :]
    return "", text


def _with_footnotes(text: str) -> str:
    """Keep as text what CommonMark would drop as the address of a link, and is none.

    That is a footnote (``[^1]: Only within the EU.``), and a labelled remark (``[Important]: Bring it back.``) that
    nothing refers to and whose first word is no address.
    """
    labels = Counter(label.casefold() for label in _LABEL.findall(text))
    labels.subtract(label.casefold() for label, _ in _DEFINITION.findall(text))  # what is left refers to them

    def escape(match: re.Match[str]) -> str:
        label = match[1].casefold()
        is_remark = not labels[label] and not _ADDRESS.search(match[2])
        return match[0].replace("[", r"\[", 1) if label.startswith("^") or is_remark else match[0]

    return _DEFINITION.sub(escape, text)


class _Page:
    """The lines of a document, written from the parser's tokens.

    A blank line parts blocks where the source has one; so a list stays together, and follows its introduction.
    """

    def __init__(self, source: Sequence[str]) -> None:
        self.lines: list[str] = []
        self.headings: list[tuple[int, str]] = []
        self._source = source
        self._lists = self._quotes = 0  # how many of them are around
        self._mark = ""  # of the list item that begins: "- ", "2. "
        self._row: list[str] | None = None  # the cells of the table's row that is open
        self._level = 0  # of the heading that is open
        self._joins = False  # whether the last line is a paragraph that another may go on with

    def read(self, tokens: Iterable[Token]) -> None:
        """Add what the tokens show."""
        for token in tokens:
            kind = token.type
            if token.map is not None and not self._source[token.map[0] - 1].strip(" >") and kind != "inline":
                self._gap()
            if kind == "inline":
                self._add_inline(_shown(token.children or ()))
            elif kind in ("bullet_list_open", "ordered_list_open", "bullet_list_close", "ordered_list_close"):
                self._lists += token.nesting
            elif kind in ("blockquote_open", "blockquote_close"):
                self._quotes += token.nesting
            elif kind == "list_item_open":
                self._mark = f"{token.info}{token.markup} "
            elif kind == "heading_open":
                self._level = int(token.tag[1])
            elif kind == "heading_close":
                self._level = 0
            elif kind == "tr_open":
                self._row = []
            elif kind == "tr_close":
                cells, self._row = self._row or [], None
                self._add(" | ".join(cells))
            elif kind in ("fence", "code_block"):
                self._add(*self._code(token))
            elif kind == "html_block":
                self._add(*_without_tags(token.content).split("\n"))
            elif kind == "hr":
                self._gap()

    def _add(self, *lines: str) -> None:
        self.lines += lines
        self._joins = False

    def _gap(self) -> None:
        if self.lines and self.lines[-1]:
            self._add("")

    def _add_inline(self, text: str) -> None:
        text = text.strip()
        if self._row is not None:
            self._row.append(text)
        elif self._level:
            text = _HEADING_ID.sub("", text).rstrip()
            self.headings.append((self._level, text))
            self._add("", f"{'#' * self._level} {text}".rstrip(), "")
            self._mark = ""
        elif self._joins and not self._mark:
            self.lines[-1] += f" {text}"  # of a quotation within a quotation
        else:
            indent = "  " * (self._lists - bool(self._mark))
            self._add(f"{indent}{self._mark}{text}")
            self._joins = not self._lists
            self._mark = ""

    def _code(self, token: Token) -> Sequence[str]:
        """The source's own lines; the parser's where marks of a quotation or a list stand in those."""
        begin, end = token.map or (0, 0)
        if not self._quotes and self._source[begin].lstrip().startswith(token.markup):
            return self._source[begin:end]
        content = token.content.removesuffix("\n").split("\n")
        return [f"{token.markup}{token.info}", *content, token.markup] if token.markup else content


def _shown(tokens: Iterable[Token]) -> str:
    """Text of a paragraph as a reader sees it: no marks, no addresses, nothing struck out."""
    parts: list[str] = []
    struck = 0
    for token in tokens:
        if token.type in ("s_open", "s_close"):
            struck += token.nesting
        elif struck:
            continue
        elif token.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif token.type == "image":
            parts.append(_shown(token.children or ()))
        elif token.type == "html_inline":
            parts.append(_without_tags(token.content))
        else:  # text and code; the marks around them have no content
            parts.append(token.content)
    return "".join(parts)


def _without_tags(text: str) -> str:
    """HTML as a reader sees it; a tag that is none of HTML, as ``<name>``, is text."""
    if _UNSEEN.match(text):
        return ""
    commented, end, rest = text.rpartition("-->")  # each comment before it is closed, so none is looked for in vain
    return html.unescape(_TAG.sub("", _COMMENT.sub("", commented + end) + rest)).strip("\n")
