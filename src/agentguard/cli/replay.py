"""``agentguard replay``: a log of calls, judged in recorded order and counted."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer
from rich.console import Console
from rich.padding import Padding

from agentguard.traces import ReplaySummary, Tally, VerdictCounts, read_traces
from agentguard.traces import replay as replay_rows

from .exits import VERDICT_EXITS, Exit
from .options import JsonOption, Mode, ModeOption, ProfilesOption, build_engine
from .output import VERDICT_STYLES, console, show, table, write_json
from .progress import reading_bar

__all__ = ["replay"]

_TOOLS_SHOWN = 50


class FailOn(str, Enum):
    """The verdict from which on a replay fails."""

    flag = "flag"
    block = "block"


def replay(
    traces: Annotated[
        str, typer.Argument(metavar="TRACES|-", help="A .jsonl or .jsonl.gz file, a folder of them, or '-' for stdin.")
    ],
    profiles: ProfilesOption = None,
    mode: ModeOption = Mode.calibrated,
    fail_on: Annotated[
        FailOn | None,
        typer.Option("--fail-on", help="Exit with 1 (flag) or 2 (block) where a verdict is at least this grave."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, metavar="N", help="Stop after N calls."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Judge every call of a log. Exit code: 0, or by --fail-on 1 or 2; 3 error, also where no line holds a call."""
    engine = build_engine(profiles, mode)
    tally = Tally()
    interrupted = False
    with reading_bar(traces, tally, hidden=as_json) as advance:
        rows = read_traces(traces, on_read=advance)
        try:
            replay_rows(rows, engine, tally=tally, limit=limit)
        except KeyboardInterrupt:
            interrupted = True
    summary = tally.summary()
    if as_json:
        write_json({**summary.as_dict(), "interrupted": interrupted})
    else:
        _report(console(), summary, interrupted=interrupted)
    raise typer.Exit(Exit.INTERRUPTED if interrupted else _exit(summary, fail_on))


def _exit(summary: ReplaySummary, fail_on: FailOn | None) -> Exit:
    if summary.broken and not summary.counts.calls:
        return Exit.ERROR
    worst = VERDICT_EXITS[summary.counts.worst]
    return worst if fail_on is not None and worst >= VERDICT_EXITS[fail_on.value] else Exit.ACCEPT


def _report(out: Console, summary: ReplaySummary, *, interrupted: bool) -> None:
    if interrupted:
        out.print("interrupted; counted so far:")
    if summary.tools:
        out.print(_tools(summary))
        out.print()
    if summary.labels:
        out.print(_labels(summary))
        out.print()
    if summary.offenders:
        out.print("worst offenders", style="bold")
        for place, offender in enumerate(summary.offenders, 1):
            verdict = show(offender.verdict, VERDICT_STYLES[offender.verdict])
            out.print(f"{place:>3}.", verdict, f"{offender.posterior:.4f}", show(offender.tool), end=" ")
            out.print(show(f"{offender.source}:{offender.line}", "dim"), soft_wrap=True)
            out.print(Padding(show(offender.explanation), (0, 0, 0, 5)))
        out.print()
    if summary.broken:
        out.print(f"broken lines left out: {summary.broken:,}", style="bold")
        for line in summary.first_broken:
            out.print("    ", show(str(line)), soft_wrap=True)
        if summary.broken > len(summary.first_broken):
            out.print(f"     and {summary.broken - len(summary.first_broken):,} more")
        out.print()
    counts = summary.counts
    cost = "" if summary.us_per_call is None else f"; {summary.us_per_call:,.1f} µs a call"
    out.print(
        f"{counts.calls:,} calls: {counts.accept:,} accepted, {counts.flag:,} flagged, {counts.block:,} blocked{cost}"
    )


def _tools(summary: ReplaySummary) -> object:
    numbers = ("calls", "accept", "flag", "block", "mean P", "max P")
    made = table("tool", *numbers, right=numbers)
    for tool in summary.tools[:_TOOLS_SHOWN]:
        made.add_row(
            show(tool.tool, limit=60), *_cells(tool.counts), f"{tool.mean_posterior:.4f}", f"{tool.max_posterior:.4f}"
        )
    if len(summary.tools) > _TOOLS_SHOWN:
        made.add_row(f"and {len(summary.tools) - _TOOLS_SHOWN:,} more tools")
    return made


def _labels(summary: ReplaySummary) -> object:
    numbers = ("calls", "accept", "flag", "block")
    made = table("label (not seen by the engine)", *numbers, right=numbers)
    for label, counts in summary.labels.items():
        made.add_row(show(label, limit=60), *_cells(counts))
    return made


def _cells(counts: VerdictCounts) -> tuple[str, ...]:
    return tuple(f"{count:,}" for count in (counts.calls, *counts))
