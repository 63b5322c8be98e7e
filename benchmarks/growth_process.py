"""What a whole process takes: to start, and to replay a log."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from growth_peak import peak_bytes
from growth_shapes import SHAPES
from workload import Call

__all__ = [
    "ENGINE",
    "HEAVY",
    "MANY",
    "READ_BY",
    "REPLAYED",
    "STARTED",
    "Replay",
    "Starts",
    "measure_many",
    "measure_replay",
    "measure_starts",
]

INTERPRETERS = 15
HEAVY = (
    "numpy", "scipy", "pandas", "torch", "langchain", "langchain_core", "langgraph", "mcp", "agents", "pydantic_ai",
)  # fmt: skip
ENGINE = "from agentguard.verification import VerificationEngine"
#: What users start first, and the words behind ``python``; the program is run as its script runs it.
STARTED = {
    "import agentguard": ("-c", "import agentguard"),
    ENGINE: ("-c", ENGINE),
    "agentguard --version": ("-m", "agentguard", "--version"),
    "agentguard --help": ("-m", "agentguard", "--help"),
}
REPLAYED = (10_000, 20_000, 40_000)
MANY = (25_000, 100_000)  # tools of one call each: far more than an engine keeps in memory
READ_BY = ("replay", "report")
MIX = ("records, 1 KB", "new arguments in every call", "prose", "keyed text")

Advance = Callable[[int], object]


class Starts(NamedTuple):
    """Medians over fresh processes in turns, in seconds.

    Attributes:
        bare: an interpreter that starts and does nothing.
        whole: by what is started (``STARTED``), from start to exit.
        loaded: the heavy packages that ``import agentguard`` loads.
    """

    bare: float
    whole: dict[str, float]
    loaded: list[str]

    def own(self, name: str) -> float:
        """What a start takes; of an import, what it adds to an interpreter that does nothing."""
        return self.whole[name] - (self.bare if "import " in name else 0.0)


class Replay(NamedTuple):
    """One reading of a log: rows, wall seconds from start to exit, largest resident bytes (None where not known)."""

    rows: int
    seconds: float
    peak: int | None


def measure_starts(advance: Advance = lambda times: None) -> Starts:
    """What is started first, in fresh processes, beside interpreters that do nothing."""
    times: dict[str, list[float]] = {name: [] for name in ("bare", *STARTED)}
    for _ in range(INTERPRETERS):
        for name, taken in times.items():
            start = perf_counter()
            subprocess.run([sys.executable, *STARTED.get(name, ("-c", "pass"))], check=True, stdout=subprocess.DEVNULL)
            taken.append(perf_counter() - start)
        advance(1)
    asked = f"import agentguard, json, sys; print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    said = subprocess.run([sys.executable, "-c", asked], check=True, stdout=subprocess.PIPE, text=True).stdout
    medians = {name: median(taken) for name, taken in times.items()}
    return Starts(medians.pop("bare"), medians, json.loads(said))


def measure_replay(advance: Advance = lambda rows: None) -> list[Replay]:
    """``agentguard replay`` on generated logs of several lengths."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in REPLAYED:
            log = Path(folder) / f"{rows}.jsonl"
            with log.open("w", encoding="utf-8") as out:
                out.writelines(json.dumps(row) + "\n" for row in islice(_rows(), rows))
            found.append(_read("replay", log, rows))
            advance(rows)
    return found


def measure_many(advance: Advance = lambda rows: None) -> dict[str, list[Replay]]:
    """The commands that read a log, on logs in which every call is of another tool."""
    found: dict[str, list[Replay]] = {command: [] for command in READ_BY}
    with tempfile.TemporaryDirectory() as folder:
        for tools in MANY:
            log = Path(folder) / f"{tools}.jsonl"
            with log.open("w", encoding="utf-8") as out:
                out.writelines(
                    json.dumps({"tool": f"tool_{n}", "args": {"id": n}, "result": {"id": n, "name": f"name {n}"}})
                    + "\n"
                    for n in range(tools)
                )
            for command in READ_BY:
                found[command].append(_read(command, log, tools))
                advance(tools)
    return found


def _rows() -> Iterator[dict[str, Any]]:
    """Calls of four tools in turn, results written as most logs have them: as text."""
    streams = [shape.calls() for shape in SHAPES if shape.name in MIX]
    while True:
        for place, stream in enumerate(streams):
            yield _row(f"tool_{place}", next(stream))


def _row(tool: str, call: Call) -> dict[str, Any]:
    result = call.result if isinstance(call.result, str) else json.dumps(call.result)
    return {
        "session_id": call.session, "tool": tool, "args": call.args, "result": result, "latency_ms": call.ms,
        "label": "genuine",
    }  # fmt: skip


def _read(command: str, log: Path, rows: int) -> Replay:
    start = perf_counter()
    words = [sys.executable, str(Path(__file__).resolve()), command, str(log)]
    said = subprocess.run(words, check=True, capture_output=True, text=True)
    seconds = perf_counter() - start
    calls = json.loads(said.stdout)["calls"]
    assert calls == rows, f"{calls} of {rows} rows were read"
    return Replay(rows, seconds, json.loads(said.stderr.splitlines()[-1]))


def _read_here(command: str, log: str) -> None:
    """The command as anyone gives it; the last line on standard error is the largest size of the process."""
    from agentguard.cli import main

    output = ["--output", f"{log}.html"] if command == "report" else []
    sys.argv = ["agentguard", command, log, "--json", *output]
    try:
        main()
    finally:
        print(json.dumps(peak_bytes()), file=sys.stderr)


if __name__ == "__main__":
    _read_here(*sys.argv[1:])
