"""Times the scan for injections, personal data and credentials beside what others scan with, in one run.

    python benchmarks/content/scan_speed.py [--data FOLDER] [--alone]

Beside it: the detectors of LangChain's PIIMiddleware, presidio's recognisers by pattern, llm-guard's regex scanner with
its own patterns. The last two live in an environment of their own under ``.benchmarks/``, which is made once (some
400 MB). They look for less: no one of them looks for injections, and LangChain for five kinds of personal data.
"""

from __future__ import annotations

import gzip
import json
import random
import string
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from agentguard.content._scanner import Scanner

sys.path.insert(0, str(Path(__file__).parent))

from scan_speed_worker import best_seconds

__all__ = ["growth", "main", "speed", "varied", "varied_speed"]

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "../shared/data"
HOME = ROOT / ".benchmarks" / "scanners"
WORKER = Path(__file__).with_name("scan_speed_worker.py")
INSTALLS = (
    ["presidio-analyzer==2.2.366", "presidio-anonymizer", "structlog"],
    ["--no-deps", "llm-guard==0.3.16"],  # its dependencies hold torch, which its regex scanner does not use
)
INSTALL_SECONDS = 600
KIB = 1024
PROSE = (
    "The committee met on Tuesday to discuss the budget for the coming year. Most members agreed that the library "
    "should stay open on Saturdays, and that the old reading room needs new windows before winter. Nobody waits. "
)
RECORD = '{"title": "Blue kettle", "stock": 14, "price": 32.5, "tags": ["kitchen", "steel"], "added": "2024-05-15"}, '
HOSTILE = {
    "one letter": "a",
    "digits": "0123456789",
    "numbers that are named": "ssn 078051121 aba ",
    "addresses without end": "a://b:",
    "keys without end": "-----BEGIN PRIVATE KEY-----\n",
}
# Characters by lot: each puts the automaton into a state of its own, which is built when it is first reached.
DRAWN = {"any base64": string.ascii_letters + string.digits + "+/", "any characters": string.printable}


WORDS = 4_000  # words of varied prose: as many as two hundred pages of documentation use
NUMBERS = 20_000  # of a table


def varied(size: int, seed: int = 1) -> str:
    """Text of which no part comes again: prose, records, addresses of pages, versions, code and lists, by lot."""
    draw = random.Random(seed)
    syllables = [
        first + second for first in "bcdfghlmnprstvw" for second in ("a", "e", "i", "o", "u", "an", "er", "is")
    ]
    own = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(WORDS)]
    words = [*PROSE.lower().replace(".", "").replace(",", "").split() * 8, *own]
    parts: list[str] = []
    length = 0

    def some(least: int, most: int) -> str:
        return " ".join(draw.choices(words, k=draw.randint(least, most)))

    while length < size:
        name = draw.choice(own)
        number = draw.randint(1, 9_999)
        part = draw.choice(
            (
                f"{some(6, 22).capitalize()}. {some(4, 18).capitalize()}, {some(3, 9)}.\n",
                f"## {some(1, 4).title()}\n\n",
                f"- {some(3, 12)} (`{name}_{number}`)\n",
                f"{name.title()}: {draw.randint(0, 9)}.{draw.randint(0, 40)}.{number}\n",
                f"Requires-Dist: {name}>={draw.randint(0, 9)}.{draw.randint(0, 30)}; extra == '{draw.choice(own)}'\n",
                f"https://{name}.example/{draw.choice(own)}/{number}?{draw.choice(own)}={draw.getrandbits(40):x}\n",
                json.dumps(
                    {"id": draw.getrandbits(30), draw.choice(own): some(1, 6), "on": f"2024-0{number % 9 + 1}-11"}
                ),
                f"def {name}({draw.choice(own)}, *, {draw.choice(own)}={number}):\n    return {draw.choice(own)}\n",
                f"| {name} | {number} | {some(1, 4)} | {draw.random():.4f} |\n",
            )
        )
        parts.append(part)
        length += len(part)
    return "".join(parts)[:size]


def _table(seed: int = 1) -> str:
    """A table of numbers of one to eleven digits."""
    draw = random.Random(seed)
    numbers = [str(draw.randint(1, 10 ** draw.randint(1, 11))) for _ in range(NUMBERS)]
    return "\n".join("\t".join(numbers[row : row + 8]) for row in range(0, NUMBERS, 8))


def varied_speed(kib: int = 2_000) -> list[dict[str, Any]]:
    """Microseconds of processor time per KiB of text that was never seen, in the second half of it.

    The first half makes the automata what they are in a process that has been running.
    """
    text, table, figures = varied(kib * KIB), _table(), []
    for name, scanner, whole, size in (
        ("varied, 1 KiB", Scanner(), text, KIB),
        ("varied, 50 KiB", Scanner(), text, 50 * KIB),
        ("a table of numbers, personal data alone", Scanner(("pii",)), table, 50 * KIB),
    ):
        pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
        middle = len(pieces) // 2
        for piece in pieces[:middle]:
            scanner.scan(piece)
        started = time.process_time()
        for piece in pieces[middle:]:
            scanner.scan(piece)
        seconds = time.process_time() - started
        figures.append({"texts": name, "µs/KiB": 1e6 * seconds / (sum(map(len, pieces[middle:])) / KIB)})
    return figures


