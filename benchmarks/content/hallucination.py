"""Measures the hallucination heuristic on HaluEval's general answers, which people labelled.

    python benchmarks/content/hallucination.py [--data FOLDER]

The heuristic reads no facts. Its figures say how far its signs go with people's labels, and no more. Rows whose number
leaves 2 when divided by 3 were looked at once, at the end.
"""

from __future__ import annotations

import gzip
import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from agentguard.content.answers.hallucination import HallucinationRisk, risk

__all__ = ["figures", "main"]

DATA = Path(__file__).resolve().parents[2] / "../shared/data"
ANSWERS = "hallu_halueval/general.jsonl.gz"
PARTS = ("design", "held out")


class Judged(NamedTuple):
    """One answer's risk, and whether people found a hallucination in it."""

    risk: HallucinationRisk
    hallucinated: bool


def figures(data: Path = DATA) -> list[dict[str, Any]]:
    """For each part: AUROC of the score and of each signal, recall and precision from each label on.

    Precision means little without the share of hallucinations, which stands beside it. Empty without the data.
    """
    path = data / ANSWERS
    if not path.is_file():
        return []
    judged: dict[str, list[Judged]] = {part: [] for part in PARTS}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, row in enumerate(map(json.loads, lines)):
            judged[PARTS[number % 3 == 2]].append(Judged(risk(row["response"], row["query"]), row["label"] == 1))
    return [{"part": part, **_figures(answers)} for part, answers in judged.items()]


def _figures(answers: Sequence[Judged]) -> dict[str, Any]:
    yes, no = ([each.risk for each in answers if each.hallucinated is value] for value in (True, False))
    found: dict[str, Any] = {
        "answers": len(answers),
        "hallucinated": len(yes) / len(answers),
        "AUROC": auroc([each.score for each in yes], [each.score for each in no]),
    }
    for signal in answers[0].risk.signals:
        found[f"AUROC {signal}"] = auroc([each.signals[signal] for each in yes], [each.signals[signal] for each in no])
    for label, labels in (("medium", ("medium", "high")), ("high", ("high",))):
        hits, alarms = (sum(each.label in labels for each in part) for part in (yes, no))
        found[f"recall from {label}"] = hits / len(yes)
        found[f"precision from {label}"] = hits / (hits + alarms) if hits + alarms else None
    return found


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The share of pairs in which the positive is higher, ties as halves."""
    ordered = sorted(negative)
    wins = sum(bisect_left(ordered, value) + bisect_right(ordered, value) for value in positive)
    return wins / 2 / len(positive) / len(negative)


def main(data: Annotated[Path, typer.Option(help="Folder of recorded data.")] = DATA) -> None:
    """Print the figures of both parts."""
    console = Console()
    found = figures(data)
    if not found:
        console.print(f"no {ANSWERS} in {data}: nothing measured")
        return
    table = Table("figure", *PARTS)
    for name in list(found[0])[1:]:
        values = (part[name] for part in found)
        table.add_row(name, *("–" if value is None else f"{value:.3g}" for value in values))
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
