"""Measures the verdicts on IFEval's instructions against its reference checker's strict ones, by instruction.

    python benchmarks/content/ifeval.py [--data FOLDER]

Answers whose number leaves 2 when divided by 3 were looked at once, at the end.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from agentguard.content.answers.compliance import check

__all__ = ["figures", "main"]

DATA = Path(__file__).resolve().parents[2] / "../shared/data"
PROMPTS, RESPONSES = "ifeval/prompts.jsonl.gz", "ifeval/responses.jsonl.gz"
PARTS = ("design", "held out")


def figures(data: Path = DATA) -> list[dict[str, Any]]:
    """For each instruction, and for all: verdicts, the share that agree, those left open. Empty without the data."""
    if not (data / RESPONSES).is_file():
        return []
    prompts = {row["prompt_sha"]: row for row in _rows(data / PROMPTS)}
    verdicts: Counter[tuple[str, str, bool | None]] = Counter()
    for number, row in enumerate(_rows(data / RESPONSES)):
        prompt = prompts[row["prompt_sha"]]
        results = check(row["response"] or "", list(_rules(prompt))).results
        for result, reference in zip(results, row["followed_strict"], strict=True):
            agrees = None if result.followed is None else result.followed == reference
            for name in (result.rule.type, "all"):
                verdicts[PARTS[number % 3 == 2], name, agrees] += 1
    names = sorted({name for _, name, _ in verdicts} - {"all"})
    return [{"instruction": name} | _agreement(verdicts, name) for name in (*names, "all")]


def _agreement(verdicts: Counter[tuple[str, str, bool | None]], name: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in PARTS:
        right, wrong = verdicts[part, name, True], verdicts[part, name, False]
        found[f"{part}: verdicts"] = right + wrong
        found[f"{part}: agreement"] = right / (right + wrong) if right + wrong else None
        found[f"{part}: left open"] = verdicts[part, name, None]
    return found


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _rules(prompt: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name, parameters in zip(prompt["instruction_ids"], prompt["kwargs"], strict=True):
        given = {key: value for key, value in parameters.items() if value is not None}
        yield {"type": name.removeprefix("en:"), **given}


def main(data: Annotated[Path, typer.Option(help="Folder of recorded data.")] = DATA) -> None:
    """Print the agreement by instruction."""
    console = Console()
    found = figures(data)
    if not found:
        console.print(f"no {RESPONSES} in {data}: nothing measured")
        return
    table = Table(*found[0])
    for row in found:
        table.add_row(*(f"{value:.4f}" if isinstance(value, float) else str(value) for value in row.values()))
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
