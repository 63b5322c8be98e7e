"""What it costs to hold: faulty calls held against genuine calls flagged and incidents told of, over engine variants.

Only families and faults that are not held out: the default is chosen on this curve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from detection.families import FAMILIES
from detection.split import HELD_OUT_FAMILIES, HELD_OUT_FAULTS

from agentguard.verification import VerificationEngine

from .faults import LASTING
from .protocol import Course, courses, lasted
from .streams import Stream, generated, pooled, recorded

__all__ = ["VARIANTS", "Point", "Variant", "curve", "point"]

SEED = 1


class Variant(NamedTuple):
    """An engine to be put into the curve: its name there, and what gives a fresh one."""

    label: str
    make: Callable[[], Any]


class Point(NamedTuple):
    """One engine on the curve.

    Attributes:
        label: its name.
        first: share of the faults whose first call is not accepted; mean over faults.
        held: share of the thirty faulty calls that are not accepted; mean over faults.
        after: share of the genuine calls after the recovery that are not accepted; mean over faults.
        flagged, blocked: genuine calls of generated families, as means over families.
        incidents: changes told of in 1,000 genuine calls of generated families.
        recorded_flagged, recorded_blocked, recorded_incidents: the same on recorded calls; None without them.
    """

    label: str
    first: float
    held: float
    after: float
    flagged: float | None
    blocked: float | None
    incidents: float | None
    recorded_flagged: float | None
    recorded_blocked: float | None
    recorded_incidents: float | None


#: The variants of the measured curve; any factory of engines can stand here.
VARIANTS: Sequence[Variant] = tuple(
    Variant(f"accept_below {below}", partial(VerificationEngine, accept_below=below)) for below in (0.1, 0.2, 0.3, 0.4)
)


def curve(
    variants: Iterable[Variant],
    data: Path | None = None,
    done: Callable[[], object] = lambda: None,
    families: Iterable[str] = FAMILIES,
) -> list[Point]:
    """A point for each variant, in their order.

    Args:
        variants: the engines.
        data: the folder of recorded calls; None: generated calls only.
        done: called after each variant.
        families: generated families; those that are held out are left out.
    """
    used = courses((SEED,), [family for family in families if family not in HELD_OUT_FAMILIES])
    points = []
    for variant in variants:
        points.append(point(variant, used, data))
        done()
    return points


def point(variant: Variant, used: Sequence[Course], data: Path | None = None) -> Point:
    """Measure one variant."""
    faults = [fault for fault in LASTING if fault not in HELD_OUT_FAULTS]
    found, _ = lasted(variant.make, used, faults, ("plain",))

    def mean(of: Callable[[Any], float]) -> float:
        by_fault = [[of(one.said["plain"]) for one in found if one.fault == fault] for fault in faults]
        return _mean([_mean(values) for values in by_fault if values])

    genuine = generated(variant.make, (SEED,), [one.family for one in used])
    real = recorded(variant.make, data) if data is not None and data.is_dir() else []
    return Point(
        variant.label, mean(lambda said: said.first), mean(lambda said: said.held), mean(lambda said: said.spoiled),
        *_alarms(genuine), *_alarms(real),
    )  # fmt: skip


def _alarms(streams: Sequence[Stream]) -> tuple[float | None, float | None, float | None]:
    flagged = [share for one in streams if (share := one.flagged_share) is not None]
    blocked = [share for one in streams if (share := one.blocked_share) is not None]
    return (
        _mean(flagged) if flagged else None, _mean(blocked) if blocked else None,
        pooled(streams).per_thousand if streams else None,
    )  # fmt: skip


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")
