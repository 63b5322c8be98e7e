"""``agentguard learn``: a profile for each tool of a log, and what the profiles would have done in it."""

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
from rich.padding import Padding
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from agentguard.errors import ConfigurationError, DataError
from agentguard.traces import BrokenLine, ReplaySummary, TraceRow, find_traces, read_traces
from agentguard.traces._inference import MIN_CALLS, Draft
from agentguard.traces._learn import HOLDOUT, Learner
from agentguard.traces._profile_yaml import file_name, write_profiles
from agentguard.traces._read import STDIN

from .exits import Exit
from .options import JsonOption
from .output import VERDICT_STYLES, console, counted, show, table, write_json

__all__ = ["learn"]

_SHOWN = 50
_STAGES = {"count": "counting", "learn": "learning", "judge": "judging", "done": ""}


def learn(
    traces: Annotated[
        list[str],
        typer.Argument(metavar="TRACES...", help="Files (.jsonl, .jsonl.gz) or folders of them; '-' for stdin."),
    ],
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
    with _reader(traces, hidden=as_json) as read:
        learner = Learner(read.rows, min_calls=min_calls, holdout=holdout, tools=tool, keep_all=keep_all)
        read.learner = learner
        interrupted = False
        try:
            learner.run()
        except KeyboardInterrupt:
            interrupted = True
    if not as_json:
        _report(console(), learner, interrupted=interrupted)
    written: list[Path] = []
    if output is not None and not interrupted and learner.drafts:
        written = write_profiles(learner.drafts.values(), output, force=force)
    if as_json:
        write_json({**learner.as_dict(), "interrupted": interrupted, "written": [str(path) for path in written]})
    elif not interrupted:
        where = (
            "nothing written: no folder given (-o)"
            if output is None
            else f"{counted(len(written), 'profile')} written to {output}"
        )
        console().print(show(where), soft_wrap=True)
    if interrupted:
        raise typer.Exit(Exit.INTERRUPTED)
    raise typer.Exit(Exit.ERROR if learner.state.broken and not learner.state.calls else Exit.ACCEPT)


class _Reader:
    """Reads the log from its beginning as often as it is asked to, and moves the bar."""

    def __init__(self, traces: list[str], spooled: BinaryIO | None, bar: Progress) -> None:
        self.learner: Learner | None = None
        self._traces = traces
        self._spooled = spooled
        self._bar = bar
        files = [file for source in traces if source != STDIN for file in find_traces(source)]
        self._size = sum(file.stat().st_size for file in files if file.is_file())
        if spooled is not None:
            self._size += spooled.seek(0, 2)
        self._task = bar.add_task("", total=self._size or None, calls=0)

    def rows(self) -> Iterator[TraceRow | BrokenLine]:
        """All lines of all sources."""
        stage = "count" if self.learner is None else self.learner.stage
        self._bar.reset(self._task, description=_STAGES[stage], total=self._size or None, calls=0)
        for source in self._traces:
            if source != STDIN or self._spooled is None:
                yield from read_traces(source, on_read=self._advance)
                continue
            self._spooled.seek(0)
            for row in read_traces(self._spooled, on_read=self._advance):
                yield row._replace(source="stdin")

    def _advance(self, read: int) -> None:
        self._bar.update(self._task, advance=read, calls=0 if self.learner is None else self.learner.read_calls)


@contextmanager
def _reader(traces: list[str], *, hidden: bool) -> Iterator[_Reader]:
    """A reader of these sources; standard input, which cannot be read twice, is kept in a temporary file meanwhile.

    Raises:
        DataError: where there are no traces.
    """
    if traces.count(STDIN) > 1:
        raise typer.BadParameter("standard input can be named once")
    err = console(stderr=True)
    columns = (
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TextColumn("{task.fields[calls]:,} calls"),
        TimeRemainingColumn(),
    )  # fmt: skip
    with (
        TemporaryFile() as file,
        Progress(*columns, console=err, transient=True, disable=hidden or not err.is_terminal) as bar,
    ):
        if STDIN in traces:
            try:
                shutil.copyfileobj(sys.stdin.buffer, file)
            except OSError as error:
                raise DataError(f"cannot keep standard input in a temporary file: {error.strerror or error}") from None
        yield _Reader(traces, file if STDIN in traces else None, bar)


def _report(out: Console, learner: Learner, *, interrupted: bool) -> None:
    if interrupted:
        at = f"interrupted while {_STAGES[learner.stage]}, after {learner.read_calls:,} calls; nothing is written"
        out.print(f"{at}. Learned so far:")
    state = learner.state
    out.print(f"learned from {counted(state.calls, 'call')} of {counted(len(state.tools.entries), 'tool')}")
    if state.broken:
        out.print(f"broken lines left out: {state.broken:,}", style="bold")
    out.print()
    drafts = sorted(learner.drafts.values(), key=lambda draft: (-draft.calls, draft.tool))
    if drafts:
        out.print(_drafts(drafts))
        out.print()
    broken = [(draft, one) for draft in drafts for one in (*draft.left_out, *draft.declarations) if one.broken]
    if broken:
        out.print(
            "broken by held-out calls" + ("" if any(d.left_out for d in drafts) else ", and declared all the same"),
            style="bold",
        )
        for draft, one in broken[:_SHOWN]:
            kept = "" if one in draft.left_out else " (kept)"
            out.print(
                "    ", show(draft.tool), show(one.name), f"{one.broken:,} of {one.held_out:,}{kept}", soft_wrap=True
            )
        _more(out, len(broken))
        out.print()
    if learner.skipped:
        made = table("no profile for", "why")
        for name, why in sorted(learner.skipped.items())[:_SHOWN]:
            made.add_row(show(name, limit=60), show(why))
        out.print(made)
        _more(out, len(learner.skipped))
        out.print()
    if learner.judged:
        _report_held_out(out, learner)


def _drafts(drafts: list[Draft]) -> object:
    numbers = ("calls", "answers", "distinct", "declared", "too thin", "left out")
    made = table("tool", *numbers, "file", right=numbers)
    for draft in drafts[:_SHOWN]:
        lines = (len(one) for one in (draft.declarations, draft.thin, draft.left_out))
        counts = (draft.calls, draft.answers, draft.distinct, *lines)
        made.add_row(show(draft.tool, limit=60), *(f"{count:,}" for count in counts), show(file_name(draft.tool)))
    if len(drafts) > _SHOWN:
        made.add_row(f"and {len(drafts) - _SHOWN:,} more tools")
    return made


def _report_held_out(out: Console, learner: Learner) -> None:
    without, declared = learner.without.summary(), learner.with_profiles.summary()
    numbers = ("calls", "flagged without", "with profiles", "blocked without", "with profiles ")
    made = table("held out", *numbers, right=numbers)
    before = {tool.tool: tool.counts for tool in without.tools}
    for tool in declared.tools[:_SHOWN]:
        a, b = before[tool.tool], tool.counts
        made.add_row(
            show(tool.tool, limit=60), *(f"{count:,}" for count in (b.calls, a.flag, b.flag, a.block, b.block))
        )
    a, b = without.counts, declared.counts
    made.add_row("all", *(f"{count:,}" for count in (b.calls, a.flag, b.flag, a.block, b.block)), style="bold")
    out.print(made)
    out.print(
        f"of {learner.judged:,} held-out calls the profiles block {learner.newly('block'):,} and flag "
        f"{learner.newly('flag'):,} that would not be without them"
    )
    out.print()
    _report_offenders(out, declared)


def _report_offenders(out: Console, summary: ReplaySummary) -> None:
    if not summary.offenders:
        return
    out.print("worst offenders with the profiles", style="bold")
    for place, offender in enumerate(summary.offenders, 1):
        verdict = show(offender.verdict, VERDICT_STYLES[offender.verdict])
        out.print(f"{place:>3}.", verdict, f"{offender.posterior:.4f}", show(offender.tool), end=" ")
        out.print(show(f"{offender.source}:{offender.line}", "dim"), soft_wrap=True)
        out.print(Padding(show(offender.explanation), (0, 0, 0, 5)))
    out.print()


def _more(out: Console, count: int) -> None:
    if count > _SHOWN:
        out.print(f"     and {count - _SHOWN:,} more")
