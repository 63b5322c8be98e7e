"""The worst calls of a log: kept while it goes by, a few of them, opened up signal by signal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from heapq import heappush, heappushpop

from agentguard.verification.types import SEVERITY, SignalResult, Verdict

from .records import Step, WorstCall, log_odds

__all__ = ["Worst", "steps_of"]

WIDER = 4
OF_ONE_TOOL = 3
IF_NONE = 3  # accepted calls that are shown where none was flagged or blocked


class Worst:
    """The ``most`` worst calls: blocked before flagged before accepted, then by posterior, then as they came.

    Ten calls of one tool that went wrong in one way say little more than three: other tools' calls come first, as far
    as they are among the worst four times as many.
    """

    __slots__ = ("_heap", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[tuple[int, float, int], WorstCall]] = []

    def push(self, verdict: Verdict, posterior: float, number: int, make: Callable[[], WorstCall]) -> None:
        """Keep a call if it is one of the worst; only then is its record made. ``number`` tells all calls apart."""
        rank = (SEVERITY[verdict], posterior, -number)
        full = len(self._heap) >= WIDER * self._most
        if not self._most or (full and rank < self._heap[0][0]):
            return
        (heappushpop if full else heappush)(self._heap, (rank, make()))

    def calls(self) -> tuple[WorstCall, ...]:
        """Worst first. Accepted calls are among them only where no other call is."""
        calls = [call for _, call in sorted(self._heap, reverse=True)]
        suspects = [call for call in calls if call.verdict != "accept"]
        if not suspects:
            return tuple(calls[: min(IF_NONE, self._most)])
        seen: Counter[str] = Counter()
        rest = []
        for place, call in enumerate(suspects):
            seen[call.tool] += 1
            rest.append((seen[call.tool] > OF_ONE_TOOL, place))
        return tuple(suspects[place] for _, place in sorted(sorted(rest)[: self._most], key=lambda one: one[1]))


def steps_of(
    prior: float, posterior: float, nats: Mapping[str, float], signals: Mapping[str, SignalResult]
) -> tuple[tuple[Step, ...], float]:
    """The sum from the prior's log-odds to the posterior's, and what the steps leave of it.

    Args:
        prior: in (0, 1).
        posterior: in [0, 1].
        nats: what each signal added.
        signals: for their details, as far as they are known.

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
