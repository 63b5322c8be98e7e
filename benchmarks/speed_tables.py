"""What the races ended with, as a table for the terminal and for the document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from goals import NOT_MEASURED, Goal, as_ratio
from tables import Line

__all__ = ["SPEED_GOALS", "SpeedFigures", "speed_judged", "speed_lines", "speed_rows"]

SPEED_GOALS = {
    "1 KB": Goal("at most", 1 / 5, as_ratio),
    "50 KB": Goal("at most", 1 / 15, as_ratio),
    "50 KB as text": Goal("at most", 1 / 10, as_ratio),
}
TIMES = ("ours p50", "ours p99", "peer p50", "floor p50")
HEADER = ("result", "mode", *TIMES, "ours / floor", "ours / peer", "goal", "outcome")


class SpeedFigures(Protocol):
    """What a table asks of the end of a race (``race.Standing``)."""

    @property
    def size(self) -> str: ...

    @property
    def mode(self) -> str: ...

    @property
    def peer_missing(self) -> str: ...

    def p50(self, name: str) -> float | None: ...

    def p99(self) -> float | None: ...

    def ratio(self, other: str) -> float | None: ...


def speed_rows(standings: Iterable[SpeedFigures]) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Header and rows of a table; times in microseconds."""
    rows: list[Sequence[str]] = []
    for standing in standings:
        goal, ratio = SPEED_GOALS[standing.size], standing.ratio("peer")
        rows.append(
            (
                standing.size,
                standing.mode,
                _microseconds(standing.p50("ours")),
                _microseconds(standing.p99()),
                _microseconds(standing.p50("peer")),
                _microseconds(standing.p50("floor")),
                as_ratio(standing.ratio("floor")),
                as_ratio(ratio),
                str(goal),
                goal.outcome(ratio),
            )
        )
    return HEADER, rows


def speed_judged(standings: Iterable[SpeedFigures]) -> list[Line]:
    """The default engine's races against their goals; cells: the result's size."""
    return [
        Line((standing.size,), standing.ratio("peer"), SPEED_GOALS[standing.size])
        for standing in standings
        if standing.mode == "calibrated"
    ]


def speed_lines(standings: Iterable[SpeedFigures]) -> list[str]:
    """One sentence a race, for the end of a test run."""
    lines = []
    for standing in standings:
        goal, ratio = SPEED_GOALS[standing.size], standing.ratio("peer")
        peer = f"ours/peer {as_ratio(ratio)}, goal {goal}: {goal.outcome(ratio)}"
        if standing.peer_missing:
            peer = f"peer {NOT_MEASURED}: {standing.peer_missing}"
        lines.append(
            f"{standing.size:>5} {standing.mode:<10} ours {_microseconds(standing.p50('ours'))}, "
            f"peer {_microseconds(standing.p50('peer'))}, floor {_microseconds(standing.p50('floor'))}; "
            f"ours/floor {as_ratio(standing.ratio('floor'))}; {peer}"
        )
    return lines


def _microseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1e6 * seconds:,.1f} µs"
