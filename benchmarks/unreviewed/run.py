"""Measures the default engine where nobody reviews, and writes the figures to ``figures.json``.

    python benchmarks/unreviewed/run.py [--part everyday]… [--at-once 2]

Runs the shared programs as they are, each in a process of its own; twelve minutes of CPU. The measurements document
takes the figures from there: `python benchmarks/measurements.py --only unreviewed`. ``--part`` renews some of them.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console

# Run as a script, this file's folder is on the path; the packages and the modules that it shares lie one above.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from detection.faults import FAULTS
from detection.lines import calibration
from detection.measures import cells, false_alarms, recalls, warm
from detection.plan import SEEDS, SHARED_CALLS, SHARED_SEEDS, quick
from detection_runs import ROOT
from lasting.plan import script_report

from unreviewed.section import ALL, CHANGES, CHOSEN, FIGURES, LASTING, ONLY_REPORTED, STUCK, TRIED, Figures

__all__ = ["CURVE", "Variant", "everyday", "main", "single", "stream", "trials"]

PARTS = ("everyday", "changes", "lasting", "stream", "single", "generated", "text")


class Variant(NamedTuple):
    """An engine of the curve: its name there, and ``MODULE:FACTORY`` as the programs take it."""

    label: str
    factory: str


#: The engines of the curve: how many nats more or less they take any change for a fault than the default does.
CURVE: Sequence[Variant] = tuple(
    Variant("default" if nats == "0" else f"{nats} nats", f"benchmarks.engines:doubt_{nats}")
    for nats in ("-1", "-0.5", "0", "+0.5", "+1")
)


def everyday(
    honest: Sequence[Mapping[str, Any]], faulty: Mapping[str, Mapping[str, Sequence[float] | None]]
) -> Figures:
    """The figures of the everyday tools: every third in the order of the program's list is only reported.

    Args:
        honest: the rows of ``everyday.py``.
        faulty: the shares held first and last, by tool and kind of fault, of ``everyday_faults.py``.
    """
    tools = [tool["name"] for tool in honest]
    parts = {
        ALL: set(tools),
        CHOSEN: {name for place, name in enumerate(tools) if place % 3 != 2},
        ONLY_REPORTED: set(tools[2::3]),
    }
    found: Figures = defaultdict(dict)
    for part, names in parts.items():
        mine = [tool for tool in honest if tool["name"] in names]
        found["everyday flagged"][part] = _mean(tool["flagged"] for tool in mine)
        found["everyday over 10%"][part] = sum(tool["flagged"] > 0.10 for tool in mine)
        found["everyday blocked"][part] = _mean(tool["blocked"] for tool in mine)
        for kind in STUCK:
            held = [row[kind] for name, row in faulty.items() if name in names]
            found[f"everyday {kind}"][part] = _mean(shares[1] for shares in held if shares is not None)
    return found


def stream(report: Mapping[str, Mapping[str, float]]) -> Figures:
    """Genuine recorded calls, as means over the files of a source and the worst, of ``detection.py``."""
    found: Figures = defaultdict(dict)
    for part, mine in _parts(report).items():
        for share in ("flagged", "blocked"):
            shares = [one[share] for one in mine.values()]
            found[f"stream {share}"][part] = _mean(shares)
            found[f"stream {share} worst"][part] = max(shares, default=None)
    return found


def single(report: Mapping[str, Mapping[str, Any]]) -> Figures:
    """Mean recall over the kinds of single faults, their calls weighted alike as ``faults.py`` does it."""
    found: Figures = defaultdict(dict)
    for part, mine in _parts({name: one for name, one in report.items() if name != "all"}).items():
        kinds: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        for one in mine.values():
            for kind, got in one.items():
                if kind != "genuine":
                    kinds[kind].append((got["n"], got["low"]))
        found["single macro"][part] = _mean(
            sum(n * low for n, low in got) / sum(n for n, _ in got) for got in kinds.values()
        )
    return found


def trials(
    chosen: Mapping[str, Any], reported: Mapping[str, Any], names: Iterable[str], wanted: Sequence[str]
) -> Figures:
    """What two runs of a program came to, and both together: means by trials, and the worst by ``max``."""
    found: Figures = defaultdict(dict)
    for name in names:
        both = [part[name] for part in (chosen, reported) if name in part]
        for figure in wanted:
            for part, one in ((CHOSEN, chosen), (ONLY_REPORTED, reported)):
                found[f"{name} {figure}"][part] = one.get(name, {}).get(figure)
            known = [(one["trials"], one[figure]) for one in both if one[figure] is not None]
            if figure == "worst":
                found[f"{name} {figure}"][ALL] = max((value for _, value in known), default=None)
            elif known:
                found[f"{name} {figure}"][ALL] = sum(n * value for n, value in known) / sum(n for n, _ in known)
    return found


def generated(console: Console) -> Figures:
    """Generated families: alarms and calibration on all courses, recall of all faults on those that are compared."""
    known, shared = warm(quick(console, SEEDS)), warm(quick(console, SHARED_SEEDS, SHARED_CALLS))
    alarms = false_alarms(known)
    found = [cell for cell in cells(shared) if cell.fault in FAULTS]
    figures = {
        "generated flagged": _mean(one.flagged for one in alarms),
        "generated flagged worst": max(one.flagged for one in alarms),
        "generated recall": _mean(recalls(found, "").values()),
        **{f"calibration {k}": line.figure for k, line in enumerate(calibration(known))},
    }
    return {name: {ALL: figure} for name, figure in figures.items()}


def text(case: Path) -> Figures:
    """Reads of this project's own files, by the case that counts what is said of them."""
    ended = subprocess.run([sys.executable, str(case), str(ROOT)], stdout=subprocess.PIPE, text=True, check=False)
    counts: dict[str, int] = ast.literal_eval(ended.stdout.splitlines()[-1])
    reads = sum(counts.values())
    return {f"text {word}": {ALL: counts.get(word, 0) / reads} for word in ("flag", "block")}


