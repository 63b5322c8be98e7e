"""The public engine: settings, profiles, labels, changes and the store. ``_judging`` judges each call."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal

from agentguard import _forks as forks
from agentguard._foreign import raised_by
from agentguard.errors import ConfigurationError, Problem, ProfileError, StoreError
from agentguard.stores import MemoryStore, Store
from agentguard.verification._audit import Audit
from agentguard.verification._calibrated import Calibrated
from agentguard.verification._calibration import Calibration, LabelCounts, adapted, load_calibration
from agentguard.verification._canonical import as_name, plain, serialise
from agentguard.verification._changes import Change, changes_in, find_change
from agentguard.verification._checks._content import CONTENT
from agentguard.verification._checks._read_back import READ_BACK
from agentguard.verification._contract import Contract
from agentguard.verification._incidents import ENDED
from agentguard.verification._judging import CallRead, judge, judge_content, read_under, teach
from agentguard.verification._method import Method
from agentguard.verification._own_signals import Lineup, own_signal
from agentguard.verification._persistence import Backlog, Persistence, document_name
from agentguard.verification._read_back import ReadBack, Reading
from agentguard.verification._reference import MIN_CALLS, Reference
from agentguard.verification._reference import adapted as adapted_by_the_document
from agentguard.verification._registry import Registry, ToolState
from agentguard.verification._snapshot import incident_of, packed, undo
from agentguard.verification._state import reset
from agentguard.verification.evidence import DEFAULT_RATIOS
from agentguard.verification.profile import ToolProfile, in_order, parse_profile, profiles_in
from agentguard.verification.signals import Signal
from agentguard.verification.types import Feedback, Settings, ToolCall, VerificationResult, probability

if TYPE_CHECKING:
    from os import PathLike


_METHODS: dict[str, type[Method]] = {"calibrated": Calibrated, "reference": Reference}
#: What labels make of the settings of a tool, by mode.
_ADAPTED: dict[str, Callable[[Settings, LabelCounts], Settings]] = {
    "calibrated": adapted,
    "reference": adapted_by_the_document,
}
MOST_KEPT = 20_000  # characters of the arguments and of the result of a reviewed call
MOST_WARNED = 1_000  # tools of which a label that nothing is known of is logged
_log = logging.getLogger("agentguard")


class VerificationEngine:
    """Judges tool results: P(fabricated or corrupted), a verdict, and the reasons.

    One engine serves all tools of a process and may be shared by threads.

    Args:
        mode: ``"calibrated"`` learns each tool's results and bounds the share of genuine calls it blocks;
            ``"reference"`` follows the published document's fixed scores and ratios.
        prior: P(fabricated) before any signal, in (0, 1).
        accept_below: posteriors below it are accepted, in (0, 1].
        block_at: posteriors from it on are blocked, in [accept_below, 1].
        max_false_block_rate: calibrated mode blocks a genuine call at most this often, in (0, 1]. A violated
            declaration of a profile is blocked on the posterior alone.
        profiles: a folder or file of YAML profiles, or profiles. None: only what is registered.
        store: keeps what is learned, labels and audit records; an engine built on it goes on from there. None: in
            memory, for as long as the engine lives.
        audit_rate: the share of accepted calls that are put on record beside the flagged and blocked ones, in [0, 1];
            labels on them tell what the guard misses. Nothing is put on record without a store.
        calibration: a file that ``agentguard calibrate`` wrote; what it says is set by ``calibrate``.
        keep_reviewed: ``"redacted"`` keeps the arguments and the result of flagged and blocked calls with their audit
            records, without the personal data and credentials found in them, for whoever reviews them; the store's
            bound on audit records is the bound on these. None keeps no content.
        signals: signals of your own, run and weighed among the engine's; as by ``register_signal``.

    Raises:
        ConfigurationError: for an argument out of range, a signal that is none or whose name is taken, or a calibration
            file that cannot be used.
        ProfileError: for faults in profiles, all of them at once.

    >>> engine = VerificationEngine(mode="reference")
    >>> _ = engine.register_tool_profile("weather", expected_latency_ms=(100, 5000), required_fields=["degrees"])
    >>> verdict = engine.verify("weather", args={"city": "London"}, result={"degrees": 18}, execution_time_ms=350)
    >>> verdict.verdict, round(verdict.posterior, 4)
    ('accept', 0.1271)
    """

    def __init__(
        self,
        mode: Literal["calibrated", "reference"] = "calibrated",
        prior: float = 0.15,
        accept_below: float = 0.2,
        block_at: float = 0.5,
        max_false_block_rate: float = 0.01,
        profiles: str | PathLike[str] | Iterable[ToolProfile] | None = None,
        store: Store | None = None,
        audit_rate: float = 0.02,
        calibration: str | PathLike[str] | None = None,
        keep_reviewed: Literal["redacted"] | None = None,
        signals: Iterable[Signal] = (),
    ) -> None:
        if mode not in tuple(_METHODS):
            raise ConfigurationError(f"mode must be one of {', '.join(map(repr, _METHODS))}, not {mode!r}")
        self.mode = mode
        self._method = _METHODS[mode]()
        self._lineup = Lineup(tuple((tier, tuple(checks)) for tier, checks in self._method.tiers), {})
        self._lineup_lock = forks.lock(forks.Rank.LEAF)
        for signal in signals:
            self.register_signal(signal)
        settings = Settings().changed(
            prior=prior, accept_below=accept_below, block_at=block_at, max_false_block_rate=max_false_block_rate
        )
        if keep_reviewed not in (None, "redacted"):
            raise ConfigurationError(f"keep_reviewed must be 'redacted' or None, not {keep_reviewed!r}")
        self._keep_reviewed = keep_reviewed
        kept: Store = MemoryStore() if store is None else store
        rate = probability("audit_rate", audit_rate, low_open=False)
        self._audit = Audit(kept, None if store is None else rate)
        self._persistence = Persistence(kept, self._method, mode, self._audit)
        counting = kept.flush_seconds is not None
        self._tools = Registry(self._persistence, settings, counting=counting, adapt=_ADAPTED[mode])
        self._warned: set[str] = set()
        given_profiles = profiles_in(profiles)
        self._load_signals(given_profiles)
        for profile in given_profiles:
            self._tools.declare(profile)
        given = Calibration() if calibration is None else load_calibration(calibration)
        for name, changes in ((None, given.everywhere), *given.tools.items()):
            self.calibrate(name, **changes)
        self._persistence.changes.apply = self._changed
        self._persistence.start(self._tools, given.feedback_until)

    def register_tool_profile(self, name: str, **fields: Any) -> ToolProfile:
        """Declare what real results of a tool look like; see ``ToolProfile`` for the fields.

        Registering a name again replaces its profile and keeps what was learned.

        Raises:
            ProfileError: with every problem of the profile.
        """
        profile = parse_profile({"name": name, **fields}, source=f"profile {name!r}")
        self._load_signals([profile])
        self._tools.declare(profile)
        return profile

    def register_signal(self, signal: Signal) -> None:
        """Run a signal of your own on every call from now on, and weigh it among the engine's; see ``signals``.

        What is learned of its numbers is kept by its name, in the store too: an engine that has the signal goes on from
        there, one that has not leaves it alone. Signals for some tools only are named by their profiles.

        Raises:
            ConfigurationError: for what is no signal, or has the name of another one.
        """
        with self._lineup_lock:
            self._lineup = self._lineup.with_signal(own_signal(signal, {*self._lineup.names, *DEFAULT_RATIOS}))

    def _load_signals(self, profiles: Iterable[ToolProfile]) -> None:
        """Make ready the signals that profiles name.

        Raises:
            ProfileError: with every one that cannot be had.
        """
        wanted = [(profile, k, name) for profile in profiles for k, name in enumerate(profile.signals)]
        if not wanted:
            return
        from agentguard._entry_points import offered  # which few profiles need

        offers, loaded, faults = offered(), {}, {}
        for _, _, name in wanted:  # code of others runs here: no lock is held
            if name not in self._lineup.named and name not in loaded and name not in faults:
                try:
                    loaded[name] = offers.load(name)
                except ValueError as error:
                    faults[name] = str(error)
        with self._lineup_lock:
            lineup = self._lineup
            for name in loaded.keys() - lineup.named.keys():
                try:
                    lineup = lineup.with_named(name, own_signal(loaded[name], {*lineup.names, *DEFAULT_RATIOS}))
                except ConfigurationError as error:
                    faults[name] = str(error)
            if not faults:
                self._lineup = lineup
        if faults:
            places = [(f"profile {profile.name!r}", f"signals.{k}", name) for profile, k, name in wanted]
            problems = [Problem(place, None, key, faults[name]) for place, key, name in places if name in faults]
            raise ProfileError(in_order(problems))

    def unregister(self, name: str) -> ToolProfile:
        """Take back a profile, by its own name; returns it. What was learned stays.

        The tools that it matched are held to the next profile that matches them, or to none.

        Raises:
            ConfigurationError: where no profile of this name is registered.
        """
        return self._tools.undeclare(name)

    def profile_of(self, tool: str) -> ToolProfile:
        """The profile that a tool is held to; for an unregistered tool the default one."""
        return self._tools.contract_of(as_name(tool)).profile

    def read_backs(self, tool: str) -> tuple[ReadBack, ...]:
        """The calls that are to be made after one of this tool, as its profile declares them; mostly none."""
        return self._tools.contract_of(as_name(tool)).read_backs

    def verify(
        self,
        tool: str,
        *,
        args: Any = None,
        result: Any = None,
        execution_time_ms: float | None = None,
        session_id: str | None = None,
        call_id: str | None = None,
        is_error: bool = False,
        learn: bool = True,
        readings: Sequence[Reading] = (),
    ) -> VerificationResult:
        """Judge one executed call. Never raises, whatever the arguments.

        What the arguments' and the result's own code raises while it is read is held, ``SystemExit`` too; only
        ``KeyboardInterrupt`` goes through.

        Args:
            tool: the tool's name.
            args: its arguments, any object.
            result: what it returned, any object; text that is JSON is read as JSON.
            execution_time_ms: how long it took, in milliseconds; None where unknown.
            session_id: calls of one session are held against each other.
            call_id: a name for this call by which ``record_feedback`` can find it.
            is_error: the framework's own flag that the call failed; errors are told from the result's form as well.
            learn: False judges and leaves everything that was learned as it is.
            readings: what the calls have said that the profile has made after this one (``confirm``, ``against``).
                Whoever makes calls gives them, in a list; without them those two signals do not apply.
        """
        session = None if session_id is None else as_name(session_id)
        name = None if call_id is None else as_name(call_id)
        is_error = is_error if type(is_error) is bool else _is_true(is_error)
        learn = learn if type(learn) is bool else _is_true(learn)
        told = tuple([one for one in readings if isinstance(one, Reading)]) if type(readings) in (list, tuple) else ()
        call = ToolCall(as_name(tool), args, result, execution_time_ms, session, name, is_error)
        state = self._tools.find(call.tool, keep=learn)
        return self._verified(read_under(call, state.contract), state, state.contract, learn=learn, readings=told)

    def judge_content(
        self, tool: str, value: Any, *, session_id: str | None = None, call_id: str | None = None
    ) -> VerificationResult:
        """Judge text that reaches the model and is no result of a tool, by the content rules of a profile alone.

        Such is an error of a protocol, a resource, a prompt. Nothing is learned from it, and nothing that was learned
        counts. Never raises.

        Args:
            tool: the name whose profile applies.
            value: the text, or a JSON-like value that holds it.
            session_id: for the record.
            call_id: a name for it, for the record.
        """
        session = None if session_id is None else as_name(session_id)
        name = None if call_id is None else as_name(call_id)
        call = ToolCall(as_name(tool), None, value, None, session, name)
        state = self._tools.find(call.tool, keep=False)
        one = read_under(call, state.contract)
        judged = judge_content(one, state, state.contract)
        return self._audit.put(judged, one.document.digest, state.judged, session, closed=state.contract.closed)

    def _verified(
        self, one: CallRead, state: ToolState, contract: Contract, *, learn: bool, readings: tuple[Reading, ...] = ()
    ) -> VerificationResult:
        """Judge a call that was read, under a contract that need not be the tool's where nothing is learned."""
        judged, moved = judge(one, state, contract, self._method, self._lineup, learn=learn, readings=readings)
        if not learn:
            return judged
        # Tell of changes, and put the verdict on record.
        call = one.call
        for incident in moved:
            self._persistence.changes.tell(
                incident.id, call.tool, incident.state, incident.what, incident.traits, why=incident.why
            )
        kept = None if self._keep_reviewed is None else partial(_redacted_call, call)
        read_back = [reading.as_dict() for reading in readings]
        return self._audit.put(
            judged, one.document.digest, state.judged, call.session_id, closed=contract.closed, kept=kept,
            read_back=read_back,
        )  # fmt: skip

    def record_feedback(
        self, tool: str, confidence_score: float, was_hallucination: bool, call_id: str | None = None
    ) -> Feedback:
        """Tell the engine what a reviewed call really was.

        A confirmed hallucination makes the tool's judgement stricter, a confirmed genuine result looser, both by
        bounded steps: no number of labels switches the guard off, or blocks a call with nothing against it. With the
        ``call_id`` of a verified call the label also decides what the change is that the call belongs to, and calls
        like it follow. Of several labels of one call the latest counts, and it alone.

        In reference mode the tool's prior and its blocking threshold move by the document's three steps. In calibrated
        mode the prior and the weight of the signals that had fired move by Beta counts, and the thresholds stay.
        ``thresholds`` tells what is in force.

        Args:
            tool: the tool's name.
            confidence_score: the posterior that was given, in [0, 1]; kept with the label, while the engine goes by
                what it had judged itself.
            was_hallucination: what the reviewer found.
            call_id: as given to ``verify``.

        Returns:
            Whether the label counted, and what there is to say of it: of a tool that was never called here, of a call
            that is not on record, of an earlier label of the same call. A label of a call that cannot be found counts
            for the tool: another process may have judged it, or it is long gone.

        Raises:
            ConfigurationError: for a score outside [0, 1] or a label that is not a bool.
            StoreError: where the store cannot keep it; nothing is learned then.
        """
        if not isinstance(was_hallucination, bool):
            raise ConfigurationError(f"was_hallucination must be True or False, not {was_hallucination!r}")
        score = probability("confidence_score", confidence_score, low_open=False)
        tool, call_id = as_name(tool), None if call_id is None else as_name(call_id)
        call = None if call_id is None else self._audit.find(tool, call_id)
        before = None if call_id is None else self._tools.labelled(tool, call_id)
        event = {"tool": tool, "confidence_score": score, "was_hallucination": was_hallucination, "call_id": call_id}
        self._persistence.label(event if call is None else {**event, **call.as_event()})
        if before is not None:
            note = f"call {call_id!r} of {tool!r} was labelled {'fabricated' if before else 'genuine'} before"
            if before is was_hallucination:
                return Feedback(False, f"{note}: this label is not counted again")
            return Feedback(True, f"{note}: this label replaces it")
        if call is not None:
            return Feedback(True)
        note = ""
        if not self._was_called(tool):  # neither by this engine, nor by one that has left what it learned in the store
            note = f"tool {tool!r} was never called here: the label counts from its first call on"
        elif call_id is not None:
            note = f"call {call_id!r} of {tool!r} is not on record: the label counts for the tool alone"
        if note and tool not in self._warned and len(self._warned) < MOST_WARNED:
            self._warned.add(tool)
            _log.warning("a label: %s", note)
        return Feedback(True, note)

    def _was_called(self, tool: str) -> bool:
        if self._tools.met(tool) is not None:
            return True
        name = document_name(self.mode, tool)
        try:
            return name in self._persistence.store.load([name])
        except StoreError:
            return True  # it cannot be said

    def changes(self, tool: str | None = None) -> list[Change]:
        """The lasting changes of all tools, or of one: the open ones first.

        Raises:
            StoreError: where the store cannot be read.
        """
        changes = changes_in(self._persistence.store, None if tool is None else as_name(tool))
        return [self._counted(change) for change in changes]

    def adopt(self, change: Change | str) -> Change:
        """Take a change for genuine: what was held back is learned at once, and calls like it are ordinary.

        Args:
            change: the change, or as much of its id's beginning as tells it from all others.

        Raises:
            DataError: where there is no such change, or several begin so.
            StoreError: where it cannot be kept; nothing is decided then.
        """
        return self._decide(change, "adopted")

    def reject(self, change: Change | str) -> Change:
        """Take a change for a fault: calls like it are blocked from now on.

        Where it was taken for genuine, the tool's memory from before is restored, while that is kept.

        Raises:
            DataError: where there is no such change, or several begin so.
            StoreError: where it cannot be kept; nothing is decided then.
        """
        return self._decide(change, "fault")

    def on_change(self, callback: Callable[[Change], object]) -> None:
        """Call back with each change of a tool whose state moves: begun, ended, decided, here or by another worker.

        Called on the thread that met or read it; what it raises is logged.
        """
        self._persistence.changes.listen(lambda change: callback(self._counted(change)))

    def _decide(self, change: Change | str, state: Literal["adopted", "fault"]) -> Change:
        id_ = change.id if isinstance(change, Change) else change
        known = find_change(changes_in(self._persistence.store), id_)
        return self._counted(self._persistence.changes.decide(known, state))

    def _counted(self, change: Change) -> Change:
        """The change with the calls that this engine has seen of it, where no audit record tells of them."""
        state = self._tools.met(change.tool)
        incident = None if state is None else state.incidents.find(change.id)
        if incident is None:
            return change
        calls, blocked = max(change.calls, incident.calls), max(change.blocked, incident.blocked)
        return change._replace(calls=calls, blocked=blocked)

    def _changed(self, change: Change) -> None:
        """Go along with what was decided of a change, or what another worker has met."""
        state = self._tools.met(change.tool)
        if state is None:
            return
        with state.lock:
            incident = state.incidents.find(change.id)
            if incident is None:
                state.incidents.remember(incident_of(change))
                return
            incident.told = True
            if incident.state == change.state:
                return
            if incident.run and change.state == "recovered":  # it goes on here: the next call like it says so
                incident.state = "recovered"
                return
            if change.state == "fault" and incident.before:
                undo(incident, state.memory)
                state.changed = True
            elif change.state in ENDED and incident.state not in ENDED and self._method.holds:
                state.incidents.keep_before(incident, packed(state.memory))
            released = state.incidents.decide(incident, change.state, reviewed=change.reviewed)
            if change.state == "adopted" and not self._method.holds and len(released) >= MIN_CALLS:
                # A document's charts go by all calls that ever were: after a change that is meant they begin anew.
                state.memory = self._method.new_memory(change.tool)
            if change.state in ENDED:
                self._method.adopt(state.memory, incident.traits)
            for held in released:
                held.case.memory = state.memory
                teach(self._method, held.case, held.signals, held.decision, trusted=held.in_full)
                state.changed = True

    def trust(self, tool: str, n: int) -> None:
        """Declare the next ``n`` calls of a tool known-good: they are accepted and learned in full.

        Raises:
            ConfigurationError: where ``n`` is not a non-negative integer.
        """
        if not isinstance(n, int) or isinstance(n, bool) or n < 0:
            raise ConfigurationError(f"n must be a non-negative number of calls, not {n!r}")
        state = self._tools.find(tool, keep=True)
        with state.lock:
            state.trusted_left = n

    def thresholds(self, tool: str | None = None) -> Settings:
        """The settings in force for a tool, as labels have moved them; without a name, those set for all tools.

        ``likelihood_ratios`` has the ratio of every signal that the engine knows a ratio of.

        >>> engine = VerificationEngine().calibrate("search", block_at=0.7)
        >>> engine.thresholds("search").block_at, engine.thresholds().block_at
        (0.7, 0.5)
        """
        settings = self._tools.settings_of(None if tool is None else as_name(tool))
        names = self._signal_names()
        ratios = {name: ratio for name, ratio in DEFAULT_RATIOS.items() if name in names}
        return replace(settings, likelihood_ratios={**ratios, **settings.likelihood_ratios})

    def reset(self, tool: str, *, labels: bool = False) -> None:
        """Forget what was learned of a tool, here and in the store, and so by all engines on it.

        Profiles, thresholds and audit records stay. So do labels, and what reviewers decided of the tool's changes.

        Args:
            tool: the tool's name.
            labels: True forgets its labels too.

        Raises:
            DataError: where nothing is known of the tool.
            StoreError: where the store cannot be used.
        """
        self._persistence.flush()  # so that what is to be forgotten is there, and other workers are told
        reset(self._persistence.store, as_name(tool), labels=labels)
        self._persistence.flush()  # reads the word of it, as every engine on the store does

    def calibrate(
        self,
        tool: str | None = None,
        *,
        prior: float | None = None,
        accept_below: float | None = None,
        block_at: float | None = None,
        max_false_block_rate: float | None = None,
        likelihood_ratios: Mapping[str, float] | None = None,
    ) -> VerificationEngine:
        """Change the thresholds in force, for one tool or (without a name) for all; returns the engine.

        What is set for a tool stands over what is set for all. Likelihood ratios are given by signal name, in (0, inf);
        with a ratio of 1 or less a signal that looks at what was learned says nothing against a call.

        Raises:
            ConfigurationError: for a value out of range or an unknown signal; nothing is changed then.
        """
        known = self._signal_names()
        for name in set(likelihood_ratios or ()) - known:
            raise ConfigurationError(f"unknown signal {name!r}; known are {', '.join(sorted(known))}")
        changes = {
            "prior": prior, "accept_below": accept_below, "block_at": block_at,
            "max_false_block_rate": max_false_block_rate, "likelihood_ratios": likelihood_ratios,
        }  # fmt: skip
        self._tools.configure(tool, {name: value for name, value in changes.items() if value is not None})
        return self

    def _signal_names(self) -> set[str]:
        return self._lineup.names | {check.name for check in (*CONTENT, *READ_BACK)}

    def backlog(self) -> Backlog | None:
        """How far the store is behind; None where nothing is written behind: no store, one in memory, once closed."""
        return self._persistence.backlog()

    def flush(self) -> None:
        """Hand over to the store what was learned since the last time; with most stores a thread does so every second.

        Raises:
            StoreError: where the store cannot be used; what was learned stays in memory.
        """
        self._persistence.flush()

    def close(self) -> None:
        """``flush``, and end the thread that does so. The engine goes on judging; the store stays open."""
        self._persistence.close()

    def __enter__(self) -> VerificationEngine:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


