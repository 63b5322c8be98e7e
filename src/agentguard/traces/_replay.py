"""A log of calls put through an engine in recorded order, and counted in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from heapq import heappush, heapreplace
from time import perf_counter_ns
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

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
    """The part of an engine that a replay uses."""

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
    for row in counted.calls_of(rows, limit):
        before = perf_counter_ns()
        verdict = judge(engine, row.call)
        counted.push(row, verdict, perf_counter_ns() - before)
        if on_call is not None:
            on_call(row, verdict)
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


C = TypeVar("C")
R = TypeVar("R")


class LogCounts(Generic[C, R]):
    """Counts by tool and by label, and the worst calls, in bounded memory; what ``Tally`` and ``Comparing`` share.

    Args:
        new: makes the counts of a tool or a label.
        worst: how many of the worst calls to keep.
        broken: how many broken lines to name.
    """

    def __init__(self, new: Callable[[], C], worst: int, broken: int) -> None:
        self.calls: int = 0
        self._new, self._worst, self._named = new, worst, broken
        self._tools: dict[str, C] = {}
        self._labels: dict[str, C] = {}
        self._labelled = False
        self._heap: list[tuple[tuple[int, float, int], R]] = []
        self._broken = 0
        self._first_broken: list[BrokenLine] = []

    def calls_of(self, rows: Iterable[TraceRow | BrokenLine], limit: int | None) -> Iterator[TraceRow]:
        """The calls among the rows, at most ``limit``, beyond which no row is read; broken lines are counted."""
        left = -1 if limit is None else limit
        for row in rows if left else ():
            if isinstance(row, BrokenLine):
                self.push_broken(row)
                continue
            yield row
            left -= 1
            if not left:
                return

    def push_broken(self, line: BrokenLine) -> None:
        """Count one line that held no call."""
        self._broken += 1
        if len(self._first_broken) < self._named:
            self._first_broken.append(line)

    def _counts_of(self, row: TraceRow) -> tuple[C, C]:
        """Count one call; the counts of its tool and of its label."""
        self.calls += 1
        self._labelled = self._labelled or (row.label is not None and row.label != GENUINE)
        label = NO_LABEL if row.label is None else row.label
        return (
            self._under(self._tools, row.call.tool, MAX_TOOLS, OTHER_TOOLS),
            self._under(self._labels, label, MAX_LABELS, OTHER_LABELS),
        )

    def _under(self, counts: dict[str, C], name: str, most: int, other: str) -> C:
        known = counts.get(name)
        return counts.setdefault(name if len(counts) < most else other, self._new()) if known is None else known

    def _offer(self, gravity: int, weight: float, record: Callable[[], R]) -> None:
        """Keep a call where it is among the worst; its record is made only then."""
        if not self._worst:
            return
        # The last part of the rank tells all calls apart, so that a heap never compares records.
        rank = (gravity, weight, -self.calls)
        if len(self._heap) < self._worst:
            heappush(self._heap, (rank, record()))
        elif rank > self._heap[0][0]:
            heapreplace(self._heap, (rank, record()))

    def _ranked(self) -> tuple[R, ...]:
        return tuple(record for _, record in sorted(self._heap, reverse=True))

    def _by_label(self) -> dict[str, C]:
        """The counts by label, in order; empty where no call has another label than ``genuine``."""
        return {name: self._labels[name] for name in sorted(self._labels)} if self._labelled else {}


@dataclass(slots=True)
class _Figures:
    """Running figures of a tool or a label: verdicts, and the sum and the highest of the posteriors."""

    verdicts: list[int] = field(default_factory=lambda: [0, 0, 0])
    total: float = 0.0
    highest: float = 0.0


class Tally(LogCounts[_Figures, Offender]):
    """Counts verdicts, in memory bounded by the number of tools (10,000), labels (100) and offenders kept.

    Args:
        worst: how many offenders to keep.
        broken: how many broken lines to name.
    """

    def __init__(self, worst: int = 10, broken: int = 20) -> None:
        super().__init__(_Figures, worst, broken)
        self._nanoseconds = 0

    def push(self, row: TraceRow, result: VerificationResult, nanoseconds: int) -> None:
        """Count one judged call."""
        severity = SEVERITY[result.verdict]
        self._nanoseconds += nanoseconds
        tool, label = self._counts_of(row)
        tool.verdicts[severity] += 1
        tool.total += result.posterior
        tool.highest = max(tool.highest, result.posterior)
        label.verdicts[severity] += 1
        if severity:
            self._offer(severity, result.posterior, partial(_offender, row, result))

    def summary(self) -> ReplaySummary:
        """Summarise the counts so far."""
        tools = [
            ToolSummary(name, VerdictCounts(*figures.verdicts), figures.total / sum(figures.verdicts), figures.highest)
            for name, figures in self._tools.items()
        ]
        return ReplaySummary(
            counts=VerdictCounts(*(sum(figures.verdicts[k] for figures in self._tools.values()) for k in range(3))),
            tools=ranked_tools(tools),
            offenders=self._ranked(),
            broken=self._broken,
            first_broken=tuple(self._first_broken),
            labels={name: VerdictCounts(*figures.verdicts) for name, figures in self._by_label().items()},
            us_per_call=self._nanoseconds / self.calls / 1000 if self.calls else None,
        )


def ranked_tools(tools: Iterable[ToolSummary]) -> tuple[ToolSummary, ...]:
    """Sort tools: most blocked first, then most flagged, then most called."""
    return tuple(sorted(tools, key=lambda tool: (-tool.counts.block, -tool.counts.flag, -tool.counts.calls, tool.tool)))


def _offender(row: TraceRow, result: VerificationResult) -> Offender:
    explanation = result.explanation[:MAX_EXPLANATION]
    return Offender(row.source, row.line, row.call.tool, result.posterior, result.verdict, explanation)
