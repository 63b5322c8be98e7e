"""The tools that an engine knows: each one's contract, settings, labels, and what was learned of it."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any, Protocol

from .calibration import LabelCounts, factors, together
from .case import Case
from .census import Census
from .contract import Contract
from .evidence import DEFAULT_RATIOS
from .incidents import Incidents
from .profile import ToolProfile
from .profile_index import ProfileIndex
from .settings import Settings

__all__ = ["Registry", "ToolState", "Warden"]

MAX_TOOLS = 10_000
MAX_LABELLED = 100_000  # tools; a label's counts are small, and outlive the rest of what is known of a tool
_UNLABELLED = LabelCounts()
_log = logging.getLogger("agentguard")


class Warden(Protocol):
    """Where the memory of a tool comes from, and where it goes when there is no more room for it."""

    def remembered(self, tool: str) -> Any:
        """What was learned of a tool so far, or nothing yet: never raises."""

    def incidents(self, tool: str) -> Incidents:
        """What is known of a tool's changes: never raises."""

    def evicted(self, tool: str, state: ToolState) -> None:
        """There is no more room for a tool: never raises."""


class ToolState:
    """One tool, and the lock under which it is used.

    Attributes:
        factors: by how much each signal's evidence counts more or less than documented, by labels.
        version: of the labels that ``factors`` rest on.
        census: what was counted since it was last handed to the store; None where nothing is.
        changed: something was learned since the memory was last saved.
        incidents: the lasting changes of its results, and suspects that may be the beginning of one.
        judged: how many calls were judged, since the engine was made.
    """

    __slots__ = (
        "census", "changed", "contract", "factors", "incidents", "judged", "labels", "lock", "memory", "settings", "trusted_left",
        "version",
    )  # fmt: skip

    def __init__(
        self, contract: Contract, memory: Any, settings: Settings, census: Census | None, incidents: Incidents
    ) -> None:
        self.lock = Lock()
        self.contract = contract
        self.memory = memory
        self.settings = settings
        self.labels = _UNLABELLED
        self.factors: Mapping[str, float] = {}
        self.version = -1
        self.census = census
        self.changed = False
        self.judged = 0
        self.trusted_left = 0
        self.incidents = incidents

    def count(self, case: Case) -> None:
        """Note that a call was judged and learned from; used under the lock."""
        self.judged += 1
        self.changed = True
        if self.census is not None:
            try:
                self.census.push(case.document, case.arguments, case.milliseconds)
            except Exception as error:
                _log.error("a call of %r could not be counted: %s", case.call.tool, type(error).__name__)


class Registry:
    """Tools by name, the least recently used one out when there are more than 10,000. Thread-safe."""

    def __init__(self, warden: Warden, settings: Settings, *, counting: bool) -> None:
        self._lock = Lock()
        self._warden = warden
        self._settings = settings
        self._counting = counting
        self._overrides: dict[str, dict[str, Any]] = {}
        self._profiles = ProfileIndex()
        self._tools: OrderedDict[str, ToolState] = OrderedDict()
        self._labels: dict[str, LabelCounts] = {}
        self._all_labels = LabelCounts()
        self._version = 0

    def __len__(self) -> int:
        return len(self._tools)

    def find(self, tool: str, *, keep: bool) -> ToolState:
        """The tool's state; a new one is remembered only where ``keep`` is set."""
        with self._lock:
            state = self._tools.get(tool)
            if state is None:
                settings = self._settings.changed(**self._overrides.get(tool, {}))
                census = Census() if self._counting else None
                warden = self._warden
                memory, incidents = warden.remembered(tool), warden.incidents(tool)
                state = ToolState(self._contract(tool), memory, settings, census, incidents)
                if keep:
                    self._tools[tool] = state
                    if len(self._tools) > MAX_TOOLS:
                        self._warden.evicted(*self._tools.popitem(last=False))
            elif keep:
                self._tools.move_to_end(tool)
            if state.version != self._version:
                self._weigh(tool, state)
            return state

    def met(self, tool: str) -> ToolState | None:
        """The state of a tool that is in use; None of any other."""
        with self._lock:
            return self._tools.get(tool)

    def contract_of(self, tool: str) -> Contract:
        """What a tool is held to; what was learned of it is not asked for."""
        with self._lock:
            state = self._tools.get(tool)
            return self._contract(tool) if state is None else state.contract

    def known(self) -> list[tuple[str, ToolState]]:
        """All tools, the least recently used first."""
        with self._lock:
            return list(self._tools.items())

    def drop(self, tool: str, *, labels: bool) -> None:
        """Forget what was learned of a tool, and on demand its labels; what is declared of it stays."""
        with self._lock:
            self._tools.pop(tool, None)
            if labels and self._labels.pop(tool, None) is not None:
                self._all_labels = together(self._labels.values())
                self._version += 1

    def label(self, tool: str, *, was_hallucination: bool, weight: float = 1.0, fired: Iterable[str] = ()) -> None:
        """Count a label on a call of this tool."""
        known = [name for name in fired if name.lstrip("!") in DEFAULT_RATIOS]
        with self._lock:
            labels = self._labels.get(tool)
            if labels is None:
                if len(self._labels) >= MAX_LABELLED:
                    del self._labels[next(iter(self._labels))]
                labels = self._labels[tool] = LabelCounts()
            for counts in (labels, self._all_labels):
                counts.add(was_hallucination=was_hallucination, weight=weight, fired=known)
            self._version += 1

    def _weigh(self, tool: str, state: ToolState) -> None:
        labels = self._labels.get(tool, _UNLABELLED)
        ratios = {**DEFAULT_RATIOS, **state.settings.likelihood_ratios}
        state.factors = factors(labels, self._all_labels, ratios, state.settings.prior)
        state.labels, state.version = labels, self._version

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
            self._version += 1

    def _contract(self, tool: str) -> Contract:
        profile = self._profiles.find(tool)
        return Contract.unregistered(tool) if profile is None else Contract(profile)
