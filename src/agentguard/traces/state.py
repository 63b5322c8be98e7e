"""What is counted of a log so that profiles can be inferred from it, in constant memory.

``partial`` counts a batch of calls, ``merge`` adds two counts. Both are exact: all numbers are integers, and of what
could grow without bound (tools, places in results, arguments) those are kept whose hashes are lowest, so that the
state of a log is the same however the log was divided, and in whichever order its parts were merged.

>>> from agentguard.traces.row import parse_line
>>> rows = [parse_line(b'{"tool": "add", "result": {"sum": %d}}' % n, "calls.jsonl", n) for n in range(9)]
>>> merge(partial(rows[:4]), partial(rows[4:])) == partial(rows)
True
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from agentguard.errors import DataError
from agentguard.verification.canonical import as_name

from .kept import Kept, rank_of
from .row import BrokenLine, TraceRow
from .tool_state import ToolState

__all__ = ["State", "merge", "partial"]

MAX_TOOLS: Final = 2_000
VERSION: Final = 2


class State:
    """The counts of a log.

    Attributes:
        calls: all calls, also those of tools beyond the bound.
        broken: lines that held no call.
        tools: what was counted of each tool.
    """

    __slots__ = ("broken", "calls", "tools")

    def __init__(self) -> None:
        self.calls = 0
        self.broken = 0
        self.tools: Kept[str, ToolState] = Kept(MAX_TOOLS, ToolState, rank_of)

    def push(self, row: TraceRow | BrokenLine) -> None:
        """Count one line of a log."""
        if isinstance(row, BrokenLine):
            self.broken += 1
            return
        self.calls += 1
        tool = self.tools.at(as_name(row.call.tool))
        if tool is not None:
            tool.push(row.call)

    def add(self, other: State) -> None:
        """Count all that another state has counted; that one stays as it is."""
        self.calls += other.calls
        self.broken += other.broken
        self.tools.is_cut |= other.tools.is_cut
        for name, counted in other.tools.entries.items():
            tool = self.tools.at(name)
            if tool is not None:
                tool.add(counted)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, ready for JSON; equal states have equal data."""
        return {
            "version": VERSION,
            "calls": self.calls,
            "broken": self.broken,
            "is_cut": self.tools.is_cut,
            "tools": {name: tool.as_dict() for name, tool in sorted(self.tools.entries.items())},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> State:
        """The state that ``as_dict`` gave.

        Raises:
            DataError: for what ``as_dict`` did not write, or another version of it did.
        """
        if not isinstance(data, Mapping) or data.get("version") != VERSION:
            raise DataError(f"no counts of a log of version {VERSION}: count the log again")
        state = cls()
        try:
            state.calls, state.broken = int(data["calls"]), int(data["broken"])
            state.tools.is_cut = bool(data["is_cut"])
            for name, counted in data["tools"].items():
                tool = state.tools.at(name)
                if tool is not None:
                    tool.read(counted)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise DataError(f"damaged counts of a log ({type(error).__name__}): count the log again") from None
        return state

    def __eq__(self, other: object) -> bool:
        return self.as_dict() == other.as_dict() if isinstance(other, State) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # what changes has no hash


def partial(rows: Iterable[TraceRow | BrokenLine]) -> State:
    """The counts of one batch, of any size."""
    state = State()
    for row in rows:
        state.push(row)
    return state


def merge(one: State, other: State) -> State:
    """The counts of both together; neither is changed. ``merge(State(), one) == one``."""
    merged = State()
    merged.add(one)
    merged.add(other)
    return merged