# --- A call read once: for those who look at a result beside the engine, as a report does ---


def read_call(engine: VerificationEngine, call: ToolCall) -> CallRead:
    """Read a call of a log as far as the profile of its tool has it read."""
    return read_under(call, engine._tools.contract_of(call.tool))


def reader(engine: VerificationEngine) -> Callable[[ToolCall], CallRead]:
    """Reads calls as ``read_call`` does, for an engine that judges none of them and so knows no tool."""
    contract_of = lru_cache(maxsize=1_024)(engine._tools.contract_of)
    return lambda call: read_under(call, contract_of(call.tool))


def verify_read(engine: VerificationEngine, call_read: CallRead) -> VerificationResult:
    """Judge a call that was read, and learn from it; as ``verify`` does of what was not."""
    state = engine._tools.find(call_read.call.tool, keep=True)
    return engine._verified(call_read, state, state.contract, learn=True)


def verify_under(engine: VerificationEngine, call_read: CallRead, contract: Contract) -> VerificationResult:
    """The verdict if the tool were held to another contract from this call on; nothing is learned."""
    return engine._verified(call_read, engine._tools.find(call_read.call.tool, keep=False), contract, learn=False)


def _is_true(value: object) -> bool:
    """Whether a value counts as true; one whose own code fails does not."""
    try:
        return bool(value)
    except BaseException as error:
        if not raised_by(value, error):
            raise
        return False


def _redacted_call(call: ToolCall) -> Mapping[str, str]:
    """The call as text, without the personal data and the credentials in it; what cannot be redacted is left out."""
    from agentguard.content._results import redacted  # its detectors take a while to load

    texts: dict[str, str] = {}
    for name, value in (("args", call.args), ("result", call.result)):
        try:
            text = serialise(plain(value))[0].decode("utf-8", "replace")[:MOST_KEPT]
            texts[name] = str(redacted(text, ("pii", "secrets")))
        except Exception as error:
            texts[name] = f"could not be redacted: {type(error).__name__}"
    return texts
