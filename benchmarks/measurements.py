"""Measures detection and speed and writes the figures, beside their goals, into one document.

    python benchmarks/measurements.py [--data FOLDER] [--eval SCRIPT] [-o docs/measurements.md] [--only claims]

Takes half an hour, with nothing beside it; ``--only`` renews a section of the document as it stands. What is not there
to be measured is said so in the document.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import clone
import content
import detection
import fuzzing
import growth
import hook
import in_langgraph
import in_the_loop
import lasting
import over_http
import proxy
import race
import typer
from deeds import run as deeds
from detection_runs import ROOT, RUNS, Outcome, command, run
from document import Section, document, renewed
from gate import claims, planted
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from stores import slow_redis
from unreviewed import section as unreviewed
from weights import section as weights

__all__ = ["machine", "main"]

COMMAND = "python benchmarks/measurements.py"
FUZZED = 3.0  # seconds a target; `make fuzz` takes a minute for each
#: What can be measured by itself, quickly.
BY_ITSELF: dict[str, Callable[[], Section]] = {
    "claims": deeds.section,
    "clone": clone.section,
    "in_langgraph": in_langgraph.section,
    "unreviewed": unreviewed.section,
}
COLUMNS = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())


def machine() -> dict[str, str]:
    """What a reader needs to know of the machine, and nothing that names it."""
    return {
        "CPUs": str(os.cpu_count()),
        "architecture": f"{platform.system()} {platform.machine()}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def main(
    data: Annotated[Path, typer.Option(help="Folder of recorded calls.")] = ROOT / "../shared/data",
    script: Annotated[Path, typer.Option("--eval", help="Detection script.")] = ROOT / "../shared/eval/detection.py",
    output: Annotated[Path, typer.Option("--output", "-o", help="The document.")] = ROOT / "docs/measurements.md",
    only: Annotated[
        list[str] | None, typer.Option(help=f"Renew a section alone: {', '.join(BY_ITSELF)}. Repeatable.")
    ] = None,
) -> None:
    """Measure detection and speed; write the document. Exit code 1 where a run failed."""
    console = Console(stderr=True)
    if only:
        _renew(output, only)
        return
    outcomes = _detection(script, data, console)
    standings = _speed(console)
    sections = [
        detection.measured(console, output.parent),
        weights.section(console, script.with_name("faults.py"), data),
        lasting.measured(console, script.with_name("lasting.py"), data, output.parent),
        unreviewed.section(),
        in_the_loop.measured(console, output.parent),
        content.measured(console, data),
        deeds.section(),
        claims.section(data),
        planted.section(),
        growth.section(console),
        slow_redis.section(),
        in_langgraph.section(),
        hook.section(),
        over_http.section(),
        proxy.section(),
        fuzzing.section(console, FUZZED),
        clone.section(),
    ]
    commands = {plan.name: command(plan, script, data) for plan in RUNS}
    output.parent.mkdir(parents=True, exist_ok=True)
    text = document(machine(), COMMAND, commands, outcomes, standings, sections)
    output.write_text(text, encoding="utf-8")
    typer.echo(f"wrote {os.path.relpath(output)}")
    failed = [f"{name}: {outcome.missing}" for name, outcome in outcomes.items() if outcome.missing]
    if failed and data.is_dir():
        typer.echo("not measured: " + "; ".join(failed), err=True)
        raise typer.Exit(1)


def _renew(output: Path, only: list[str]) -> None:
    unknown = set(only) - set(BY_ITSELF)
    if unknown:
        raise typer.BadParameter(f"{', '.join(sorted(unknown))}: there are {', '.join(BY_ITSELF)}", param_hint="--only")
    text = renewed(output.read_text(encoding="utf-8"), [BY_ITSELF[name]() for name in only])
    output.write_text(text, encoding="utf-8")
    typer.echo(f"renewed {', '.join(only)} in {os.path.relpath(output)}")


def _detection(script: Path, data: Path, console: Console) -> dict[str, Outcome]:
    outcomes = {}
    with Progress(*COLUMNS, console=console) as progress:
        for plan in RUNS:
            task = progress.add_task(f"detection, {plan.name}", total=1)
            outcomes[plan.name] = run(plan, script, data)
            progress.advance(task)
    return outcomes


def _speed(console: Console) -> list[race.Standing]:
    standings = []
    # Drawn between turns only: a thread that draws would take the interpreter from the calls that are timed.
    with Progress(*COLUMNS, console=console, auto_refresh=False) as progress:
        for size in race.FORMS:
            for mode in race.MODES:
                task = progress.add_task(f"speed, {size} result, {mode} mode", total=race.length(size))

                def advance(calls: int, task: TaskID = task) -> None:
                    progress.update(task, advance=calls, refresh=True)

                standings.append(race.run(size, mode, advance))
    return standings


if __name__ == "__main__":
    typer.run(main)
