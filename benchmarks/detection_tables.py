"""The figures of a detection report, each with the goal that it is held against.

A report is what the detection script writes with ``--json``: one mapping for each task, by source of the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from goals import Goal, as_points, as_score, as_share, known
from tables import Line

__all__ = ["blocked_share", "contaminated", "few_calls", "latency", "pairs", "stream", "stream_sources", "swaps"]

Report = Mapping[str, Any]

MEAN_FLAGGED, MEAN_BLOCKED = Goal("at most", 0.015, as_share), Goal("at most", 0.005, as_share)
WORST_FLAGGED, WORST_BLOCKED = Goal("at most", 0.03, as_share), Goal("at most", 0.01, as_share)
FEW_CALLS_FLAGGED = Goal("at most", 0.03, as_share)
RECALL = {
    "swapped_tool": Goal("at least", 0.97, as_score),
    "truncated": Goal("at least", 0.98, as_score),
    "swapped_args": Goal("at least", 0.90, as_score),
    "stale": Goal("at least", 0.40, as_score),
}
RECALL_ECHOING = Goal("at least", 0.97, as_score)
LOSS = Goal("at least", -0.10, as_points)
BLOCKED_SHARE = Goal("at least", 0.90, as_score)
PAIRS = {"all": Goal("at least", 0.65, as_score), "tools with 3+ other calls": Goal("at least", 0.92, as_score)}
LATENCY = Goal("at least", 1.0, as_score)

AT_ONE_PERCENT, ECHOING = "recall@1%", "recall@1% (echoing tools)"


def stream_sources(report: Report) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Genuine calls after a tool's first 20, by source: header and rows."""
    rows: list[Sequence[str]] = [
        (source, str(got["n"]), as_share(got["flagged"]), as_share(got["blocked"]), f"{got['us_per_call']:.0f}")
        for source, got in report.get("stream", {}).items()
    ]
    return ("source", "calls", "flagged or blocked", "blocked", "µs a call"), rows


def stream(report: Report) -> list[Line]:
    """Mean (each source counts alike) and worst share of genuine calls flagged and blocked."""
    sources = list(report.get("stream", {}).values())
    flagged, blocked = [got["flagged"] for got in sources], [got["blocked"] for got in sources]
    return [
        Line(("flagged or blocked, mean of sources",), _mean(flagged), MEAN_FLAGGED),
        Line(("flagged or blocked, worst source",), max(flagged, default=None), WORST_FLAGGED),
        Line(("blocked, mean of sources",), _mean(blocked), MEAN_BLOCKED),
        Line(("blocked, worst source",), max(blocked, default=None), WORST_BLOCKED),
    ]


def swaps(report: Report) -> list[Line]:
    """Recall at 1% false positives, by source and fault; cells: source, fault, rows, AUROC."""
    lines = []
    for source, fault, got in _faults(report):
        lines.append(Line((source, fault, str(got["n"]), as_score(got["auroc"])), got[AT_ONE_PERCENT], RECALL[fault]))
        if fault == "swapped_args":
            lines.append(Line((source, f"{fault}, results echo arguments", "–", "–"), got.get(ECHOING), RECALL_ECHOING))
    return lines


def blocked_share(report: Report) -> list[Line]:
    """What the default settings block as a share of recall at 1%; cells: source, fault, genuine blocked, blocked.

    Unknown where nothing is recalled. Above 1 where the settings block more than 1% of genuine calls too.
    """
    lines = []
    for source, fault, got in _faults(report):
        genuine = report["swaps"][source].get("genuine", {}).get("blocked")
        share = _quotient(got["blocked"], got[AT_ONE_PERCENT])
        lines.append(Line((source, fault, as_share(genuine), as_share(got["blocked"])), share, BLOCKED_SHARE))
    return lines


def contaminated(clean: Report, spoiled: Report) -> list[Line]:
    """Recall lost where a tenth of the history is bad; cells: source, fault, recall before and after.

    Unknown where there was no recall to lose.
    """
    lines = []
    for source, fault, got in _faults(spoiled):
        before = clean.get("swaps", {}).get(source, {}).get(fault, {}).get(AT_ONE_PERCENT)
        after = got[AT_ONE_PERCENT]
        loss = after - before if before and known(before) and known(after) else None
        lines.append(Line((source, fault, as_score(before), as_score(after)), loss, LOSS))
    return lines


def few_calls(report: Report) -> list[Line]:
    """Genuine calls flagged where a tool has only a few past calls; cells: source, rows, blocked."""
    genuine = {source: got["genuine"] for source, got in report.get("swaps", {}).items() if "genuine" in got}
    return [
        Line((source, str(got["n"]), as_share(got["blocked"])), got["flagged"], FEW_CALLS_FLAGGED)
        for source, got in genuine.items()
    ]


def pairs(report: Report) -> list[Line]:
    """AUROC of a model's pretence against the real answer; cells: which pairs, pairs, recall at 5%."""
    return [
        Line((which, str(got["n"]), as_score(got["recall@5%"])), got["auroc"], PAIRS[which])
        for which, got in report.get("pairs", {}).items()
        if which in PAIRS
    ]


def latency(report: Report) -> list[Line]:
    """Recall at 1% of answers within a millisecond; cells: source, genuine calls, AUROC."""
    return [
        Line((source, str(got["n"]), as_score(got["auroc"])), got[AT_ONE_PERCENT], LATENCY)
        for source, got in report.get("latency", {}).items()
    ]


def _faults(report: Report) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for source, kinds in report.get("swaps", {}).items():
        for fault in RECALL:
            if fault in kinds:
                yield source, fault, kinds[fault]


def _mean(figures: list[float]) -> float | None:
    return sum(figures) / len(figures) if figures else None


def _quotient(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole and known(part) and known(whole) else None
