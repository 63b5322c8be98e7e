"""Verdicts, posteriors, labels and the worst calls of a log, kept in constant memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from heapq import heappush, heappushpop
from typing import Final

from agentguard.report._records import Bin, Histogram, Reliability, Slot, Step, Timeline, WorstCall
from agentguard.verification.statistics import log_odds
from agentguard.verification.types import SEVERITY, SignalResult, Verdict, VerdictCounts

BINS: Final = 20
SLOTS: Final = 120
LABEL_BINS: Final = 10
Z95: Final = 1.959963984540054  # the 97.5% quantile of the standard normal distribution


class Timing:
    """Verdicts by the number of the call, in at most 120 slots of equally many calls.

    >>> timing = Timing()
    >>> for n in range(300):
    ...     timing.push("block" if n == 7 else "accept")
    >>> slots = timing.timeline().slots
    >>> len(slots), slots[0], slots[1]
    (75, Slot(first=1, last=4, counts=VerdictCounts(accept=4, flag=0, block=0)), Slot(first=5, last=8, counts=VerdictCounts(accept=3, flag=0, block=1)))
    """  # noqa: E501 - a record as it prints

    __slots__ = ("_calls", "_slots", "_width")

    def __init__(self) -> None:
        self._calls, self._width = 0, 1
        self._slots: list[list[int]] = []

    def push(self, verdict: Verdict) -> None:
        """Count the next call."""
        if self._calls % self._width == 0:
            # All slots are full: merge neighbours, so that each holds twice as many calls.
            if len(self._slots) == SLOTS:
                pairs = zip(self._slots[::2], self._slots[1::2], strict=True)
                self._slots = [[one + other for one, other in zip(*pair, strict=True)] for pair in pairs]
                self._width *= 2
            self._slots.append([0, 0, 0])
        self._calls += 1
        self._slots[-1][SEVERITY[verdict]] += 1

    def timeline(self) -> Timeline:
        """The verdicts so far."""
        firsts = range(1, self._calls + 1, self._width)
        return Timeline(
            "call",
            tuple(
                Slot(first, min(first + self._width - 1, self._calls), VerdictCounts(*counts))
                for first, counts in zip(firsts, self._slots, strict=True)
            ),
        )


def by_hour(hours: Mapping[int, VerdictCounts]) -> Timeline:
    """Merge verdicts by hour since the epoch into at most 120 slots of equally many hours, empty ones included.

    >>> timeline = by_hour({10: VerdictCounts(5), 12: VerdictCounts(0, 1)})
    >>> [(slot.first, slot.counts.calls) for slot in timeline.slots]
    [(10, 5), (11, 0), (12, 1)]
    """
    if not hours:
        return Timeline("hour", ())
    first, last = min(hours), max(hours)
    width = math.ceil((last - first + 1) / SLOTS)
    sums = [[0, 0, 0] for _ in range(first, last + 1, width)]
    for hour, counts in hours.items():
        for place, count in enumerate(counts):
            sums[(hour - first) // width][place] += count
    starts = range(first, last + 1, width)
    slots = (
        Slot(at, min(at + width - 1, last), VerdictCounts(*counts)) for at, counts in zip(starts, sums, strict=True)
    )
    return Timeline("hour", tuple(slots))


class Posteriors:
    """Calls by posterior, in twentieths of [0, 1]."""

    __slots__ = ("_total", "_weight", "_weights")

    def __init__(self) -> None:
        self._weights = [0.0] * BINS
        self._total = self._weight = 0.0

    def push(self, posterior: float, weight: float = 1.0) -> None:
        """Count a call that stands for ``weight`` calls."""
        self._weights[min(int(posterior * BINS), BINS - 1)] += weight
        self._total += weight * posterior
        self._weight += weight

    @property
    def mean(self) -> float | None:
        """Mean posterior of all calls; None without any."""
        return self._total / self._weight if self._weight else None

    def histogram(self) -> Histogram:
        """The posteriors so far."""
        return Histogram(tuple(self._weights))


class LabelTally:
    """Calibration of posteriors against labels, in tenths of [0, 1].

    >>> tally = LabelTally()
    >>> for _ in range(3):
    ...     tally.push(0.25, fabricated=False)
    >>> tally.push(0.25, fabricated=True)
    >>> found = tally.reliability()
    >>> found.labels, found.error, found.brier, [round(x, 4) for x in found.bins[0][4:]]
    (4, 0.0, 0.1875, [0.25, 0.0456, 0.6994])
    """

    __slots__ = ("_bins", "_fabricated", "_squares", "_weight")

    def __init__(self) -> None:
        # By bin: labels, sum of weights, of their squares, of weighted posteriors, of the weights of fabricated calls.
        self._bins = [[0.0] * 5 for _ in range(LABEL_BINS)]
        self._squares = self._weight = 0.0
        self._fabricated = 0

    def push(self, posterior: float, *, fabricated: bool, weight: float = 1.0) -> None:
        """Count a label that stands for ``weight`` calls."""
        sums = self._bins[min(int(posterior * LABEL_BINS), LABEL_BINS - 1)]
        for k, x in enumerate((1.0, weight, weight * weight, weight * posterior, weight * fabricated)):
            sums[k] += x
        self._squares += weight * (posterior - fabricated) ** 2
        self._weight += weight
        self._fabricated += fabricated

    def reliability(self) -> Reliability | None:
        """Calibration of the labels so far; None without labels."""
        if not self._weight:
            return None
        error = math.fsum(
            weight / self._weight * abs(predicted - fabricated) / weight
            for _, weight, _, predicted, fabricated in self._bins
            if weight
        )
        labels = int(sum(sums[0] for sums in self._bins))
        return Reliability(labels, self._fabricated, error, self._squares / self._weight, tuple(_bins(self._bins)))


def _bins(sums: Iterable[list[float]]) -> Iterable[Bin]:
    for k, (labels, weight, squares, predicted, fabricated) in enumerate(sums):
        if labels:
            share = min(max(fabricated / weight, 0.0), 1.0)
            interval = _wilson(share, weight * weight / squares)  # at the effective number of labels (Kish 1965)
            yield Bin(k / LABEL_BINS, (k + 1) / LABEL_BINS, int(labels), min(predicted / weight, 1.0), share, *interval)


def _wilson(share: float, n: float) -> tuple[float, float]:
    """The 95% interval of a share among n (E. B. Wilson, Journal of the American Statistical Association 22, 1927)."""
    square = Z95 * Z95
    middle = (share + square / (2.0 * n)) / (1.0 + square / n)
    half = Z95 / (1.0 + square / n) * math.sqrt(share * (1.0 - share) / n + square / (4.0 * n * n))
    return max(middle - half, 0.0), min(middle + half, 1.0)


# --- The worst calls ---

WIDER: Final = 4
OF_ONE_TOOL: Final = 3
IF_NONE: Final = 3  # accepted calls that are shown if none was flagged or blocked


class Worst:
    """The ``most`` worst calls: blocked before flagged before accepted, then by posterior, then as they came.

    Ten calls of one tool with one fault say little more than three of them. So four times as many calls are kept, and
    beyond three of a tool the calls of other tools come first.
    """

    __slots__ = ("_heap", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[tuple[int, float, int], WorstCall]] = []

    def push(self, verdict: Verdict, posterior: float, number: int, make: Callable[[], WorstCall]) -> None:
        """Keep a call if it is one of the worst; only then make its record. ``number`` is unique."""
        rank = (SEVERITY[verdict], posterior, -number)
        full = len(self._heap) >= WIDER * self._most
        if not self._most or (full and rank < self._heap[0][0]):
            return
        (heappushpop if full else heappush)(self._heap, (rank, make()))

    def calls(self) -> tuple[WorstCall, ...]:
        """Worst first; accepted calls only if there are no others."""
        calls = [call for _, call in sorted(self._heap, reverse=True)]
        suspects = [call for call in calls if call.verdict != "accept"]
        if not suspects:
            return tuple(calls[: min(IF_NONE, self._most)])
        seen: Counter[str] = Counter()
        rest = []
        for rank, call in enumerate(suspects):
            seen[call.tool] += 1
            rest.append((seen[call.tool] > OF_ONE_TOOL, rank))
        return tuple(suspects[rank] for rank in sorted(rank for _, rank in sorted(rest)[: self._most]))


def steps_of(
    prior: float, posterior: float, nats: Mapping[str, float], signals: Mapping[str, SignalResult]
) -> tuple[tuple[Step, ...], float]:
    """Decompose a posterior's log-odds into the prior's, a step a signal, and a remainder in nats.

    ``signals`` give details and p-values, if known.

    >>> steps, remainder = steps_of(0.5, 0.9, {"echo_mismatch": math.log(9.0)}, {})
    >>> steps[0].running == math.log(9.0), abs(remainder) < 1e-12
    (True, True)
    """
    running = log_odds(prior)
    steps = []
    for name, added in sorted(nats.items(), key=lambda item: (-item[1], item[0])):
        if added:
            running += added
            signal = signals.get(name)
            detail, p = ("", None) if signal is None else (signal.detail, signal.p_value)
            steps.append(Step(name, added, running, detail, p))
    total = log_odds(posterior)
    return tuple(steps), total - running if math.isfinite(total) and math.isfinite(running) else 0.0
