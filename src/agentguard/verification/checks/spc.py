"""spc_anomaly: the tool as a whole drifts; an alarm of its control charts."""

from __future__ import annotations

import math
from typing import Final

from agentguard.verification.baseline import SHORTEST_MS, ToolMemory
from agentguard.verification.case import Case
from agentguard.verification.keys import numbers_of

from ..drift import ALARM, WARM_UP
from .base import Finding, LearnedCheck

__all__ = ["SpcAnomaly"]

EWMA_NATS: Final = 6.0  # at the control limit
MOST_EWMA: Final = 6.0  # below what the e-process of a number says when it alarms


class SpcAnomaly(LearnedCheck):
    """EWMA charts of log-latency and log-size, and a chart of each number (see ``drift.py``), with this call in.

    An alarm concerns the tool more than the call: it is capped at a ratio of 3.
    """

    name = "spc_anomaly"
    group = "drift"
    cap = 3.0

    @staticmethod
    def _numbers(case: Case) -> tuple[float, str, tuple[str, ...]]:
        """The number whose run of values is most surprising, among all that are charted."""
        memory: ToolMemory = case.memory
        if case.document.is_error or not memory.charts or memory.is_known(case.document):
            return 0.0, "", ()
        worst, where, high, charted = 0.0, "", True, 0
        for path, x in numbers_of(case.document).items():
            chart = memory.charts.get(path)
            if chart is not None:
                charted += 1
                surprise, above = chart.surprise(x, memory.levels[path])
                if surprise > worst:
                    worst, where, high = surprise, path, above
        if worst == 0.0:
            return 0.0, "", ()
        side = "above" if high else "below"
        said = f"{where or 'the number'} has been {side} its level for several calls"
        return worst - math.log(1.0 + 0.5 * (charted - 1)), said, (f"{where} {side} its level",)

    def examine(self, case: Case) -> Finding | str:
        memory: ToolMemory = case.memory
        points: list[tuple[str, float]] = []
        milliseconds = case.milliseconds
        if milliseconds is not None:
            points.append(("latency", math.log(max(milliseconds, SHORTEST_MS))))
        if not case.document.is_error and case.document.kind != "empty":
            points.append(("size", math.log1p(case.document.size)))
        worst, where, warm = 0.0, "", False
        for name, x in points:
            statistic = memory.drift.statistic(name, x)
            if statistic is not None:
                warm = True
                if statistic > worst:
                    worst, where = statistic, name
        stuck = 0.0 if case.document.is_error else memory.stuck.grown(case.document.digest, case.arguments.key)
        if stuck >= ALARM:
            said = f"the same result to {memory.stuck.run + 2} calls in a row, whatever they asked"
            return Finding(stuck, said, traits=("stuck",))
        x, said, traits = self._numbers(case)
        if x > 0.0 and x > EWMA_NATS * worst:
            return Finding(x, said, traits=traits)
        if not warm:
            return f"{max((memory.drift.count(name) for name, _ in points), default=0)} of {WARM_UP} calls"
        if worst < 1.0:
            return Finding(0.0, "within its control limits")
        said = f"the EWMA of {where} is beyond its control limit"
        return Finding(min(EWMA_NATS * worst, MOST_EWMA), said, traits=(f"drift of {where}",))