def _texts(data: Path) -> dict[str, list[str]]:
    sets = {
        "prose, 1 KiB": [(PROSE * 10)[:KIB]] * 8,
        "prose, 64 KiB": [(PROSE * 400)[: 64 * KIB]],
        "records, 1 KiB": [(RECORD * 20)[:KIB]] * 8,
    }
    path = data / "taubench_traces/calls.jsonl.gz"
    if path.is_file():
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            results = list(dict.fromkeys(json.loads(line)["result"] for line in lines))
        sets["genuine results with personal data"] = results[:60]
    return sets


def _langchain() -> Callable[[str], Any]:
    from langchain.agents.middleware import _redaction

    names = ("email", "credit_card", "ip", "mac_address", "url")
    detectors = [getattr(_redaction, f"detect_{name}") for name in names]
    return lambda text: [detect(text) for detect in detectors]


@contextmanager
def _others() -> Iterator[Callable[[list[str]], dict[str, float]]]:
    """Asks the scanners of the other environment for their seconds."""
    python = HOME / "bin/python"
    complete = HOME / "complete"
    if not complete.is_file():
        print(f"installing {' '.join(INSTALLS[0])} and llm-guard into {HOME.parent.name}/{HOME.name}", file=sys.stderr)
        venv.create(HOME, clear=True, with_pip=True)
        for packages in INSTALLS:
            command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
            subprocess.run(command, check=True, timeout=INSTALL_SECONDS, stdin=subprocess.DEVNULL, stdout=sys.stderr)
        complete.touch()
    process = subprocess.Popen(
        [str(python), "-I", str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    def ask(texts: list[str]) -> dict[str, float]:
        stdin.write(json.dumps(texts) + "\n")
        stdin.flush()
        answer: dict[str, float] = json.loads(stdout.readline() or "{}")
        return answer

    try:
        yield ask
    finally:
        process.communicate()


def speed(data: Path = DATA, alone: bool = False) -> list[dict[str, Any]]:
    """Microseconds per KiB of each scanner on each set of texts, warm, the best of several rounds."""
    contestants: dict[str, Callable[[str], Any]] = {"agentguard": Scanner().scan}
    try:
        contestants["langchain"] = _langchain()
    except ImportError as error:
        print(f"LangChain's detectors are not measured: {error}", file=sys.stderr)
    sets = _texts(data)
    seconds = {
        name: {who: best_seconds(scan, texts) for who, scan in contestants.items()} for name, texts in sets.items()
    }
    if not alone:
        try:
            with _others() as ask:
                for name, texts in sets.items():
                    seconds[name].update(ask(texts))
        except (OSError, subprocess.SubprocessError) as error:
            print(f"presidio and llm-guard are not measured: {type(error).__name__}", file=sys.stderr)
    figures = []
    for name, taken in seconds.items():
        size = sum(len(text.encode()) for text in sets[name]) / KIB
        figures.append({"texts": name, "KiB": size, **{who: 1e6 * each / size for who, each in taken.items()}})
    return figures


def growth(kib: int = 64) -> list[dict[str, Any]]:
    """Microseconds per KiB of a text made against scanners, once as long and four times; the first scan of each."""
    scanner, figures, draw = Scanner(), [], random.Random(1)
    scanner.scan("compiled by now")
    for name in (*HOSTILE, *DRAWN):
        figure: dict[str, Any] = {"text": name}
        for times in (1, 4):
            size = times * kib * KIB
            text = "".join(draw.choices(DRAWN[name], k=size)) if name in DRAWN else (HOSTILE[name] * size)[:size]
            started = time.perf_counter()
            scanner.scan(text)
            figure[f"{times * kib} KiB"] = 1e6 * (time.perf_counter() - started) / (times * kib)
        figures.append(figure)
    return figures


def main(
    data: Annotated[Path, typer.Option(help="Folder of recorded data.")] = DATA,
    alone: Annotated[bool, typer.Option(help="Leave out what needs an environment of its own.")] = False,
) -> None:
    """Measure, and print the figures."""
    console = Console()
    for title, figures in (
        ("µs per KiB, text that was never seen", varied_speed()),
        ("µs per KiB", speed(data, alone)),
        ("µs per KiB, hostile texts", growth()),
    ):
        columns = list(dict.fromkeys(name for figure in figures for name in figure))
        table = Table(*columns, title=title)
        for figure in figures:
            cells = (figure.get(name, "") for name in columns)
            table.add_row(*(f"{cell:,.1f}" if isinstance(cell, float) else str(cell) for cell in cells))
        console.print(table)


if __name__ == "__main__":
    typer.run(main)
