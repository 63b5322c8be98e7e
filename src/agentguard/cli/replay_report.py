"""What a replay found, for a reader: verdicts, or with ``--count`` what was counted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.padding import Padding

from agentguard.traces import BrokenLine, ReplaySummary, VerdictCounts
from agentguard.traces._counts import State, ToolState
from agentguard.verification.census import value_of

from .output import VERDICT_STYLES, console, counted, show, table

__all__ = ["TOOLS_SHOWN", "broken_lines", "cells", "count_figures", "report", "report_counts"]

TOOLS_SHOWN = 50


def report(summary: ReplaySummary, *, interrupted: bool, note: str = "") -> None:
    """Write the verdicts; ``note`` says what is to be known of them."""
    out = console()
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
    broken_lines(out, summary.broken, summary.first_broken)
    if note:
        out.print(note, style="dim")
    counts = summary.counts
    cost = "" if summary.us_per_call is None else f"; {summary.us_per_call:,.1f} µs a call"
    out.print(
        f"{counts.calls:,} calls: {counts.accept:,} accepted, {counts.flag:,} flagged, {counts.block:,} blocked{cost}"
    )


def report_counts(state: State, *, interrupted: bool) -> None:
    """Write what was counted of each tool."""
    out = console()
    if interrupted:
        out.print("interrupted; counted so far:")
    numbers = ("calls", "errors", "ms p5", "ms p50", "ms p95", "bytes p5", "bytes p50", "bytes p95")
    made = table("tool", *numbers, right=numbers)
    figures = count_figures(state)
    for tool in figures[:TOOLS_SHOWN]:
        quantiles = [f"{value:,.3g}" for name in ("ms", "bytes") for value in tool[name] or ()]
        shown = quantiles if tool["ms"] else ["", "", "", *quantiles]
        made.add_row(show(tool["tool"], limit=60), f"{tool['calls']:,}", f"{tool['errors']:,}", *shown)
    if len(figures) > TOOLS_SHOWN:
        made.add_row(f"and {len(figures) - TOOLS_SHOWN:,} more tools")
    if figures:
        out.print(made)
        out.print()
    broken = f", {state.broken:,} broken lines left out" if state.broken else ""
    out.print(f"{state.calls:,} calls of {counted(len(figures), 'tool')}{broken}")


def count_figures(state: State) -> list[dict[str, Any]]:
    """Of each tool, most called first: calls, errors, and the 5th, 50th and 95th percentile of time and size.

    Times in milliseconds, sizes of what is no error in bytes, both to within 2.5%; None where there is none.
    """
    found = [_figures(name, tool) for name, tool in state.tools.entries.items()]
    return sorted(found, key=lambda tool: (-tool["calls"], tool["tool"]))


def _figures(name: str, tool: ToolState) -> dict[str, Any]:
    times: dict[int, int] = {}
    sizes: dict[int, int] = {}
    for field, number in tool.counts.items():
        if field[0] in ("latency", "size"):
            buckets, bucket = (times if field[0] == "latency" else sizes), int(field[-1])
            buckets[bucket] = buckets.get(bucket, 0) + number
    calls, errors = tool.counts["calls",], tool.counts["errors",]
    return {"tool": name, "calls": calls, "errors": errors, "ms": _quantiles(times), "bytes": _quantiles(sizes)}


def _quantiles(buckets: dict[int, int]) -> list[float] | None:
    total = sum(buckets.values())
    if not total:
        return None
    found: list[float] = []
    seen = 0
    for bucket in sorted(buckets):
        seen += buckets[bucket]
        while len(found) < 3 and seen >= (0.05, 0.5, 0.95)[len(found)] * total:
            found.append(value_of(bucket))
    return found


def broken_lines(out: Console, number: int, first: Iterable[BrokenLine]) -> None:
    """Name the first lines that held no call, and say how many more there were."""
    if not number:
        return
    named = list(first)
    out.print(f"broken lines left out: {number:,}", style="bold")
    for line in named:
        out.print("    ", show(str(line)), soft_wrap=True)
    if number > len(named):
        out.print(f"     and {number - len(named):,} more")
    out.print()


def cells(counts: VerdictCounts) -> tuple[str, ...]:
    """All calls, then by verdict."""
    return tuple(f"{count:,}" for count in (counts.calls, *counts))


def _tools(summary: ReplaySummary) -> object:
    numbers = ("calls", "accept", "flag", "block", "mean P", "max P")
    made = table("tool", *numbers, right=numbers)
    for tool in summary.tools[:TOOLS_SHOWN]:
        made.add_row(
            show(tool.tool, limit=60), *cells(tool.counts), f"{tool.mean_posterior:.4f}", f"{tool.max_posterior:.4f}"
        )
    if len(summary.tools) > TOOLS_SHOWN:
        made.add_row(f"and {len(summary.tools) - TOOLS_SHOWN:,} more tools")
    return made


def _labels(summary: ReplaySummary) -> object:
    numbers = ("calls", "accept", "flag", "block")
    made = table("label (not seen by the engine)", *numbers, right=numbers)
    for label, counts in summary.labels.items():
        made.add_row(show(label, limit=60), *cells(counts))
    return made
