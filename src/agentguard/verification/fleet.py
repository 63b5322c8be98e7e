"""What workers on one store tell one another: each hands over what it has counted, and takes in what others have."""

from __future__ import annotations

import logging
from typing import Any

from agentguard.stores import Delta, Store
from agentguard.stores.flusher import new_worker

from .absorbing import absorb
from .baseline import ToolMemory
from .census import added
from .count_checks import check_counts
from .registry import ToolState

__all__ = ["Fleet", "sayable"]

_log = logging.getLogger("agentguard")

Known = dict[int, dict[str, int]]
"""Counts of a tool by hour and field, as last seen in the store, or put there by this worker."""

Tools = list[tuple[str, ToolState]]


def sayable(tool: str) -> str:
    """A tool's name as a store takes it: a lone surrogate is no text to it."""
    return tool.encode("utf-8", "backslashreplace").decode()


class Fleet:
    """One worker among those on a store. Used by one thread at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, Known] = {}
        self._calls: dict[str, int] = {}
        self._hour = 0
        self.begin()

    def begin(self) -> None:
        """As a new worker: nothing is left to be handed over."""
        self._worker, self._sequence = new_worker(), 0
        self._unsent: dict[str, dict[str, int]] = {}
        self._pending: Delta | None = None

    def forgotten(self) -> None:
        """The store has lost its counts: those of others count from now on."""
        self._known, self._calls, self._hour = {}, {}, 0

    def send(self, tools: Tools) -> None:
        """Hand over what was counted since the last time.

        Raises:
            StoreError: where the store cannot be reached; it is handed over once, the next time.
        """
        if self._pending is not None:
            self._deliver(self._pending)  # the same delta again: the answer was lost
        for tool, state in tools:
            if state.census is not None:
                with state.lock:
                    counts = state.census.take()
                if counts:
                    self._unsent[sayable(tool)] = added(self._unsent.get(sayable(tool), {}), counts)
        if self._unsent:
            self._pending = Delta(self._worker, self._sequence + 1, self._unsent)
            self._unsent = {}
            self._deliver(self._pending)

    def _deliver(self, delta: Delta) -> None:
        hour = self._store.merge(delta)
        for tool, sent in delta.counts.items():
            if tool in self._known:
                self._known[tool][hour] = added(self._known[tool].get(hour, {}), sent)
        self._sequence += 1
        self._pending = None

    def pull(self, tools: Tools) -> None:
        """Take in what other workers counted of the tools that are in use here.

        Raises:
            StoreError: where the store cannot be reached.
        """
        active, calls = {}, {}
        for tool, state in tools:
            if state.census is not None:
                calls[tool] = state.judged
                if self._calls.get(tool) != state.judged:
                    active[sayable(tool)] = state
        self._calls = calls
        self._known = {tool: known for tool, known in self._known.items() if tool in calls}
        if not active:
            return
        found = self._store.counts(list(active), since=self._hour)
        for tool, state in active.items():
            now = {hour: names[tool] for hour, names in found.items() if tool in names}
            before = self._known.get(tool)
            self._known[tool] = now
            if before is not None:  # what was there when the tool was first met is in its document
                _take_in(state, _beyond(now, before))
        if found:
            self._hour = max(found) - 1  # an hour that has just ended may still get a late delta


def _take_in(state: ToolState, counts: dict[str, int]) -> None:
    memory: Any = state.memory
    if counts and isinstance(memory, ToolMemory):
        with state.lock:
            try:
                check_counts(counts)  # of an hour that was forgotten under way, parts of the sums may be left
                absorb(memory, counts)
            except Exception as error:  # the store may hold what no worker wrote
                _log.error("what other workers counted of a tool cannot be used: %s", type(error).__name__)
            state.changed = True


def _beyond(now: Known, before: Known) -> dict[str, int]:
    found: dict[str, int] = {}
    for hour, counts in now.items():
        known = before.get(hour, {})
        for name, times in counts.items():
            more = times - known.get(name, 0)
            if more > 0:
                found[name] = found.get(name, 0) + more
    return found
