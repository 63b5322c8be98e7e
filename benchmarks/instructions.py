"""Instructions that one call of ``verify`` takes: a measure that the load of the machine does not move.

``python benchmarks/instructions.py`` counts them under valgrind and prints them beside those on record; it ends with 1
where a workload takes more than 3% more. ``--record`` puts what was counted on record, in ``instructions.json``: by
Python and processor, for they are not comparable. It measures the agentguard of the interpreter that runs it.

Counted is ``verify`` alone, and not the making of its calls: the counted calls are made from within a foreign call,
outside of which callgrind collects nothing.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

from race import FORMS, stream_of
from workload import PROFILE, TOOL, Call

from agentguard.verification import VerificationEngine

RECORD = Path(__file__).with_name("instructions.json")
WARM, COUNTED = 500, 100  # calls
WORSE = 0.03  # of what is on record
FOREIGN = "ffi_call"  # the function of libffi through which ctypes makes a call
_COUNT = re.compile(r"I\s+refs:\s+([\d,]+)")


def main(words: list[str]) -> int:
    """Count, print, compare; the exit code."""
    if words[:1] == ["--judge"]:
        judge(json.load(sys.stdin))
        return 0
    if shutil.which("valgrind") is None:
        print("instructions: valgrind is not there: apt-get install valgrind", file=sys.stderr)
        return 2
    python = f"{platform.python_implementation()} {sys.version_info[0]}.{sys.version_info[1]}"
    here = f"{python}, {platform.machine()}"
    record: dict[str, dict[str, int]] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    known, counted, code = record.get(here, {}), {form: count(form) for form in FORMS}, 0
    print(f"instructions a call; {here}")
    for form, now in counted.items():
        before = known.get(form)
        change = "not on record" if before is None else f"{100 * (now / before - 1):+.1f}% of {before:,}"
        worse = before is not None and now > (1 + WORSE) * before
        code |= worse
        print(f"  {form:<16} {now:>10,}  {change}{'  WORSE' if worse else ''}")
    if "--record" in words:
        RECORD.write_text(json.dumps({**record, here: counted}, indent=2, sort_keys=True) + "\n")
        return 0
    return code


def count(form: str) -> int:
    """Instructions a call of a warm tool."""
    valgrind = ["valgrind", "--tool=callgrind", f"--toggle-collect={FOREIGN}", "--callgrind-out-file=/dev/null"]
    command = [*valgrind, sys.executable, "-E", str(Path(__file__).resolve()), "--judge"]
    made = json.dumps(list(islice(stream_of(form), WARM + COUNTED)))  # here, where it takes a fiftieth of the time
    env = {**os.environ, "PYTHONHASHSEED": "0"}
    run = subprocess.run(command, input=made, capture_output=True, text=True, check=True, env=env)
    found = _COUNT.search(run.stderr)
    counted = int(found[1].replace(",", "")) if found is not None else 0
    if not counted:
        raise SystemExit(f"instructions: valgrind has counted nothing within {FOREIGN}: {run.stderr[-500:]}")
    return counted // COUNTED


def judge(made: list[Any]) -> None:
    """Judge the calls of one tool, the last ones from within a foreign call."""
    engine = VerificationEngine()
    engine.register_tool_profile(TOOL, **PROFILE, echoes={"query": "query"})
    calls = [Call(*fields) for fields in made]
    gc.collect()
    gc.freeze()  # the collector's turns are part of a call, and what was made here is not
    judged = 0

    def take(some: list[Call]) -> None:
        nonlocal judged
        for call in some:
            engine.verify(TOOL, args=call.args, result=call.result, execution_time_ms=call.ms, session_id=call.session)
            judged += 1

    take(calls[:WARM])
    counted = calls[WARM:]
    ctypes.CFUNCTYPE(None)(lambda: take(counted))()
    if judged < len(calls):  # ctypes lets no exception through
        raise SystemExit("instructions: a call of verify has failed")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
