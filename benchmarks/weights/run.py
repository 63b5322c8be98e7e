"""Learn the weights of signals and of a change's clues; write them, with their figures, where the engine reads them.

    make weights        (python benchmarks/weights/run.py [--data FOLDER] [-o FILE])

Some ten minutes. Each source is left out in turn: weights learned from the others judge it. The weights of signals
that are written are those learned from all. The weights of clues are learned from the sources in ``changes.CHOSEN``;
the other sources, and every third everyday tool, are never chosen on. Without recorded calls the signals' weights are
learned from generated families alone, and nothing is written unless a file is named. ``--changes`` learns the clues'
weights alone.
"""

from __future__ import annotations

import math
import os
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track

# Run as a script, this file's folder is on the path; the package and the modules that it shares lie one above.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from detection.calls import Call

from agentguard.verification import weights as shipped
from weights.changes import AGES, CHOSEN, ChangeRow, areas, change_rows, learned_changes, scores, streams
from weights.evidence import Row, rows, sources
from weights.fit import KNOT, Weights, learned, recalls, scored

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "src/agentguard/verification/weights.py"


def main(
    data: Annotated[Path, typer.Option(help="Folder of recorded calls.")] = ROOT / "../shared/data",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The table.")] = None,
    changes: Annotated[bool, typer.Option("--changes", help="Learn the weights of a change's clues alone.")] = False,
) -> None:
    """Learn, try on what was left out, write."""
    console = Console(stderr=True)
    if not any(data.glob("*/*.jsonl.gz")) and output is None:
        console.print("there are no recorded calls: nothing is written")
        raise typer.Exit(1)
    if changes:
        signals = dict(shipped.WEIGHTS), {name: (count, mean) for name, (count, mean) in shipped.SOURCES.items()}
    else:
        signals = _signals(data, console)
    (output or SHIPPED).write_text(_module(*signals, *_clues(data, console)))


def _clues(data: Path, console: Console) -> tuple[float, dict[str, float], dict[str, list[float]]]:
    """The constant and the weights of a change's clues; by source the areas under the curve, by age."""
    by_source: defaultdict[str, list[ChangeRow]] = defaultdict(list)
    tools = streams(data)
    with ProcessPoolExecutor(max(1, min(os.cpu_count() or 1, 8))) as processes:
        done = processes.map(_rows_of, [(*name, calls) for name, calls in tools.items()])
        for found in track(done, "changing tools", len(tools), console=console):
            for row in found:
                by_source[row.source].append(row)
    chosen = [row for source in CHOSEN for row in by_source[source]]
    if not chosen:  # there are no recorded calls: these weights stay
        sources = {name: list(areas_) for name, areas_ in shipped.CHANGE_SOURCES.items()}
        return shipped.CHANGE_CONSTANT, dict(shipped.CHANGE_WEIGHTS), sources
    constant, weights = learned_changes(chosen)
    left_out: dict[str, list[float]] = {}
    for source, own in sorted(by_source.items()):
        by = (
            learned_changes([row for row in chosen if row.source != source])
            if source in CHOSEN
            else (constant, weights)
        )
        found = areas(own, scores(own, *by))
        left_out[source] = [found[age] for age in AGES if not math.isnan(found[age])]  # some have no change so old
        console.print(f"{source:24} {left_out[source]}")
    return constant, weights, left_out


def _rows_of(tool: tuple[str, str, list[Call]]) -> list[ChangeRow]:
    return list(change_rows(*tool))


def _signals(data: Path, console: Console) -> tuple[Weights, dict[str, tuple[int, float | None]]]:
    """The weights of the signals; by source how many calls there were, and their recall when it was left out."""
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
    figures = {
        name: (len(found), left_out[name]["mean"] if name in left_out else None) for name, found in by_source.items()
    }
    return weights, figures


def _module(
    signals: Weights,
    sources: Mapping[str, tuple[int, float | None]],
    constant: float,
    clues: Mapping[str, float],
    left_out: Mapping[str, Sequence[float]],
) -> str:
    """The tables as the engine imports them."""

    def table(rows: Mapping[str, Any]) -> list[str]:
        return ["    {", *(f'        "{name}": {value},' for name, value in rows.items()), "    }", ")", ""]

    return "\n".join(
        [
            '"""Weights of the signals and of a change\'s clues, learned by ``make weights``; not edited by hand."""',
            "",
            "from __future__ import annotations",
            "",
            "from collections.abc import Mapping",
            "from types import MappingProxyType",
            "from typing import Final",
            "",
            '__all__ = ["CHANGE_CONSTANT", "CHANGE_SOURCES", "CHANGE_WEIGHTS", "KNOT", "SOURCES", "WEIGHTS"]',
            "",
            f"KNOT: Final = {KNOT}  # nats",
            "",
            "#: By signal the weight of silence, of what speaks against the call up to the knot, and of the rest.",
            "WEIGHTS: Mapping[str, tuple[float, float, float]] = MappingProxyType(",
            *table(signals),
            "#: Calls judged of each source, and the mean recall over its faults at .2 to 2% false positives,",
            "#: by weights that were learned from all the others.",
            "SOURCES: Mapping[str, tuple[int, float | None]] = MappingProxyType(",
            *table(sources),
            "#: Nats that a change is a fault before its first call.",
            f"CHANGE_CONSTANT: Final = {constant}",
            "",
            "#: What each clue of a change adds to that, see ``_causes``.",
            "CHANGE_WEIGHTS: Mapping[str, float] = MappingProxyType(",
            *table(clues),
            f"#: By source the area under the curve, faults against genuine changes {', '.join(map(str, AGES))} calls",
            "#: old. The weights were chosen on these, each left out in turn, and on no other source:",
            f"#: {', '.join(CHOSEN)}.",
            "CHANGE_SOURCES: Mapping[str, tuple[float, ...]] = MappingProxyType(",
            *table({name: tuple(found) for name, found in left_out.items()}),
        ]
    )


if __name__ == "__main__":
    typer.run(main)
