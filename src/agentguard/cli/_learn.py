"""``agentguard learn``: a profile for each tool of a log, and its effect on calls held out."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, BinaryIO

import typer
from rich.console import Console
from rich.progress import DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from agentguard.cli._exits import Exit
from agentguard.cli._options import LOG_HELP, FormatOption, JsonOption
from agentguard.cli._terminal import (
    SHOWN,
    Interruption,
    console,
    counted,
    print_more,
    print_offenders,
    print_reading,
    progress,
    show,
    table,
    write_json,
)
from agentguard.errors import ConfigurationError, DataError
from agentguard.traces import BrokenLine, Reading, TraceRow, find_traces, read_traces
from agentguard.traces._inference import MIN_CALLS, Draft
from agentguard.traces._learn import HOLDOUT, Learner
from agentguard.traces._profile_yaml import file_name, write_profiles
from agentguard.traces._read import AUTO, STDIN, check_format, reason_of

_STAGES = {"count": "counting", "learn": "learning", "done": ""}


def learn(
    traces: Annotated[
        list[str],
        typer.Argument(metavar="TRACES...", help=f"Logs of calls, each {LOG_HELP}."),
    ],
    format: FormatOption = AUTO,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Folder for the profiles; without it they are only reported."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace profiles that are there.")] = False,
    min_calls: Annotated[
        int,
        typer.Option("--min-calls", min=1, metavar="N", help="Answers to learn from that a tool must have."),
    ] = MIN_CALLS,
    holdout: Annotated[
        float,
        typer.Option(
            "--holdout", min=0.0, max=0.9, metavar="SHARE", help="Share of each tool's calls, its last, to try."
        ),
    ] = HOLDOUT,
    tool: Annotated[
        list[str] | None, typer.Option("--tool", metavar="NAME", help="Learn this tool only; may be given again.")
    ] = None,
    keep_all: Annotated[
        bool, typer.Option("--keep-all", help="Declare also what held-out calls break; the file says so.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Infer a profile for each tool of a log, for review. Exit code: 0; 3 error, also where no line holds a call."""
    if output is not None and Path(output).exists() and not Path(output).is_dir():
        raise ConfigurationError(f"{output} is no folder; profiles are written one a file")
    with _reader(traces, check_format(format), hidden=as_json) as read:
        learner = Learner(read.rows, min_calls=min_calls, holdout=holdout, tools=tool, keep_all=keep_all)
        read.learner = learner
        with Interruption() as interruption:
            learner.run()
    interrupted = interruption.happened
    if not as_json:
        _report(console(), learner, read.reading, interrupted=interrupted)
    written: list[Path] = []
    if output is not None and not interrupted and learner.drafts:
        written = write_profiles(learner.drafts.values(), output, force=force)
    if as_json:
        figures = {**learner.as_dict(), "read": read.reading.as_dict()}
        write_json({**figures, "interrupted": interrupted, "written": [str(path) for path in written]})
    elif not interrupted:
        done = f"{counted(len(written), 'profile')} written to {output}"
        console().print(show("nothing written: no folder given (-o)" if output is None else done), soft_wrap=True)
    if interrupted:
        raise typer.Exit(Exit.INTERRUPTED)
    unread = learner.state.broken or read.reading.skipped
    raise typer.Exit(Exit.ERROR if unread and not learner.state.calls else Exit.ACCEPT)


class _Reader:
    """Reads the log from its beginning as often as it is asked to, and moves the bar."""

    def __init__(self, traces: list[str], format: str, spooled: BinaryIO | None, bar: Progress, task: TaskID) -> None:
        self.learner: Learner | None = None
        self.reading = Reading()  # of the last time
        self._traces = traces
        self._format = format
        self._spooled = spooled
        self._bar = bar
        self._task = task
        files = [file for source in traces if source != STDIN for file in find_traces(source)]
        self._size = sum(file.stat().st_size for file in files if file.is_file())
        if spooled is not None:
            self._size += spooled.seek(0, 2)

    def rows(self) -> Iterator[TraceRow | BrokenLine]:
        """All lines of all sources."""
        stage = "count" if self.learner is None else self.learner.stage
        self._bar.reset(self._task, description=_STAGES[stage], total=self._size or None, calls=0)
        self.reading = Reading()
        for source in self._traces:
            if source != STDIN or self._spooled is None:
                yield from read_traces(source, format=self._format, on_read=self._advance, reading=self.reading)
                continue
            self._spooled.seek(0)
            rows = read_traces(self._spooled, format=self._format, on_read=self._advance, reading=self.reading)
            for row in rows:
                yield row._replace(source="stdin")

    def _advance(self, read: int) -> None:
        self._bar.update(self._task, advance=read, calls=0 if self.learner is None else self.learner.read_calls)


