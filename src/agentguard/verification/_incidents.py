"""Faults that last: suspects that are odd in the same way are one incident, which teaches nothing until it ends.

::

    call ── judged ──▶ this very call, with this very result, was a suspect before? ── yes ──▶ the verdict it had
                          │ no
                          ▼
            odd in a way that was odd before? ── yes ──▶ the verdict of that incident; held back, not learned
                          │ no
                          ▼
            suspect? ── yes ──▶ an incident of one call begins ── calls like it ──▶ it is told of
                          │ no
                          ▼
            ordinary: learned; two of them in a row end the runs that are under way

One call and the thousandth look alike because nothing is learned from either. What tells a change that *replaces* a
tool's answers from a mode *beside* them is what comes between: a mode has ordinary calls between its runs, again and
again. What an ended run leaves behind:

================================== ============================================================================
one or two calls                   learned, thinned as single suspects are: a bad one must not become the norm
more                               nothing: the incident has recovered, and the next call like it opens it again
the third run of an incident       all that was held back, in full: a ``mode`` is a thing that the tool does, if two
                                   ordinary calls came to each of its own
================================== ============================================================================

Two things are released without a run's end. That the answer to one call's arguments is another than before, met in
three sessions, is what the answer is now. A number that has been off its level for a hundred calls has a new level.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, NamedTuple

from agentguard.verification._case import Case
from agentguard.verification._changes import ChangeState
from agentguard.verification._method import Decision
from agentguard.verification.types import SignalResult, Verdict, VerificationTier

MAX_INCIDENTS: Final = 32  # of one tool; the least recently met that nobody has decided on is forgotten first
MAX_SAME: Final = 128  # suspects of one tool that are known again
MOST_RETRIES: Final = 9  # of one call in a session: a guard's three by an agent's three; more of them are no retries
MAX_HELD: Final = 16  # calls of one incident that are kept, to be learned if it is adopted
MAX_HELD_BYTES: Final = 1 << 14  # of one such result
MAX_TRAITS: Final = 16  # by which calls like it are known
MAX_SESSIONS: Final = 3  # sessions in which a new answer was met: it is what the answer is now
KEEPS_AFTER: Final = 2  # calls of a run, from which on it takes in what shares a trait with it
TOLD_AFTER: Final = 2  # calls: what lasts is more than one
MOST_MODES: Final = 10  # times that this is doubled
ENDS_AFTER: Final = 2  # ordinary calls in a row
SHORT_RUN: Final = 2  # calls
UNTOLD_SESSION: Final = 3  # calls that count for a session where none is told
RENEWED_AFTER: Final = 100  # calls, from which on a number that lies elsewhere has a new level
MODE_AFTER: Final = 3  # runs
BETWEEN: Final = 2  # ordinary calls to each one of a mode
ENDED: Final = ("adopted", "mode")  # states in which calls like it are judged as they come
QUIET_AFTER: Final = 50  # calls without it, from which on a change is over: an adopted one, a number off its level
SPEAKS: Final = 0.5  # nats, from which on a signal names an incident

#: Traits in which genuine calls differ all the time: a suspect that has no others is learned as single suspects are.
PASSING: Final = ("writing of ", "long", "short", "drift of ", "late", "sooner", "voice")
#: Traits that concern the arguments of one call alone: the same answer over sessions is what they have now.
OF_THE_ARGUMENTS: Final = ("changed ", "reverted ", "beginning ", "clock ", "decided ")
#: Traits of a number's level.
OF_A_LEVEL: Final = (" above its level", " below its level")


class Held(NamedTuple):
    """A call that was held back, with the signals that learn; ``in_full`` where it is taken as genuine."""

    case: Case
    signals: dict[str, SignalResult]
    decision: Decision
    in_full: bool = False


@dataclass(eq=False)
class Incident:
    """One way in which a tool's results were odd.

    Attributes:
        id: see ``incident_id``.
        traits: by which calls like it are known.
        what: the strongest of them in words.
        verdict: that of its first call.
        state: see ``_changes.Change``; a reviewer's word (``reviewed``) stands.
        calls, blocked: how many calls looked like it, and how many of those were blocked.
        runs: how often it came, with ordinary calls between.
        run: calls of the run that is under way; 0 where none is.
        misses: ordinary calls since the last call like it.
        told: somebody was told of it.
        modes: how often it was learned as a mode.
    """

    id: str
    traits: tuple[str, ...]
    what: str
    verdict: Verdict
    state: ChangeState = "open"
    reviewed: bool = False
    calls: int = 0
    blocked: int = 0
    between: int = 0
    runs: int = 0
    run: int = 0
    misses: int = 0
    sessions: set[str | None] = field(default_factory=set)
    told: bool = False
    modes: int = 0
    held: list[Held] = field(default_factory=list)


class Settled(NamedTuple):
    """The outcome of a judged call, given what came before it.

    Attributes:
        verdict: the one that stands.
        posterior: P(fabricated); that of the first asking where the same call is asked again.
        incident: the one that it belongs to, if any.
        asked: how often this very call had this very result before.
        teaches: it may be learned.
        moved: incidents that somebody is to be told of: begun, ended, opened again.
        released: calls that were held back and are to be learned now.
    """

    verdict: Verdict
    posterior: float
    incident: Incident | None = None
    asked: int = 0
    teaches: bool = True
    moved: tuple[Incident, ...] = ()
    released: tuple[Held, ...] = ()


@dataclass(eq=False)
class _Same:
    """A suspect that is known again, with the verdict that it had and the session in which it had it.

    One without an incident, odd in a passing way alone, is judged anew each time, and retries of it teach nothing.
    """

    verdict: Verdict
    posterior: float
    incident: Incident | None
    session: str | None
    asked: int = 0


class Incidents:
    """The incidents of one tool. Used under the tool's lock; bounded.

    Without ``holds`` it only takes note, and follows what reviewers decide: for a method whose verdicts are laid down
    by a document. Else suspects are held back, and calls like them keep their verdict.
    """

    __slots__ = ("_by_id", "_holds", "_same")

    def __init__(self, *, holds: bool = True) -> None:
        self._holds = holds
        self._by_id: dict[str, Incident] = {}
        self._same: dict[tuple[bytes, int], _Same] = {}

    def __iter__(self) -> Iterator[Incident]:
        return iter(self._by_id.values())

    def find(self, id_: str) -> Incident | None:
        """The incident of this id, while it is remembered."""
        return self._by_id.get(id_)

    def waive(self, signals: dict[str, SignalResult], *, learn: bool = True) -> None:
        """Silence, in place, what learned signals say of a change that was taken for genuine.

        A learned signal has a p-value; where a document lays verdicts down none has, and those of tier 1 are learned.
        ``learn=False`` leaves the incidents as they are.
        """
        for incident in self._by_id.values():
            if incident.state != "adopted":
                continue
            for name, signal in signals.items():
                learned = signal.p_value is not None or (not self._holds and signal.tier is VerificationTier.TIER_1)
                if signal.likelihood_ratio > 1.0 and learned and not set(incident.traits).isdisjoint(signal.traits):
                    detail = f"as change {incident.id}, which was taken for genuine"
                    signals[name] = signal._replace(fired=False, likelihood_ratio=1.0, traits=(), detail=detail)
                    if learn and signal.fired and not all(_passes(trait) or is_level(trait) for trait in signal.traits):
                        incident.misses = 0

    def settle(
        self, case: Case, signals: dict[str, SignalResult], decision: Decision, *, learn: bool = True
    ) -> Settled:
        """Relate a judged call to what was odd before; ``learn=False`` leaves everything as it is."""
        verdict, posterior = decision.verdict, decision.posterior
        if not self._by_id and verdict == "accept":
            return Settled(verdict, posterior)  # nearly every call
        # This very call, with this very result, was a suspect before?
        same = self._same.get(case.key)
        again = same is not None and same.session == case.call.session_id
        if same is not None and again and same.incident is not None:
            same.asked += learn
            return Settled(same.verdict, same.posterior, same.incident, same.asked, teaches=False)
        # Odd in a way that was odd before?
        spoken = spoken_traits(signals, decision.contributions)
        incident = self._like(spoken) if same is None or same.incident is None else same.incident
        doubtful = posterior >= case.settings.accept_below
        if verdict == "accept" and not (incident is not None and _keeps(incident, spoken, doubtful=doubtful)):
            if not learn or case.document.is_error or case.document.kind == "empty":
                return Settled(verdict, posterior)  # an error tells nothing of what the tool answers otherwise
            return self._ordinary(posterior)
        # A suspect unlike any before begins an incident.
        if incident is None or incident.state in ENDED:
            lead = lead_traits(spoken, decision.contributions)
            if not lead or (self._holds and all(map(_passes, lead))):
                # Nothing by which calls like it could be known; this very one is, if it is made again.
                if same is not None and again and case.call.session_id is not None:
                    same.asked += learn
                    return Settled(verdict, posterior, teaches=same.asked > MOST_RETRIES)
                if lead and learn and self._holds:
                    self._keep_same(case, _Same(verdict, posterior, None, case.call.session_id))
                return Settled(verdict, posterior)
            id_ = incident_id(case.call.tool, lead[0])
            before = incident = self._by_id.get(id_)
            if incident is None or incident.state in ENDED:
                what = max(spoken, key=lambda name: decision.contributions.get(name, 0.0))
                incident = Incident(id_, lead, signals[what].detail, verdict)
                incident.modes = 0 if before is None else before.modes
        if not learn:
            verdict = self._verdict(incident, case, verdict, declared=_declared(signals))
            return Settled(verdict, posterior, incident, teaches=False)
        return self._suspect(incident, case, signals, decision)

    def remember(self, incident: Incident) -> None:
        """Take in an incident, that of another worker for instance, while there is room for it."""
        self._by_id.pop(incident.id, None)
        self._by_id[incident.id] = incident
        if len(self._by_id) > MAX_INCIDENTS:
            undecided = [id_ for id_, other in self._by_id.items() if not other.reviewed]
            self._forget(self._by_id[undecided[0] if undecided else next(iter(self._by_id))])

    def decide(self, incident: Incident, state: ChangeState, *, reviewed: bool = True) -> tuple[Held, ...]:
        """Give an incident a state; returns the calls that are to be learned for it."""
        incident.state, incident.reviewed = state, reviewed
        self._forget_same(incident)
        if state == "mode":
            incident.modes += 1
            incident.run = 0
        if state not in ENDED:
            return ()
        released = tuple(held._replace(in_full=True) for held in incident.held)
        incident.held = []
        return released

    def _like(self, spoken: Mapping[str, tuple[str, ...]]) -> Incident | None:
        """The incident that shares most of what is odd here."""
        traits = [trait for traits in spoken.values() for trait in traits if not _passes(trait)]
        level_alone = all(map(is_level, traits))
        best, most = None, 0
        for incident in self._by_id.values() if traits else ():
            shared = sum(trait in incident.traits for trait in traits)
            if shared > most and (level_alone or not all(map(is_level, incident.traits))):
                best, most = incident, shared  # a number off its level is no ground where something else is odd too
        return best

    def _verdict(self, incident: Incident, case: Case, verdict: Verdict, *, declared: bool) -> Verdict:
        if incident.state == "fault":
            return "block"
        if not self._holds:
            return verdict
        if verdict == "block" and declared:
            return "block"  # a declaration is the user's own rule, and holds every time
        if verdict == "accept" and incident.run < KEEPS_AFTER:
            return "flag"  # it was doubtful, and no more
        if verdict == "block" or incident.verdict == "block":
            return "block" if incident.blocked < case.contract.profile.max_blocks else "flag"
        return "flag"

    def _suspect(self, incident: Incident, case: Case, signals: dict[str, SignalResult], decision: Decision) -> Settled:
        moved, session = False, case.call.session_id
        verdict = self._verdict(incident, case, decision.verdict, declared=_declared(signals))
        self.remember(incident)
        incident.calls += 1
        incident.blocked += verdict == "block"
        incident.misses = 0
        incident.runs += incident.run == 0
        incident.run += 1
        if incident.state == "recovered":
            incident.state, moved = "open", incident.told
        # Of what was learned as a mode before nobody is told again, unless it now lasts twice as long.
        if incident.calls >= TOLD_AFTER << min(incident.modes, MOST_MODES) and not incident.told:
            incident.told = moved = True
        if len(incident.held) < MAX_HELD and case.document.size <= MAX_HELD_BYTES:
            # That a declaration is broken is learned from nobody but the user: not from a mode, nor from an adoption.
            learned = {name: one for name, one in signals.items() if one.p_value is not None or not self._holds}
            incident.held.append(Held(case, learned, decision))
        if len(incident.sessions) < MAX_SESSIONS:
            incident.sessions.add(session)
        before, released = incident.state, self._released(incident, case)
        if incident.state != before:
            moved_now = (incident,) if incident.told else ()
            return Settled(verdict, decision.posterior, incident, 0, False, moved_now, released)
        self._keep_same(case, _Same(verdict, decision.posterior, incident, session))
        teaches = not self._holds and incident.state != "fault"
        return Settled(verdict, decision.posterior, incident, 0, teaches, (incident,) if moved else ())

    def _released(self, incident: Incident, case: Case) -> tuple[Held, ...]:
        """The calls that were held back, where this one is one too many for it to be a fault."""
        if incident.state != "open" or not self._holds:
            return ()
        enough = case.contract.profile.adopt_after
        if enough is not None and incident.calls >= enough:
            return self.decide(incident, "adopted", reviewed=False)
        sessions = len(incident.sessions - {None}) or incident.calls // UNTOLD_SESSION
        if sessions >= MAX_SESSIONS and all(trait.startswith(OF_THE_ARGUMENTS) for trait in incident.traits):
            return self.decide(incident, "mode", reviewed=incident.reviewed)
        if incident.calls >= RENEWED_AFTER and all(map(is_level, incident.traits)):
            return self.decide(incident, "adopted", reviewed=False)
        return ()

    def _ordinary(self, posterior: float) -> Settled:
        released: list[Held] = []
        moved: list[Incident] = []
        for incident in list(self._by_id.values()):
            incident.misses += 1
            incident.between += 1
            if incident.state == "adopted" and incident.misses > QUIET_AFTER:
                self._forget(incident)
            if incident.run and incident.misses >= ENDS_AFTER:
                self._end_run(incident, released, moved)
        return Settled("accept", posterior, moved=tuple(moved), released=tuple(released))

    def _end_run(self, incident: Incident, released: list[Held], moved: list[Incident]) -> None:
        calls, incident.run = incident.run, 0
        if incident.state != "open" or not self._holds:
            return
        if incident.runs >= MODE_AFTER and incident.between >= BETWEEN * incident.calls:
            released += self.decide(incident, "mode", reviewed=incident.reviewed)
        else:
            incident.state = "recovered"
            if calls <= SHORT_RUN:
                released += incident.held
                incident.held = []
        self._forget_same(incident)
        if incident.told:
            moved.append(incident)

    def _keep_same(self, case: Case, same: _Same) -> None:
        self._same[case.key] = same
        if len(self._same) > MAX_SAME:
            del self._same[next(iter(self._same))]

    def _forget(self, incident: Incident) -> None:
        self._by_id.pop(incident.id, None)
        self._forget_same(incident)

    def _forget_same(self, incident: Incident) -> None:
        for key in [key for key, same in self._same.items() if same.incident is incident]:
            del self._same[key]


def incident_id(tool: str, trait: str) -> str:
    """Twelve hexadecimal digits, the same for the same trait of the same tool in every process.

    >>> incident_id("get_price", "missing currency as str")
    '4aa2b293ff13'
    """
    return blake2b(f"{tool}\0{trait}".encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def spoken_traits(
    signals: Mapping[str, SignalResult], contributions: Mapping[str, float]
) -> dict[str, tuple[str, ...]]:
    """The traits of what speaks against a call, by signal; what tells of the tool only where nothing else is odd."""
    spoken = {
        name: signal.traits
        for name, signal in signals.items()
        if signal.fired and signal.traits and contributions.get(name, 0.0) > 0.0
    }
    return {name: traits for name, traits in spoken.items() if not all(map(_passes, traits))} or spoken


def _passes(trait: str) -> bool:
    """Genuine calls differ in it all the time."""
    return trait.startswith(PASSING)


def lead_traits(spoken: Mapping[str, tuple[str, ...]], contributions: Mapping[str, float]) -> tuple[str, ...]:
    """The traits that name an incident, those of the strongest signal first."""
    loud = [name for name in spoken if contributions.get(name, 0.0) >= SPEAKS] or list(spoken)
    loud.sort(key=lambda name: -contributions.get(name, 0.0))
    return tuple(dict.fromkeys(trait for name in loud for trait in spoken[name]))[:MAX_TRAITS]


def _declared(signals: Mapping[str, SignalResult]) -> bool:
    """The profile's own word is broken: a declared field, or content that it has blocked."""
    return any(signal.fired and signal.p_value is None for signal in signals.values())


