"""Measures JSON repair: exact values where the meant value is known, and that nothing crashes.

    python benchmarks/content/json_repairs.py [--data FOLDER]

Three sets: the cases of the json-repair library's own tests that ask for no schema, log or stream (its authors' idea of
what was meant), broken answers of a model with the value that was meant, and JSONTestSuite, whose texts are valid, not
valid, or left to the parser. Rows whose number leaves 2 when divided by 3 were looked at once, at the end.
"""

from __future__ import annotations

import base64
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from agentguard.content.json_repair import repair

__all__ = ["figures", "main"]

DATA = Path(__file__).resolve().parents[2] / "../shared/data"
SETS = ("json_repair_tests", "llm_malformed", "jsontestsuite")
PARTS = ("design", "held out")
OTHER_FEATURES = {"schema", "logging", "stream_stable", "schema_repair_mode"}
UNKNOWN = object()


class Case(NamedTuple):
    """One text; the value that was meant, or ``UNKNOWN``."""

    text: str
    meant: Any


def figures(data: Path = DATA) -> list[dict[str, Any]]:
    """For each set and part: texts, crashes, exact values among those known, labels. Empty without the data."""
    found: list[dict[str, Any]] = []
    for name in SETS:
        path = data / "json_repair" / f"{name}.jsonl.gz"
        if not path.is_file():
            continue
        found += [{"set": name, "part": part} | _figures(_cases(path, name, part)) for part in PARTS]
    return found


def _figures(cases: Iterator[Case]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    for case in cases:
        counts["texts"] += 1
        try:
            repaired = repair(case.text)
        except Exception as error:
            counts["crashes"] += 1
            sys.stderr.write(f"crash: {type(error).__name__}\n")
            continue
        counts[repaired.label] += 1
        if case.meant is not UNKNOWN:
            counts["known"] += 1
            value = repaired.value if repaired.valid else ""
            counts["exact"] += value == case.meant
            counts["but for blanks"] += _trimmed(value) == _trimmed(case.meant)
    return {
        "texts": counts["texts"],
        "crashes": counts["crashes"],
        "values known": counts["known"],
        "exact": counts["exact"] / counts["known"] if counts["known"] else None,
        "exact but for blanks": counts["but for blanks"] / counts["known"] if counts["known"] else None,
        **{label: counts[label] for label in ("valid", "repaired", "failed")},
    }


def _trimmed(value: Any) -> Any:
    """A value without the blanks at the ends of its strings, which a repair may keep or drop."""
    if isinstance(value, dict):
        return {_trimmed(key): _trimmed(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_trimmed(inner) for inner in value]
    return value.strip() if isinstance(value, str) else value


def _cases(path: Path, name: str, part: str) -> Iterator[Case]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, row in enumerate(map(json.loads, lines)):
            if PARTS[number % 3 == 2] == part:
                yield from _case(row, name)


def _case(row: dict[str, Any], name: str) -> Iterator[Case]:
    if name == "jsontestsuite":
        text = row["text"] if row["text"] is not None else base64.b64decode(row["b64"]).decode("utf-8", "replace")
        yield Case(text, json.loads(text) if row["expect"] == "accept" else UNKNOWN)
    elif name == "llm_malformed":
        yield Case(row["broken"], UNKNOWN if row["expected"] is None else row["expected"])
    elif not any(row["kwargs"].get(feature) for feature in OTHER_FEATURES):
        meant = row["expected"]
        if isinstance(meant, str) and meant and not row["kwargs"].get("return_objects"):
            meant = json.loads(meant)
        yield Case(row["broken"], meant)


def main(data: Annotated[Path, typer.Option(help="Folder of recorded data.")] = DATA) -> None:
    """Print the figures by set and part."""
    console = Console()
    found = figures(data)
    if not found:
        console.print(f"no json_repair sets in {data}: nothing measured")
        return
    table = Table(*found[0])
    for row in found:
        table.add_row(*(f"{value:.4f}" if isinstance(value, float) else str(value) for value in row.values()))
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
