"""The time that `make demo`, and each step of `.ci/run`, takes on a fresh clone.

    python benchmarks/clone.py

Clones what is committed, goes through the steps one after the other as they stand in the script, and puts their times
on record, in ``clone.json``, from which the measurements document shows them. Half an hour, with nothing beside it;
a step that fails ends it, and nothing is recorded.
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
from time import perf_counter

from document import Section
from goals import Goal
from tables import Line, judged

__all__ = ["main", "section", "steps"]

COMMAND = "python benchmarks/clone.py"
ROOT = Path(__file__).resolve().parents[1]
RECORD = Path(__file__).with_name("clone.json")
DEMO, SIZE = "make demo", "its environment, on the disk"
ALL = "all of .ci/run"


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
    rest = ", ".join(f"`{name}` {_minutes(taken[name])}" for name in taken if name not in GOALS)
    text = [
        f"## A fresh clone (`{COMMAND}`)",
        f"`make demo`, then the steps of `.ci/run`, with environments made anew: {rest}.",
        judged(("step",), goals),
    ]
    return Section(text, goals)


def main() -> int:
    """Clone, time, record; the exit code of the step that failed, or 0."""
    taken: dict[str, float] = {}
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
        files = (path.lstat() for path in Path(folder, ".venv-demo").rglob("*"))
        size = sum(file.st_blocks * 512 for file in files)  # POSIX: blocks of 512 bytes
    taken[ALL] = round(sum(taken.values()) - taken[DEMO], 1)
    taken[SIZE] = round(size / 1e6, 1)
    RECORD.write_text(json.dumps(taken, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
