"""The registry of tools: each one's contract, settings, labels, and what was learned of it."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from agentguard import _forks as forks
from agentguard.errors import ConfigurationError
from agentguard.verification._calibration import Counted, LabelCounts, adapted, factors, together
from agentguard.verification._case import Case
from agentguard.verification._census import Census
from agentguard.verification._contract import Contract
from agentguard.verification._incidents import Incidents
from agentguard.verification._method import Method
from agentguard.verification.evidence import DEFAULT_RATIOS
from agentguard.verification.profile import ProfileIndex, ToolProfile
from agentguard.verification.types import Settings

MAX_TOOLS = 10_000  # in use at one time; the least recently used one is evicted
MAX_LABELLED = 100_000  # tools; a label's counts are small, and outlive the rest of what is known of a tool
MAX_LABELLED_CALLS = 10_000  # of which a second label is known to be one
_UNLABELLED = LabelCounts()
_log = logging.getLogger("agentguard")


class _Label(NamedTuple):
    """The latest label of a call or of a change: its number in the log, what it counted for the tool and for all."""

    sequence: int
    tool: Counted
    everywhere: Counted


class Remembered(NamedTuple):
    """A tool's memory and changes as on record, up to event ``follows`` of the log of changes."""

    memory: Any
    incidents: Incidents
    follows: int


class Warden(Protocol):
    """Keeper of the memory of tools: gives it when one is met, takes it when there is no more room for it."""

    def remembered(self, tool: str) -> Remembered:
        """Read what is on record of a tool; waits for the store, and never raises."""

    def followed(self, tool: str, remembered: Remembered) -> Incidents:
        """The incidents of a tool, with what came since they were put on record; waits for nothing."""

    def evicted(self, tool: str, state: ToolState) -> None:
        """There is no more room for a tool; waits for nothing."""

    def reclaimed(self, tool: str) -> ToolState | None:
        """A tool that was evicted, and is not in the store yet."""


class ToolState:
    """One tool, and the lock under which it is used.

    Attributes:
        settings: as configured for the tool.
        in_force: the same with what labels have made of them.
        factors: by how much each signal's evidence counts more or less than documented, by labels.
        version: of the labels that ``factors`` rest on.
        census: what was counted since it was last handed to the store; None where nothing is.
        changed: something was learned since the memory was last saved.
        judged: how many calls were judged, since the engine was made.
    """

    __slots__ = (
        "census", "changed", "contract", "factors", "in_force", "incidents", "judged", "labels", "lock", "memory",
        "settings", "trusted_left", "version",
    )  # fmt: skip

    def __init__(
        self, contract: Contract, memory: Any, settings: Settings, census: Census | None, incidents: Incidents
    ) -> None:
        self.lock = forks.lock(forks.Rank.TOOL)
        self.contract = contract
        self.memory = memory
        self.settings = settings
        self.in_force = settings
        self.labels = _UNLABELLED
        self.factors: Mapping[str, float] = {}
        self.version = -1
        self.census = census
        self.changed = False
        self.judged = 0
        self.trusted_left = 0
        self.incidents = incidents

    def count(self, case: Case, method: Method) -> None:
        """Note that a call was judged and learned from; used under the lock."""
        self.judged += 1
        self.changed = True
        if self.census is not None:
            try:
                self.census.push(case.document, case.milliseconds, method.outcomes(case), case.measured)
            except Exception as error:
                _log.error("a call of %r could not be counted: %s", case.call.tool, type(error).__name__)


