"""What a comparison found, for a reader: which verdicts change, where, and for which reason."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding

from agentguard.traces._compare import Comparison, VerdictMatrix

from .output import VERDICT_STYLES, console, show, table
from .replay_report import TOOLS_SHOWN, broken_lines

__all__ = ["report_comparison"]


def report_comparison(comparison: Comparison, *, interrupted: bool) -> None:
    """Write a comparison."""
    out = console()
    if interrupted:
        out.print("interrupted; compared so far:")
    matrix = comparison.matrix
    if matrix.calls:
        made = table("old \\ new", *matrix._fields, right=matrix._fields)
        for before, counts in zip(matrix._fields, matrix, strict=True):
            made.add_row(before, *(f"{count:,}" for count in counts))
        out.print(made)
        out.print()
    if comparison.tools:
        _changed(out, "tool", [(tool.tool, tool.matrix, f"{tool.mean_shift:+.4f}") for tool in comparison.tools])
    if comparison.labels:
        _changed(out, "label (not seen by the engines)", [(*item, "") for item in comparison.labels.items()])
    if comparison.changes:
        out.print("greatest changes", style="bold")
        for place, change in enumerate(comparison.changes, 1):
            out.print(f"{place:>3}.", show(change.before, VERDICT_STYLES[change.before]), "→", end=" ")
            out.print(show(change.after, VERDICT_STYLES[change.after]), end=" ")
            out.print(f"{change.before_posterior:.4f} → {change.after_posterior:.4f}", show(change.tool), end=" ")
            out.print(show(f"{change.source}:{change.line}", "dim"), soft_wrap=True)
            moved = f"{change.signal} {change.nats:+.2f}" if change.nats else change.signal
            out.print(Padding(show(f"{moved} ({change.detail})" if change.detail else moved), (0, 0, 0, 5)))
        out.print()
    broken_lines(out, comparison.broken, comparison.first_broken)
    out.print(
        f"{matrix.calls:,} calls: {matrix.changed:,} with another verdict, "
        f"{matrix.stricter:,} stricter, {matrix.looser:,} looser"
    )


def _changed(out: Console, name: str, rows: list[tuple[str, VerdictMatrix, str]]) -> None:
    """A table of what changes in each row; rows without a change are counted, not shown."""
    numbers = ("calls", "changed", "stricter", "looser", "newly blocked", "no longer blocked", "mean P")
    made = table(name, *numbers, right=numbers)
    changed = [row for row in rows if row[1].changed]
    for label, matrix, shift in changed[:TOOLS_SHOWN]:
        blocked = (matrix.accept.block + matrix.flag.block, matrix.block.accept + matrix.block.flag)
        figures = (matrix.calls, matrix.changed, matrix.stricter, matrix.looser, *blocked)
        made.add_row(show(label, limit=60), *(f"{figure:,}" for figure in figures), shift)
    if len(changed) > TOOLS_SHOWN:
        made.add_row(f"and {len(changed) - TOOLS_SHOWN:,} more")
    if len(rows) > len(changed):
        made.add_row(f"{len(rows) - len(changed):,} without a change")
    out.print(made)
    out.print()
