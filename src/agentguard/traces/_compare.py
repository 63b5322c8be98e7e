"""Two engines side by side over one log: which calls would get another verdict, and why.

Each engine learns from the log as it would have alone, so that a change of profiles is seen with all that follows
from it: a call that is blocked under one set of profiles is not learned from there, and later calls are judged by
what was learned. Memory is constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from agentguard.traces._read import BrokenLine, TraceRow
from agentguard.traces._replay import LogCounts, Verifier, judge
from agentguard.verification.statistics import log_odds
from agentguard.verification.types import SEVERITY, Verdict, VerdictCounts, VerificationResult

PRIOR = "prior"
BOUND = "false-block bound"


class VerdictMatrix(NamedTuple):
    """Calls by their verdict before (the field) and after (the field of ``VerdictCounts``).

    >>> moved = VerdictMatrix(accept=VerdictCounts(90, 4, 1), block=VerdictCounts(2, 0, 3))
    >>> moved.calls, moved.changed, moved.stricter, moved.looser
    (100, 7, 5, 2)
    """

    accept: VerdictCounts = VerdictCounts()
    flag: VerdictCounts = VerdictCounts()
    block: VerdictCounts = VerdictCounts()

    @property
    def calls(self) -> int:
        """All of them."""
        return sum(counts.calls for counts in self)

    @property
    def changed(self) -> int:
        """Calls whose verdict is another one."""
        return self.stricter + self.looser

    @property
    def stricter(self) -> int:
        """Calls whose verdict became graver."""
        return self.accept.flag + self.accept.block + self.flag.block

    @property
    def looser(self) -> int:
        """Calls whose verdict became milder."""
        return self.flag.accept + self.block.accept + self.block.flag

    @property
    def worst_new(self) -> Verdict | None:
        """The gravest verdict that a call has only after the change; None where no verdict became graver."""
        if self.accept.block or self.flag.block:
            return "block"
        return "flag" if self.accept.flag else None

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data: ``{"accept": {"accept": 90, …}, …}``."""
        return {before: counts._asdict() for before, counts in zip(self._fields, self, strict=True)}


class Change(NamedTuple):
    """One call with two verdicts, and where it stands.

    ``signal`` is the one whose contribution to the log-odds differs most (or ``"prior"``, or where none differs
    ``"false-block bound"``), ``nats`` by how much (positive: towards fabricated), ``detail`` what it said; like every
    detail of a signal it quotes no result.
    """

    source: str
    line: int
    tool: str
    before: Verdict
    after: Verdict
    before_posterior: float
    after_posterior: float
    signal: str
    nats: float
    detail: str
    label: str | None = None


class ToolComparison(NamedTuple):
    """One tool's verdicts under both, and by how much its mean P(fabricated) moved, in [-1, 1]."""

    tool: str
    matrix: VerdictMatrix
    mean_shift: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences between two engines over one log.

    Attributes:
        tools: one record a tool, most changed verdicts first. Beyond 10,000 tools the rest is one record.
        changes: the greatest changes: accept to block (or back) before a step of one, then by how far the posterior
            moved, then as they came.
        labels: the same matrix by label, where any label says something other than ``genuine``; labels never reach
            the engines.
    """

    matrix: VerdictMatrix  # all calls
    tools: tuple[ToolComparison, ...] = ()
    changes: tuple[Change, ...] = ()
    broken: int = 0  # how many lines held no call
    first_broken: tuple[BrokenLine, ...] = ()  # the first of them by place and reason
    labels: Mapping[str, VerdictMatrix] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, ready for JSON."""
        return {
            **_figures(self.matrix),
            "tools": [
                {"tool": tool.tool, **_figures(tool.matrix), "mean_shift": tool.mean_shift} for tool in self.tools
            ],
            "changes": [change._asdict() for change in self.changes],
            "broken": self.broken,
            "first_broken": [line._asdict() for line in self.first_broken],
            "labels": {label: _figures(matrix) for label, matrix in self.labels.items()},
        }


def _figures(matrix: VerdictMatrix) -> dict[str, Any]:
    figures = {name: getattr(matrix, name) for name in ("calls", "changed", "stricter", "looser")}
    return {**figures, "matrix": matrix.as_dict()}


