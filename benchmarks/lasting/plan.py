"""All that is measured of faults that last: what is run, in which environment, with a progress bar."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import engines
from detection.families import FAMILIES
from detection_runs import ROOT
from peer import PeerMissingError, peer_python
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from agentguard.verification import VerificationEngine

from .curve import VARIANTS, Point, Variant, curve
from .forks import can_fork
from .protocol import Lasted, Said, courses, lasted
from .streams import Stream, generated, recorded

__all__ = ["Outcome", "Results", "Reviewed", "Verdicts", "script_command", "script_report", "whole"]

SEEDS = (1,)
HERE = Path(__file__).resolve().parent
COLUMNS = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
RIVAL_ENGINE = "lasting.rival_engine:make"
NO_FORK = "trials go on in copies of a process, and this system makes none"


class Outcome(NamedTuple):
    """A report of the script for recorded calls, or why there is none."""

    report: Mapping[str, Any] | None
    missing: str = ""


class Verdicts(NamedTuple):
    """One engine on generated tools.

    Attributes:
        lasted: every fault in every family.
        changes: after a genuine change, by family.
        streams: genuine calls, by family.
    """

    lasted: Sequence[Lasted]
    changes: Mapping[str, Sequence[str]]
    streams: Sequence[Stream]


class Reviewed(NamedTuple):
    """Genuine streams beside a reviewer who adopts each change that is told of."""

    recorded: Sequence[Stream]
    generated: Sequence[Stream]


class Results(NamedTuple):
    """Everything.

    Attributes:
        script, rival_script: the script for recorded calls with our engine and with the peer.
        ours, rival: generated tools; None where the peer did not take part.
        recorded: recorded genuine streams; empty where there are none.
        marked: the same, the engine told which calls were marked as errors.
        reviewed: the recorded streams and the generated ones, each change that was told of adopted.
        curve: engine variants.
        rival_missing: why the peer did not take part; empty where it did.
    """

    script: Outcome
    rival_script: Outcome
    ours: Verdicts
    rival: Verdicts | None
    recorded: Sequence[Stream]
    marked: Sequence[Stream]
    reviewed: Reviewed
    curve: Sequence[Point]
    rival_missing: str = ""


def whole(
    console: Console,
    script: Path,
    data: Path,
    families: Sequence[str] = tuple(FAMILIES),
    variants: Sequence[Variant] = VARIANTS,
    tools: int | None = None,
) -> Results:
    """Run everything; some minutes on two cores.

    Args:
        console: for the progress bar.
        script: breaks recorded calls.
        data: the folder of recorded calls.
        families: generated families.
        variants: the engines of the curve.
        tools: at most so many recorded tools a source; None: the script's own choice.
    """
    rival_python, rival_missing = _rival()
    # Drawn between the runs only: a thread that draws would be copied in the middle of its work.
    with Progress(*COLUMNS, console=console, auto_refresh=False) as progress:

        def task(what: str, steps: int) -> Any:
            number = progress.add_task(f"faults that last, {what}", total=steps)
            progress.refresh()
            return lambda: progress.update(number, advance=1, refresh=True)

        done = task("recorded calls", 1)
        ours_script = script_report(script, data, tools=tools)
        done()
        done = task("recorded calls, the peer", 1)
        rival_script = Outcome(None, rival_missing)
        if rival_python is not None:
            rival_script = script_report(script, data, rival_python, RIVAL_ENGINE, tools)
        done()
        planned = courses(SEEDS, families)
        done = task("generated tools", len(planned))
        found, changes = lasted(VerificationEngine, planned, done=done)
        done = task("genuine streams", 4)
        ours = Verdicts(found, changes, generated(VerificationEngine, SEEDS, families))
        done()
        real = recorded(VerificationEngine, data) if data.is_dir() else []
        done()
        marked = recorded(VerificationEngine, data, marked=True) if data.is_dir() else []
        done()
        adopted = recorded(engines.reviewed, data) if data.is_dir() else []
        reviewed = Reviewed(adopted, generated(engines.reviewed, SEEDS, families))
        done()
        done = task("generated tools, the peer", 1)
        rival = None if rival_python is None else _rival_verdicts(rival_python, families)
        done()
        done = task("what it costs to hold", len(variants))
        points = curve(variants, data, done)
    return Results(ours_script, rival_script, ours, rival, real, marked, reviewed, points, rival_missing)


def script_command(script: Path, data: Path) -> str:
    """The command of the plain script from the project's folder, as anyone can repeat it: no absolute paths."""
    return f"python {os.path.relpath(script, ROOT)} {os.path.relpath(data, ROOT)}"


def script_report(
    script: Path, data: Path, python: Path = Path(sys.executable), engine: str = "", tools: int | None = None
) -> Outcome:
    """Run the script on recorded calls in a process of its own; see ``recorded.py``.

    Never raises for a script that fails: the outcome says that it did.
    """
    if not data.is_dir():
        return Outcome(None, f"there is no folder {os.path.relpath(data, ROOT)}")
    if not script.is_file():
        return Outcome(None, f"there is no file {os.path.relpath(script, ROOT)}")
    if not can_fork():
        return Outcome(None, NO_FORK)
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "report.json"
        # -I for others: neither PYTHONPATH nor the working folder may put our own `agentguard` before theirs.
        words = [str(python), *(["-I"] if engine else []), str(HERE / "recorded.py"), str(script.resolve())]
        words += [str(data.resolve()), "--json", str(written), *(["--engine", engine] if engine else [])]
        words += [] if tools is None else ["--tools", str(tools)]
        code = subprocess.run(words, cwd=ROOT, stdout=subprocess.DEVNULL, check=False).returncode
        if code:
            return Outcome(None, f"the script ended with code {code}")
        return Outcome(json.loads(written.read_text()))


def _rival() -> tuple[Path | None, str]:
    if not can_fork():
        return None, NO_FORK
    try:
        return peer_python(), ""
    except PeerMissingError as error:
        return None, str(error)


def _rival_verdicts(python: Path, families: Sequence[str]) -> Verdicts:
    order = json.dumps({"seeds": SEEDS, "families": list(families)})
    words = [str(python), "-I", str(HERE / "rival_worker.py")]
    ended = subprocess.run(words, input=order, stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode:
        raise PeerMissingError(f"the peer's process ended with code {ended.returncode}")
    answer = json.loads(ended.stdout)
    found = [
        Lasted(seed, family, fault, {mode: Said(*verdicts) for mode, verdicts in said.items()})
        for seed, family, fault, said in answer["lasted"]
    ]
    return Verdicts(found, answer["changes"], [Stream(*fields) for fields in answer["streams"]])
