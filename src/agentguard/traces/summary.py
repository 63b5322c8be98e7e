"""What a replay found, as frozen records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentguard.verification.types import SEVERITY, Verdict, VerdictCounts

from .row import BrokenLine

__all__ = ["SEVERITY", "Offender", "ReplaySummary", "ToolSummary", "VerdictCounts"]


class ToolSummary(NamedTuple):
    """One tool's verdicts, and the mean and the highest P(fabricated) of its calls, in [0, 1]."""

    tool: str
    counts: VerdictCounts
    mean_posterior: float
    max_posterior: float


class Offender(NamedTuple):
    """A call that was flagged or blocked, and where it stands."""

    source: str
    line: int
    tool: str
    posterior: float
    verdict: Verdict
    explanation: str


@dataclass(frozen=True, slots=True)
class ReplaySummary:
    """Everything a replay counted.

    Attributes:
        counts: the verdicts on all calls.
        tools: one record a tool, most blocked first, then most flagged. Beyond 10,000 tools the rest is one record.
        offenders: the worst flagged or blocked calls: blocked before flagged, then by posterior, then as they came.
        broken: how many lines held no call.
        first_broken: the first of them by place and reason.
        labels: verdicts by label, where any label says something other than ``genuine``; a report, no more: labels
            never reach the engine.
        us_per_call: mean time that the engine took for a call, in microseconds; None without calls.
    """

    counts: VerdictCounts
    tools: tuple[ToolSummary, ...] = ()
    offenders: tuple[Offender, ...] = ()
    broken: int = 0
    first_broken: tuple[BrokenLine, ...] = ()
    labels: Mapping[str, VerdictCounts] = field(default_factory=dict)
    us_per_call: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, ready for JSON."""
        return {
            "calls": self.counts.calls,
            **self.counts._asdict(),
            "tools": [
                {
                    "tool": tool.tool,
                    "calls": tool.counts.calls,
                    **tool.counts._asdict(),
                    "mean_posterior": tool.mean_posterior,
                    "max_posterior": tool.max_posterior,
                }
                for tool in self.tools
            ],
            "offenders": [offender._asdict() for offender in self.offenders],
            "broken": self.broken,
            "first_broken": [line._asdict() for line in self.first_broken],
            "labels": {label: {"calls": counts.calls, **counts._asdict()} for label, counts in self.labels.items()},
            "us_per_call": self.us_per_call,
        }
