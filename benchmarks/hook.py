"""The time that a tool call waits for a coding agent's hook: the whole process, from its start to its end.

    python benchmarks/hook.py

The command that ``agentguard hook install`` writes, run through a shell as an agent runs it, with a helper that is up;
beside it the interpreter that starts and does nothing, the first call, which starts the helper, and a process that
loads the engine for each call, as on Windows. The three take turns, so that another load of the machine meets them all.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from document import Section
from goals import Goal
from tables import Line, judged

from agentguard.hooks import HookSettings, install, place_of, remove

__all__ = ["Times", "measure", "section"]

COMMAND = "python benchmarks/hook.py"
TURNS = 200
SIZES = (200, 10_000, 1_000_000)  # characters of what a command wrote


def _milliseconds(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.0f} ms"


MOST = Goal("at most", 100.0, _milliseconds)


class Times(NamedTuple):
    """Milliseconds of whole processes, in ascending order; of the first call one figure."""

    floor: Sequence[float]
    hook: Sequence[float]
    alone: Sequence[float]
    first: float


def measure(size: int, turns: int = TURNS) -> Times:
    """Time calls whose result has so many characters."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        place = place_of("claude", base, base / "state", user=False)
        install(place, HookSettings(agent="claude", store=str(base / "store"), enforce=True))
        try:
            hooks = json.loads(place.file.read_bytes())["hooks"]
            command = ["/bin/sh", "-c", hooks["PostToolUse"][0]["hooks"][0]["command"]]
            nothing = ["/bin/sh", "-c", shlex.join([sys.executable, "-I", "-S", "-c", "pass"])]
            without = [sys.executable, "-I", "-m", "agentguard.hooks", str(place.folder), "claude", "open"]
            first = _time(command, size, 0)
            floor, hook, alone = [], [], []
            for turn in range(1, turns + 1):
                floor.append(_time(nothing, size, turn))
                hook.append(_time(command, size, turn))
                if turn % 20 == 0:
                    alone.append(_time(without, size, turn))
        finally:
            remove(place)
    return Times(sorted(floor), sorted(hook), sorted(alone), first)


def section(turns: int = TURNS) -> Section:
    """The figures as a section of the measurements document."""
    lines, first, alone = [], 0.0, 0.0
    for size in SIZES:
        times = measure(size, turns)
        first, alone = max(first, times.first), max(alone, _at(times.alone, 0.5))
        for name, share in (("median", 0.5), ("95th percentile", 0.95)):
            cells = (f"{size:,} characters", name, _milliseconds(_at(times.floor, share)))
            lines.append(Line(cells, _at(times.hook, share), MOST))
    text = [
        "## A hook of a coding agent",
        f"`{COMMAND}`",
        f"The whole process of a `PostToolUse` hook, {turns} calls of a command's output, beside an interpreter that "
        f"starts and does nothing. The first call, which starts the helper, took {first:.0f} ms at most; without a "
        f"helper, as on Windows, each call takes {alone:.0f} ms.",
        judged(("a result of", "of the calls", "`python -I -S -c pass`"), lines),
    ]
    return Section(text, lines)


def _time(command: Sequence[str], size: int, turn: int) -> float:
    payload = json.dumps(_event(size, turn)).encode()
    start = perf_counter()
    done = subprocess.run(command, input=payload, capture_output=True, check=True)
    took = 1e3 * (perf_counter() - start)
    assert done.stdout == b"", done.stdout
    return took


def _event(size: int, turn: int) -> dict[str, Any]:
    line = f"tests/test_{turn}.py::test_it PASSED\n"
    output = {"stdout": line * (size // len(line)), "stderr": "", "interrupted": False}
    return {
        "session_id": "s1", "transcript_path": "/t", "cwd": "/", "hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_input": {"command": f"pytest tests/test_{turn}.py"}, "tool_response": output,
        "tool_use_id": f"toolu_{turn}", "duration_ms": 900,
    }  # fmt: skip


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[int(share * (len(ordered) - 1))]


if __name__ == "__main__":
    print("\n\n".join(section().text))
