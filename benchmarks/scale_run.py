"""A command that reads a log, timed in a process of its own: ``python scale_run.py LOG COMMAND OPTIONS…``.

Writes one line of JSON.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

__all__ = ["Plan", "Run", "run"]


class Plan(NamedTuple):
    """What is timed: a name for it, the command with its options, and the cores that it uses."""

    name: str
    words: tuple[str, ...]
    cores: int


class Run(NamedTuple):
    """One run, within a started interpreter.

    Attributes:
        calls: as the command counts them.
        seconds: wall time.
        cpu: seconds of processors, of all processes but those of Java.
        peak: resident bytes of the parent at their most.
        verdicts: calls accepted, flagged and blocked; of a command that does not say, zeros.
    """

    calls: int
    seconds: float
    cpu: float
    peak: int
    verdicts: tuple[int, ...]


def run(log: Path, plan: Plan) -> Run:
    """Read a log as planned, in a process of its own.

    Raises:
        RuntimeError: where the command failed, with the last line that it said.
    """
    command = [sys.executable, __file__, str(log), *plan.words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "nothing was said").splitlines()[-1]
        raise RuntimeError(f"{plan.name}: exit code {done.returncode}: {said}")
    found = json.loads(done.stdout)
    return Run(found["calls"], found["seconds"], found["cpu"], found["peak"], tuple(found["verdicts"]))


def _timed(log: str, command: str, *options: str) -> dict[str, object]:
    import contextlib
    import io

    from growth_peak import peak_bytes

    from agentguard.cli import app

    if command == "report":
        options = (*options, "--output", f"{log}.html")
    written = io.StringIO()
    start, cpu = perf_counter(), _cpu()
    with contextlib.redirect_stdout(written):
        code = app([command, log, "--json", *options], standalone_mode=False)
    seconds, cpu = perf_counter() - start, _cpu() - cpu
    if code:
        raise SystemExit(f"{command} ended with {code}: {written.getvalue()[:300]}")
    found = json.loads(written.getvalue())
    verdicts = [found.get(verdict, 0) for verdict in ("accept", "flag", "block")]
    return {"calls": found["calls"], "seconds": seconds, "cpu": cpu, "peak": peak_bytes(), "verdicts": verdicts}


def _cpu() -> float:
    """Seconds of processors so far, of this process and of those that it has started and that have ended."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    print(json.dumps(_timed(*sys.argv[1:])))