def compare(
    rows: Iterable[TraceRow | BrokenLine],
    old: Verifier,
    new: Verifier,
    on_change: Callable[[TraceRow, VerificationResult, VerificationResult], None] | None = None,
    *,
    limit: int | None = None,
    comparing: Comparing | None = None,
) -> Comparison:
    """Judge a log's calls by two engines, one call after the other.

    Args:
        rows: as ``read_traces`` yields them.
        old: the engine as it is. Both are given tool, args, result, time, session and call id: no label.
        new: the engine as it would be.
        on_change: told of every call whose verdict is another one, with the old and the new result.
        limit: stop after so many calls.
        comparing: where to count; whoever holds it can ask for a summary also when the comparison was broken off.

    >>> from agentguard.traces._read import parse_line
    >>> from agentguard.verification import VerificationEngine
    >>> new = VerificationEngine()
    >>> profile = new.register_tool_profile("lookup", required_fields=["id"])
    >>> rows = [parse_line(b'{"tool": "lookup", "result": {"name": "Ada"}}', "calls.jsonl", 1)]
    >>> (change,) = compare(rows, VerificationEngine(), new).changes
    >>> change.before, change.after, change.signal
    ('accept', 'block', 'schema_mismatch')
    """
    counted = Comparing() if comparing is None else comparing
    for row in counted.calls_of(rows, limit):
        before, after = judge(old, row.call), judge(new, row.call)
        counted.push(row, before, after)
        if on_change is not None and before.verdict != after.verdict:
            on_change(row, before, after)
    return counted.summary()


@dataclass(slots=True)
class _Cells:
    """Nine running counts, row by row, and the sum of the posterior's moves."""

    counts: list[int] = field(default_factory=lambda: [0] * 9)
    shift: float = 0.0

    @property
    def matrix(self) -> VerdictMatrix:
        return VerdictMatrix(*(VerdictCounts(*self.counts[row : row + 3]) for row in (0, 3, 6)))


class Comparing(LogCounts[_Cells, Change]):
    """Counts pairs of verdicts, in memory bounded by the number of tools (10,000), labels (100) and changes kept.

    Args:
        worst: how many changes to keep.
        broken: how many broken lines to name.
    """

    def __init__(self, worst: int = 10, broken: int = 20) -> None:
        super().__init__(_Cells, worst, broken)

    def push(self, row: TraceRow, before: VerificationResult, after: VerificationResult) -> None:
        """Count one call, judged twice."""
        cell = 3 * SEVERITY[before.verdict] + SEVERITY[after.verdict]
        shift = after.posterior - before.posterior
        tool, label = self._counts_of(row)
        tool.counts[cell] += 1
        tool.shift += shift
        label.counts[cell] += 1
        if before.verdict != after.verdict:
            step = abs(SEVERITY[after.verdict] - SEVERITY[before.verdict])
            self._offer(step, abs(shift), partial(_change, row, before, after))

    def summary(self) -> Comparison:
        """Summarise the counts so far."""
        total = _Cells()
        for cells in self._tools.values():
            total.counts = [one + other for one, other in zip(total.counts, cells.counts, strict=True)]
        matrices = [(name, cells.matrix, cells.shift) for name, cells in self._tools.items()]
        tools = [ToolComparison(name, matrix, shift / matrix.calls) for name, matrix, shift in matrices]
        tools.sort(key=lambda tool: (-tool.matrix.changed, -tool.matrix.calls, tool.tool))
        return Comparison(
            matrix=total.matrix,
            tools=tuple(tools),
            changes=self._ranked(),
            broken=self._broken,
            first_broken=tuple(self._first_broken),
            labels={name: cells.matrix for name, cells in self._by_label().items()},
        )


def _change(row: TraceRow, before: VerificationResult, after: VerificationResult) -> Change:
    moves = {PRIOR: log_odds(after.prior) - log_odds(before.prior)}
    for name in (*before.contributions, *after.contributions):
        moves[name] = after.contributions.get(name, 0.0) - before.contributions.get(name, 0.0)
    signal = max(moves, key=lambda name: abs(moves[name]))
    nats = moves[signal]
    if not nats:
        # The same evidence, another verdict: the share of genuine calls that may be blocked was used up on one side.
        signal, detail = BOUND, after.note or before.note
    elif signal == PRIOR:
        detail = f"{before.prior:.3f} to {after.prior:.3f}"
    else:
        sides = (side for side in (after, before) if side.contributions.get(signal) and signal in side.signals)
        detail = next((side.signals[signal].detail for side in sides), "")
    return Change(
        row.source, row.line, row.call.tool, before.verdict, after.verdict, before.posterior, after.posterior,
        signal, nats, detail, row.label,
    )  # fmt: skip