@contextmanager
def _reader(traces: list[str], format: str, *, hidden: bool) -> Iterator[_Reader]:
    """A reader of these sources; standard input, which cannot be read twice, is kept in a temporary file meanwhile.

    Raises:
        DataError: where there are no traces.
    """
    if traces.count(STDIN) > 1:
        raise typer.BadParameter("standard input can be named once")
    columns = (DownloadColumn(), TextColumn("{task.fields[calls]:,} calls"), TimeRemainingColumn())
    with TemporaryFile() as file, progress("", *columns, hidden=hidden, calls=0) as (bar, task):
        if STDIN in traces:
            try:
                shutil.copyfileobj(sys.stdin.buffer, file)
            except OSError as error:
                raise DataError(f"cannot keep standard input in a temporary file: {reason_of(error)}") from None
        yield _Reader(traces, format, file if STDIN in traces else None, bar, task)


def _report(out: Console, learner: Learner, reading: Reading, *, interrupted: bool) -> None:
    if interrupted:
        at = f"interrupted while {_STAGES[learner.stage]}, after {learner.read_calls:,} calls; nothing is written"
        out.print(f"{at}. Learned so far:")
    state = learner.state
    out.print(f"learned from {counted(state.calls, 'call')} of {counted(len(state.tools.entries), 'tool')}")
    if state.broken:
        out.print(f"broken lines left out: {state.broken:,}", style="bold")
    print_reading(out, reading)
    out.print()
    drafts = sorted(learner.drafts.values(), key=lambda draft: (-draft.calls, draft.tool))
    if drafts:
        rows = table(
            "tool", "#calls", "#answers", "#distinct", "#declared", "#too thin", "#left out", "file"
        )  # fmt: skip
        rows.fill(drafts, _cells)
        out.print(rows, "")
    broken = [(draft, one) for draft in drafts for one in (*draft.left_out, *draft.declarations) if one.broken]
    if broken:
        declared = "" if any(draft.left_out for draft in drafts) else ", and declared all the same"
        out.print(f"broken by held-out calls{declared}", style="bold")
        for draft, one in broken[:SHOWN]:
            kept = "" if one in draft.left_out else " (kept)"
            out.print(
                "    ", show(draft.tool), show(one.name), f"{one.broken:,} of {one.held_out:,}{kept}", soft_wrap=True
            )
        print_more(out, broken, SHOWN, "     and {:,} more")
        out.print()
    if learner.skipped:
        skipped = sorted(learner.skipped.items())
        rows = table("no profile for", "why")
        for name, why in skipped[:SHOWN]:
            rows.add(show(name, limit=60), why)
        out.print(rows)
        print_more(out, skipped, SHOWN, "     and {:,} more")
        out.print()
    if learner.judged:
        _report_held_out(out, learner)


def _cells(draft: Draft) -> tuple[object, ...]:
    lines = (len(one) for one in (draft.declarations, draft.thin, draft.left_out))
    return show(draft.tool, limit=60), draft.calls, draft.answers, draft.distinct, *lines, file_name(draft.tool)


def _report_held_out(out: Console, learner: Learner) -> None:
    without, declared = learner.without.summary(), learner.with_profiles.summary()
    rows = table(
        "held out", "#calls", "#flagged without", "#with profiles", "#blocked without", "#with profiles "
    )  # fmt: skip
    before = {tool.tool: tool.counts for tool in without.tools}
    for tool in declared.tools[:SHOWN]:
        a, b = before[tool.tool], tool.counts
        rows.add(show(tool.tool, limit=60), b.calls, a.flag, b.flag, a.block, b.block)
    a, b = without.counts, declared.counts
    rows.add("all", b.calls, a.flag, b.flag, a.block, b.block, style="bold")
    out.print(rows)
    out.print(
        f"of {learner.judged:,} held-out calls the profiles block {learner.newly('block'):,} and flag "
        f"{learner.newly('flag'):,} that would not be without them"
    )
    out.print()
    print_offenders(out, "worst offenders with the profiles", declared.offenders)
