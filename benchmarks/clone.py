"""Time `make demo` and the steps of `.ci/run` on a fresh clone.

    python benchmarks/clone.py

Clones the last commit, runs both there, and writes the seconds of each step to ``clone.json``, from which the
measurements document takes them. Takes half an hour with nothing beside it. The record also holds how fast the machine
was: a step takes twice as long where the neighbours on the same processors are busy.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

from document import Section
from goals import Goal
from tables import Line, judged, markdown

__all__ = ["main", "section"]

COMMAND = "python benchmarks/clone.py"
ROOT = Path(__file__).resolve().parents[1]
RECORD = Path(__file__).with_name("clone.json")
LOOP = "Seconds of CPU of a loop of ten million additions beforehand"
ROW = re.compile(r"^(\S.*?) +(\d+) +(\d+)$", re.MULTILINE)  # of the table that .ci/run ends with


def _seconds(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.0f} s"


def _megabytes(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.0f} MB"


GOALS = {
    "make demo": Goal("at most", 45.0, _seconds),
    "its environment, on the disk": Goal("at most", 80.0, _megabytes),
    "make test, CPU": Goal("at most", 600.0, _seconds),
    ".ci/run": Goal("at most", 1500.0, _seconds),
}


def section() -> Section:
    """The section of the measurements document, from the record."""
    if not RECORD.exists():
        return Section(["## A fresh clone", f"Not measured: `{COMMAND}`."], [])
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    goals = [Line((name,), record["goals"].get(name), goal) for name, goal in GOALS.items()]
    steps = [[f"`{name}`", f"{wall} s", f"{cpu} s"] for name, wall, cpu in record["steps"]]
    text = [
        f"## A fresh clone (`{COMMAND}`)",
        "`make demo`, then `.ci/run`, with environments made anew from cached downloads. "
        f"{LOOP}: {record['loop']:.2f}.",
        judged(("step",), goals),
        markdown(["step of `.ci/run`", "wall", "CPU"], steps),
    ]
    return Section(text, goals)


def main() -> int:
    """Clone, time, record; the exit code of ``make demo`` or ``.ci/run``."""
    # The clone makes its own environments: it inherits none from the one that runs this.
    env = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH", "MAKEFLAGS")}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "--quiet", str(ROOT), folder], check=True)  # noqa: S607
        loop, start = _loop(), perf_counter()
        done = subprocess.run(["make", "demo"], cwd=folder, env=env, check=False)  # noqa: S607
        goals = {"make demo": round(perf_counter() - start, 1)}
        if done.returncode:
            return done.returncode
        files = (path.lstat() for path in Path(folder, ".venv-demo").rglob("*"))
        blocks = sum(file.st_blocks for file in files)  # POSIX: of 512 bytes
        goals["its environment, on the disk"] = round(blocks * 512 / 1e6, 1)
        run = subprocess.run(["bash", ".ci/run"], cwd=folder, env=env, check=False, stdout=subprocess.PIPE, text=True)  # noqa: S607
    print(run.stdout)
    table = run.stdout[run.stdout.rfind("\nstep ") :]
    steps = [(name, int(wall), int(cpu)) for name, wall, cpu in ROW.findall(table)]
    if run.returncode == 0:
        taken = {name: (wall, cpu) for name, wall, cpu in steps}
        goals |= {"make test, CPU": taken["make test"][1], ".ci/run": taken["all"][0]}
        RECORD.write_text(json.dumps({"loop": loop, "goals": goals, "steps": steps}, indent=1) + "\n", encoding="utf-8")
    return run.returncode


def _loop() -> float:
    """CPU seconds of a loop of ten million additions: how fast the machine is."""
    start, total = process_time(), 0
    for number in range(10_000_000):
        total += number
    return process_time() - start


if __name__ == "__main__":
    sys.exit(main())
