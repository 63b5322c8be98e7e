"""Changes of one tool: suspects that are odd in the same way are one change, which teaches nothing until it ends.

::

    call ── judged ──▶ just asked, with this very result? ── yes ──▶ the graver of both verdicts; teaches nothing
                          │ no
                          ▼
            odd, or as odd as an open change is? ── no ──▶ ordinary: learned; two in a row end the runs under way
                          │ yes
                          ▼
            its change begins or goes on; the call is held back and counts in P(fault | change), see ``_causes``

The states, and what becomes of a call in each::

              suspects that share a trait
                          │
                          ▼         two ordinary calls
        ┌──────────────  OPEN  ◀──────────────────────▶ RECOVERED
        │                 │ │           a call like it
        │   a reviewer:   │ │  from the third call on: P(fault) < accept_below;
        │   genuine       │ │  after max_flags calls:  P(fault) < block_at
        │ a reviewer:     ▼ ▼
        │ fabricated  ADOPTED, FOLLOWED (in one run), MODE (in several)
        ▼                 │
      FAULT ◀─────────────┘ a reviewer: fabricated; the memory is again as it was before

OPEN      flagged, or blocked where P(fault) is at least ``block_at``, up to ``max_blocks`` calls; held back
FAULT     blocked; not learned
others    judged as it comes; what is odd about it in the ways of the change is excused
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Final, NamedTuple

from agentguard.verification._case import Case
from agentguard.verification._causes import CLUES, clues_of, grounds, p_fault
from agentguard.verification._changes import ChangeState
from agentguard.verification._method import Decision
from agentguard.verification.types import SEVERITY, SignalResult, Trait, TraitKind, Verdict, VerificationTier

MAX_INCIDENTS: Final = 32  # of one tool; the least recently met that nobody has decided on is forgotten first
MAX_SAME: Final = 128  # suspects of one tool that are known again
MOST_RETRIES: Final = 9  # of one call in a session: a guard's three by an agent's three; more of them are a poll
NEARBY: Final = 8  # calls of the tool between a call and its retry; one that comes later is a poll
MAX_HELD: Final = 16  # calls of one change that are kept, to be learned if it turns out genuine
MAX_HELD_BYTES: Final = 1 << 14  # of one such result
MAX_TRAITS: Final = 16  # by which calls like it are known
MAX_ANSWERS: Final = 64  # answers of one change that are known again
MAX_UNDONE: Final = 2  # changes of one tool whose following can be undone
KEEPS_AFTER: Final = 2  # calls of a run, from which on it takes in what shares a trait with it
TOLD_AFTER: Final = 2  # calls: what lasts is more than one
MOST_DOUBLED: Final = 10  # times that this is doubled
ENDS_AFTER: Final = 2  # ordinary calls in a row
SHORT_RUN: Final = 2  # calls
JUDGED_AFTER: Final = 3  # calls, from which on a change may be followed
RECENT: Final = 20  # calls, for which a change that looks like a fault holds the others back
ENDED: Final = ("adopted", "followed", "mode")  # states in which calls like it are judged as they come
QUIET_AFTER: Final = 50  # calls without it, from which on a change is over
SPEAKS: Final = 0.5  # nats, from which on a signal names a change

#: Traits in which genuine calls differ all the time: a suspect that has no others is learned as single suspects are.
PASSING: Final[frozenset[TraitKind]] = frozenset({"writing", "size", "drift", "speed"})
#: Traits that concern the answer to certain arguments alone.
OF_THE_ARGUMENTS: Final[frozenset[TraitKind]] = frozenset({"answer", "clock"})


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
        why: why it was followed, in words.
        calls, blocked: how many calls looked like it, retries among them, and how many of those were blocked.
        judged: how many of them, without retries, count in ``clues``.
        clues: the sums of their clues, see ``_causes.CLUES``.
        runs: how often it came, with ordinary calls between.
        run: calls of the run that is under way; 0 where none is.
        misses: ordinary calls since the last call like it.
        last: the number, among the tool's calls, of the last call like it.
        told: somebody was told of it.
        ends: how often it ended as genuine.
        p_latest: P(fault | change) by its latest call alone.
        before: the tool's memory from before it was taken for genuine, packed.
        answers: by digest the arguments that its answers came to.
        held: the calls that were held back.
    """

    id: str
    traits: tuple[Trait, ...]
    what: str
    verdict: Verdict
    state: ChangeState = "open"
    reviewed: bool = False
    why: str = ""
    calls: int = 0
    blocked: int = 0
    judged: int = 0
    clues: list[float] = field(default_factory=lambda: [0.0] * len(CLUES))
    runs: int = 0
    run: int = 0
    misses: int = 0
    last: int = 0
    told: bool = False
    ends: int = 0
    p_latest: float = 0.0
    before: bytes = b""
    answers: dict[int, bytes] = field(default_factory=dict)
    held: list[Held] = field(default_factory=list)

    @property
    def p_fault(self) -> float:
        """P(fault | change) of all its calls so far; 1 where a user's own signal names it, which is the user's word."""
        is_own = bool(self.traits) and self.traits[0].kind == "own"
        return 1.0 if is_own else p_fault(self.clues, self.judged)

    def count(self, case: Case, traits: tuple[Trait, ...], nats: float, clues_of: Clues, *, is_retry: bool) -> None:
        """Take a call as evidence for what the change is; of a retry, that it is made again says nothing."""
        digest, key = case.document.digest, case.arguments.key
        first = self.answers.get(digest, key)
        clues = clues_of(case, traits, nats, again=not is_retry and key in self.answers.values(), copied=first != key)
        if len(self.answers) < MAX_ANSWERS:
            self.answers.setdefault(digest, key)
        self.clues = [total + clue for total, clue in zip(self.clues, clues, strict=True)]
        self.judged += 1
        self.p_latest = p_fault(clues, 1)
        self.traits = tuple(dict.fromkeys((*self.traits, *(one for one in traits if not passes(one)))))[:MAX_TRAITS]


