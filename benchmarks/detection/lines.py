"""The goals that generated tools are held against; they are those of recorded calls, where the figure is alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from detection_tables import (
    BLOCKED_SHARE,
    FEW_CALLS_FLAGGED,
    LATENCY,
    LOSS,
    MEAN_BLOCKED,
    MEAN_FLAGGED,
    RECALL,
    WORST_BLOCKED,
    WORST_FLAGGED,
)
from goals import Goal, as_fraction, as_score, as_share
from tables import Line

from .changes import Recovery
from .contestants import REPLAY
from .intervals import Figure, over_families
from .measures import Cell, cells, false_alarms, recalls, threshold, warm
from .plan import Results
from .reliability import BASE_RATES, reliability
from .trials import Judged

__all__ = [
    "blocked_share", "calibration", "changed", "genuine", "instant", "recall", "same_courses", "signals", "spoiled",
    "with_interval", "without", "without_replay",
]  # fmt: skip

CALIBRATION = {0.02: 0.006, 0.05: 0.008, 0.15: 0.012}
CHANGED = Goal("at most", 0.05, as_share)
SLOW_MS = 100.0


def genuine(known: Sequence[Judged], first: Sequence[Judged]) -> list[Line]:
    """Genuine calls flagged and blocked, after a tool's first 20 and in its calls 3 to 10."""
    alarms = false_alarms(known)
    flagged = over_families({one.family: one.flagged for one in alarms}, worst=max)
    blocked = over_families({one.family: one.blocked for one in alarms}, worst=max)
    young = over_families({one.family: one.flagged for one in false_alarms(first)}, worst=max)
    return [
        _line("genuine calls flagged or blocked", flagged, MEAN_FLAGGED, as_share),
        _line_of_worst("genuine calls flagged or blocked, worst family", flagged, WORST_FLAGGED),
        _line("genuine calls blocked", blocked, MEAN_BLOCKED, as_share),
        _line_of_worst("genuine calls blocked, worst family", blocked, WORST_BLOCKED),
        _line("genuine calls 3 to 10 of a tool flagged or blocked", young, FEW_CALLS_FLAGGED, as_share),
    ]


def recall(found: Sequence[Cell], where: str = "") -> list[Line]:
    """Recall at 1% of the faults that have a goal; ``where`` is added to what is said of it."""
    return [
        _line(f"recall, {fault}{where}", over_families(recalls(found, fault)), goal) for fault, goal in RECALL.items()
    ]


def blocked_share(found: Sequence[Cell]) -> list[Line]:
    """What the default settings block as a share of recall at 1%."""
    lines = []
    for fault in RECALL:
        here = [cell for cell in found if cell.fault == fault]
        recalled = sum(cell.recalled for cell in here)
        share = sum(cell.blocked for cell in here) / recalled if recalled else None
        lines.append(Line((f"blocked as a share of recall, {fault}", "–", "–"), share, BLOCKED_SHARE))
    return lines


def instant(known: Sequence[Judged]) -> list[Line]:
    """Answers within a millisecond from tools that take 100 ms and more."""
    slow = [one for one in known if one.kind == "instant" and one.usual_ms >= SLOW_MS]
    at = threshold(known)
    by_family: dict[str, list[bool]] = {}
    for one in slow:
        by_family.setdefault(one.family, []).append(one.score.posterior > at)
    shares = {family: sum(found) / len(found) for family, found in by_family.items()}
    return [_line("recall, instant, tools that take 100 ms and more", over_families(shares), LATENCY)]


def calibration(known: Sequence[Judged]) -> list[Line]:
    """Expected calibration error at the three base rates, with the prior set to each.

    A posterior rests on its prior: at a base rate that it was not told of it is off by as much as the prior is.
    """
    lines = []
    for rate in BASE_RATES:
        got = reliability(known, rate, prior=rate)
        cells_ = (
            f"calibration error, {as_share(rate)} wrong, prior {as_share(rate)}",
            f"{got.error:.4f} ({got.low:.4f} to {got.high:.4f})",
            "–",
        )
        lines.append(Line(cells_, got.error, Goal("at most", CALIBRATION[rate], as_fraction)))
    return lines


def spoiled(results: Results) -> list[Line]:
    """Recall lost where a tenth of the history is bad, on the same courses."""
    clean = cells(same_courses(results.clean, results.spoiled))
    bad = cells(warm(results.spoiled[min(results.spoiled)])) if results.spoiled else []
    lines = []
    for fault in RECALL:
        before, after = recalls(clean, fault), recalls(bad, fault)
        change = over_families({family: after[family] - value for family, value in before.items() if family in after})
        lines.append(_line(f"recall with a tenth of the history bad, change, {fault}", change, LOSS, LOSS.show))
    return lines


def changed(recoveries: Iterable[Recovery]) -> list[Line]:
    """Blocks of a genuine new field or state among the first 100 calls that show it."""
    by_change: dict[str, dict[str, float]] = {"new_field": {}, "new_state": {}}
    for one in recoveries:
        if one.change in by_change:
            by_change[one.change][one.family] = one.blocked
    return [
        _line(f"genuine {change.replace('_', ' ')} blocked", over_families(shares, worst=max), CHANGED, as_share)
        for change, shares in by_change.items()
    ]


def same_courses(clean: Iterable[Judged], spoiled: dict[float, list[Judged]]) -> list[Judged]:
    """The warm calls of clean courses that were also run with a bad history."""
    seeds = {one.seed for judged in spoiled.values() for one in judged}
    return warm(one for one in clean if one.seed in seeds)


def signals(known: Sequence[Judged]) -> list[str]:
    """The signals that can be left out, in the engine's order."""
    return list(dict.fromkeys(name for one in known for name, _ in one.score.without if "+" not in name))


def without(signal: str) -> Callable[[Judged], float]:
    """The posterior with one signal left out, of calls judged that way."""
    return lambda one: dict(one.score.without).get(signal, one.score.posterior)


def without_replay(one: Judged) -> float:
    """The posterior without the signals that remember whole answers."""
    return dict(one.score.without).get("+".join(REPLAY), one.score.posterior)


def with_interval(figure: Figure, show: Callable[[float | None], str] = as_score) -> str:
    """``0.947 (0.913 to 0.981)``, in words where the unit is one."""
    low, high = (show(end).removesuffix(" points") for end in (figure.low, figure.high))
    return f"{show(figure.mean)} ({low} to {high})"


def _line(what: str, figure: Figure | None, goal: Goal, show: Callable[[float | None], str] = as_score) -> Line:
    if figure is None:
        return Line((what, "–", "–"), None, goal)
    return Line((what, with_interval(figure, show), f"{show(figure.worst)} {figure.worst_family}"), figure.mean, goal)


def _line_of_worst(what: str, figure: Figure | None, goal: Goal) -> Line:
    if figure is None:
        return Line((what, "–", "–"), None, goal)
    return Line((what, "–", figure.worst_family), figure.worst, goal)
