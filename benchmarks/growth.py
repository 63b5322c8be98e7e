"""Measures how the cost of a call grows, what a tool's memory comes to, and what hostile results cost.

    python benchmarks/growth.py [cost] [sizes] [stages] [memory] [hostile] [process] [-o FILE]

Without a name: all of them, in about a minute and a half. The same figures stand in ``docs/measurements.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated

import growth_cost
import growth_hostile
import growth_memory
import growth_process
import growth_stages
import typer
from document import Section
from growth_attacks import GROWING, LARGE
from growth_shapes import SHAPES
from growth_tables import Growth, growth_lines, growth_section
from race import WARM
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

__all__ = ["Part", "main", "measure", "section"]

COLUMNS = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())


class Part(str, Enum):
    """What can be measured by itself."""

    cost = "cost"
    sizes = "sizes"
    stages = "stages"
    memory = "memory"
    hostile = "hostile"
    process = "process"


def measure(console: Console, parts: tuple[Part, ...] = tuple(Part)) -> Growth:
    """Measure the parts named, one after the other; nothing else should run meanwhile."""
    growth = Growth()
    # Drawn between calls only: a thread that draws would take the interpreter from the calls that are timed.
    with Progress(*COLUMNS, console=console, auto_refresh=False) as progress:

        def bar(name: str, total: int) -> Callable[[int], None]:
            task = progress.add_task(name, total=total)

            def advance(done: int) -> None:
                progress.update(task, advance=done, refresh=True)

            return advance

        if Part.cost in parts:
            for axis in growth_cost.AXES:
                advance = bar(f"growth, {axis.name}", growth_cost.work(axis))
                growth.axes[axis.name] = growth_cost.measure_axis(axis, advance)
        if Part.sizes in parts:
            growth.sizes = growth_cost.measure_sizes(bar("growth, result size", growth_cost.size_work()))
        if Part.stages in parts:
            growth.stages = growth_stages.measure(bar("stages of a call", WARM + growth_stages.TIMED))
        if Part.memory in parts:
            growth.held = growth_memory.measure(bar("memory", sum(shape.number for shape in SHAPES)))
            growth.cached = growth_memory.cached_bytes()
        if Part.hostile in parts:
            advance = bar("hostile results", len(GROWING) + len(LARGE))
            growth.growing, growth.large = growth_hostile.measure(advance)
        if Part.process in parts:
            growth.starts = growth_process.measure_starts(bar("starts", growth_process.INTERPRETERS))
            growth.replays = growth_process.measure_replay(bar("replay", sum(growth_process.REPLAYED)))
            many = len(growth_process.READ_BY) * sum(growth_process.MANY)
            growth.many = growth_process.measure_many(bar("many tools", many))
    return growth


def section(console: Console) -> Section:
    """Everything, as a section of the measurements document."""
    growth = measure(console)
    return Section(growth_section(growth), growth_lines(growth))


def main(
    parts: Annotated[list[Part] | None, typer.Argument(help="What to measure; all where none is named.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file for the section.")] = None,
) -> None:
    """Measure growth, memory and bounds; print the section of the measurements document."""
    growth = measure(Console(stderr=True), tuple(parts or Part))
    text = "\n\n".join(growth_section(growth)) + "\n"
    if output is None:
        typer.echo(text)
    else:
        output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