#: Reads the clues of a call of a change; see ``_causes.clues_of``.
Clues = Callable[..., list[float]]


class Settled(NamedTuple):
    """The outcome of a judged call, given what came before it.

    Attributes:
        verdict: the one that stands.
        incident: the change that it belongs to, if any.
        asked: how often this very call had this very result just before.
        teaches: it may be learned.
        moved: changes that somebody is to be told of: begun, ended, opened again.
        released: calls that were held back and are to be learned now.
    """

    verdict: Verdict
    incident: Incident | None = None
    asked: int = 0
    teaches: bool = True
    moved: tuple[Incident, ...] = ()
    released: tuple[Held, ...] = ()


@dataclass(eq=False)
class _Same:
    """A suspect that is known again: its verdict, its change if it belongs to one, its session, its number."""

    verdict: Verdict
    incident: Incident | None
    session: str | None
    number: int
    asked: int = 0


class Incidents:
    """The changes of one tool. Used under the tool's lock; bounded.

    Without ``holds`` it only takes note, and follows what reviewers decide: for a method whose verdicts are laid down
    by a document. Else suspects are held back, and calls like them keep their verdict. ``clues`` reads a call.
    """

    __slots__ = ("_by_id", "_clues", "_holds", "_number", "_same")

    def __init__(self, *, holds: bool = True, clues: Clues = clues_of) -> None:
        self._holds = holds
        self._clues = clues
        self._by_id: dict[str, Incident] = {}
        self._same: dict[tuple[bytes, int], _Same] = {}
        self._number = 0  # of the latest call, counted while there are changes or suspects

    def __iter__(self) -> Iterator[Incident]:
        return iter(self._by_id.values())

    def find(self, id_: str) -> Incident | None:
        """The change of this id, while it is remembered."""
        return self._by_id.get(id_)

    def waive(self, signals: dict[str, SignalResult], *, learn: bool = True) -> None:
        """Silence, in place, the learned signals that speak of nothing but a change that was taken for genuine.

        A learned signal has a p-value; where a document lays verdicts down none has, and those of tier 1 are learned.
        ``learn=False`` leaves the changes as they are.
        """
        for incident in self._by_id.values():
            if incident.state not in ENDED or incident.misses > QUIET_AFTER:
                continue
            excused = set(incident.traits)
            for name, signal in signals.items():
                learned = signal.p_value is not None or (not self._holds and signal.tier is VerificationTier.TIER_1)
                if signal.likelihood_ratio <= 1.0 or not learned or excused.isdisjoint(signal.traits):
                    continue
                if all(trait in excused or passes(trait) for trait in signal.traits):
                    if learn and signal.fired and not all(passes(one) or one.kind == "level" for one in signal.traits):
                        incident.misses = 0
                    detail = f"as change {incident.id}, which was taken for genuine"
                    signals[name] = signal._replace(fired=False, likelihood_ratio=1.0, traits=(), detail=detail)

    def settle(
        self, case: Case, signals: dict[str, SignalResult], decision: Decision, *, learn: bool = True
    ) -> Settled:
        """Relate a judged call to what was odd before; ``learn=False`` leaves everything as it is."""
        verdict = decision.verdict
        if not self._by_id and not self._same and verdict == "accept":
            return Settled(verdict)  # nearly every call
        self._number += learn
        spoken = spoken_traits(signals, decision.contributions)
        # Just asked, with this very result?
        same = self._same.get(case.key) if self._holds else None
        is_retry = same is not None and self._is_retry(same, case)
        if same is not None and is_retry and _says_no_more(same, spoken):
            if learn:
                same.asked += 1
                same.number = self._number
                if same.incident is not None:
                    same.incident.calls += 1
            if same.incident is not None:
                verdict = self._verdict(same.incident, case, verdict, declared=_declared(signals))
            return Settled(
                max(verdict, same.verdict, key=SEVERITY.__getitem__), same.incident, same.asked, teaches=False
            )
        # As odd as an open change is?
        incident = self._like(spoken) if same is None or same.incident is None else same.incident
        doubtful = decision.posterior >= case.settings.accept_below
        if verdict == "accept" and not (incident is not None and _keeps(incident, spoken, doubtful=doubtful)):
            if not learn or case.document.is_error or case.document.kind == "empty":
                return Settled(verdict)  # an error tells nothing of what the tool answers otherwise
            return self._ordinary(case)
        # A suspect unlike any before begins a change.
        if incident is None or incident.state in ENDED:
            lead = lead_traits(spoken, decision.contributions)
            if not lead or (self._holds and all(map(passes, lead))):
                # Nothing by which calls like it could be known; this very one is, if it is made again.
                if lead and learn and self._holds and case.call.session_id is not None:
                    self._keep_same(case, verdict, None)
                return Settled(verdict)
            incident = self._begun(case, lead, spoken, signals, decision)
        if not learn:
            incident = replace(incident, answers=dict(incident.answers))
            self._count(incident, case, spoken, decision, is_retry=is_retry)
            return Settled(self._verdict(incident, case, verdict, declared=_declared(signals)), incident, teaches=False)
        return self._suspect(incident, case, spoken, signals, decision, is_retry=is_retry)

    def _begun(
        self,
        case: Case,
        lead: tuple[Trait, ...],
        spoken: Mapping[str, tuple[Trait, ...]],
        signals: Mapping[str, SignalResult],
        decision: Decision,
    ) -> Incident:
        """The change that a suspect belongs to, by the strongest trait; a new one where that has ended."""
        id_ = incident_id(case.call.tool, lead[0])
        before = self._by_id.get(id_)
        if before is not None and before.state not in ENDED:
            return before
        what = max(spoken, key=lambda name: decision.contributions.get(name, 0.0))
        incident = Incident(id_, lead, signals[what].detail, decision.verdict)
        if before is not None:
            incident.ends, incident.before = before.ends, before.before
        return incident

    def _is_retry(self, same: _Same, case: Case) -> bool:
        """The call was made a moment ago; one that is repeated for long, after others, or all the time, is a poll."""
        near = self._number - same.number <= NEARBY and same.asked < MOST_RETRIES
        return near and same.session == case.call.session_id and not case.is_polled

    def remember(self, incident: Incident) -> None:
        """Take in a change, that of another worker for instance, while there is room for it."""
        self._by_id.pop(incident.id, None)
        self._by_id[incident.id] = incident
        if len(self._by_id) > MAX_INCIDENTS:
            undecided = [id_ for id_, other in self._by_id.items() if not other.reviewed]
            self._forget(self._by_id[undecided[0] if undecided else next(iter(self._by_id))])

    def decide(self, incident: Incident, state: ChangeState, *, reviewed: bool = True) -> tuple[Held, ...]:
        """Give a change a state; returns the calls that are to be learned for it."""
        incident.state, incident.reviewed = state, reviewed
        self._forget_same(incident)
        if state not in ENDED:
            return ()
        incident.ends += 1
        incident.run = incident.misses = 0
        released = tuple(held._replace(in_full=True) for held in incident.held)
        incident.held = []
        return released

    def keep_before(self, incident: Incident, memory: bytes) -> None:
        """Keep the memory from before a change was taken for genuine; of the latest changes alone."""
        kept = [other for other in self._by_id.values() if other.before and other is not incident]
        for other in kept[: max(len(kept) - MAX_UNDONE + 1, 0)]:
            other.before = b""
        incident.before = memory

    def _like(self, spoken: Mapping[str, tuple[Trait, ...]]) -> Incident | None:
        """The change that shares most of what is odd here; an open one before one that has ended."""
        traits = [trait for traits in spoken.values() for trait in traits if not passes(trait)]
        level_alone = all(trait.kind == "level" for trait in traits)
        best, most = None, 0.0
        for incident in self._by_id.values() if traits else ():
            shared = sum(trait in incident.traits for trait in traits) - 0.5 * (incident.state in ENDED)
            if shared > most and (level_alone or any(trait.kind != "level" for trait in incident.traits)):
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
        p = max(incident.p_fault, incident.p_latest if verdict == "block" else 0.0)
        if "block" in (verdict, incident.verdict) and p >= case.settings.block_at:
            return "block" if incident.blocked < case.contract.profile.max_blocks else "flag"
        return "flag"

    def _suspect(
        self,
        incident: Incident,
        case: Case,
        spoken: Mapping[str, tuple[Trait, ...]],
        signals: dict[str, SignalResult],
        decision: Decision,
        *,
        is_retry: bool,
    ) -> Settled:
        declared = _declared(signals)
        self.remember(incident)
        self._count(incident, case, spoken, decision, is_retry=is_retry)
        verdict = self._verdict(incident, case, decision.verdict, declared=declared)
        incident.calls += 1
        incident.misses = 0
        incident.last = self._number
        incident.runs += incident.run == 0
        incident.run += 1
        moved = incident.state == "recovered" and incident.told
        if incident.state == "recovered":
            incident.state = "open"
        # Of what ended as genuine before nobody is told again, unless it now lasts twice as long.
        if incident.calls >= TOLD_AFTER << min(incident.ends, MOST_DOUBLED) and not incident.told:
            incident.told = moved = True
        if len(incident.held) < MAX_HELD and case.document.size <= MAX_HELD_BYTES:
            # That a declaration is broken is learned from nobody but the user.
            learned = {name: one for name, one in signals.items() if one.p_value is not None or not self._holds}
            incident.held.append(Held(case, learned, decision))
        # Is it a change of the service, or a fault?
        if not declared and self._is_followed(incident, case):
            p = incident.p_fault
            genuine = p < case.settings.accept_below
            incident.why = grounds(incident.clues, incident.judged) if genuine else (
                f"nobody has reviewed it in {incident.calls} calls, and P(fault) is {p:.2f}"
            )  # fmt: skip
            released = self.decide(incident, "mode" if incident.runs > 1 else "followed", reviewed=False)
            incident.told = True
            return Settled("accept" if genuine else verdict, incident, 0, False, (incident,), released)
        incident.blocked += verdict == "block"
        if self._holds:
            self._keep_same(case, verdict, incident)
        teaches = not self._holds and incident.state != "fault"
        return Settled(verdict, incident, 0, teaches, (incident,) if moved else ())

    def _count(
        self,
        incident: Incident,
        case: Case,
        spoken: Mapping[str, tuple[Trait, ...]],
        decision: Decision,
        *,
        is_retry: bool,
    ) -> None:
        """Take a call as evidence for what its change is."""
        if self._holds:
            traits = tuple(dict.fromkeys(trait for traits in spoken.values() for trait in traits))
            incident.count(case, traits, sum(decision.contributions.values()), self._clues, is_retry=is_retry)

    def _is_followed(self, incident: Incident, case: Case) -> bool:
        """Whether the calls of an open change are to be taken for genuine from this one on."""
        profile, settings = case.contract.profile, case.settings
        if incident.state != "open" or not self._holds or profile.on_change == "hold" or incident.judged < JUDGED_AFTER:
            return False
        if incident.p_fault >= settings.accept_below:
            return incident.calls - incident.blocked >= profile.max_flags and incident.p_fault < settings.block_at
        return not any(
            other is not incident
            and (other.state == "fault" or (other.state not in ENDED and other.p_fault >= settings.block_at))
            and self._number - other.last <= RECENT
            for other in self._by_id.values()
        )

    def _ordinary(self, case: Case) -> Settled:
        released: list[Held] = []
        moved: list[Incident] = []
        for incident in self._by_id.values():
            incident.misses += 1
            if incident.run and incident.misses >= ENDS_AFTER:
                self._end_run(incident, case, released, moved)
        return Settled("accept", moved=tuple(moved), released=tuple(released))

    def _end_run(self, incident: Incident, case: Case, released: list[Held], moved: list[Incident]) -> None:
        calls, incident.run = incident.run, 0
        if incident.state != "open" or not self._holds:
            return
        incident.state = "recovered"
        if calls <= SHORT_RUN and incident.p_fault < case.settings.block_at:
            released += incident.held
            incident.held = []
        self._forget_same(incident)
        if incident.told:
            moved.append(incident)

    def _keep_same(self, case: Case, verdict: Verdict, incident: Incident | None) -> None:
        session, known = case.call.session_id, self._same.pop(case.key, None)
        # A poll stays one: it does not become another call with retries of its own.
        is_poll = known is not None and known.session == session and known.asked >= MOST_RETRIES
        self._same[case.key] = _Same(verdict, incident, session, self._number, MOST_RETRIES if is_poll else 0)
        if len(self._same) > MAX_SAME:
            del self._same[next(iter(self._same))]

    def _forget(self, incident: Incident) -> None:
        self._by_id.pop(incident.id, None)
        self._forget_same(incident)

    def _forget_same(self, incident: Incident) -> None:
        for key in [key for key, same in self._same.items() if same.incident is incident]:
            del self._same[key]