def main(
    part: Annotated[list[str] | None, typer.Option(help=f"Only this part: {', '.join(PARTS)}. Repeatable.")] = None,
    at_once: Annotated[int, typer.Option(help="Programs at the same time.")] = 2,
    data: Annotated[Path, typer.Option(help="Folder of recorded calls.")] = ROOT / "../shared/data",
    programs: Annotated[Path, typer.Option("--eval", help="Folder of the programs.")] = ROOT / "../shared/eval",
) -> None:
    """Measure and record."""
    if set(part or ()) - set(PARTS):
        raise typer.BadParameter(f"there are {', '.join(PARTS)}", param_hint="--part")
    console = Console(stderr=True)
    kept = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {"figures": {}, "curve": []}
    figures, points = kept["figures"], []

    def report(name: str, *words: object) -> Any:
        console.print(name, *(os.path.basename(str(word)) for word in words), highlight=False)
        with tempfile.TemporaryDirectory() as folder:
            written = Path(folder) / "report.json"
            command = [sys.executable, str((programs / name).resolve()), *map(str, words), "--json", str(written)]
            subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
            return json.loads(written.read_text(encoding="utf-8"))

    with _divided(data) as (chosen, reported), ThreadPoolExecutor(at_once) as runs:

        def curve() -> Figures:
            jobs = [
                (variant, runs.submit(report, "everyday.py", *given), runs.submit(report, "everyday_faults.py", *given))
                for variant in CURVE
                for given in [("--engine", variant.factory)]
            ]
            for variant, honest, faulty in jobs:
                got = everyday(honest.result()["tools"], faulty.result())
                held = {
                    where: _mean(got[f"everyday {kind}"][where] for kind in STUCK) for where in (CHOSEN, ONLY_REPORTED)
                }
                points.append({"label": variant.label, "flagged": got["everyday flagged"], "held": held})
                if variant.label == "default":
                    default = got
            return default

        def changes() -> Figures:
            first, second = (runs.submit(report, "changes.py", half) for half in (chosen, reported))
            return trials(first.result(), second.result(), CHANGES, ("flagged", "blocked", "worst"))

        def lasting() -> Figures:
            first, second = (script_report(programs / "lasting.py", half) for half in (chosen, reported))
            return trials(first.report or {}, second.report or {}, LASTING, ("held", "retried", "after"))

        parts: dict[str, Callable[[], Figures]] = {
            "everyday": curve,
            "changes": changes,
            "lasting": lasting,
            "stream": lambda: stream(report("detection.py", data.resolve(), "--tasks", "stream")["stream"]),
            "single": lambda: single(report("faults.py", data.resolve())),
            "generated": lambda: generated(console),
            "text": lambda: text(programs.parent / "cases" / "34_text_is_not_blocked.py"),
        }
        for name in part or PARTS:
            figures |= parts[name]()
            record = {"figures": figures, "curve": points or kept["curve"]}
            FIGURES.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")


@contextmanager
def _divided(data: Path) -> Iterator[tuple[Path, Path]]:
    """Two folders of recorded calls: the sources that choices were made on, and those that are only reported."""
    with tempfile.TemporaryDirectory() as folder:
        halves = Path(folder, "chosen"), Path(folder, "reported")
        for half in halves:
            half.mkdir()
        for source in data.resolve().iterdir():
            (halves[source.name in TRIED] / source.name).symlink_to(source)
        yield halves


def _parts(report: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What a program says by source and file, in the sources that choices were made on and the others."""
    reported = {name: one for name, one in report.items() if name.partition("/")[0] in TRIED}
    chosen = {name: one for name, one in report.items() if name not in reported}
    return {ALL: dict(report), CHOSEN: chosen, ONLY_REPORTED: reported}


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


if __name__ == "__main__":
    typer.run(main)
