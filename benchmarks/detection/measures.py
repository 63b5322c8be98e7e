"""What is measured on judged calls, each as small frozen records. Pure: the same judgements give the same figures."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .faults import FAULTS
from .stream import EARLY, GENUINE, SPOILED
from .trials import Judged

__all__ = [
    "Cell", "FalseAlarms", "Quiet", "Tradeoff", "auroc", "cells", "early", "false_alarms", "quiet", "recalls",
    "threshold", "tradeoffs", "warm",
]  # fmt: skip

FALSE_POSITIVES = 0.01
Posterior = Callable[[Judged], float]


class Cell(NamedTuple):
    """One fault in one family; shares of its ``n`` calls.

    Attributes:
        recalled: above the posterior that 1% of all genuine calls exceed.
        blocked, noticed: blocked; flagged or blocked, by the default settings.
        auroc: against the family's genuine calls.
    """

    family: str
    fault: str
    n: int
    recalled: float
    blocked: float
    noticed: float
    auroc: float


class FalseAlarms(NamedTuple):
    """Genuine calls of one family: how many, and the shares that were flagged or blocked, and blocked."""

    family: str
    n: int
    flagged: float
    blocked: float


class Quiet(NamedTuple):
    """Run lengths to the first false alarm of one kind, in a family's genuine calls after the first 20 of a tool.

    Attributes:
        alarm: ``"block"`` or ``"flag or block"``.
        calls, alarms: of all families together.
        runs: for each family and seed the genuine calls before the first alarm, and whether there was one.
    """

    alarm: str
    calls: int
    alarms: int
    runs: tuple[tuple[str, int, bool], ...]

    @property
    def calls_an_alarm(self) -> float | None:
        """Genuine calls for each alarm; None without an alarm."""
        return self.calls / self.alarms if self.alarms else None

    def still_quiet(self, calls: int) -> float:
        """Share of the courses of at least so many calls without an alarm in them."""
        long = [length for _, length, ended in self.runs if ended or length >= calls]
        return sum(length >= calls for length in long) / len(long) if long else 1.0


class Tradeoff(NamedTuple):
    """A point of a curve: genuine calls blocked, and wrong ones, as means over families; ``setting`` is where."""

    setting: float
    false_blocks: float
    blocks: float


def warm(judged: Iterable[Judged]) -> list[Judged]:
    """Calls of tools that had 20 before."""
    return [one for one in judged if one.warm]


def early(judged: Iterable[Judged]) -> list[Judged]:
    """The third to the tenth call of each tool."""
    return [one for one in judged if one.number in EARLY]


def threshold(judged: Iterable[Judged], share: float = FALSE_POSITIVES, posterior: Posterior | None = None) -> float:
    """The posterior that at most this share of the genuine calls exceeds; one for all families."""
    of = posterior or _posterior
    ranked = sorted((of(one) for one in judged if one.genuine), reverse=True)
    return ranked[int(share * len(ranked))] if ranked else 1.0


def cells(judged: Sequence[Judged], posterior: Posterior | None = None) -> list[Cell]:
    """Every fault in every family."""
    of = posterior or _posterior
    at = threshold(judged, posterior=of)
    genuine: defaultdict[str, list[float]] = defaultdict(list)
    wrong: defaultdict[tuple[str, str], list[Judged]] = defaultdict(list)
    for one in judged:
        if one.genuine:
            genuine[one.family].append(of(one))
        elif one.kind != SPOILED:
            wrong[one.family, one.kind].append(one)
    for scores in genuine.values():
        scores.sort()
    return [
        Cell(
            family, fault, len(ones),
            sum(of(one) > at for one in ones) / len(ones),
            sum(one.score.verdict == "block" for one in ones) / len(ones),
            sum(one.score.verdict != "accept" for one in ones) / len(ones),
            auroc(genuine[family], [of(one) for one in ones]),
        )
        for (family, fault), ones in sorted(wrong.items())
        if genuine[family]
    ]  # fmt: skip


def auroc(genuine: Sequence[float], wrong: Sequence[float]) -> float:
    """P(a wrong call scores above a genuine one), ties half; the genuine scores sorted.

    >>> auroc([0.1, 0.2, 0.2, 0.9], [0.2, 1.0])
    0.75
    """
    below = sum(bisect_left(genuine, score) + bisect_right(genuine, score) for score in wrong)
    return below / (2 * len(genuine) * len(wrong))


def recalls(found: Iterable[Cell], fault: str) -> dict[str, float]:
    """Recall at 1% by family, of one fault; of the mean over all faults where the fault is ``""``."""
    by_family: defaultdict[str, list[float]] = defaultdict(list)
    for cell in found:
        if cell.fault == fault or (not fault and cell.fault in FAULTS):
            by_family[cell.family].append(cell.recalled)
    return {family: sum(values) / len(values) for family, values in by_family.items()}


def false_alarms(judged: Iterable[Judged]) -> list[FalseAlarms]:
    """Genuine calls flagged and blocked, by family."""
    verdicts: defaultdict[str, list[str]] = defaultdict(list)
    for one in judged:
        if one.genuine:
            verdicts[one.family].append(one.score.verdict)
    return [
        FalseAlarms(family, len(said), 1.0 - said.count("accept") / len(said), said.count("block") / len(said))
        for family, said in sorted(verdicts.items())
    ]


def quiet(judged: Iterable[Judged], alarm: str) -> Quiet:
    """Run lengths to the first false alarm (``"block"`` or ``"flag or block"``)."""
    courses: defaultdict[tuple[str, int], list[bool]] = defaultdict(list)
    for one in judged:
        if one.genuine:
            said = one.score.verdict
            courses[one.family, one.seed].append(said == "block" if alarm == "block" else said != "accept")
    runs = tuple(
        (family, course.index(True) if any(course) else len(course), any(course))
        for (family, _), course in sorted(courses.items())
    )
    return Quiet(alarm, sum(map(len, courses.values())), sum(map(sum, courses.values())), runs)


def tradeoffs(
    judged: Sequence[Judged], settings: Iterable[float], blocked: Callable[[Judged, float], bool]
) -> list[Tradeoff]:
    """Blocks of wrong and genuine calls for each setting, all faults of a family counting alike."""
    groups: defaultdict[tuple[str, str], list[Judged]] = defaultdict(list)
    for one in judged:
        if one.genuine or one.kind in FAULTS:
            groups[one.family, one.kind].append(one)
    points = []
    for setting in settings:
        genuine: list[float] = []
        wrong: defaultdict[str, list[float]] = defaultdict(list)
        for (family, kind), ones in groups.items():
            share = sum(blocked(one, setting) for one in ones) / len(ones)
            if kind == GENUINE:
                genuine.append(share)
            else:
                wrong[family].append(share)
        means = [sum(shares) / len(shares) for shares in wrong.values()]
        points.append(Tradeoff(setting, sum(genuine) / len(genuine), sum(means) / len(means)))
    return points


def _posterior(one: Judged) -> float:
    return one.score.posterior
