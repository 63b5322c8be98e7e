"""What each tool has had, added up: verdicts on record, labels, and calls that wait for one."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agentguard.verification.persistence import sayable

__all__ = ["Tallies", "ToolRow", "Tools"]

MAX_TOOLS: Final = 10_000
SHOWN: Final = 100


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool.

    Attributes:
        tool: its name.
        calls: as counted in the hours that the store keeps; None where nothing was counted.
        flag: flagged calls on record.
        block: blocked calls on record.
        accept: accepted calls on record, which are a sample.
        waiting: calls that can be reviewed and were not.
        fabricated: labels that say so.
        genuine: labels that say so.
    """

    tool: str
    calls: int | None
    flag: int
    block: int
    accept: int
    waiting: int
    fabricated: int
    genuine: int


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools with most to look at, how many there are besides, and how many calls wait for a reviewer in all."""

    rows: tuple[ToolRow, ...]
    more: int
    waiting: int


class Tallies:
    """Counts by tool, of at most 10,000 tools: those longest untouched go first. Not locked."""

    def __init__(self) -> None:
        self._by_tool: OrderedDict[str, Counter[str]] = OrderedDict()
        self._calls: Mapping[str, int] = {}

    def add(self, tool: str, what: str, times: int = 1) -> None:
        """Count ``flag``, ``block``, ``accept``, ``waiting``, ``fabricated`` or ``genuine``."""
        tool = sayable(tool)
        self._by_tool.setdefault(tool, Counter())[what] += times
        self._by_tool.move_to_end(tool)
        if len(self._by_tool) > MAX_TOOLS:
            self._by_tool.popitem(last=False)

    def forget_labels(self, tool: str) -> None:
        """The labels of a tool were taken back."""
        counts = self._by_tool.get(sayable(tool))
        if counts is not None:
            counts["fabricated"] = counts["genuine"] = 0

    def set_calls(self, calls: Mapping[str, int]) -> bool:
        """What was counted of calls, by tool; whether that is news."""
        news, self._calls = calls != self._calls, calls
        return news

    def tools(self, waiting: int) -> Tools:
        """The hundred tools with most waiting, then with most suspects, then with most calls."""
        rows = [self._row(tool) for tool in {**self._by_tool, **self._calls}]
        rows.sort(key=lambda row: (-row.waiting, -row.block - row.flag, -(row.calls or 0), row.tool))
        return Tools(tuple(rows[:SHOWN]), max(len(rows) - SHOWN, 0), waiting)

    def _row(self, tool: str) -> ToolRow:
        counts = self._by_tool.get(tool, Counter[str]())
        return ToolRow(
            tool, self._calls.get(tool), counts["flag"], counts["block"], counts["accept"], max(counts["waiting"], 0),
            counts["fabricated"], counts["genuine"],
        )  # fmt: skip
