"""The benchmark with the guard in the loop, its leaderboard and its page.

    python benchmarks/in_the_loop/run.py measure [--resume] [--seed 1] [-o docs/in-the-loop.md]
    python benchmarks/in_the_loop/run.py enter MODULE:FACTORY --key KEY --about TEXT [--python PATH] [--model NAME]
    python benchmarks/in_the_loop/run.py draw [ROW.json …]

Some minutes on two cores. Ctrl-C keeps the rows that are done; ``--resume`` goes on with the others.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

sys.path.append(str(Path(__file__).resolve().parents[1]))

from peer import PeerMissingError, peer_python
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from in_the_loop.board import ROWS, Board, BoardError
from in_the_loop.course import SEED, ContestantFailedError, Course, Entrant, prepared, ran
from in_the_loop.page import page, pictures
from in_the_loop.plan import Sizes
from in_the_loop.score import Entry, digest, row

__all__ = ["PAGE", "app", "draw_page", "measured_rows"]

ROOT = Path(__file__).resolve().parents[2]
UNFINISHED = ROOT / ".benchmarks" / "in-the-loop"
PAGE = ROOT / "docs" / "in-the-loop.md"
COLUMNS = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
SCRIPTED = "scripted"
QUICK = Sizes(kinds=("noop", "scaled", "swapped_args", "mock"), each=1, clean=2)

OURS = "in_the_loop.contestants:"
ENTRANTS = (
    Entrant("none", "no guard", f"{OURS}nothing", "results are handed on."),
    Entrant("schema", "schema validation", f"{OURS}schema",
            "a result that breaks the JSON Schema of its tool is withheld, and the agent is told to call again."),
    Entrant("awesome-agentguard", "awesome-agentguard", "in_the_loop.rival:make",
            "default settings, with required fields, times and network declared; what it blocks is withheld, what it "
            "flags is marked."),
    Entrant("agentguard-observe", "agentguard, observing", f"{OURS}observe",
            "default settings, schemas and echoes declared; verdicts are recorded and nothing is touched."),
    Entrant("agentguard-enforce", "agentguard, enforcing", f"{OURS}enforce",
            "the same, acting as integrations do by default: what is blocked is withheld, what is flagged is marked."),
    Entrant("agentguard-recovery", "agentguard with recovery", f"{OURS}recover",
            "the same, and declared: read-backs after writes, second sources for two tools, which calls may be made "
            "again, and that the guard tries three times."),
)  # fmt: skip

app = typer.Typer(help="The benchmark with the guard in the loop.", no_args_is_help=True, add_completion=False)


def measured_rows(
    console: Console, seed: int = SEED, sizes: Sizes | None = None, *, resume: bool = False,
    entrants: Sequence[Entrant] = ENTRANTS, model: str = "",
) -> list[Entry]:  # fmt: skip
    """Send the contestants through the course; their rows.

    Args:
        console: for the progress bars, and for who could not take part.
        seed: of the company, the tasks and the faults.
        sizes: how much is run; None: everything.
        resume: go on with what an interrupted run of the same course has left to do.
        entrants: who takes part.
        model: the chat model that is the agent; empty: the scripted one.
    """
    sizes = Sizes() if sizes is None else sizes
    kept = Board(UNFINISHED)
    rows: list[Entry] = []
    with tempfile.TemporaryDirectory() as folder, Progress(*COLUMNS, console=console, auto_refresh=False) as progress:
        task = progress.add_task("in the loop, faults are chosen", total=len(sizes.templates))
        course = prepared(Path(folder), seed, sizes, lambda: progress.update(task, advance=1, refresh=True))
        what = digest(seed, course.episodes)
        done = (
            {entry["contestant"]["key"]: entry for entry in kept.rows()}
            if resume and any(UNFINISHED.glob("*.json"))
            else {}
        )
        if not resume:
            shutil.rmtree(UNFINISHED, ignore_errors=True)
        for entrant in entrants:
            if entrant.key in done and done[entrant.key]["course"] == what:
                rows.append(done[entrant.key])
                continue
            try:
                rows.append(_row(entrant, course, what, progress, model))
            except (ContestantFailedError, PeerMissingError) as error:
                console.print(f"{entrant.name} has not taken part: {error}")
                continue
            kept.put(rows[-1])
    shutil.rmtree(UNFINISHED, ignore_errors=True)
    return rows


def _row(entrant: Entrant, course: Course, what: Mapping[str, object], progress: Progress, model: str) -> Entry:
    if entrant.key == "awesome-agentguard" and entrant.python is None:
        entrant = entrant._replace(python=peer_python())
    task = progress.add_task(f"in the loop, {entrant.name}", total=len(course.episodes))
    progress.refresh()
    result = ran(entrant, course, lambda episodes: progress.update(task, advance=episodes, refresh=True), model)
    about = {"key": entrant.key, "name": entrant.name, "version": _version(entrant), "about": entrant.about,
             "agent": model or SCRIPTED}  # fmt: skip
    return row(about, result.runs, what, result.learned)


def _version(entrant: Entrant) -> str:
    name = {"agentguard": "agentguard", "schema": "jsonschema"}.get(entrant.key.partition("-")[0])
    if entrant.key == "awesome-agentguard":
        return "0.2.0"
    return f"{'' if name == 'agentguard' else f'{name} '}{metadata.version(name)}" if name else ""


def draw_page(rows: Sequence[Entry], output: Path) -> None:
    """Write the page and its pictures."""
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page(rows), encoding="utf-8")
    pictures(rows, output.parent)
    typer.echo(f"wrote {output.name}")


Output = Annotated[Path, typer.Option("--output", "-o", help="The page.")]


@app.command()
def measure(
    seed: Annotated[
        int, typer.Option(help="Of the company, its tasks and faults. Try things out on other seeds.")
    ] = SEED,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a run was interrupted.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of it, to see that it runs.")] = False,
    board: Annotated[Path, typer.Option(help="Folder of the rows.")] = ROWS,
    output: Output = PAGE,
) -> None:
    """Run the project's own contestants, write their rows, and draw the page."""
    _keep_apart(board, seed, quick=quick)
    for entry in measured_rows(Console(stderr=True), seed, QUICK if quick else None, resume=resume):
        Board(board).put(entry)
    _draw(board, output)


