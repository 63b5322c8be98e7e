"""What a fault may draw on: the calls around the one that goes wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from statistics import median
from typing import Any, NamedTuple

from ..calls import Call

__all__ = ["Fault", "Scene", "same"]


class Scene(NamedTuple):
    """The moment of a call.

    Attributes:
        past: the family's calls until now, the latest last.
        ahead: calls that the family makes later: answers that nobody has seen yet.
        elsewhere: what other tools of the agent answer about now.
        seen: the results of the past as text, by tool.
    """

    past: Sequence[Call]
    ahead: Sequence[Call]
    elsewhere: Sequence[Call]
    seen: frozenset[tuple[str, str]] | set[tuple[str, str]]

    def unseen(self, calls: Iterable[Call]) -> list[Call]:
        """Those of the calls whose answers are new."""
        return [call for call in calls if (call.tool, json.dumps(call.result)) not in self.seen]

    def of_tool(self, tool: str) -> Iterator[Call]:
        """Past calls of a tool, the latest first."""
        return (call for call in reversed(self.past) if call.tool == tool)

    def usual_ms(self, tool: str) -> float:
        """The tool's median time until now, in milliseconds; 0 for a tool without a past."""
        times = [call.ms for call in self.of_tool(tool)]
        return median(times) if times else 0.0


Fault = Callable[[Call, Scene, Random], Call | None]


def same(left: Any, right: Any) -> bool:
    """Whether two results are one to whoever reads them: type for type, in the same order.

    >>> same({"a": 1}, {"a": True}), same([1], [1])
    (False, True)
    """
    return json.dumps(left) == json.dumps(right)
