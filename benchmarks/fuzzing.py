"""How long each fuzzing harness was run, what it tried and found, as a section of the measurements document.

    python benchmarks/fuzzing.py [--seconds 10]

Every target is searched blindly, from one seed, in a process of its own; ``python -m fuzz TARGET --seconds 600``
searches longer, and guided by coverage where atheris is installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from document import Section
from goals import Goal
from rich.console import Console
from rich.progress import track
from tables import Line, judged, markdown

__all__ = ["section"]

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 10.0
CALM = Goal("at most", 0.0, lambda figure: "–" if figure is None else f"{figure:.0f}")


def section(console: Console | None = None, seconds: float = SECONDS) -> Section:
    """All targets, each for so many seconds; what broke a promise counts against the goal of none."""
    accounts = list(_accounts(console, seconds))
    failures = [account["target"] for account in accounts if account["failures"]]
    inputs = sum(account["inputs"] for account in accounts)
    cells = (f"promises broken by {inputs:,} inputs", str(len(accounts)))
    line = Line(cells, float(sum(len(account["failures"]) for account in accounts)), CALM)
    text = [
        "## Fuzzing",
        f"`python benchmarks/fuzzing.py --seconds {seconds:g}`",
        "Inputs made of pieces at which readers of text, numbers, dates and markup have failed, and of Python objects "
        "of which little can be asked. A promise is broken by an error that is not documented, by two answers to one "
        "question, by a place outside of its text, a probability outside of [0, 1], or by an input that takes half a "
        "minute. The slowest input is that with most time for its size, where less than a KiB counts as one; objects "
        "that share their parts 2⁶⁰ times over are small and take long. "
        "The gate's API is tried by schemathesis, in `tests/gate/api/test_schemathesis.py`.",
        judged(("what", "targets"), [line]),
        *([f"Broken: {', '.join(failures)}."] if failures else []),
        markdown(
            ("target", "what is called", "inputs", "seconds", "slowest, ms/KiB", "its bytes"),
            [_row(account) for account in accounts],
        ),
    ]
    return Section(text, [line])


def _row(account: dict[str, Any]) -> Sequence[str]:
    slowest = f"{account['slowest_ms_per_kib']:,.1f}"
    figures = (f"{account['inputs']:,}", f"{account['seconds']:,.0f}", slowest, f"{account['slowest_bytes']:,}")
    return (f"`{account['target']}`", account["covers"], *figures)


def _accounts(console: Console | None, seconds: float) -> Iterator[dict[str, Any]]:
    listed = _fuzz("--list").splitlines()
    targets = [(line.split()[0], line.split(maxsplit=1)[1]) for line in listed]
    with tempfile.TemporaryDirectory() as folder:
        for name, covers in track(targets, "fuzzing", console=console or Console(stderr=True)):
            said = _fuzz(name, "--engine", "blind", "--seconds", str(seconds), "--artefacts", folder)
            yield {**json.loads(said.splitlines()[-1]), "covers": covers}


def _fuzz(*arguments: str) -> str:
    command = [sys.executable, "-m", "fuzz", *arguments]
    # A search that found something ends with code 1, and is an account like any other.
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)} ended with code {ran.returncode}:\n{ran.stderr[-2000:]}")
    return ran.stdout


def main(seconds: Annotated[float, typer.Option(help="How long each target is searched.")] = SECONDS) -> None:
    """Print the section."""
    print("\n\n".join(section(seconds=seconds).text))


if __name__ == "__main__":
    typer.run(main)
