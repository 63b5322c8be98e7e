"""Instructions that one call of ``verify`` takes: a measure that the load of the machine does not move.

``python benchmarks/instructions.py`` counts them under valgrind and prints them beside those on record; it ends with 1
where a workload takes more than 3% more. ``--record`` puts what was counted on record, in ``instructions.json``: by
Python, processor and build, for they are not comparable. It measures the agentguard of the interpreter that runs it.
"""

from __future__ import annotations

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

from race import FORMS, build, stream_of
from workload import PROFILE, TOOL, Call

from agentguard.verification import VerificationEngine

RECORD = Path(__file__).with_name("instructions.json")
WARM, COUNTED = 500, 100  # calls
# Of what is on record. Chance (addresses, the collector's turns) moves the count of 1 KB by a hundredth; that of 50 KB
# by a third, for making the calls takes a thousand times what judging them does.
WORSE = 0.03
_COUNT = re.compile(r"I\s+refs:\s+([\d,]+)")


def main(words: list[str]) -> int:
    """Count, print, compare; the exit code."""
    if words[:1] == ["--judge"]:
        judge(words[1], int(words[2]))
        return 0
    if shutil.which("valgrind") is None:
        print("instructions: valgrind is not there: apt-get install valgrind", file=sys.stderr)
        return 2
    python = f"{platform.python_implementation()} {sys.version_info[0]}.{sys.version_info[1]}"
    here = f"{python}, {platform.machine()}, {build()}"
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
    """Instructions a call: those of a run with some calls more, less those of one without."""
    return (_instructions(form, COUNTED) - _instructions(form, 0)) // COUNTED


def _instructions(form: str, calls: int) -> int:
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    command = [*valgrind, sys.executable, "-E", str(Path(__file__).resolve()), "--judge", form, str(calls)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": "0"})
    found = _COUNT.search(run.stderr)
    if found is None:
        raise SystemExit(f"instructions: valgrind has told no count: {run.stderr[-500:]}")
    return int(found[1].replace(",", ""))


def judge(form: str, calls: int) -> None:
    """Judge so many calls of a warm tool; all calls are made beforehand, judged or not."""
    engine = VerificationEngine()
    engine.register_tool_profile(TOOL, **PROFILE, echoes={"query": "query"})
    made: list[Any] = json.loads(json.dumps(list(islice(stream_of(form), WARM + COUNTED))))
    gc.collect()
    gc.freeze()  # the collector's turns are part of a call, and what was made here is not
    for fields in made[: WARM + calls]:
        call = Call(*fields)
        engine.verify(TOOL, args=call.args, result=call.result, execution_time_ms=call.ms, session_id=call.session)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
