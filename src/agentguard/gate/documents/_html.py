"""Read HTML: what the page says about its subject, without what every page of the site has around it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import partial
from typing import Final

from bs4 import BeautifulSoup
from bs4.element import NavigableString, PageElement, PreformattedString, Tag

from agentguard.gate.documents._text import Cleaned, decode, normalise

#: Never read: what runs, what is operated, what lies around the page, and what its author has struck out.
_DROPPED: Final = frozenset(
    "applet area aside audio base button canvas datalist del dialog embed footer frame frameset head iframe input link "
    "map menu meta nav noframes noscript object optgroup option param progress s script select source strike style svg "
    "template textarea title track video".split()
)
_DROPPED_ROLES: Final = frozenset(
    "alert alertdialog banner complementary contentinfo dialog form menu menubar navigation search status tablist "
    "toolbar tooltip".split()
)
_BLOCKS: Final = frozenset(
    "address article blockquote body caption center details dir div dl fieldset figcaption figure form header "
    "hgroup legend main p section summary table".split()
)
_HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_SECTIONS: Final = frozenset(("article", "main", "section"))
#: A table with one of these in it arranges a page; one without holds data.
_LAYOUT: Final = ["table", *_HEADINGS]
#: A form with one of these in it is wrapped around a page.
_PAGE: Final = ["article", "main", "p", *_HEADINGS]
_HIDDEN_STYLE: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_WHITESPACE: Final = re.compile(r"\s+")
_CHARSET: Final = re.compile(
    rb"""<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*["']?([A-Za-z0-9._:-]{1,40})""", re.I
)
#: How far into a document its encoding is looked for, as browsers do.
_HEAD_BYTES: Final = 4096


def clean_html(data: bytes, charset: str = "") -> Cleaned:
    """A document in HTML.

    Scripts, navigation, headers and footers of the page, asides, forms, and whatever is hidden or struck out are left
    out, by element and by role; where the page marks its main content, everything else is. Headings become ``# …``,
    list items ``- …``, rows of tables lines with `` | `` between cells, preformatted text a fenced block.

    Raises:
        DataError: If it is no text.
    """
    declared = _CHARSET.search(data[:_HEAD_BYTES])
    text, note = decode(data, charset or (declared[1].decode() if declared else ""))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # guesses at what else the document might be
        soup = BeautifulSoup(text, "lxml")
    title = "" if soup.title is None else _one_line(soup.title.get_text())
    page = _Page()
    for main in soup.find_all(_is_main):
        if main.find_parent(_is_main) is None:
            page.read(main)
    if not page.lines:
        page.read(soup)
    heading = next((line[2:] for line in page.lines if line.startswith("# ")), "")
    return Cleaned(title or heading, normalise("\n".join(page.lines)), (note,) if note else ())


def _is_main(tag: Tag) -> bool:
    return tag.name == "main" or tag.get("role") == "main"


def _one_line(text: str) -> str:
    return _WHITESPACE.sub(" ", text).strip()


