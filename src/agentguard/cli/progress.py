"""The progress bar of a log that any engine reads: on standard error, and only where that is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from agentguard.traces import find_traces
from agentguard.traces._read import STDIN

from .output import console

__all__ = ["reading_bar", "waiting_bar"]


@contextmanager
def reading_bar(traces: str, calls: Callable[[], int], *, hidden: bool) -> Iterator[Callable[[int], None]]:
    """A bar that moves by the bytes read, towards an end where the size is known.

    Args:
        traces: the log.
        calls: says how many calls were counted so far.
        hidden: shows nothing.

    Yields:
        What is to be told of each number of bytes read.

    Raises:
        DataError: where there are no traces.
    """
    files = [] if traces == STDIN else find_traces(traces)
    size = sum(file.stat().st_size for file in files if file.is_file()) or None
    err = console(stderr=True)
    columns = (
        TextColumn("replay"),
        BarColumn(),
        DownloadColumn(),
        TextColumn("{task.fields[calls]:,} calls"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=hidden or not err.is_terminal) as bar:
        task = bar.add_task("replay", total=size, calls=0)
        yield lambda read: bar.update(task, advance=read, calls=calls())


@contextmanager
def waiting_bar(what: str, *, hidden: bool) -> Iterator[None]:
    """A bar that only shows that something goes on."""
    err = console(stderr=True)
    columns = (TextColumn(what), BarColumn())
    with Progress(*columns, console=err, transient=True, disable=hidden or not err.is_terminal) as bar:
        bar.add_task(what, total=None)
        yield
