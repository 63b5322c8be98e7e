"""spc_anomaly: the tool as a whole drifts; an alarm of its control charts."""

from __future__ import annotations

import math

from agentguard.verification.baseline import SHORTEST_MS, ToolMemory
from agentguard.verification.case import Case
from agentguard.verification.drift import WARM_UP

from .base import Finding, LearnedCheck

__all__ = ["SpcAnomaly"]


class SpcAnomaly(LearnedCheck):
    """EWMA charts of log-latency and log-size, with this call in.

    An alarm concerns the tool more than the call: it is capped at a ratio of 3.
    """

    name = "spc_anomaly"
    group = "drift"
    cap = 3.0

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
        if not warm:
            return f"{max((memory.drift.count(name) for name, _ in points), default=0)} of {WARM_UP} calls"
        if worst < 1.0:
            return Finding(0.0, "within its control limits")
        return Finding(6.0 * worst, f"the EWMA of {where} is beyond its control limit", traits=(f"drift of {where}",))
