"""Measures what reads a log at scale, replay first, and writes the figures into one document.

    python benchmarks/scale.py [--calls 50000] [--data FOLDER] [-o docs/scale.md]

Takes about a quarter of an hour. What is not there to be measured is said so in the document.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from detection_runs import ROOT
from measurements import COLUMNS, machine
from rich.console import Console
from rich.progress import Progress
from scale_log import write_log
from scale_run import Plan, Run, run
from tables import markdown

__all__ = ["main"]

COMMAND = "make scale"
GROWTH = 4
BILLION = 10**9
CORES = 100
PARTITIONS = 16
OPENING = 10_000
GENERATED = "generated"
JUDGING = (
    Plan("local", ("replay",), 1),
    Plan("processes, 1 worker", ("replay", "--engine", "processes", "--workers", "1"), 1),
    Plan("processes, 2 workers", ("replay", "--engine", "processes", "--workers", "2"), 2),
    Plan("spark, local[2]", ("replay", "--engine", "spark", "--workers", "2"), 2),
)
COUNTING = tuple(Plan(plan.name, (*plan.words, "--count"), plan.cores) for plan in JUDGING)
READING = (Plan("learn", ("learn",), 1), Plan("report", ("report",), 1))
CPU_GOALS = {"learn": 35.0, "report": 25.0}  # seconds of processors, for ``GOAL_CALLS``
GOAL_CALLS = 200_000
MOST_DIFFERING = 0.0005  # of the verdicts on the generated log
RECORDED = (
    "agentdojo_traces/benign_runs.jsonl.gz",
    "taubench_traces/calls.jsonl.gz",
    "toolbench_traces/calls.jsonl.gz",
)

Timed = tuple[str, Plan, Run, Run]


def main(
    calls: Annotated[
        int, typer.Option(min=1_000, help="Calls of the shorter log; the longer has four times.")
    ] = 50_000,
    data: Annotated[Path, typer.Option(help="Folder of recorded calls.")] = ROOT / "../shared/data",
    output: Annotated[Path, typer.Option("--output", "-o", help="The document.")] = ROOT / "docs/scale.md",
) -> None:
    """Measure; write the document. Exit code 1 where something could not be measured."""
    console = Console(stderr=True)
    plans = [(what, plan) for what, all_plans in (("judge", JUDGING), ("count", COUNTING)) for plan in all_plans]
    timed: list[Timed] = []
    missing: list[str] = []
    with tempfile.TemporaryDirectory() as folder, Progress(*COLUMNS, console=console, auto_refresh=False) as progress:
        logs = [Path(folder, "short.jsonl"), Path(folder, "long.jsonl")]
        sizes = [write_log(log, times) for log, times in zip(logs, (calls, GROWTH * calls), strict=True)]
        for what, plan in plans:
            task = progress.add_task(f"{what}, {plan.name}", total=len(logs))
            try:
                runs = []
                for log in logs:
                    runs.append(run(log, plan))
                    progress.update(task, advance=1, refresh=True)
                timed.append((what, plan, runs[0], runs[1]))
            except RuntimeError as error:
                missing.append(f"{what}, {error}")
        read: dict[str, Run] = {}
        for plan in READING:
            task = progress.add_task(plan.name, total=1)
            try:
                read[plan.name] = run(logs[1], plan)
                progress.update(task, advance=1, refresh=True)
            except RuntimeError as error:
                missing.append(str(error))
        differing = list(_differing([(GENERATED, logs[1]), *_recorded(data)]))
    parts = [*_opening(calls, sizes), *_speed(timed, sizes[1] - sizes[0])]
    parts += [
        *_reading(read, GROWTH * calls),
        *_memory(timed),
        *_divided(timed, differing),
        *_billion(timed, sizes[1] / (GROWTH * calls)),
        *_redis(missing),
    ]
    if missing:
        parts += ["## Not measured", "\n".join(f"- {what}" for what in missing)]
    output.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    typer.echo(f"wrote {os.path.relpath(output)}")
    if missing:
        raise typer.Exit(1)


def _opening(calls: int, sizes: Sequence[int]) -> list[str]:
    return [
        "# Scale",
        f"Written by `{COMMAND}`; run it again instead of editing.",
        markdown(("machine", ""), machine().items()),
        f"Replayed are a log of {calls:,} calls ({sizes[0] / 1e6:.0f} MB) and one of {GROWTH * calls:,} "
        f"({sizes[1] / 1e6:.0f} MB) of generated tools, without profiles: `agentguard replay LOG --engine …` judges "
        "every call, with `--count` it counts what merges.",
    ]


def _speed(timed: Sequence[Timed], more_bytes: int) -> list[str]:
    rows = []
    best = 0.0
    for what, plan, short, long in timed:
        rate = _rate(short, long)
        overhead = max(short.seconds - short.calls / rate, 0.0)
        share = more_bytes / (long.calls - short.calls) * rate / 1e6
        rows.append([what, plan.name, f"{long.seconds:.1f}", f"{overhead:.1f}", f"{rate:,.0f}", f"{share:.1f}"])
        best = max(best, rate) if (what, plan.cores) == ("judge", 2) else best
    header = ("what", "engine", "seconds, longer log", "start, s", "calls/s", "MB/s")
    goal = "reached" if best >= 20_000 else "missed"
    return [
        "## Calls a second",
        "Calls a second are those of the longer log beyond the shorter one, so that the start of interpreters (and of "
        "Java) does not count; it stands in a column of its own.",
        markdown(header, rows),
        f"Goal: at least 20,000 judged calls a second on two cores. Measured: {best:,.0f}; {goal}.",
    ]


def _reading(read: Mapping[str, Run], calls: int) -> list[str]:
    rows = []
    for command, one in read.items():
        goal = CPU_GOALS[command]
        reached = "not this log" if calls != GOAL_CALLS else "reached" if one.cpu <= goal else "missed"
        rows.append([command, f"{one.cpu:.1f}", f"{one.seconds:.1f}", f"≤ {goal:.0f}", reached, _megabytes(one)])
    header = ("command", "CPU, s", "wall, s", f"goal, CPU of {GOAL_CALLS:,} calls, s", "", "memory")
    return [
        "## Learning and reporting",
        f"`agentguard learn LOG` and `agentguard report LOG` on the log of {calls:,} calls, each in one process: "
        "seconds of the processor (more where the machine is busy), wall time, and resident memory at "
        "its peak.",
        markdown(header, rows),
    ]


def _memory(timed: Sequence[Timed]) -> list[str]:
    rows = [[what, plan.name, _megabytes(short), _megabytes(long)] for what, plan, short, long in timed]
    return [
        "## Memory",
        f"The resident memory of the process that reads the log, at its peak; the longer log has {GROWTH} times the "
        "calls. (Spark reads in its own processes: what is here is the driver's Python.)",
        markdown(("what", "engine", "shorter log", "longer log"), rows),
    ]


def _divided(timed: Sequence[Timed], differing: Sequence[tuple[str, int, int]]) -> list[str]:
    verdicts = {plan.name: long.verdicts for what, plan, _, long in timed if what == "judge"}
    rows = [[name, *(f"{count:,}" for count in counts)] for name, counts in verdicts.items()]
    parted = {long.verdicts for what, plan, _, long in timed if what == "judge" and plan.name != "local"}
    same = "the same" if len(parted) == 1 else "**not the same**"
    return [
        "## What dividing the tools changes",
        f"Processes and Spark divide the tools into {PARTITIONS} parts (`--partitions`). The opening of a log, its "
        f"first {OPENING:,} calls, is judged by everybody as a whole: by then the rates and surprises of all tools are "
        "settled. After it each part is judged on its own, and the calls of a session are told to all parts that have "
        "a tool of the session. What a part is not told of is which results, and which forms of results, tools of "
        "other parts had after the opening. Neither the number of workers nor the engine changes a verdict: those of "
        f"all divided runs are {same}.",
        markdown(("engine", "accept", "flag", "block"), rows),
        f"Verdicts that differ between one engine and {PARTITIONS} parts:",
        markdown(
            ("log", "calls", "another verdict"),
            [[name, f"{calls:,}", f"{other:,} ({100 * other / calls:.3f}%)"] for name, calls, other in differing],
        ),
        *(
            f"Goal: at most {100 * MOST_DIFFERING:.2f}% of the verdicts on the generated log. Measured: "
            f"{100 * other / calls:.3f}%; {'reached' if other <= MOST_DIFFERING * calls else 'missed'}."
            for name, calls, other in differing
            if name == GENERATED
        ),
    ]


def _billion(timed: Sequence[Timed], bytes_a_call: float) -> list[str]:
    rows = []
    for what, plan, short, long in timed:
        if plan.cores < 2:
            continue
        a_core = _rate(short, long) / plan.cores
        hours = BILLION / a_core / 3_600
        rows.append([what, plan.name, f"{a_core:,.0f}", f"{hours:.1f}", f"{60 * hours / CORES:.0f} minutes"])
    return [
        "## One billion calls",
        f"At {bytes_a_call:,.0f} bytes a call a billion of them are {BILLION * bytes_a_call / 1e12:.2f} TB. "
        f"{BILLION:,} calls ÷ (calls a second and core) ÷ 3,600 = core-hours; by {CORES} cores, where nothing but the "
        f"work counts:",
        markdown(("what", "engine", "calls/s a core", "core-hours", f"on {CORES} cores"), rows),
        "A part of the tools is judged by one core at a time: judging on more cores than the default of "
        f"{PARTITIONS} needs as many `--partitions`, and no more than there are tools are of use; counting has no such "
        "limit. To judge, Spark reads JSON lines four times: to number them, for the opening, for what other parts are "
        "told of sessions, and for the verdicts. To count, it reads them once.",
    ]


def _redis(missing: list[str]) -> list[str]:
    title = "## 1,000 workers on one Redis"
    try:
        from stores.redis_load import GOAL, PULL_SECONDS, measure_redis_load

        load: Any = measure_redis_load()
    except (ImportError, SystemExit) as error:
        missing.append(f"1,000 workers on one Redis: {error}")
        return [title, "Not measured."]
    counts = "exact" if load.exact else "**not exact**"
    return [
        title,
        "`python benchmarks/stores/redis_load.py`",
        f"A real server on loopback with its append-only file on; every worker merges a delta of {load.fields} fields "
        f"a second and pulls every {PULL_SECONDS} seconds.",
        markdown(
            ("workers", "Redis, of a core", "goal", "µs a merge", "µs a pull", "MB/s of log", "counts"),
            [
                [
                    f"{load.workers:,}", f"{load.share:.3f}", f"at most {GOAL}", f"{load.merge_us:.0f}",
                    f"{load.pull_us:.0f}", f"{load.log_bytes / 1e6:.1f}", counts,
                ]
            ],
        ),
    ]  # fmt: skip


def _recorded(data: Path) -> Iterator[tuple[str, Path]]:
    for name in RECORDED:
        if (data / name).exists():
            yield name.split("/")[0].removesuffix("_traces"), data / name


def _differing(logs: Sequence[tuple[str, Path]]) -> Iterator[tuple[str, int, int]]:
    """Of each log: its calls, and those with another verdict where tools are divided after the opening."""
    from agentguard.traces._partitions import EngineSpec, partition_of
    from agentguard.traces._read import TraceRow, read_traces
    from agentguard.verification._division import Division
    from agentguard.verification._engine import read_call, verify_read

    for name, path in logs:
        whole, engine = EngineSpec().build(), EngineSpec().build()
        divided = Division(engine, partition_of)
        seen: Counter[bool] = Counter()
        for row in read_traces(path):
            if isinstance(row, TraceRow):
                if seen.total() == OPENING:
                    divided.divide()
                one = verify_read(whole, read_call(whole, row.call)).verdict
                seen[one != divided.verify(read_call(engine, row.call)).verdict] += 1
        yield name, seen.total(), seen[True]


def _rate(short: Run, long: Run) -> float:
    """Calls a second of the longer log beyond the shorter one; where those took no time that shows, of all of it."""
    if long.seconds <= short.seconds:
        return long.calls / long.seconds
    return (long.calls - short.calls) / (long.seconds - short.seconds)


def _megabytes(one: Run) -> str:
    return f"{one.peak / 2**20:.0f} MiB"


if __name__ == "__main__":
    typer.run(main)
