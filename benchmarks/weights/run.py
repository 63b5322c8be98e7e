"""Learn the weights of the signals and write them, with the figures they were chosen by, where the engine reads them.

    make weights        (python benchmarks/weights/run.py [--data FOLDER] [-o FILE])

A few minutes. Each source is left out in turn: weights learned from the others judge it. The weights that are written
are those learned from all. Without recorded calls they are learned from generated families alone, and nothing is
written unless a file is named.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track

# Run as a script, this file's folder is on the path; the package and the modules that it shares lie one above.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from weights.evidence import Row, rows, sources
from weights.fit import KNOT, Weights, learned, recalls, scored

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "src/agentguard/verification/weights.py"


def main(
    data: Annotated[Path, typer.Option(help="Folder of recorded calls.")] = ROOT / "../shared/data",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The table.")] = None,
) -> None:
    """Learn, try on what was left out, write."""
    console = Console(stderr=True)
    plans = sources(data)
    by_source: defaultdict[str, list[Row]] = defaultdict(list)
    with ProcessPoolExecutor(max(1, min(os.cpu_count() or 1, 8))) as processes:
        done = processes.map(rows, plans)
        for plan, found in track(zip(plans, done, strict=True), "judging", len(plans), console=console):
            by_source[plan.name] += found
    left_out = {}
    for name, own in track(by_source.items(), "leaving one source out", console=console):
        others = {other: found for other, found in by_source.items() if other != name}
        if others:
            by_kind = recalls(own, scored(own, learned(others)))
            left_out[name] = {**{kind: round(recall, 3) for kind, recall in by_kind.items()},
                              "mean": round(sum(by_kind.values()) / len(by_kind), 3)}  # fmt: skip
            console.print(f"{name:24} {left_out[name]['mean']:.3f}")
    weights = learned(by_source)
    for name, (silence, against, beyond) in weights.items():
        console.print(f"{name:28} {silence:6.2f} {against:6.2f} {beyond:6.2f}")
    if not any(data.glob("*/*.jsonl.gz")) and output is None:
        console.print("there are no recorded calls: nothing is written")
        raise typer.Exit(1)
    (output or SHIPPED).write_text(_module(weights, {name: len(found) for name, found in by_source.items()}, left_out))


def _module(weights: Weights, calls: dict[str, int], left_out: dict[str, dict[str, float]]) -> str:
    """The table as the engine imports it."""
    rows = [
        f'        "{name}": ({silence}, {against}, {beyond}),' for name, (silence, against, beyond) in weights.items()
    ]
    sources = [
        f'        "{name}": ({count}, {left_out[name]["mean"] if name in left_out else None}),'
        for name, count in calls.items()
    ]
    return "\n".join(
        [
            '"""What each signal counts for, learned by ``make weights`` (benchmarks/weights); not edited by hand."""',
            "",
            "from __future__ import annotations",
            "",
            "from collections.abc import Mapping",
            "from types import MappingProxyType",
            "from typing import Final",
            "",
            '__all__ = ["KNOT", "SOURCES", "WEIGHTS"]',
            "",
            f"KNOT: Final = {KNOT}  # nats",
            "",
            "#: By signal the weight of silence, of what speaks against the call up to the knot, and of the rest.",
            "WEIGHTS: Mapping[str, tuple[float, float, float]] = MappingProxyType(",
            "    {",
            *rows,
            "    }",
            ")",
            "",
            "#: Calls judged of each source, and the mean recall over its faults at .2 to 2% false positives,",
            "#: by weights that were learned from all the others.",
            "SOURCES: Mapping[str, tuple[int, float | None]] = MappingProxyType(",
            "    {",
            *sources,
            "    }",
            ")",
            "",
        ]
    )


if __name__ == "__main__":
    typer.run(main)