def _keeps(incident: Incident, spoken: Mapping[str, tuple[str, ...]], *, doubtful: bool) -> bool:
    """A call that would be accepted by itself belongs to the incident all the same.

    To a fault; to a run under way; and to a number that was off its level before, where the call is ``doubtful``: it
    passes by the bound on false alarms alone, which suspects that nobody has reviewed are not to move.
    """
    shared = [trait for traits in spoken.values() for trait in traits if trait in incident.traits]
    # What it is named for, or most of it: that a number is off its level as well is no ground by itself.
    if incident.traits[0] not in shared and 2 * len(shared) < len(incident.traits):
        return False
    if incident.state == "fault":
        return True
    lasting = any(not trait.startswith((*PASSING, *OF_THE_ARGUMENTS)) for trait in shared)
    if doubtful and is_level(incident.traits[0]):
        # One or two calls were learned when their run ended, and what has stayed away so long is over.
        lasted = incident.calls > SHORT_RUN and incident.misses <= QUIET_AFTER
        return incident.state == "open" or (incident.state == "recovered" and lasted)
    return lasting and incident.state == "open" and incident.run >= KEEPS_AFTER


def is_level(trait: str) -> bool:
    """The trait says that a number, or its move, lies off its level."""
    return trait.endswith(OF_A_LEVEL) or trait.startswith("moved ")
