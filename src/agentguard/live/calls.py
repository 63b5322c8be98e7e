"""How many calls each tool has had, as the store counts them by the hour."""

from __future__ import annotations

from typing import Final

from agentguard.stores import Store
from agentguard.verification.census import field
from agentguard.verification.state import batches, place_of

__all__ = ["CallCounts"]

MOST: Final = 500  # tools: those whose documents were saved last
WHOLE_EVERY: Final = 60  # readings: hours beyond the store's bound are gone then, and tools that were reset
_CALLS: Final = field("calls")


class CallCounts:
    """Reads the counts on: of a tool that is known, those of the latest two hours. Used by one thread at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._readings = 0
        self._hour = 1
        self._calls: dict[str, dict[int, int]] = {}

    def read(self) -> dict[str, int]:
        """Calls by tool.

        Raises:
            StoreError: where the store cannot be read.
        """
        if self._readings % WHOLE_EVERY == 0:
            self._calls = {}
        self._readings += 1
        places = map(place_of, self._store.names())
        tools = list(dict.fromkeys(place.tool for place in places if place is not None and place.tool is not None))
        known = self._calls.keys() & tools[-MOST:]
        # An hour that has just ended may still get a late delta.
        for names, since in ((known, self._hour - 1), (set(tools[-MOST:]) - known, 0)):
            for batch in batches(sorted(names)):
                for hour, counts in self._store.counts(batch, since=since).items():
                    self._hour = max(self._hour, hour)
                    for tool, fields in counts.items():
                        self._calls.setdefault(tool, {})[hour] = fields.get(_CALLS, 0)
        return {tool: sum(hours.values()) for tool, hours in self._calls.items()}
