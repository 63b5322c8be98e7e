"""Runs of the detection script, each in a process of its own: which there are, and what one came to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["ROOT", "RUNS", "Outcome", "Plan", "command", "run"]

ROOT = Path(__file__).resolve().parents[1]


class Plan(NamedTuple):
    """One run: a name for it and what is added to the script's command line."""

    name: str
    options: Sequence[str]


RUNS = (
    Plan("calibrated mode", ()),
    Plan("calibrated mode, a tenth of the history bad", ("--tasks", "swaps", "--contaminate", "0.1")),
    Plan("calibrated mode, at most 5 past calls a tool", ("--tasks", "swaps", "--history", "5")),
    Plan("reference mode", ("--engine", "benchmarks.engines:reference")),
    Plan("calibrated mode, changes adopted", ("--tasks", "stream,swaps", "--engine", "benchmarks.engines:reviewed")),
)


class Outcome(NamedTuple):
    """A report, or why there is none."""

    report: dict[str, Any] | None
    missing: str = ""


def command(plan: Plan, script: Path, data: Path) -> str:
    """The command from the project's folder, as anyone can repeat it: no absolute paths."""
    return " ".join(["python", os.path.relpath(script, ROOT), os.path.relpath(data, ROOT), *plan.options])


def run(plan: Plan, script: Path, data: Path) -> Outcome:
    """Run the script on the data; what it says on standard error is passed on.

    Never raises for a script that fails: the outcome says that it did.
    """
    if not data.is_dir():
        return Outcome(None, f"there is no folder {os.path.relpath(data, ROOT)}")
    if not script.is_file():
        return Outcome(None, f"there is no file {os.path.relpath(script, ROOT)}")
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "report.json"
        words = [sys.executable, str(script.resolve()), str(data.resolve()), *plan.options, "--json", str(written)]
        code = subprocess.run(words, cwd=ROOT, stdout=subprocess.DEVNULL, check=False).returncode
        if code:
            return Outcome(None, f"the script ended with code {code}")
        report: dict[str, Any] = json.loads(written.read_text())
        return Outcome(report)
