"""Draw docs/pictures/verdict.svg: what `agentguard verify` shows of the example of the README, but for what abstains.

Run it as ``python docs/generate/verdict_picture.py``.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

PICTURE = Path(__file__).parents[1] / "pictures" / "verdict.svg"
COLUMNS = 118


def shown() -> str:
    """The command's output, in colour, after sixty orders."""
    orders = [{"order_id": f"W{1000 + n}", "status": "shipped", "total": 20.0 + n} for n in range(60)]
    calls = [_call(order["order_id"], order, 40.0 + n % 7) for n, order in enumerate(orders)]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "log.jsonl").write_text("\n".join(map(json.dumps, calls)), encoding="utf-8")
        Path(folder, "call.json").write_text(json.dumps(_call("W2000", orders[3], 44.0)), encoding="utf-8")
        command = [sys.executable, "-m", "agentguard", "verify", "call.json", "--history", "log.jsonl"]
        environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(COLUMNS)}
        run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    return _of_those_that_speak(run.stdout)


def _of_those_that_speak(output: str) -> str:
    """The output without the signals that abstain, each of which has a line in both tables."""
    lines = output.splitlines()
    words = [Text.from_ansi(line).plain.split() for line in lines]
    silent = {line[0] for line in words if line[2:3] == ["no"]}
    return "\n".join(line for line, said in zip(lines, words, strict=True) if not said or said[0] not in silent)


def _call(asked: object, order: dict[str, object], milliseconds: float) -> dict[str, object]:
    return {"tool": "get_order", "args": {"order_id": asked}, "result": order, "latency_ms": milliseconds}


def draw(output: str) -> str:
    """A terminal with the output, as SVG."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text.from_ansi(output))
    return console.export_svg(title="agentguard verify call.json --history log.jsonl", unique_id="verdict")


if __name__ == "__main__":
    PICTURE.write_text(draw(shown()), encoding="utf-8")
