"""Names of tools as labels of metrics: so many of them, and no more, whatever a model makes up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from agentguard import _forks as forks
from agentguard.errors import ConfigurationError

from .disclosing import safe_label, warm_up

__all__ = ["OTHER", "ToolNames"]

OTHER: Final = "other"


class ToolNames:
    """The first so many names each have a label; all further ones share ``other``. Thread-safe.

    Each label is a time series in the memory of whoever collects them.

    Args:
        most: how many names get a label by being called.
        known: names that have theirs in any case.

    Raises:
        ConfigurationError: where ``most`` is not a non-negative integer.

    >>> names = ToolNames(1, ["pay"])
    >>> [names.label(each) for each in ("search", "look_up", "pay", "search")]
    ['search', 'other', 'pay', 'search']
    """

    def __init__(self, most: int, known: Iterable[str] = ()) -> None:
        if not isinstance(most, int) or isinstance(most, bool) or most < 0:
            raise ConfigurationError(f"max_tools must be a non-negative integer, not {most!r}")
        if isinstance(known, str):
            raise ConfigurationError(f"tools must be a collection of names, not the text {known!r}")
        warm_up()
        self._labels = {name: safe_label(name) for name in known}
        self._room = most
        self._lock = forks.lock(forks.Rank.LEAF)

    def label(self, tool: str) -> str:
        """The label of a tool."""
        found = self._labels.get(tool)
        if found is not None:
            return found
        if not self._room:
            return OTHER
        with self._lock:
            if tool not in self._labels:
                if not self._room:
                    return OTHER
                self._labels[tool] = safe_label(tool)
                self._room -= 1
            return self._labels[tool]