class Registry:
    """Tools by name, the least recently used one out when there are more than 10,000. Thread-safe.

    Args:
        warden: where the memory of a tool comes from, and goes to.
        settings: as configured for all tools.
        counting: what may be added up over workers is counted.
        adapt: what labels make of the settings of a tool.
    """

    def __init__(
        self,
        warden: Warden,
        settings: Settings,
        *,
        counting: bool,
        adapt: Callable[[Settings, LabelCounts], Settings] = adapted,
    ) -> None:
        self._lock = forks.lock(forks.Rank.REGISTRY)
        self._warden = warden
        self._settings = settings
        self._counting = counting
        self._adapt = adapt
        self._overrides: dict[str, dict[str, Any]] = {}
        self._profiles = ProfileIndex()
        self._tools: OrderedDict[str, ToolState] = OrderedDict()
        self._labels: dict[str, LabelCounts] = {}
        self._all_labels = LabelCounts()
        self._labelled: OrderedDict[tuple[str, str], _Label] = OrderedDict()
        self._version = 0

    def __len__(self) -> int:
        return len(self._tools)

    def find(self, tool: str, *, keep: bool) -> ToolState:
        """The tool's state; a new one is remembered only where ``keep`` is set."""
        with self._lock:
            state = self._known(tool, keep=keep)
        if state is not None:
            return state
        # Read without the lock: a call of another tool does not wait for the store.
        remembered = self._warden.remembered(tool)
        with self._lock:
            state = self._known(tool, keep=keep)
            if state is None:  # else another thread has met it meanwhile
                census = Census() if self._counting else None
                incidents = self._warden.followed(tool, remembered)
                settings = self._configured(tool)
                state = ToolState(self._contract(tool), remembered.memory, settings, census, incidents)
                self._weigh(tool, state)
                if keep:
                    self._keep(tool, state)
            return state

    def _known(self, tool: str, *, keep: bool) -> ToolState | None:
        state = self._tools.get(tool)
        if state is None:
            state = self._warden.reclaimed(tool)
            if state is None:
                return None
            state.contract = self._contract(tool)
            state.settings = self._configured(tool)
            self._keep(tool, state)
        elif keep:
            self._tools.move_to_end(tool)
        if state.version != self._version:
            self._weigh(tool, state)
        return state

    def _keep(self, tool: str, state: ToolState) -> None:
        self._tools[tool] = state
        if len(self._tools) > MAX_TOOLS:
            self._warden.evicted(*self._tools.popitem(last=False))

    def met(self, tool: str) -> ToolState | None:
        """The state of a tool that is in use; None of any other."""
        with self._lock:
            return self._tools.get(tool)

    def contract_of(self, tool: str) -> Contract:
        """The contract of a tool, without loading what was learned of it."""
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
            if labels and self._drop_labels(tool):
                self._all_labels = together(self._labels.values())
                self._version += 1

    def label(
        self,
        tool: str,
        *,
        was_hallucination: bool,
        weight: float = 1.0,
        fired: Iterable[str] = (),
        call_id: str | None = None,
        change: str | None = None,
        sequence: int = 0,
    ) -> None:
        """Count a label on a call of this tool; of the labels of one call the latest counts, and it alone.

        So it is with the labels of one change: thirty calls of a cache that is stuck are one fault, and no reason to
        doubt the calls after it. For ``weight`` and ``fired`` see ``LabelCounts.add``; ``sequence`` is the label's
        number in the log.
        """
        names = tuple(fired)
        with self._lock:
            # The counts of the tool.
            labels = self._labels.get(tool)
            if labels is None:
                if len(self._labels) >= MAX_LABELLED:
                    self._drop_labels(next(iter(self._labels)))
                labels = self._labels[tool] = LabelCounts()
            keys = [(tool, name) for name in (call_id, None if change is None else f"\0{change}") if name is not None]
            before = self._labelled.get(keys[-1]) if keys else None
            if before is None:
                counted = [
                    counts.add(was_hallucination=was_hallucination, weight=weight, fired=names)
                    for counts in (labels, self._all_labels)
                ]
                latest = _Label(sequence, counted[0], counted[1])
            elif 0 < sequence < before.sequence:
                return  # the word of another worker, read after the later one was given here
            elif before.tool.was_hallucination == was_hallucination:
                latest = before._replace(sequence=sequence)
            else:
                latest = _Label(sequence, labels.turn(before.tool), self._all_labels.turn(before.everywhere))
            for key in keys:
                self._labelled[key] = latest
                self._labelled.move_to_end(key)
            while len(self._labelled) > MAX_LABELLED_CALLS:
                self._labelled.popitem(last=False)
            self._version += 1

    def labelled(self, tool: str, call_id: str) -> bool | None:
        """Whether the latest label of a call says that it was fabricated; None where there is none."""
        with self._lock:
            label = self._labelled.get((tool, call_id))
            return None if label is None else label.tool.was_hallucination

    def _drop_labels(self, tool: str) -> bool:
        for key in [key for key in self._labelled if key[0] == tool]:
            del self._labelled[key]
        return self._labels.pop(tool, None) is not None

    def _weigh(self, tool: str, state: ToolState) -> None:
        labels = self._labels.get(tool, _UNLABELLED)
        ratios = {**DEFAULT_RATIOS, **state.settings.likelihood_ratios}
        state.factors = factors(labels, self._all_labels, ratios, state.settings.prior)
        state.in_force = self._adapt(state.settings, labels)
        state.labels, state.version = labels, self._version

    def declare(self, profile: ToolProfile) -> None:
        """Hold the tools that the profile matches to it from now on."""
        with self._lock:
            self._profiles.add(profile)
            for tool, state in self._tools.items():
                state.contract = self._contract(tool)

    def undeclare(self, name: str) -> ToolProfile:
        """Take back the profile of this name; the tools it matched are held to the next that matches them, or to none.

        Raises:
            ConfigurationError: where there is no such profile.
        """
        with self._lock:
            profiles = {profile.name: profile for profile in self._profiles}
            if name not in profiles:
                known = ", ".join(map(repr, sorted(profiles)[:10])) or "there are none"
                raise ConfigurationError(f"no profile is registered as {name!r}; registered: {known}")
            removed = profiles.pop(name)
            self._profiles = ProfileIndex(profiles.values())
            for tool, state in self._tools.items():
                state.contract = self._contract(tool)
        return removed

    def settings_of(self, tool: str | None) -> Settings:
        """The settings in force for a tool, by labels too; without a name, those set for all tools."""
        with self._lock:
            if tool is None:
                return self._settings
            return self._adapt(self._configured(tool), self._labels.get(tool, _UNLABELLED))

    def _configured(self, tool: str) -> Settings:
        return self._settings.changed(**self._overrides.get(tool, {}))

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
