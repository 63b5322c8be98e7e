"""The progress of a run of the gate and of its ingest: on standard error, and only where that is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from agentguard.gate._run import STAGES, GateRun
from agentguard.gate.documents._ingest import IngestStep

from .output import console, printable

__all__ = ["ingest_bar", "stage_bar"]

MOST_OF_A_NAME = 60


@contextmanager
def stage_bar(*, hidden: bool) -> Iterator[Callable[[str, GateRun], None]]:
    """A bar of stages; yields what is to be told of each before it begins."""
    with _bar(hidden=hidden) as bar:
        names = [stage.__name__ for stage in STAGES]
        task = bar.add_task("gate", total=len(names))

        def begun(name: str, run: GateRun) -> None:
            done = names.index(name) if name in names else None
            # A stage may hold the interpreter for long: what is shown must not wait for the next turn of the clock.
            bar.update(task, completed=done, description=printable(name).replace("_", " "), refresh=True)

        yield begun


@contextmanager
def ingest_bar(*, hidden: bool) -> Iterator[Callable[[IngestStep], None]]:
    """A bar of documents; yields what is to be told of each."""
    with _bar(hidden=hidden) as bar:
        task = bar.add_task("ingest", total=None)

        def done(step: IngestStep) -> None:
            said = printable(step.uri)[-MOST_OF_A_NAME:] or "ingest"
            bar.update(task, completed=step.done, total=step.total, description=said)

        yield done


@contextmanager
def _bar(*, hidden: bool) -> Iterator[Progress]:
    err = console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=hidden or not err.is_terminal) as bar:
        yield bar