class _Page:
    """The lines of a page, read without recursion: how deep elements lie in each other is the author's to say."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._line: list[str] = []
        self._prefix = ""  # of the line to come: "## ", "- "
        self._lists: list[int | None] = []  # one for each list around: its next number, None where it has none
        self._rows: list[list[str]] = []  # one for each row around: its cells so far
        self._layout: dict[int, bool] = {}  # by table, which outlives the reading
        self._cells = self._sections = 0  # how many of them are around

    def read(self, root: Tag) -> None:
        """Add what is said below an element."""
        waiting: list[PageElement | Callable[[], None]] = [root]
        while waiting:
            item = waiting.pop()
            if isinstance(item, Tag):
                close = self._open(item)
                if close is not None:
                    waiting.append(close)
                    waiting.extend(reversed(item.contents))
            elif isinstance(item, NavigableString):
                if not isinstance(item, PreformattedString):  # a comment, a declaration
                    self._line.append(item)
            elif not isinstance(item, PageElement):
                item()
        self._gap()

    def _open(self, tag: Tag) -> Callable[[], None] | None:
        """Begin an element; what ends it, or None if what is in it is not read."""
        name = tag.name
        if name in _DROPPED or _is_hidden(tag) or (name == "header" and not self._sections):
            return None
        if name == "form" and tag.find(_PAGE) is None:
            return None
        if name == "br":
            self._break()
        elif name == "pre" and not self._cells:
            self._gap()
            self._fence(tag.get_text())
        elif name in _HEADINGS:
            return self._prefixed("#" * int(name[1]) + " ")
        elif name in ("ul", "ol"):
            return self._open_list(tag)
        elif name == "li":
            return self._open_item()
        elif name in ("dt", "dd"):
            self._break()
            return self._break
        elif name in ("tr", "td", "th") and not self._is_layout(tag):
            return self._open_row() if name == "tr" else self._open_cell()
        elif name in _SECTIONS:
            self._sections += 1
            self._gap()
            return self._close_section
        elif name in _BLOCKS or name in ("tr", "td", "th"):
            self._gap()
            return self._gap
        elif name == "sup" and _one_line(tag.get_text()).isdecimal() and "".join(self._line[-1:])[-1:].isalnum():
            self._line.append("^")  # ten to the second is not a hundred and two
        return None if name in ("br", "hr", "img", "pre", "wbr") else _nothing

    def _break(self) -> None:
        """End a line; within a cell or a heading, a word."""
        if self._cells or self._prefix.startswith("#"):
            self._line.append(" ")
            return
        text = _one_line("".join(self._line))
        self._line.clear()
        if text:
            self.lines.append(self._prefix + text)
            self._prefix = ""

    def _gap(self) -> None:
        """End a paragraph; within a list, a line."""
        self._break()
        if not (self._cells or self._lists) and self.lines and self.lines[-1]:
            self.lines.append("")

    def _prefixed(self, prefix: str) -> Callable[[], None]:
        if self._cells:
            self._break()
            return self._break
        self._gap()
        self._prefix = prefix
        return self._close_heading

    def _close_heading(self) -> None:
        heading, self._prefix = self._prefix, ""
        text = _one_line("".join(self._line))
        self._line.clear()
        if text:
            self.lines += [heading + text, ""]

    def _fence(self, text: str) -> None:
        fence = "```"
        while fence in text:
            fence += "`"
        if text.strip():
            self.lines += [fence, *text.strip("\n").split("\n"), fence, ""]

    def _open_list(self, tag: Tag) -> Callable[[], None]:
        if self._lists:
            self._break()
        else:
            self._gap()
        start = str(tag.get("start", "1"))
        self._lists.append(None if tag.name == "ul" else int(start) if start.isdecimal() and len(start) < 10 else 1)
        return self._close_list

    def _close_list(self) -> None:
        self._lists.pop()
        if self._lists:
            self._break()
        else:
            self._gap()

    def _open_item(self) -> Callable[[], None]:
        self._break()
        number = self._lists[-1] if self._lists else None
        if not self._cells:
            mark = "- " if number is None else f"{number}. "
            self._prefix = "  " * min(max(len(self._lists) - 1, 0), 10) + mark
        if number is not None:
            self._lists[-1] = number + 1
        return self._close_item

    def _close_item(self) -> None:
        self._break()
        if not self._cells:
            self._prefix = ""

    def _open_row(self) -> Callable[[], None]:
        self._break()
        self._rows.append([])
        return self._close_row

    def _close_row(self) -> None:
        row = self._rows.pop()
        if any(row) and not self._cells:
            self.lines.append(" | ".join(row))
        elif row:  # of a table in a cell
            self._line.append(f" {', '.join(row)} ")

    def _open_cell(self) -> Callable[[], None]:
        self._break()
        self._cells += 1
        outer, self._line = self._line, []
        return partial(self._close_cell, outer)

    def _close_cell(self, outer: list[str]) -> None:
        text = _one_line("".join(self._line))
        self._line = outer
        self._cells -= 1
        if self._rows:
            self._rows[-1].append(text)
        elif text:
            self._line.append(text)

    def _is_layout(self, tag: Tag) -> bool:
        """Whether the table of a row or a cell only arranges a page."""
        table = tag.find_parent("table")
        if table is None:
            return False
        if id(table) not in self._layout:
            arranges = table.get("role") in ("presentation", "none") or table.find(_LAYOUT) is not None
            self._layout[id(table)] = arranges
        return self._layout[id(table)]

    def _close_section(self) -> None:
        self._sections -= 1
        self._gap()


def _nothing() -> None:
    """An element within a line ends without a sign."""


def _is_hidden(tag: Tag) -> bool:
    roles = str(tag.get("role", "")).lower().split()
    return (
        tag.has_attr("hidden")
        or tag.get("aria-hidden") == "true"
        or not _DROPPED_ROLES.isdisjoint(roles)
        or bool(_HIDDEN_STYLE.search(str(tag.get("style", ""))))
    )
