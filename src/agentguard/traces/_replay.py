"""A log of calls put through an engine in recorded order, and counted in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from time import perf_counter_ns
from typing import Any, NamedTuple, Protocol

from agentguard.traces._read import BrokenLine, TraceRow
from agentguard.verification.types import SEVERITY, ToolCall, Verdict, VerdictCounts, VerificationResult


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


MAX_TOOLS = 10_000
MAX_LABELS = 100
MAX_EXPLANATION = 1_000
OTHER_TOOLS = "(all other tools)"
OTHER_LABELS = "(all other labels)"
NO_LABEL = "(no label)"
GENUINE = "genuine"


class Verifier(Protocol):
    """What a replay needs of an engine."""

    def verify(
        self,
        tool: str,
        *,
        args: Any = None,
        result: Any = None,
        execution_time_ms: float | None = None,
        session_id: str | None = None,
        call_id: str | None = None,
        is_error: bool = False,
    ) -> VerificationResult:
        """Judge one call and learn from it."""


def replay(
    rows: Iterable[TraceRow | BrokenLine],
    engine: Verifier,
    on_call: Callable[[TraceRow, VerificationResult], None] | None = None,
    *,
    limit: int | None = None,
    tally: Tally | None = None,
) -> ReplaySummary:
    """Judge a log's calls one after the other; the engine learns from them as it would have at the time.

    Args:
        rows: as ``read_traces`` yields them.
        engine: the engine that judges. It is given tool, args, result, time, session, call id and
            the error flag: no label.
        on_call: told of every call and its verdict.
        limit: stop after so many calls.
        tally: where to count; whoever holds it can ask it for a summary also when the replay was broken off.
    """
    counted = Tally() if tally is None else tally
    left = -1 if limit is None else limit
    if left == 0:
        return counted.summary()
    for row in rows:
        if isinstance(row, BrokenLine):
            counted.push_broken(row)
            continue
        before = perf_counter_ns()
        verdict = judge(engine, row.call)
        counted.push(row, verdict, perf_counter_ns() - before)
        if on_call is not None:
            on_call(row, verdict)
        left -= 1
        if left == 0:
            break
    return counted.summary()


def judge(engine: Verifier, call: ToolCall) -> VerificationResult:
    """The verdict on a call of a log; the engine learns from it."""
    return engine.verify(
        call.tool,
        args=call.args,
        result=call.result,
        execution_time_ms=call.execution_time_ms,
        session_id=call.session_id,
        call_id=call.call_id,
        is_error=call.is_error,
    )


class _Figures:
    """One tool's running figures."""

    __slots__ = ("highest", "total", "verdicts")

    def __init__(self) -> None:
        self.verdicts = [0, 0, 0]
        self.total = 0.0
        self.highest = 0.0


class Tally:
    """Counts verdicts, in memory bounded by the number of tools (10,000), labels (100) and offenders kept.

    Args:
        worst: how many offenders to keep.
        broken: how many broken lines to name.
    """

    def __init__(self, worst: int = 10, broken: int = 20) -> None:
        self.calls: int = 0
        self._worst = worst
        self._named = broken
        self._nanoseconds = 0
        self._tools: dict[str, _Figures] = {}
        self._labels: dict[str, list[int]] = {}
        self._labelled = False
        self._heap: list[tuple[tuple[int, float, int], Offender]] = []
        self._broken = 0
        self._first_broken: list[BrokenLine] = []

    def push(self, row: TraceRow, result: VerificationResult, nanoseconds: int) -> None:
        """Count one judged call."""
        severity = SEVERITY[result.verdict]
        self.calls += 1
        self._nanoseconds += nanoseconds
        figures = self._tools.get(row.call.tool)
        if figures is None:
            name = row.call.tool if len(self._tools) < MAX_TOOLS else OTHER_TOOLS
            figures = self._tools.setdefault(name, _Figures())
        figures.verdicts[severity] += 1
        figures.total += result.posterior
        figures.highest = max(figures.highest, result.posterior)
        self._push_label(row.label, severity)
        if severity and self._worst:
            self._push_offender(row, result, severity)

    def push_broken(self, line: BrokenLine) -> None:
        """Count one line that held no call."""
        self._broken += 1
        if len(self._first_broken) < self._named:
            self._first_broken.append(line)

    def _push_label(self, label: str | None, severity: int) -> None:
        self._labelled = self._labelled or (label is not None and label != GENUINE)
        name = NO_LABEL if label is None else label
        counts = self._labels.get(name)
        if counts is None:
            name = name if len(self._labels) < MAX_LABELS else OTHER_LABELS
            counts = self._labels.setdefault(name, [0, 0, 0])
        counts[severity] += 1

    def _push_offender(self, row: TraceRow, result: VerificationResult, severity: int) -> None:
        # The last part of the rank tells all calls apart, so that a heap never compares offenders.
        rank = (severity, result.posterior, -self.calls)
        full = len(self._heap) >= self._worst
        if full and rank < self._heap[0][0]:
            return  # the usual case of a long log: no explanation is written for a call that will not be shown
        explanation = result.explanation[:MAX_EXPLANATION]
        offender = Offender(row.source, row.line, row.call.tool, result.posterior, result.verdict, explanation)
        (heappushpop if full else heappush)(self._heap, (rank, offender))

    def summary(self) -> ReplaySummary:
        """What was counted so far."""
        tools = [
            ToolSummary(name, VerdictCounts(*figures.verdicts), figures.total / sum(figures.verdicts), figures.highest)
            for name, figures in self._tools.items()
            if any(figures.verdicts)
        ]
        tools.sort(key=lambda tool: (-tool.counts.block, -tool.counts.flag, -tool.counts.calls, tool.tool))
        labels = {name: VerdictCounts(*self._labels[name]) for name in sorted(self._labels)} if self._labelled else {}
        return ReplaySummary(
            counts=VerdictCounts(*(sum(figures.verdicts[k] for figures in self._tools.values()) for k in range(3))),
            tools=tuple(tools),
            offenders=tuple(offender for _, offender in sorted(self._heap, reverse=True)),
            broken=self._broken,
            first_broken=tuple(self._first_broken),
            labels=labels,
            us_per_call=self._nanoseconds / self.calls / 1000 if self.calls else None,
        )
