"""The tools that an engine knows: each one's contract, settings, labels, and what was learned of it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any

from .calibration import LabelCounts
from .contract import Contract
from .profile import ToolProfile
from .profile_index import ProfileIndex
from .settings import Settings

__all__ = ["Registry", "ToolState"]

MAX_TOOLS = 10_000


class ToolState:
    """One tool, and the lock under which it is used."""

    __slots__ = ("contract", "labels", "lock", "memory", "settings", "trusted_left")

    def __init__(self, contract: Contract, memory: Any, settings: Settings) -> None:
        self.lock = Lock()
        self.contract = contract
        self.memory = memory
        self.settings = settings
        self.labels = LabelCounts()
        self.trusted_left = 0


class Registry:
    """Tools by name, the least recently used one out when there are more than 10,000. Thread-safe."""

    def __init__(self, new_memory: Callable[[], Any], settings: Settings) -> None:
        self._lock = Lock()
        self._new_memory = new_memory
        self._settings = settings
        self._overrides: dict[str, dict[str, Any]] = {}
        self._profiles = ProfileIndex()
        self._tools: OrderedDict[str, ToolState] = OrderedDict()

    def __len__(self) -> int:
        return len(self._tools)

    def find(self, tool: str, *, keep: bool) -> ToolState:
        """The tool's state; a new one is remembered only where ``keep`` is set."""
        with self._lock:
            state = self._tools.get(tool)
            if state is not None:
                if keep:
                    self._tools.move_to_end(tool)
                return state
            settings = self._settings.changed(**self._overrides.get(tool, {}))
            state = ToolState(self._contract(tool), self._new_memory(), settings)
            if keep:
                self._tools[tool] = state
                if len(self._tools) > MAX_TOOLS:
                    self._tools.popitem(last=False)
            return state

    def declare(self, profile: ToolProfile) -> None:
        """Hold the tools that the profile matches to it from now on."""
        with self._lock:
            self._profiles.add(profile)
            for tool, state in self._tools.items():
                state.contract = self._contract(tool)

    def configure(self, tool: str | None, changes: dict[str, Any]) -> None:
        """Change settings for one tool or for all; what is set for a tool stands over what is set for all.

        Raises:
            ConfigurationError: for a setting out of range; nothing is changed then.
        """
        with self._lock:
            everywhere = self._settings.changed(**changes) if tool is None else self._settings
            overrides = dict(self._overrides)
            if tool is not None:
                before = overrides.get(tool, {})
                ratios = {**before.get("likelihood_ratios", {}), **changes.get("likelihood_ratios", {})}
                overrides[tool] = {**before, **changes, "likelihood_ratios": ratios}
            checked = {name: everywhere.changed(**values) for name, values in overrides.items()}
            self._settings, self._overrides = everywhere, overrides
            for name, state in self._tools.items():
                state.settings = checked.get(name, everywhere)

    def _contract(self, tool: str) -> Contract:
        profile = self._profiles.find(tool)
        return Contract.unregistered(tool) if profile is None else Contract(profile)
