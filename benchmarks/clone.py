"""The time that `make demo`, and each step of `.ci/run`, takes on a fresh clone.

    python benchmarks/clone.py

Clones what is committed, goes through the steps one after the other as they stand in the script, and puts the time of
each that passed on record, in ``clone.json``, from which the measurements document shows them; so also where it is
interrupted. An hour, with nothing beside it. Beside the times stands how fast the machine was meanwhile: a step
takes twice as long where its neighbours are busy.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from document import Section
from goals import Goal
from tables import Line, judged

__all__ = ["main", "section", "steps"]

COMMAND = "python benchmarks/clone.py"
ROOT = Path(__file__).resolve().parents[1]
RECORD = Path(__file__).with_name("clone.json")
DEMO, SIZE = "make demo", "its environment, on the disk"
ALL = "all of .ci/run"
LOOP = "a loop of ten million additions"


def _minutes(figure: float | None) -> str:
    return "–" if figure is None else f"{int(figure) // 60} min {int(figure) % 60:02} s"


def _megabytes(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.0f} MB"


GOALS = {
    DEMO: Goal("at most", 45.0, _minutes),
    SIZE: Goal("at most", 80.0, _megabytes),
    "make test": Goal("at most", 420.0, _minutes),
    ALL: Goal("at most", 960.0, _minutes),
}


def steps() -> list[str]:
    """The commands of the script: the servers that it ensures, and the targets that it makes."""
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    return re.findall(r"^(?:make|tests)\b.*$", script, re.MULTILINE)


def section() -> Section:
    """The section of the measurements document, of what is on record."""
    taken: dict[str, float] = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    if not taken:
        return Section(["## A fresh clone", f"Not measured: `{COMMAND}`."], [])
    goals = [Line((name,), taken.get(name), goal) for name, goal in GOALS.items()]
    rest = ", ".join(f"`{name}` {_minutes(taken[name])}" for name in taken if name not in GOALS and name != LOOP)
    text = [
        f"## A fresh clone (`{COMMAND}`)",
        f"`make demo`, then the steps of `.ci/run`, with environments made anew from cached downloads: {rest}. "
        f"Meanwhile {LOOP} took {taken[LOOP]:.2f} s of CPU in the median, with nothing beside it.",
        judged(("step",), goals),
    ]
    return Section(text, goals)


def main() -> int:
    """Clone, time, record; the exit code of the step that failed, or 0."""
    taken: dict[str, float] = {}
    loops: list[float] = []
    # Of the environment that runs this nothing is left: a clone makes its own.
    env = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH", "MAKEFLAGS")}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "--quiet", str(ROOT), folder], check=True)  # noqa: S607
        for step in (DEMO, *steps()):
            print(f"{step} …", file=sys.stderr, flush=True)
            start = perf_counter()
            done = subprocess.run(shlex.split(step), cwd=folder, env=env, check=False, stdout=subprocess.DEVNULL)
            if done.returncode:
                print(f"clone: {step!r} ended with {done.returncode}", file=sys.stderr)
                return done.returncode
            taken[step] = round(perf_counter() - start, 1)
            print(f"    {_minutes(taken[step])}", file=sys.stderr, flush=True)
            if step == DEMO:
                files = (path.lstat() for path in Path(folder, ".venv-demo").rglob("*"))
                taken[SIZE] = round(sum(file.st_blocks * 512 for file in files) / 1e6, 1)  # POSIX: blocks of 512 bytes
            loops.append(_loop())
            taken[LOOP] = round(median(loops), 2)
            _record(taken)
    taken[ALL] = round(sum(taken[step] for step in steps()), 1)
    _record(taken)
    return 0


def _loop() -> float:
    """CPU seconds of a loop of ten million additions: how fast the machine is."""
    start, total = process_time(), 0
    for number in range(10_000_000):
        total += number
    return process_time() - start


def _record(taken: dict[str, float]) -> None:
    RECORD.write_text(json.dumps(taken, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
