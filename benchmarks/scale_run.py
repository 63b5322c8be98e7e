"""``agentguard replay`` timed in a process of its own: ``python scale_run.py LOG OPTIONS…`` writes one line of JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

__all__ = ["Plan", "Run", "run"]


class Plan(NamedTuple):
    """What is timed: a name for it, and the options of ``replay``."""

    name: str
    options: tuple[str, ...]
    cores: int


class Run(NamedTuple):
    """One run: calls, wall seconds within a started interpreter, resident bytes of the parent at its peak, verdicts."""

    calls: int
    seconds: float
    peak: int
    verdicts: tuple[int, ...]


def run(python: Path, log: Path, plan: Plan) -> Run:
    """Replay a log with an interpreter.

    Raises:
        RuntimeError: where the replay failed, with the last line that it said.
    """
    command = [str(python), __file__, str(log), *plan.options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "nothing was said").splitlines()[-1]
        raise RuntimeError(f"{plan.name}: exit code {done.returncode}: {said}")
    found = json.loads(done.stdout)
    return Run(found["calls"], found["seconds"], found["peak"], tuple(found["verdicts"]))


def _timed(log: str, options: list[str]) -> dict[str, object]:
    import contextlib
    import io

    from growth_peak import peak_bytes

    from agentguard.cli import app

    written = io.StringIO()
    start = perf_counter()
    with contextlib.redirect_stdout(written):
        code = app(["replay", log, "--json", *options], standalone_mode=False)
    seconds = perf_counter() - start
    if code:
        raise SystemExit(f"replay ended with {code}: {written.getvalue()[:300]}")
    found = json.loads(written.getvalue())
    verdicts = [found.get(verdict, 0) for verdict in ("accept", "flag", "block")]
    return {"calls": found["calls"], "seconds": seconds, "peak": peak_bytes(), "verdicts": verdicts}


if __name__ == "__main__":
    print(json.dumps(_timed(sys.argv[1], sys.argv[2:])))
