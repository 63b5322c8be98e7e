"""What the commands write: text that a terminal cannot be tricked by, tables, JSON.

Tool results, tool names and file names come from outside. On a terminal they are shown as ``Text`` (never parsed as
rich markup) with control characters taken out (they could move the cursor, set the title, turn text around). JSON is
written in ASCII, which escapes them.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

__all__ = ["VERDICT_STYLES", "console", "counted", "printable", "show", "table", "write_json"]

WIDTH_WITHOUT_TERMINAL = 120
VERDICT_STYLES: Mapping[str, str] = {"accept": "green", "flag": "yellow", "block": "bold red"}

_WHITE = re.compile("[\t\n\r\x0b\x0c\x85\u2028\u2029]+")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def console(*, stderr: bool = False) -> Console:
    """A console that takes text as it is: no markup, no emoji codes, no highlighting."""
    stream = sys.stderr if stderr else sys.stdout
    made = Console(file=stream, markup=False, emoji=False, highlight=False)
    if not made.is_terminal:
        made.width = max(made.width, WIDTH_WITHOUT_TERMINAL)
    return made


def printable(text: str) -> str:
    r"""Text on one line without control, bidirectional and invisible characters; lone surrogates become U+FFFD.

    >>> printable("a\x1b[31mb\n\u202ec")
    'a[31mb c'
    """
    return _SURROGATE.sub("\ufffd", _CONTROL.sub("", _WHITE.sub(" ", text)))


def show(text: str, style: str | Style = "", limit: int = 400) -> Text:
    """Text from outside, for a terminal: printable, at most ``limit`` characters, never parsed as markup."""
    clean = printable(text[: limit * 4])
    return Text(clean if len(clean) <= limit else clean[: limit - 1] + "…", style)


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "tool"), counted(1200, "tool")
    ('1 tool', '1,200 tools')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def table(*columns: str, right: Sequence[str] = (), title: str | None = None) -> Table:
    """An empty table without a frame; the columns named in ``right`` hold numbers."""
    made = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", overflow="fold", header_style="dim")
    return made


def write_json(data: Mapping[str, Any]) -> None:
    """Write one JSON object to standard output. Numbers that JSON does not have become null."""
    print(json.dumps(_finite(data), indent=2, ensure_ascii=True, allow_nan=False))


def _finite(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {str(key): _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
