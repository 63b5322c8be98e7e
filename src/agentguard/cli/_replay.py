"""``agentguard replay``: a log judged in recorded order, compared, or counted, by one process or many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding

from agentguard.cli._exits import VERDICT_EXITS, Exit
from agentguard.cli._options import (
    LOG_HELP,
    SHIPPED,
    CalibrationOption,
    FormatOption,
    JsonOption,
    LimitOption,
    Mode,
    ModeOption,
    ProfilesOption,
    build_engine,
    named_profiles,
    opened,
)
from agentguard.cli._terminal import (
    VERDICT_STYLES,
    Interruption,
    console,
    counted,
    print_broken,
    print_offenders,
    print_reading,
    progress,
    reading_bar,
    show,
    table,
    verdicts_of,
    write_json,
)
from agentguard.errors import ConfigurationError
from agentguard.traces import Reading, ReplaySummary, Tally
from agentguard.traces import replay as replay_rows
from agentguard.traces._compare import Comparing, Comparison, VerdictMatrix, compare
from agentguard.traces._counts import State, ToolState
from agentguard.traces._partitions import OPENING, PARTITIONS, EngineSpec, first_calls
from agentguard.traces._processes import CountingProcesses, JudgingProcesses, usable_cpus
from agentguard.traces._read import AUTO, OWN, Line, check_format, parse, read_lines
from agentguard.traces._spark import MASTER_VARIABLE, count_on_spark, judge_on_spark, spark_session
from agentguard.verification._census import value_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NONE = "none"
DIVIDED = (
    "judged in {} partitions by tool, the first {:,} calls as a whole: after them verdicts differ from those of "
    "--engine local only where tools of two partitions have the same results"
)
QUANTILES = (0.05, 0.5, 0.95)  # of times and sizes that --count reports


class FailOn(str, Enum):
    """The verdict from which on a replay fails, or any change of a verdict."""

    flag = "flag"
    block = "block"
    change = "change"


class Runner(str, Enum):
    """Engines of a replay."""

    local = "local"
    processes = "processes"
    spark = "spark"


@dataclass(frozen=True)
class Plan:
    """The options of a replay, and what was read of the log beside its calls."""

    traces: str
    format: str
    profiles: str | None
    mode: Mode
    compare: tuple[str, str] | None
    count: bool
    fail_on: FailOn | None
    limit: int | None
    runner: Runner
    workers: int
    partitions: int
    master: str | None
    store: str | None
    calibration: str | None
    as_json: bool
    reading: Reading = field(default_factory=Reading)

    def read(self, push: Callable[[Iterable[Line]], object], calls: Callable[[], int]) -> bool:
        """Push the log, as far as it is to be read, behind a bar that shows the calls; whether Ctrl-C ended it."""
        with reading_bar(self.traces, calls, hidden=self.as_json) as advance, Interruption() as interruption:
            lines = read_lines(self.traces, format=self.format, on_read=advance, reading=self.reading)
            push(lines if self.limit is None else first_calls(lines, self.limit))
        return interruption.happened

    def ended(self, code: Exit, calls: int, broken: int, *, interrupted: bool) -> Exit:
        """The exit code of a replay: another one where it was interrupted, or nothing of the log was a call."""
        if interrupted:
            return Exit.INTERRUPTED
        return Exit.ERROR if not calls and (broken or self.reading.skipped) else code

    @contextmanager
    def spark(self, name: str) -> Iterator[SparkSession]:
        """A session of Spark behind a bar of this name."""
        with progress(name, hidden=self.as_json), spark_session(self.master, self.workers) as session:
            yield session


def replay(
    traces: Annotated[
        str,
        typer.Argument(metavar="TRACES|-", help=f"A log of calls: {LOG_HELP}."),
    ],
    format: FormatOption = AUTO,
    profiles: ProfilesOption = None,
    mode: ModeOption = Mode.calibrated,
    compare_two: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--compare",
            metavar="OLD NEW",
            help=f"Judge every call with the profiles OLD and with NEW, side by side, and show whose verdict changes. "
            f"Folders or files, or the words '{SHIPPED}' or '{NONE}'.",
        ),
    ] = None,
    count: Annotated[
        bool, typer.Option("--count", help="Judge nothing: count calls, errors, times and sizes of each tool.")
    ] = False,
    fail_on: Annotated[
        FailOn | None,
        typer.Option(
            "--fail-on",
            help="Exit with 1 (flag) or 2 (block) where a verdict is at least this grave; with --compare where one "
            "becomes so. 'change', with --compare: where any verdict changes.",
        ),
    ] = None,
    limit: LimitOption = None,
    runner: Annotated[
        Runner, typer.Option("--engine", help="One process, several of this machine, or Spark.")
    ] = Runner.local,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, metavar="N", help="Processes; without it one for each processor.")
    ] = None,
    partitions: Annotated[
        int,
        typer.Option("--partitions", min=1, metavar="N", help="Into how many parts processes and spark divide tools."),
    ] = PARTITIONS,
    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", envvar=MASTER_VARIABLE, help="Where Spark runs; else this machine."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="DIR|URL",
            help="Go on from what this store knows, and learn the log into it; else a replay starts from nothing.",
        ),
    ] = None,
    calibration: CalibrationOption = None,
    as_json: JsonOption = False,
) -> None:
    """Judge every call of a log. Exit code: 0, or by --fail-on 1 or 2; 3 error, also where no line holds a call."""
    plan = Plan(
        traces, check_format(format), profiles, mode, compare_two, count, fail_on, limit, runner,
        workers or usable_cpus(), partitions, master, store, calibration, as_json,
    )  # fmt: skip
    _refuse_contradictions(plan)
    raise typer.Exit(_compare(plan, compare_two) if compare_two else _count(plan) if count else _judge(plan))


def _refuse_contradictions(plan: Plan) -> None:
    comparing, divided = plan.compare is not None, plan.runner is not Runner.local
    refused = {
        "--fail-on change is for --compare: without it there is no verdict to change": (
            not comparing and plan.fail_on is FailOn.change
        ),
        "--compare names both profiles and judges: leave out --profiles and --count": (
            comparing and (plan.profiles is not None or plan.count)
        ),
        "--compare is done by one process: leave out --engine": comparing and divided,
        "--store is for a replay that judges in one process: leave out --compare, --count, --engine": (
            plan.store is not None and (comparing or plan.count or divided)
        ),
        "--calibration is for a replay that judges in one process": (
            plan.calibration is not None and (comparing or plan.count or divided)
        ),
        "--count judges nothing: leave out --profiles and --fail-on": (
            plan.count and (plan.profiles is not None or plan.fail_on is not None)
        ),
        "--limit is for --engine local and processes: Spark reads a log's parts in any order": (
            plan.limit is not None and plan.runner is Runner.spark
        ),
        "--format is for --engine local and processes: Spark divides logs in agentguard's own format": (
            plan.format not in (AUTO, OWN) and plan.runner is Runner.spark
        ),
    }
    for message, applies in refused.items():
        if applies:
            raise ConfigurationError(message)


def _judge(plan: Plan) -> Exit:
    divided, interrupted = plan.runner is not Runner.local, False
    if plan.runner is Runner.local:
        tally = Tally()
        with nullcontext(None) if plan.store is None else opened(plan.store, create=True) as store:
            engine = build_engine(plan.profiles, plan.mode, store, plan.calibration)
            interrupted = plan.read(lambda lines: replay_rows(parse(lines), engine, tally=tally), lambda: tally.calls)
            if store is not None:
                engine.close()
        summary = tally.summary()
    elif plan.runner is Runner.processes:
        with JudgingProcesses(_spec(plan), plan.workers, plan.partitions) as judging:
            interrupted = plan.read(judging.push, lambda: judging.calls)
            summary = judging.summary()
    else:
        spec = _spec(plan)  # before Spark is started, which takes seconds
        with plan.spark("replay on Spark") as session:
            summary = judge_on_spark(plan.traces, session, spec, plan.partitions)
    if plan.as_json:
        parts = {"partitions": plan.partitions} if divided else {}
        figures = {**summary.as_dict(), "read": plan.reading.as_dict()}
        write_json({**figures, "engine": plan.runner.value, **parts, "interrupted": interrupted})
    else:
        note = DIVIDED.format(plan.partitions, OPENING) if divided else ""
        _report(summary, plan.reading, interrupted=interrupted, note=note)
    code = _if_asked(VERDICT_EXITS[summary.counts.worst], plan.fail_on)
    return plan.ended(code, summary.counts.calls, summary.broken, interrupted=interrupted)


def _spec(plan: Plan) -> EngineSpec:
    return EngineSpec(plan.mode.value, () if plan.profiles is None else tuple(named_profiles(plan.profiles)))


def _count(plan: Plan) -> Exit:
    interrupted = False
    if plan.runner is Runner.local:
        state = State()

        def push(lines: Iterable[Line]) -> None:
            for row in parse(lines):
                state.push(row)

        interrupted = plan.read(push, lambda: state.calls)
    elif plan.runner is Runner.processes:
        with CountingProcesses(plan.workers) as counting:
            interrupted = plan.read(counting.push, lambda: counting.calls)
            state = counting.summary()
    else:
        with plan.spark("count on Spark") as session:
            state = count_on_spark(plan.traces, session)
    tools = _count_figures(state)
    if plan.as_json:
        figures = {"calls": state.calls, "broken": state.broken, "read": plan.reading.as_dict(), "tools": tools}
        write_json({**figures, "engine": plan.runner.value, "interrupted": interrupted, "state": state.as_dict()})
    else:
        _report_counts(state, tools, plan.reading, interrupted=interrupted)
    return plan.ended(Exit.ACCEPT, state.calls, state.broken, interrupted=interrupted)


def _compare(plan: Plan, names: tuple[str, str]) -> Exit:
    old, new = (build_engine(None if name == NONE else name, plan.mode) for name in names)
    comparing = Comparing()
    interrupted = plan.read(lambda lines: compare(parse(lines), old, new, comparing=comparing), lambda: comparing.calls)
    comparison = comparing.summary()
    if plan.as_json:
        write_json({**comparison.as_dict(), "read": plan.reading.as_dict(), "interrupted": interrupted})
    else:
        _report_comparison(comparison, plan.reading, interrupted=interrupted)
    matrix = comparison.matrix
    code = Exit.ACCEPT if matrix.worst_new is None else VERDICT_EXITS[matrix.worst_new]
    if plan.fail_on is FailOn.change:
        code = max(code, Exit.FLAG) if matrix.changed else Exit.ACCEPT
    else:
        code = _if_asked(code, plan.fail_on)
    return plan.ended(code, matrix.calls, comparison.broken, interrupted=interrupted)


def _if_asked(code: Exit, fail_on: FailOn | None) -> Exit:
    least = Exit.BLOCK if fail_on is FailOn.block else Exit.FLAG
    return code if fail_on is not None and code >= least else Exit.ACCEPT


def _count_figures(state: State) -> list[dict[str, Any]]:
    """Tabulate each tool, most called first: calls, errors, and the 5th, 50th and 95th percentile of time and size.

    Times in milliseconds, sizes of what is no error in bytes, both to within 2.5%; None where there is none.
    """
    tools = [_figures(name, tool) for name, tool in state.tools.entries.items()]
    return sorted(tools, key=lambda tool: (-tool["calls"], tool["tool"]))


def _figures(name: str, tool: ToolState) -> dict[str, Any]:
    buckets: dict[Any, Counter[int]] = {"latency": Counter(), "size": Counter()}
    for (kind, *rest), number in tool.counts.items():
        if kind in buckets:
            buckets[kind][int(rest[-1])] += number
    times, sizes = map(_quantiles, buckets.values())
    return {
        "tool": name, "calls": tool.counts["calls",], "errors": tool.counts["errors",], "ms": times, "bytes": sizes,
    }  # fmt: skip


def _quantiles(buckets: Counter[int]) -> list[float] | None:
    total, seen = sum(buckets.values()), 0
    values: list[float] = []
    for bucket in sorted(buckets):
        seen += buckets[bucket]
        while len(values) < len(QUANTILES) and seen >= QUANTILES[len(values)] * total:
            values.append(value_of(bucket))
    return values or None


def _begun(interrupted: bool, so_far: str) -> Console:
    out = console()
    if interrupted:
        out.print(f"interrupted; {so_far} so far:")
    return out


def _report(summary: ReplaySummary, reading: Reading, *, interrupted: bool, note: str) -> None:
    """Print the verdicts by tool and label, the worst calls, broken lines, a note and the sum."""
    out = _begun(interrupted, "counted")
    if summary.tools:
        tools = table("tool", "#calls", "#accept", "#flag", "#block", "#mean P", "#max P")
        tools.fill(
            summary.tools,
            lambda tool: (
                show(tool.tool, limit=60), tool.counts.calls, *tool.counts,
                f"{tool.mean_posterior:.4f}", f"{tool.max_posterior:.4f}",
            ),
        )  # fmt: skip
        out.print(tools, "")
    if summary.labels:
        labels = table("label (not seen by the engine)", "#calls", "#accept", "#flag", "#block")
        for label, counts in summary.labels.items():
            labels.add(show(label, limit=60), counts.calls, *counts)
        out.print(labels, "")
    print_offenders(out, "worst offenders", summary.offenders)
    if summary.broken:
        print_broken(out, f"broken lines left out: {summary.broken:,}", summary.broken, summary.first_broken)
    print_reading(out, reading)
    if note:
        out.print(note, style="dim")
    cost = "" if summary.us_per_call is None else f"; {summary.us_per_call:,.1f} µs a call"
    out.print(f"{verdicts_of(summary.counts)}{cost}")


def _report_counts(state: State, tools: list[dict[str, Any]], reading: Reading, *, interrupted: bool) -> None:
    out = _begun(interrupted, "counted")
    rows = table(
        "tool", "#calls", "#errors", "#ms p5", "#ms p50", "#ms p95", "#bytes p5", "#bytes p50", "#bytes p95"
    )  # fmt: skip

    def cells(tool: dict[str, Any]) -> Sequence[Any]:
        quantiles = [f"{value:,.3g}" for name in ("ms", "bytes") for value in tool[name] or ()]
        absent = [] if tool["ms"] else ["", "", ""]
        return show(tool["tool"], limit=60), tool["calls"], tool["errors"], *absent, *quantiles

    rows.fill(tools, cells)
    if tools:
        out.print(rows, "")
    print_reading(out, reading)
    broken = f", {state.broken:,} broken lines left out" if state.broken else ""
    out.print(f"{state.calls:,} calls of {counted(len(tools), 'tool')}{broken}")


def _report_comparison(comparison: Comparison, reading: Reading, *, interrupted: bool) -> None:
    """Print which verdicts change, of which tools and labels, the greatest changes, and the sum."""
    out = _begun(interrupted, "compared")
    matrix = comparison.matrix
    if matrix.calls:
        rows = table("old \\ new", *(f"#{verdict}" for verdict in matrix._fields))
        for before, counts in zip(matrix._fields, matrix, strict=True):
            rows.add(before, *counts)
        out.print(rows, "")
    if comparison.tools:
        _print_changed(out, "tool", [(tool.tool, tool.matrix, f"{tool.mean_shift:+.4f}") for tool in comparison.tools])
    if comparison.labels:
        _print_changed(out, "label (not seen by the engines)", [(*item, "") for item in comparison.labels.items()])
    if comparison.changes:
        out.print("greatest changes", style="bold")
        for rank, change in enumerate(comparison.changes, 1):
            out.print(f"{rank:>3}.", show(change.before, VERDICT_STYLES[change.before]), "→", end=" ")
            out.print(show(change.after, VERDICT_STYLES[change.after]), end=" ")
            out.print(f"{change.before_posterior:.4f} → {change.after_posterior:.4f}", show(change.tool), end=" ")
            out.print(show(f"{change.source}:{change.line}", "dim"), soft_wrap=True)
            moved = f"{change.signal} {change.nats:+.2f}" if change.nats else change.signal
            out.print(Padding(show(f"{moved} ({change.detail})" if change.detail else moved), (0, 0, 0, 5)))
        out.print()
    if comparison.broken:
        heading = f"broken lines left out: {comparison.broken:,}"
        print_broken(out, heading, comparison.broken, comparison.first_broken)
    print_reading(out, reading)
    out.print(
        f"{matrix.calls:,} calls: {matrix.changed:,} with another verdict, "
        f"{matrix.stricter:,} stricter, {matrix.looser:,} looser"
    )


def _print_changed(out: Console, name: str, rows: list[tuple[str, VerdictMatrix, str]]) -> None:
    """Print the changes in each row; rows without a change are counted, not shown."""
    columns = ("#calls", "#changed", "#stricter", "#looser", "#newly blocked", "#no longer blocked", "#mean P")
    shown = table(name, *columns)
    changed = [row for row in rows if row[1].changed]

    def cells(row: tuple[str, VerdictMatrix, str]) -> Sequence[Any]:
        label, matrix, shift = row
        blocked = (matrix.accept.block + matrix.flag.block, matrix.block.accept + matrix.block.flag)
        return (
            show(label, limit=60), matrix.calls, matrix.changed, matrix.stricter, matrix.looser, *blocked, shift
        )  # fmt: skip

    shown.fill(changed, cells, noun="")
    if len(rows) > len(changed):
        shown.add(f"{len(rows) - len(changed):,} without a change")
    out.print(shown, "")
