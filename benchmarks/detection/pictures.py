"""Pictures of the figures, as small SVG files that are the same for the same figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import lines
from .changes import UNCHANGED
from .faults import FAULTS
from .measures import Tradeoff, cells, quiet, recalls, threshold, tradeoffs, warm
from .plan import CALLS, Results
from .reliability import BASE_RATES, reliability
from .trials import Judged

__all__ = ["draw"]

RATES = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
BLOCK_AT, DEFAULT_RATE = 0.5, 0.01
# Grey and colours of middle lightness: readable on white as on black.
INK = "#808080"
COLOURS = ("#3b82d6", "#e0762f", "#2f9e63", "#c2549d", "#8a6fd1", "#b08a1e", "#4aa3a8")
STYLE: Any = {
    "svg.hashsalt": "agentguard", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9,
    "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none",
    "text.color": INK, "axes.edgecolor": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
    "grid.color": INK, "grid.alpha": 0.25, "axes.grid": True, "legend.frameon": False, "axes.spines.top": False,
    "axes.spines.right": False, "lines.linewidth": 1.6,
}  # fmt: skip


def draw(results: Results, folder: Path) -> None:
    """Write ``detection_*.svg`` into the folder."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    pictures = {"curve": _curve, "reliability": _reliability, "history": _history, "quiet": _quiet, "changes": _changes}
    with mpl.rc_context(STYLE):
        for name, picture in pictures.items():
            figure = Figure(figsize=(7.2, 3.2), layout="constrained")
            axes = figure.subplots()
            axes.set_prop_cycle(color=COLOURS)
            picture(axes, results)
            axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
            figure.savefig(folder / f"detection_{name}.svg", metadata={"Date": None, "Creator": None})


def _curve(axes: Any, results: Results) -> None:
    known = warm(results.clean)
    by_rate = tradeoffs(known, (*RATES, 1.0), _blocked_by_rate)
    _line(axes, by_rate, "by max_false_block_rate", marker="o", markersize=3)
    for name, judged in {**results.beside, "default mode": results.clean}.items():
        some = warm(judged)
        by_posterior = tradeoffs(some, [threshold(some, rate) for rate in RATES], _above)
        style = {"color": COLOURS[0]} if judged is results.clean else {}
        _line(axes, by_posterior, f"{name}, by posterior", linestyle="--", **style)
    (at,) = tradeoffs(known, (DEFAULT_RATE,), _blocked_by_rate)
    axes.plot(
        at.false_blocks, at.blocks, "o", markersize=9, markerfacecolor="none", color=INK, label="default settings"
    )
    axes.set(xscale="log", xlabel="genuine answers blocked", ylabel="wrong answers blocked", ylim=(0, 1))


def _blocked_by_rate(one: Judged, rate: float) -> bool:
    p = one.score.false_block_p
    return one.score.posterior >= BLOCK_AT and (p is None or p <= rate)


def _above(one: Judged, at: float) -> bool:
    return one.score.posterior > at


def _line(axes: Any, points: Sequence[Tradeoff], label: str, **style: Any) -> None:
    shown = sorted((point.false_blocks, point.blocks) for point in points if point.false_blocks > 0)
    axes.plot([x for x, _ in shown], [y for _, y in shown], label=label, **style)


def _reliability(axes: Any, results: Results) -> None:
    known = warm(results.clean)
    for rate in BASE_RATES:
        bins = reliability(known, rate).bins
        axes.plot([one.posterior for one in bins], [one.wrong for one in bins], marker="o", markersize=3,
                  label=f"{rate:.0%} of the calls wrong")  # fmt: skip
    axes.plot((0, 1), (0, 1), color=INK, linewidth=0.8, linestyle=":", label="as it should be")
    axes.set(xlabel="mean posterior of a bin", ylabel="share that is wrong", xlim=(0, 1), ylim=(0, 1))


def _history(axes: Any, results: Results) -> None:
    clean = cells(lines.same_courses(results.clean, results.spoiled))
    by_share = {0.0: clean, **{share: cells(warm(judged)) for share, judged in results.spoiled.items()}}
    for fault in ("", "swapped_tool", "truncated", "swapped_args", "stale", "instant"):
        points = [list(recalls(found, fault).values()) for found in by_share.values()]
        style = {"color": INK, "linewidth": 2.4} if not fault else {}
        means = [sum(values) / len(values) for values in points]
        axes.plot(
            list(by_share), means, marker="o", markersize=3, label=fault or f"mean of {len(FAULTS)} faults", **style
        )
    axes.set(xlabel="share of the history that is bad", ylabel="recall at 1% false positives", ylim=(0, 1))


def _quiet(axes: Any, results: Results) -> None:
    known = warm(results.clean)
    calls = range(0, CALLS - 20, 5)
    for alarm in ("block", "flag or block"):
        figure = quiet(known, alarm)
        axes.plot(calls, [figure.still_quiet(n) for n in calls], label=f"no {alarm.replace('or', 'and no')} yet")
    axes.set(xlabel="genuine calls of a family, after each tool's first 20", ylabel="share of courses", ylim=(0, 1))


def _changes(axes: Any, results: Results) -> None:
    for change in dict.fromkeys(one.change for one in results.recoveries):
        here = [one.verdicts for one in results.recoveries if one.change == change]
        longest = range(min(40, *map(len, here))) if len(here) > 1 else range(min(40, len(here[0])))
        accepted = [sum(said[n] == "accept" for said in here) / len(here) for n in longest]
        style = {"color": INK, "linestyle": ":"} if change == UNCHANGED else {}
        axes.plot([n + 1 for n in longest], accepted, label=change.replace("_", " "), **style)
    axes.set(xlabel="calls since the change", ylabel="share accepted", ylim=(0, 1.02))
