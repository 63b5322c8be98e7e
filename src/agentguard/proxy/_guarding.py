"""What all connections of a proxy share: the guard, what is declared of the tools, and their pin."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

from agentguard import _forks as forks
from agentguard.errors import ConfigurationError, ProfileError
from agentguard.guard import Guard, Judgement, Outcome
from agentguard.guard._wording import flag_line, notice_of
from agentguard.proxy._pins import Difference, Pin, Tool, differences, entry_of, tool_of
from agentguard.stores import Store
from agentguard.verification import ToolProfile
from agentguard.verification._changes import Change, ChangeLog
from agentguard.verification.profile import ProfileIndex
from agentguard.verification.types import Trait

_log = logging.getLogger("agentguard")

#: What to do about a tool that is not listed as it was pinned: flag what it answers, or answer in its place.
OnListing = Literal["flag", "refuse"]
_DONE: Final = {"accept": "accepted", "flag": "flagged", "block": "blocked"}
SCAN_SECONDS: Final = 1.0  # that the end waits for words to be looked through; clients wait for two
MOST_SCANNED: Final = 1_000  # tools whose words are remembered as looked through


class Guarding:
    """Judges results for all connections of a proxy. May be used by several threads.

    Args:
        guard: the guard; what servers declare of their tools is registered with its engine.
        profiles: the user's own; what one says of a tool stands over what the server declares.
        store: the engine's, where changes of the list of tools are told.
        pin: the pinned tools; None: nothing is pinned.
        on_listing: what is done about a tool that is not listed as it was pinned, where the guard is no shadow.
    """

    def __init__(
        self,
        guard: Guard,
        profiles: Iterable[ToolProfile] = (),
        store: Store | None = None,
        pin: Pin | None = None,
        on_listing: OnListing = "flag",
    ) -> None:
        self.guard = guard
        self.counts: Counter[str] = Counter()
        self._engine = engine = guard.engine
        self._profiles = ProfileIndex(profiles)
        self._pin = pin
        self._on_listing = on_listing
        self._changes = None if store is None else ChangeLog(store)
        self._lock = forks.lock(forks.Rank.LEAF)
        self._declared: dict[str, dict[str, Any]] = {}
        self._scanned: set[str] = set()
        self._scans: list[threading.Thread] = []
        self._closed = False
        self._differ: dict[str, Difference] = {}
        self._faults: set[str] = set()  # ids of differences that a reviewer takes for faults
        self._latest: dict[str, Tool] = {}
        engine.on_change(self._decided)
        if pin is not None and pin.tools is not None:
            self._declare(pin.tools)

    def count(self, what: str) -> None:
        """Count something that happened, for ``counts``."""
        with self._lock:
            self.counts[what] += 1

    # --- Results ---

    def reads_back(self, tool: str) -> bool:
        """A call of this tool is followed by one of the guard's own, as its profile has it."""
        return bool(self._engine.read_backs(tool))

    def judge(self, outcome: Outcome) -> Judgement:
        """Judge a result; never raises."""
        judgement = self.guard.judge(outcome)
        self._told(outcome.tool, judgement)
        return self._with_listing(outcome.tool, judgement)

    def judge_content(self, outcome: Outcome) -> Judgement:
        """Judge text that is no tool's result by the content rules of a profile; never raises."""
        judgement = self.guard.judge_content(outcome)
        self._told(outcome.tool, judgement)
        return judgement

    def _told(self, tool: str, judgement: Judgement) -> None:
        """Count a judgement, and log one that is not accepted."""
        result = judgement.result
        self.count("not verified" if result is None else _DONE[result.verdict])
        if result is not None and result.verdict != "accept":
            done = "observed" if self.guard.shadow else judgement.action
            _log.warning("%s: a result of %r (%s): %s", result.verdict, tool, done, judgement.hazard)

    def _with_listing(self, tool: str, judgement: Judgement) -> Judgement:
        """The judgement, flagged where the tool is not listed as it was pinned."""
        difference = self._unsettled(tool)
        if difference is None or judgement.action not in ("pass", "observe"):
            return judgement
        action = self.guard.action_on("flag")
        hazard = f"the server may be another than it was: of this tool, {difference.what}"
        notice = notice_of(f"The result of {tool!r} was withheld: {hazard}.") if action == "replace" else ""
        line = flag_line(self.guard.flag_text, tool, hazard, 0.5) if action == "annotate" else ""
        return judgement._replace(action=action, notice=notice, line=line, hazard=judgement.hazard or hazard)

    def _unsettled(self, tool: str) -> Difference | None:
        """What is other about a tool that may still be called: one that is listed no more is the server's to refuse."""
        difference = self._differ.get(tool)
        return None if difference is None or difference.kind == "missing" else difference

    def refusal(self, tool: str) -> str | None:
        """The notice in place of a call that is not to be made; None where it is."""
        difference = self._unsettled(tool)
        if difference is None or self.guard.shadow:
            return None
        if self._on_listing != "refuse" and difference.id not in self._faults:
            return None
        self.count("refused")
        _log.warning("refused: a call of %r: %s", tool, difference.what)
        return (
            f"The tool {tool!r} was not called: {difference.what}. A person has to accept the tool as it is listed "
            "now. Do not guess the result; say that it is missing or use another source."
        )

    # --- What is declared of tools ---

    def _declare(self, tools: Mapping[str, Tool]) -> None:
        """Register what the server declares of its tools, below what the user's profiles say."""
        for name, tool in tools.items():
            own = self._profiles.find(name)
            said = {} if own is None else own.model_dump(include=own.model_fields_set)
            declared = {field: value for field, value in _declared_of(tool).items() if said.get(field) is None}
            with self._lock:
                if self._declared.get(name, {}) == declared:
                    continue
                self._declared[name] = declared
            aliases = said.get("aliases", ()) if said.get("name") == name else ()
            try:
                self._engine.register_tool_profile(**{**said, **declared, "name": name, "aliases": aliases})
            except ProfileError:
                _log.warning("the output schema of %r cannot be used: its results are not held to it", name)

    # --- The list of tools ---

    def listed(self, tools: Mapping[str, Tool], *, complete: bool) -> None:
        """Take note of what the server lists: hold it against the pin, declare it, look its words through."""
        self.count("lists of tools")
        with self._lock:
            self._latest = dict(tools) if complete else {**self._latest, **tools}
        pinned: Mapping[str, Tool] = {}
        try:
            if self._pin is not None:
                pinned = self._held(self._pin, tools, complete=complete)
        except (OSError, ConfigurationError) as error:
            _log.error("what the server lists cannot be held against the pin: %s", error)
        self._declare({name: pinned.get(name, tool) for name, tool in tools.items()})
        fresh = [tool for tool in tools.values() if self._is_fresh(tool)]
        if fresh:
            scan = threading.Thread(target=self._scan, args=(fresh,), name="agentguard-proxy-scan")
            self._scans = [*filter(threading.Thread.is_alive, self._scans), scan]
            scan.start()

    def close(self) -> None:
        """End what is under way in threads; nothing is judged after that."""
        for scan in self._scans:
            scan.join(SCAN_SECONDS)
        self._closed = True
        for scan in self._scans:
            scan.join()

    def _is_fresh(self, tool: Tool) -> bool:
        key = repr((tool["name"], entry_of(tool)))
        with self._lock:
            if key in self._scanned:
                return False
            if len(self._scanned) >= MOST_SCANNED:
                self._scanned.clear()
            self._scanned.add(key)
            return True

    def _scan(self, tools: Iterable[Tool]) -> None:
        """Look for instructions to the model in what a server says of its tools, and say where there are some."""
        from agentguard.content.injection import scan

        for tool in tools:
            if self._closed:
                return
            try:
                # Text by text: descriptions ask the model for things, and many together look like more than they are.
                found = [result for text in _texts_in(entry_of(tool)) if (result := scan(text)).label != "clean"]
            except Exception as error:
                _log.error("looking through what is listed of %r failed: %s", tool["name"], type(error).__name__)
                continue
            if found:
                what = ", ".join(sorted({category for result in found for category in result.categories}))
                _log.warning("what the server says of the tool %r looks like an injection: %s", tool["name"], what)

    def _held(self, pin: Pin, tools: Mapping[str, Tool], *, complete: bool) -> Mapping[str, Tool]:
        """Hold a list against the pinned one, and tell of what differs; returns the pinned one."""
        with self._lock:
            first = complete and pin.first(tools)
            pinned = dict(pin.tools or {})
            if complete:
                pin.offer(tools)
            found = differences(pinned, tools, complete=complete) if pin.tools is not None else ()
            differ = {each.tool: each for each in found}
            settled = [
                each for name, each in self._differ.items() if name not in differ and (complete or name in tools)
            ]
            opened = [each for name, each in differ.items() if self._differ.get(name) != each]
            for each in settled:
                del self._differ[each.tool]
            self._differ.update(differ)
        if first:
            _log.info("pinned: %d tools, in %s", len(tools), pin.path)
        for each in settled:
            _log.info("the tool %r is listed as it was pinned", each.tool)
            self._tell(each, "recovered")
        for each in opened:
            self.count("changes of tools")
            _log.warning(
                "the tool %r: %s; %s has what is listed now, and --accept takes it", each.tool, each.what, pin.offered
            )
            self._tell(each, "open")
            # What a reviewer has said of it while no proxy was there holds too.
            known = None if self._changes is None else self._changes.find(each.id)
            if known is not None:
                self._decided(known)
        return dict(pin.tools or {})

    def _tell(self, difference: Difference, state: Literal["open", "recovered"]) -> None:
        if self._changes is not None:
            self._changes.tell(
                difference.id, difference.listing, state, difference.what, (Trait("declared", difference.kind),)
            )

    def _decided(self, change: Change) -> None:
        """Go along with what a reviewer has said of a tool's change: it is accepted as it is listed now, or refused."""
        tool = tool_of(change.tool)
        if tool is None or self._pin is None or not change.reviewed:
            return
        with self._lock:
            difference = self._differ.get(tool)
            if difference is None or difference.id != change.id:
                return
            if change.state == "fault":
                self._faults.add(change.id)
                return
            self._faults.discard(change.id)
            if change.state != "adopted":
                return
            self._pin.accept(tool)
            del self._differ[tool]
            latest = {tool: self._latest[tool]} if tool in self._latest else {}
        self._declare(latest)
        _log.info("the tool %r is accepted as it is listed now", tool)

    def tool(self, name: str) -> Tool | None:
        """What the server listed of a tool last."""
        return self._latest.get(name)


def _declared_of(tool: Tool) -> dict[str, Any]:
    """The fields of a profile that a server declares of a tool."""
    fields: dict[str, Any] = {}
    if isinstance(tool.get("outputSchema"), dict):
        fields["output_schema"] = tool["outputSchema"]
    hints = tool.get("annotations")
    if isinstance(hints, Mapping) and (hints.get("idempotentHint") is True or hints.get("readOnlyHint") is True):
        fields["idempotent"] = True
    return fields


def _texts_in(entry: Any) -> Iterator[str]:
    pending = [entry]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            pending += value
            pending += value.values()
        elif isinstance(value, list):
            pending += value