def incident_id(tool: str, trait: Trait) -> str:
    """Twelve hexadecimal digits, the same for the same trait of the same tool in every process.

    >>> incident_id("get_price", Trait("lost", "currency", "str"))
    'a4efe73474bb'
    """
    return blake2b(f"{tool}\0{trait}".encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def spoken_traits(
    signals: Mapping[str, SignalResult], contributions: Mapping[str, float]
) -> dict[str, tuple[Trait, ...]]:
    """The traits of what speaks against a call, by signal; what tells of the tool only where nothing else is odd."""
    spoken = {
        name: signal.traits
        for name, signal in signals.items()
        if signal.fired and signal.traits and contributions.get(name, 0.0) > 0.0
    }
    return {name: traits for name, traits in spoken.items() if not all(map(passes, traits))} or spoken


def passes(trait: Trait) -> bool:
    """Genuine calls differ in it all the time."""
    return trait.kind in PASSING


def lead_traits(spoken: Mapping[str, tuple[Trait, ...]], contributions: Mapping[str, float]) -> tuple[Trait, ...]:
    """The traits that name a change, those of the strongest signal first."""
    loud = [name for name in spoken if contributions.get(name, 0.0) >= SPEAKS] or list(spoken)
    loud.sort(key=lambda name: -contributions.get(name, 0.0))
    return tuple(dict.fromkeys(trait for name in loud for trait in spoken[name]))[:MAX_TRAITS]


def _says_no_more(same: _Same, spoken: Mapping[str, tuple[Trait, ...]]) -> bool:
    """Nothing is odd about a retry that is not odd about its change."""
    known = None if same.incident is None else same.incident.traits
    return known is None or all(one in known or passes(one) for traits in spoken.values() for one in traits)


def _declared(signals: Mapping[str, SignalResult]) -> bool:
    """The profile's own word is broken: a declared field, or content that it has blocked."""
    return any(signal.fired and signal.p_value is None for signal in signals.values())


def _keeps(incident: Incident, spoken: Mapping[str, tuple[Trait, ...]], *, doubtful: bool) -> bool:
    """A call that would be accepted by itself belongs to the change all the same.

    To a fault; to a run under way; and to a number that was off its level before, where the call is ``doubtful``: it
    passes by the bound on false alarms alone, which suspects that nobody has reviewed are not to move.
    """
    shared = [trait for traits in spoken.values() for trait in traits if trait in incident.traits]
    # What it is named for, or most of it: that a number is off its level as well is no ground by itself.
    if incident.traits[0] not in shared and 2 * len(shared) < len(incident.traits):
        return False
    if incident.state == "fault":
        return True
    lasting = any(not passes(trait) and trait.kind not in OF_THE_ARGUMENTS for trait in shared)
    if doubtful and incident.traits[0].kind == "level":
        # One or two calls were learned when their run ended, and what has stayed away so long is over.
        lasted = incident.calls > SHORT_RUN and incident.misses <= QUIET_AFTER
        return incident.state == "open" or (incident.state == "recovered" and lasted)
    return lasting and incident.state == "open" and incident.run >= KEEPS_AFTER
