"""Single faults in a running stream, and what the weights of the signals were chosen by, for the measurements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from detection_runs import Outcome, Plan, command, run
from document import Section
from engines import FAMILIES
from goals import Goal, as_score
from rich.console import Console
from rich.progress import track
from tables import Line, judged, markdown

from agentguard.verification.weights import SOURCES, WEIGHTS

from .evidence import Row, Source, rows, rows_without, sources
from .fit import learned, recalls, scored

__all__ = ["section"]

#: Mean recall at .2, .5, 1 and 2% false positives, by kind of fault, as the design asks for.
GOALS = {
    "macro": 0.62, "swapped_args": 0.85, "swapped_tool": 0.95, "truncated": 0.95, "mixed": 0.65, "scaled": 0.65,
    "recoded": 0.85, "negated": 0.45, "shifted": 0.45, "foreign_row": 0.60, "lost_rows": 0.40, "stale_read": 0.40,
}  # fmt: skip
RUNS = (Plan("default mode", ()), Plan("changes adopted", ("--engine", "benchmarks.engines:reviewed")))
WITHOUT = tuple(Plan(family, ("--engine", f"benchmarks.engines:without_{family}")) for family in FAMILIES)


def section(console: Console, script: Path, data: Path) -> Section:
    """Run the script, and learn the weights again without each source and each signal."""
    outcomes = {plan.name: run(plan, script, data) for plan in track(RUNS, "single faults", console=console)}
    commands = "\n".join(f"- {plan.name}: `{command(plan, script, data)}`" for plan in RUNS)
    parts = [
        "## Single faults in a running stream",
        "Eleven kinds of single faults made of recorded calls, judged beside the genuine call and not learned; the "
        "mean recall at .2, .5, 1 and 2% false positives. *Changes adopted*: a reviewer takes each change for genuine "
        "that the engine tells of. The weights of the signals were learned from these sources among others, by faults "
        "of other making: what they come to on sources that were left out stands below.\n\n" + commands,
    ]
    lines = []
    for name, outcome in outcomes.items():
        if outcome.report is None:
            parts.append(f"Not measured ({name}): {outcome.missing}.")
            continue
        found = outcome.report["all"]
        lines += [
            Line((name, kind), found[kind]["low"], Goal("at least", goal, as_score)) for kind, goal in GOALS.items()
        ]
    if lines:
        parts += [judged(("engine", "fault"), lines), _alarms(outcomes["default mode"])]
    if data.is_dir():
        parts.append(_by_family(console, script, data, outcomes["changes adopted"]))
    parts += ["### Weights", _weights_table()]
    if data.is_dir():
        parts.append(_left_out(console, data))
    return Section(parts, lines)


def _by_family(console: Console, script: Path, data: Path, whole: Outcome) -> str:
    """What each family of relations adds to the recall of each kind, with the weights as they are."""
    outcomes = {
        plan.name: run(plan, script, data) for plan in track(WITHOUT, "leaving one family out", console=console)
    }
    all_in = (whole.report or {}).get("all", {})
    rows = [
        (family, *(f"{100 * (all_in[kind]['low'] - outcome.report['all'][kind]['low']):+.1f}" for kind in GOALS))
        for family, outcome in outcomes.items()
        if outcome.report is not None and all_in
    ]
    return (
        "Points that each family of relations adds where changes are adopted, with the weights as they are "
        f"(`{command(WITHOUT[0], script, data)}` and so on):\n\n" + markdown(("family", *GOALS), rows)
    )


def _alarms(outcome: Outcome) -> str:
    report: dict[str, Any] = outcome.report or {}
    genuine = [(name, found["genuine"]) for name, found in report.items() if "genuine" in found]
    return markdown(
        ("source", "genuine calls", "flagged or blocked", "blocked"),
        [(name, f"{one['n']:,}", f"{one['flagged']:.1%}", f"{one['blocked']:.1%}") for name, one in genuine],
    )


def _weights_table() -> str:
    header = ("signal", "of silence", "up to 2.5 nats against", "beyond")
    table = markdown(header, [(name, *(f"{weight:g}" for weight in weights)) for name, weights in WEIGHTS.items()])
    shown = markdown(
        ("source", "calls", "mean recall, learned from the others"),
        [(name, f"{calls:,}", as_score(recall)) for name, (calls, recall) in SOURCES.items()],
    )
    return f"{table}\n\nLearned by `make weights`; each source judged by weights from all others:\n\n{shown}"


def _left_out(console: Console, data: Path) -> str:
    """What each signal, and each family of relations, adds on sources that the weights have not seen."""
    plans = sources(data)
    by_source = _judged(console, "judging", plans, rows)
    whole = _unseen(by_source)
    table = []
    for name in track(sorted(WEIGHTS), "leaving one signal out", console=console):
        without = {source: [_without(row, name) for row in found] for source, found in by_source.items()}
        rest = _unseen(without)
        table.append((name, as_score(rest), f"{100 * (whole - rest):+.1f}"))
    families = []
    for family in FAMILIES:
        rest = _unseen(_judged(console, f"judging without {family}", plans, partial(rows_without, family=family)))
        families.append((family, as_score(rest), f"{100 * (whole - rest):+.1f}"))
    header = ("without", "mean recall on sources left out", "points that it adds")
    return (
        f"With all signals the mean over the sources is {as_score(whole)}; learned anew without one:\n\n"
        f"{markdown(header, table)}\n\nJudged and learned anew without one family of relations:\n\n"
        f"{markdown(header, families)}"
    )


def _judged(
    console: Console, what: str, plans: list[Source], judge: Callable[[Source], list[Row]]
) -> dict[str, list[Row]]:
    """The rows of all sources, by the source's name."""
    by_source: defaultdict[str, list[Row]] = defaultdict(list)
    with ProcessPoolExecutor(2) as processes:
        done = processes.map(judge, plans)
        for plan, found in track(zip(plans, done, strict=True), what, len(plans), console=console):
            by_source[plan.name] += found
    return by_source


def _without(row: Row, name: str) -> Row:
    return row._replace(nats={signal: nats for signal, nats in row.nats.items() if signal != name})


def _unseen(by_source: dict[str, list[Row]]) -> float:
    """The mean over the sources of the mean recall over their faults, by weights learned from all the others."""
    means = []
    for name, own in by_source.items():
        weights = learned({other: found for other, found in by_source.items() if other != name})
        by_kind = recalls(own, scored(own, weights))
        means.append(sum(by_kind.values()) / len(by_kind))
    return sum(means) / len(means)