@app.command()
def enter(
    contestant: Annotated[str, typer.Argument(help="module:factory, or a file: mine.py:factory.")],
    key: Annotated[str, typer.Option(help="A short name in small letters, the name of the row's file.")],
    about: Annotated[str, typer.Option(help="What it is and how it is set, in a sentence.")],
    name: Annotated[str, typer.Option(help="As tables call it; by default the key.")] = "",
    python: Annotated[Path | None, typer.Option(help="An interpreter of another environment.")] = None,
    model: Annotated[str, typer.Option(help="A chat model as the agent, as LangChain names it; it costs.")] = "",
    seed: Annotated[int, typer.Option(help="As of measure.")] = SEED,
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of it, to see that it runs.")] = False,
    board: Annotated[Path, typer.Option(help="Folder of the rows.")] = ROWS,
) -> None:
    """Run one contestant and write its row."""
    _keep_apart(board, seed, quick=quick)
    module, _, factory = contestant.rpartition(":")
    path = Path(module)
    folders = [str(path.resolve().parent if path.suffix == ".py" else Path.cwd())]
    entrant = Entrant(
        key, name or key, f"{path.stem if path.suffix == '.py' else module}:{factory}", about, python, folders
    )
    rows = measured_rows(Console(stderr=True), seed, QUICK if quick else None, entrants=[entrant], model=model)
    if not rows:
        raise typer.Exit(1)
    typer.echo(f"wrote {Board(board).put(rows[0])}")


@app.command()
def draw(
    rows: Annotated[list[Path] | None, typer.Argument(help="Files of rows to put on the board first.")] = None,
    board: Annotated[Path, typer.Option(help="Folder of the rows.")] = ROWS,
    output: Output = PAGE,
) -> None:
    """Check all rows and draw the page of them."""
    try:
        for path in rows or ():
            Board(board).put(Board.read(path))
    except BoardError as error:
        _refused(error)
    _draw(board, output)


def _keep_apart(board: Path, seed: int, *, quick: bool) -> None:
    if board == ROWS and (quick or seed != SEED):
        raise typer.BadParameter(f"rows of another course than that of seed {SEED} belong on another --board")


def _draw(board: Path, output: Path) -> None:
    try:
        draw_page(Board(board).rows(), output)
    except BoardError as error:
        _refused(error)


def _refused(error: BoardError) -> None:
    typer.echo(str(error), err=True)
    raise typer.Exit(1)


if __name__ == "__main__":
    app()
