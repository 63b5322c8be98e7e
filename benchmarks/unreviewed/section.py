"""The section on the default engine with nobody reviewing, from the figures on record."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from document import Section
from goals import Goal, as_fraction, as_score, as_share
from tables import Line, judged, markdown

__all__ = [
    "ALL", "CHANGES", "CHOSEN", "FIGURES", "GOALS", "LASTING", "ONLY_REPORTED", "STUCK", "TRIED", "Figures", "section",
]  # fmt: skip

COMMAND = "python benchmarks/unreviewed/run.py"
FIGURES = Path(__file__).with_name("figures.json")
#: Parts of the data: everything, what choices were made on, and what was only reported.
ALL, CHOSEN, ONLY_REPORTED = "all", "chosen on", "only reported"
#: Sources that no choice was made on.
TRIED = ("agentdojo_traces", "mcp_recorded")
#: A figure by name, and by the part of the data.
Figures = dict[str, dict[str, Any]]

STAYING = ("frozen", "null", "placeholder", "marked", "truncated", "empty", "prose")
LASTING = {**dict.fromkeys(STAYING, 0.93), "dropped": 0.85, "scaled": 0.70}
STUCK = {"stuck": 0.90, "mock": 0.97, "truncated": 0.95, "nulls": 0.97, "emptied": 0.99, "tenant": 0.70}
MILD = ("new_constant", "new_varying", "shorter", "new_state", "dates", "slower", "faster")
SHARP = ("renamed", "stringly", "wrapped", "prefaced")
CHANGES = (*MILD, *SHARP)


class Row(NamedTuple):
    """A row of the table: its words, its goal, and the figures in the record of which it shows the worst."""

    what: str
    goal: Goal
    names: Sequence[str]

    def figure(self, figures: Figures, part: str) -> float | None:
        known = [found for name in self.names if (found := figures.get(name, {}).get(part)) is not None]
        return (max if self.goal.kind == "at most" else min)(known, default=None)


def _count(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.0f}"


def _hundredths(figure: float | None) -> str:
    return "–" if figure is None else f"{100 * figure:.2f}%"


def _most(what: str, bound: float, *names: str, show: Callable[[float | None], str] = as_share) -> Row:
    return Row(what, Goal("at most", bound, show), names)


def _least(what: str, bound: float, *names: str) -> Row:
    return Row(what, Goal("at least", bound, as_score), names)


GOALS: Sequence[Row] = (
    _most("recorded calls, genuine, not accepted: mean", 0.013, "stream flagged"),
    _most("… the worst file", 0.03, "stream flagged worst"),
    _most("… blocked: mean", 0.004, "stream blocked"),
    _most("… the worst file", 0.01, "stream blocked worst"),
    _most("everyday tools, not accepted: mean", 0.01, "everyday flagged"),
    _most("… tools of which more than 10% are not", 0, "everyday over 10%", show=_count),
    _most("… blocked: mean", 0.0025, "everyday blocked", show=_hundredths),
    *(_most(f"genuine change, {kind}: next 100 calls flagged", 0.06, f"{kind} flagged") for kind in MILD),
    *(_most(f"genuine change, {kind}: next 100 calls flagged", 0.12, f"{kind} flagged") for kind in SHARP),
    _most("… the worst trial of these four", 0.30, *(f"{kind} worst" for kind in SHARP)),
    _most("… blocked, the worst kind of all", 0.01, *(f"{kind} blocked" for kind in CHANGES)),
    *(_least(f"fault that stays, {kind}: held", bound, f"{kind} held") for kind, bound in LASTING.items()),
    _least("… retried, the worst kind but dropped and scaled", 1.0, *(f"{kind} retried" for kind in STAYING)),
    _most("… after, the worst kind but dropped and scaled", 0.03, *(f"{kind} after" for kind in STAYING)),
    *(_least(f"everyday tool at fault, {kind}: last 20 of 40 held", bound, f"everyday {kind}")
      for kind, bound in STUCK.items()),
    _least("single faults in a stream, mean over kinds", 0.62, "single macro"),
    _most("files read as an agent reads them: blocked", 0.0, "text block"),
    _most("… flagged", 0.003, "text flag"),
    _most("generated families, not accepted: mean", 0.013, "generated flagged"),
    _most("… the worst", 0.04, "generated flagged worst"),
    _least("… recall at 1%, all faults", 0.70, "generated recall"),
    _most("calibration error, 2% wrong", 0.010, "calibration 0", show=as_fraction),
    _most("… 5% wrong", 0.012, "calibration 1", show=as_fraction),
    _most("… 15% wrong", 0.015, "calibration 2", show=as_fraction),
)  # fmt: skip
#: Has a goal of its own for what was only reported.
UNSEEN = _least("single faults, sources that were only reported", 0.58, "single macro")


def section() -> Section:
    """The section of the measurements document, from the record."""
    heading = "## The default, with nobody reviewing"
    if not FIGURES.exists():
        return Section([heading, f"Not measured: `{COMMAND}`."])
    record = json.loads(FIGURES.read_text(encoding="utf-8"))
    figures: Figures = record["figures"]
    lines = [
        Line((row.what, *(row.goal.show(row.figure(figures, part)) for part in (CHOSEN, ONLY_REPORTED))),
             row.figure(figures, ALL), row.goal)
        for row in GOALS
    ]  # fmt: skip
    unseen = UNSEEN.figure(figures, ONLY_REPORTED)
    lines.append(Line((UNSEEN.what, "–", UNSEEN.goal.show(unseen)), unseen, UNSEEN.goal))
    curve = [
        (point["label"], *(show(point[figure].get(part)) for part in (CHOSEN, ONLY_REPORTED)
                           for figure, show in (("flagged", as_share), ("held", as_score))))
        for point in record["curve"]
    ]  # fmt: skip
    header = [f"{figure}, {part}" for part in (CHOSEN, ONLY_REPORTED) for figure in ("genuine calls flagged", "held")]
    text = [
        f"{heading} (`{COMMAND}`)",
        "No labels, nothing adopted. How changes are told from faults was chosen on a part of the data; the rest was "
        f"only reported: {' and '.join(TRIED)}, and every third of the everyday tools. *Measured* is both together.",
        judged(("", CHOSEN, ONLY_REPORTED), lines),
        "What it costs to hold, on the everyday tools: genuine calls flagged against faulty calls held, the last 20 of "
        "40, mean over six kinds of fault.",
        markdown(("engine", *header), curve),
    ]
    return Section(text, lines)
