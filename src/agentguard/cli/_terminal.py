"""Output of the commands: text that cannot trick a terminal, tables, progress bars, JSON.

Tool results, tool names and file names come from outside. On a terminal they are shown as ``Text`` (never parsed as
rich markup) without control characters, which could move the cursor, set the title or turn text around. JSON is
written in ASCII, which escapes them.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, DownloadColumn, Progress, ProgressColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.style import Style
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from agentguard.traces import Reading
    from agentguard.verification.types import VerdictCounts

WIDTH_WITHOUT_TERMINAL = 120
SHOWN = 50  # rows of a table, unless it says otherwise
VERDICT_STYLES: Mapping[str, str] = {"accept": "green", "flag": "yellow", "block": "bold red"}

_WHITE = re.compile("[\t\n\r\x0b\x0c\x85\u2028\u2029]+")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]")
_SURROGATE = re.compile("[\ud800-\udfff]")

_Item = TypeVar("_Item")


def console(*, stderr: bool = False) -> Console:
    """A console that prints text as it is: no markup, no emoji codes, no highlighting."""
    out = Console(file=sys.stderr if stderr else sys.stdout, markup=False, emoji=False, highlight=False)
    if not out.is_terminal:
        out.width = max(out.width, WIDTH_WITHOUT_TERMINAL)
    return out


def printable(text: str) -> str:
    r"""Text on one line without control, bidirectional and invisible characters; lone surrogates become U+FFFD.

    >>> printable("a\x1b[31mb\n\u202ec")
    'a[31mb c'
    """
    return _SURROGATE.sub("\ufffd", _CONTROL.sub("", _WHITE.sub(" ", text)))


def show(text: str, style: str | Style = "", limit: int = 400) -> Text:
    """Text from outside for a terminal: printable, at most ``limit`` characters, never parsed as markup."""
    clean = printable(text[: limit * 4])
    return Text(clean if len(clean) <= limit else clean[: limit - 1] + "…", style)


def print_line(out: Console, text: str, style: str = "") -> None:
    """Print text from outside on a line of its own, which a terminal may wrap and a file does not."""
    out.print(show(text, style, limit=2_000), soft_wrap=True)


class Interruption:
    """A context that ends where its user presses Ctrl-C; ``happened`` tells whether it did.

    >>> with Interruption() as interruption:
    ...     raise KeyboardInterrupt
    >>> interruption.happened
    True
    """

    happened = False

    def __enter__(self) -> Interruption:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> bool:
        self.happened = kind is KeyboardInterrupt
        return self.happened


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "tool"), counted(1200, "tool")
    ('1 tool', '1,200 tools')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def verdicts_of(counts: VerdictCounts) -> str:
    """The verdicts on calls in words."""
    return f"{counts.calls:,} calls: {counts.accept:,} accepted, {counts.flag:,} flagged, {counts.block:,} blocked"


def timestamp(at: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """Seconds since the epoch as a time in UTC; of a clock that was far off, the number.

    >>> timestamp(0), timestamp(1e30)
    ('1970-01-01 00:00:00', '1e+30')
    """
    try:
        return datetime.fromtimestamp(at, timezone.utc).strftime(form)
    except (OverflowError, ValueError, OSError):
        return str(at)


class Rows(Table):
    """A table without a frame, whose cells are shown as ``show`` shows text and counts with thousands separators."""

    def add(self, *cells: Any, style: str | None = None) -> None:
        """Add a row of text, counts and None, which is shown as "-"."""
        self.add_row(*map(_cell, cells), style=style)

    def fill(
        self,
        items: Sequence[_Item],
        cells: Callable[[_Item], Iterable[Any]],
        noun: str = " tools",
        shown: int = SHOWN,
    ) -> None:
        """Add a row for each of the first items, and one that counts the others."""
        for item in items[:shown]:
            self.add(*cells(item))
        if len(items) > shown:
            self.add(f"and {len(items) - shown:,} more{noun}")


def _cell(value: str | int | Text | None) -> Text:
    if isinstance(value, Text):
        return value
    return Text("-") if value is None else Text(f"{value:,}") if isinstance(value, int) else show(value)


def table(*columns: str, title: str | None = None) -> Rows:
    """Make a table; a column whose name begins with ``#`` holds numbers, and is aligned to the right.

    ``out.print(rows, "")`` prints it with an empty line below.
    """
    rows = Rows(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for column in columns:
        side: Any = "right" if column.startswith("#") else "left"
        rows.add_column(column.removeprefix("#"), justify=side, overflow="fold", header_style="dim")
    return rows


def print_more(out: Console, items: Sequence[object], shown: int, form: str) -> None:
    """Say how many items were not shown, where there are any; ``form`` has a place for the number."""
    if len(items) > shown:
        out.print(form.format(len(items) - shown), soft_wrap=True)


def print_broken(out: Console, heading: str, number: int, named: Sequence[object]) -> None:
    """Name the first broken lines under a heading, and count the others."""
    out.print(heading, style="bold")
    for line in named:
        out.print("    ", show(str(line)), soft_wrap=True)
    if number > len(named):
        out.print(f"     and {number - len(named):,} more")
    out.print()


def print_reading(out: Console, reading: Reading) -> None:
    """Say which foreign formats a log was read in, and what of it holds no call that could be judged."""
    for remark in reading.remarks():
        out.print(remark, soft_wrap=True)


def print_offenders(out: Console, heading: str, offenders: Sequence[Any]) -> None:
    """List calls with the verdict on each, where they are in their log, and why; nothing where there are none."""
    if not offenders:
        return
    out.print(heading, style="bold")
    for rank, offender in enumerate(offenders, 1):
        verdict = show(offender.verdict, VERDICT_STYLES[offender.verdict])
        out.print(f"{rank:>3}.", verdict, f"{offender.posterior:.4f}", show(offender.tool), end=" ")
        out.print(show(f"{offender.source}:{offender.line}", "dim"), soft_wrap=True)
        out.print(Padding(show(offender.explanation), (0, 0, 0, 5)))
    out.print()


@contextmanager
def progress(
    name: str, *columns: ProgressColumn, hidden: bool, total: int | None = None, **fields: Any
) -> Iterator[tuple[Progress, TaskID]]:
    """A progress bar on standard error, shown where that is a terminal, with more ``columns`` behind the bar.

    ``total`` is the task's size, None where it is not known; ``fields`` are the task's, for the columns.
    """
    err = console(stderr=True)
    head = (TextColumn("{task.description}", markup=False), BarColumn())
    bar = Progress(*head, *columns, console=err, transient=True, disable=hidden or not err.is_terminal)
    with nullcontext() if bar.disable else bar:  # rich before 14 ends a hidden bar with an empty line
        yield bar, bar.add_task(name, total=total, **fields)


@contextmanager
def reading_bar(
    traces: str, calls: Callable[[], int], *, hidden: bool, name: str = "replay", noun: str = "calls"
) -> Iterator[Callable[[int], None]]:
    """A bar that moves by the bytes read of a log, and shows the calls counted so far, which ``calls`` returns.

    Yields a function to be told each number of bytes read. Raises ``DataError`` where there are no traces.
    """
    from agentguard.traces._read import find_traces

    files = [] if traces == "-" else find_traces(traces)
    size = sum(file.stat().st_size for file in files if file.is_file()) or None
    columns = (DownloadColumn(), TextColumn(f"{{task.fields[calls]:,}} {noun}"), TimeRemainingColumn())
    with progress(name, *columns, hidden=hidden, total=size, calls=0) as (bar, task):
        yield lambda read: bar.update(task, advance=read, calls=calls())


def json_text(data: Mapping[str, Any]) -> str:
    """One JSON object in ASCII: records by the names of their fields, numbers that JSON does not have as null."""
    return json.dumps(_plain(data), indent=2, ensure_ascii=True, allow_nan=False)


def write_json(data: Mapping[str, Any]) -> None:
    """Write ``json_text`` to standard output."""
    print(json_text(data))


def _plain(data: Any) -> Any:
    if hasattr(data, "_asdict"):  # a NamedTuple
        data = data._asdict()
    if isinstance(data, Mapping):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_plain(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
