"""``agentguard replay``: a log of calls judged in recorded order, compared, or counted, by one process or many."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any

import typer

from agentguard.errors import ConfigurationError
from agentguard.traces import Tally
from agentguard.traces import replay as replay_rows
from agentguard.traces._compare import Comparing, Comparison, compare
from agentguard.traces._counts import State
from agentguard.traces._partitions import PARTITIONS, EngineSpec, first_calls
from agentguard.traces._processes import CountingProcesses, JudgingProcesses, usable_cpus
from agentguard.traces._read import parse, read_lines
from agentguard.traces._spark import MASTER_VARIABLE, count_on_spark, judge_on_spark, spark_session
from agentguard.verification import load_profiles

from .compare_report import report_comparison
from .exits import VERDICT_EXITS, Exit
from .options import SHIPPED, CalibrationOption, JsonOption, Mode, ModeOption, ProfilesOption, build_engine
from .output import write_json
from .progress import reading_bar, waiting_bar
from .replay_report import count_figures, report, report_counts
from .state_place import opened

__all__ = ["replay"]

NONE = "none"
DIVIDED = (
    "judged in {} partitions by tool, each by an engine of its own: what tools have in common is learned within a "
    "partition only, so a few verdicts may differ from those of --engine local"
)


class FailOn(str, Enum):
    """The verdict from which on a replay fails, or that any verdict changes."""

    flag = "flag"
    block = "block"
    change = "change"


class Runner(str, Enum):
    """What a log is put through."""

    local = "local"
    processes = "processes"
    spark = "spark"


@dataclass(frozen=True)
class Plan:
    """What was asked for."""

    traces: str
    limit: int | None
    as_json: bool
    runner: Runner
    workers: int
    partitions: int
    master: str | None
    store: str | None
    calibration: str | None

    def lines(self, on_read: Callable[[int], None]) -> Any:
        """The log, as far as it is to be read."""
        lines = read_lines(self.traces, on_read=on_read)
        return lines if self.limit is None else first_calls(lines, self.limit)


def replay(
    traces: Annotated[
        str,
        typer.Argument(
            metavar="TRACES|-", help="A .jsonl, .jsonl.gz or .parquet file, a folder of them, or '-' for stdin."
        ),
    ],
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
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, metavar="N", help="Stop after N calls."),
    ] = None,
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
    plan = Plan(traces, limit, as_json, runner, workers or usable_cpus(), partitions, master, store, calibration)
    _refuse_contradictions(plan, compare_two, profiles, count=count, fail_on=fail_on)
    if compare_two is not None:
        raise typer.Exit(_compare(plan, compare_two, mode, fail_on))
    if count:
        raise typer.Exit(_count(plan))
    raise typer.Exit(_judge(plan, profiles, mode, fail_on))


def _refuse_contradictions(
    plan: Plan, compare_two: tuple[str, str] | None, profiles: str | None, *, count: bool, fail_on: FailOn | None
) -> None:
    if compare_two is None and fail_on is FailOn.change:
        raise ConfigurationError("--fail-on change is for --compare: without it there is no verdict to change")
    if compare_two is not None and (profiles is not None or count):
        raise ConfigurationError("--compare names both profiles and judges: leave out --profiles and --count")
    if compare_two is not None and plan.runner is not Runner.local:
        raise ConfigurationError("--compare is done by one process: leave out --engine")
    if plan.store is not None and (compare_two is not None or count or plan.runner is not Runner.local):
        raise ConfigurationError(
            "--store is for a replay that judges in one process: leave out --compare, --count, --engine"
        )
    if plan.calibration is not None and (compare_two is not None or count or plan.runner is not Runner.local):
        raise ConfigurationError("--calibration is for a replay that judges in one process")
    if count and (profiles is not None or fail_on is not None):
        raise ConfigurationError("--count judges nothing: leave out --profiles and --fail-on")
    if plan.limit is not None and plan.runner is Runner.spark:
        raise ConfigurationError("--limit is for --engine local and processes: Spark reads a log's parts in any order")


def _judge(plan: Plan, profiles: str | None, mode: Mode, fail_on: FailOn | None) -> Exit:
    interrupted = False
    if plan.runner is Runner.local:
        tally = Tally()
        with (
            nullcontext(None) if plan.store is None else opened(plan.store, create=True) as store,
            reading_bar(plan.traces, lambda: tally.calls, hidden=plan.as_json) as advance,
        ):
            engine = build_engine(profiles, mode, store, plan.calibration)
            try:
                replay_rows(parse(plan.lines(advance)), engine, tally=tally)
            except KeyboardInterrupt:
                interrupted = True
            if store is not None:
                engine.close()
        summary = tally.summary()
    elif plan.runner is Runner.processes:
        with JudgingProcesses(_spec(profiles, mode), plan.workers, plan.partitions) as judging:
            summary, interrupted = _through(judging, plan)
    else:
        spec = _spec(profiles, mode)
        with (
            waiting_bar("replay on Spark", hidden=plan.as_json),
            spark_session(plan.master, plan.workers) as session,
        ):
            summary = judge_on_spark(plan.traces, session, spec, plan.partitions)
    divided = plan.runner is not Runner.local
    if plan.as_json:
        parts = {"partitions": plan.partitions} if divided else {}
        write_json({**summary.as_dict(), "engine": plan.runner.value, **parts, "interrupted": interrupted})
    else:
        report(summary, interrupted=interrupted, note=DIVIDED.format(plan.partitions) if divided else "")
    if interrupted:
        return Exit.INTERRUPTED
    if summary.broken and not summary.counts.calls:
        return Exit.ERROR
    worst = VERDICT_EXITS[summary.counts.worst]
    return _if_asked(worst, fail_on)


def _count(plan: Plan) -> Exit:
    interrupted = False
    if plan.runner is Runner.local:
        state = State()
        with reading_bar(plan.traces, lambda: state.calls, hidden=plan.as_json) as advance:
            try:
                for row in parse(plan.lines(advance)):
                    state.push(row)
            except KeyboardInterrupt:
                interrupted = True
    elif plan.runner is Runner.processes:
        with CountingProcesses(plan.workers) as counting:
            state, interrupted = _through(counting, plan)
    else:
        with waiting_bar("count on Spark", hidden=plan.as_json), spark_session(plan.master, plan.workers) as session:
            state = count_on_spark(plan.traces, session)
    if plan.as_json:
        figures = {"calls": state.calls, "broken": state.broken, "tools": count_figures(state)}
        write_json({**figures, "engine": plan.runner.value, "interrupted": interrupted, "state": state.as_dict()})
    else:
        report_counts(state, interrupted=interrupted)
    if interrupted:
        return Exit.INTERRUPTED
    return Exit.ERROR if state.broken and not state.calls else Exit.ACCEPT


def _through(processes: Any, plan: Plan) -> tuple[Any, bool]:
    """What processes found, and whether they were interrupted: then, of what they had been given."""
    interrupted = False
    with reading_bar(plan.traces, lambda: processes.calls, hidden=plan.as_json) as advance:
        try:
            processes.push(plan.lines(advance))
        except KeyboardInterrupt:
            interrupted = True
    return processes.summary(), interrupted


def _compare(plan: Plan, two: tuple[str, str], mode: Mode, fail_on: FailOn | None) -> Exit:
    old, new = (build_engine(None if given == NONE else given, mode) for given in two)
    comparing, interrupted = Comparing(), False
    with reading_bar(plan.traces, lambda: comparing.calls, hidden=plan.as_json) as advance:
        try:
            compare(parse(plan.lines(advance)), old, new, comparing=comparing)
        except KeyboardInterrupt:
            interrupted = True
    comparison = comparing.summary()
    if plan.as_json:
        write_json({**comparison.as_dict(), "interrupted": interrupted})
    else:
        report_comparison(comparison, interrupted=interrupted)
    return Exit.INTERRUPTED if interrupted else _changed(comparison, fail_on)


def _changed(comparison: Comparison, fail_on: FailOn | None) -> Exit:
    if comparison.broken and not comparison.matrix.calls:
        return Exit.ERROR
    worst = comparison.matrix.worst_new
    code = Exit.ACCEPT if worst is None else VERDICT_EXITS[worst]
    if fail_on is FailOn.change:
        return max(code, Exit.FLAG) if comparison.matrix.changed else Exit.ACCEPT
    return _if_asked(code, fail_on)


def _if_asked(code: Exit, fail_on: FailOn | None) -> Exit:
    least = Exit.BLOCK if fail_on is FailOn.block else Exit.FLAG
    return code if fail_on is not None and code >= least else Exit.ACCEPT


def _spec(profiles: str | None, mode: Mode) -> EngineSpec:
    if profiles is None:
        return EngineSpec(mode.value)
    return EngineSpec(mode.value, tuple(load_profiles() if profiles == SHIPPED else load_profiles(profiles)))
