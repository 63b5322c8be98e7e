"""The audit log: which verdicts are put before a reviewer, and what a later label needs to know of a call.

Flagged and blocked calls all are; of accepted ones a sample, since labels on suspects alone say nothing about what
the guard lets through. A record holds the probability with which its call came to be one (its propensity), by which
its label is weighed later (Zadrozny & Elkan 2002). It holds no arguments and no result.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from agentguard import _forks as forks
from agentguard.stores import Store
from agentguard.stores._base import Record
from agentguard.stores._flusher import Outbox
from agentguard.verification._calibration import DECLARED
from agentguard.verification._changes import read_traits
from agentguard.verification._checks._earlier import findings_of
from agentguard.verification._incidents import lead_traits, spoken_traits
from agentguard.verification.types import VERDICTS, Trait, Verdict, VerificationResult

AUDIT = "audit"
MOST_NATS = 1e6  # no engine says more: the logarithm of no double is beyond 750
MAX_REMEMBERED_CALLS = 10_000  # latest calls with a name
MAX_WAITING = 10_000  # records that wait for the store
_BITS = (1 << 64) - 1


class Judged(NamedTuple):
    """A judged call as far as a label needs to know it.

    Attributes:
        fired: the signals that fired, those on a broken declaration after ``DECLARED``.
        nats: what each signal added to the log-odds.
        propensity: the probability with which such a call comes before a reviewer, in (0, 1].
        said: the details of the signals that fired.
        traits: by which calls alike are known, the strongest first.
        change: the id of the lasting change that the call looks like.
    """

    verdict: Verdict
    prior: float
    fired: tuple[str, ...]
    nats: Mapping[str, float]
    propensity: float
    said: Mapping[str, str] = {}
    traits: tuple[Trait, ...] = ()
    change: str | None = None

    def as_event(self) -> dict[str, Any]:
        """Plain data for the store."""
        event = {**self._asdict(), "fired": list(self.fired), "nats": dict(self.nats), "said": dict(self.said)}
        return {**event, "traits": [list(trait) for trait in self.traits]}


class AuditRecord(NamedTuple):
    """A record of the log: its number and time (seconds since the epoch) there, the call by its names, its verdict."""

    sequence: int
    at: float
    tool: str
    call_id: str | None
    session_id: str | None
    posterior: float
    false_block_p: float | None
    call: Judged


def audit_record(record: Record) -> AuditRecord | None:
    """The verdict in an event of the log; None where there is none: a log may hold what no engine wrote."""
    event = record.event
    try:
        fired, nats = tuple(event["fired"]), dict(event["nats"])
        verdict, prior, propensity = event["verdict"], event["prior"], event["propensity"]
        tool, call_id, posterior = event["tool"], event["call_id"], event["posterior"]
    except (KeyError, TypeError, ValueError):
        return None
    session_id, false_block_p = event.get("session_id"), event.get("false_block_p")
    said, traits, change = event.get("said"), event.get("traits"), event.get("change")
    said = {str(name): str(text) for name, text in said.items()} if isinstance(said, Mapping) else {}
    traits = read_traits(traits) or ()
    usable = (
        verdict in VERDICTS
        and all(map(is_share, (prior, posterior, propensity)))
        and propensity > 0
        and (false_block_p is None or is_share(false_block_p))
        and isinstance(tool, str)
        and all(name is None or isinstance(name, str) for name in (call_id, session_id))
        and all(isinstance(name, str) for name in (*fired, *nats))
        and all(type(added) in (int, float) and abs(added) <= MOST_NATS for added in nats.values())
        and abs(record.at) < float("inf")
    )
    if not usable:
        return None
    change = change if isinstance(change, str) else None
    call = Judged(verdict, float(prior), fired, nats, float(propensity), said, traits, change)
    return AuditRecord(record.sequence, record.at, tool, call_id, session_id, float(posterior), false_block_p, call)


def is_share(value: Any) -> TypeGuard[float]:
    """A number in [0, 1], and no boolean.

    >>> is_share(1), is_share(0.5), is_share(True), is_share(float("nan")), is_share("0.5")
    (True, True, False, False, False)
    """
    return type(value) in (int, float) and 0.0 <= value <= 1.0


def judged(result: VerificationResult, propensity: float = 1.0) -> Judged:
    """The part of a verdict that its label will need."""
    signals = findings_of(result.signals)
    if not signals:  # nearly every call
        return Judged(result.verdict, result.prior, (), result.contributions, propensity, {}, (), result.change)
    fired = tuple(name if signal.p_value is not None else DECLARED + name for name, signal in signals.items())
    spoken = spoken_traits(signals, result.contributions)
    details = {name: signal.detail for name, signal in signals.items()}
    traits = lead_traits(spoken, result.contributions)
    return Judged(result.verdict, result.prior, fired, result.contributions, propensity, details, traits, result.change)


def is_sampled(rate: float, digest: int, number: int) -> bool:
    """Whether a call is among the share ``rate`` of all that is sampled; the same calls in the same order are so again.

    ``number`` is the call's, so that results that come again are not sampled always or never.
    """
    # The finaliser of SplitMix64 (Steele, Lea & Flood 2014).
    x = (digest + number * 0x9E3779B97F4A7C15) & _BITS
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _BITS
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _BITS
    return (x ^ (x >> 31)) < rate * 2.0**64


class Audit:
    """The records of one engine: the latest calls by name, and the store's log. Thread-safe.

    A call that another process judged is found in the log, which is read on from where it was read last. ``rate`` is
    the share of accepted calls that are put on record; None puts nothing there, where nobody could read it. The records
    that cannot be written yet wait in ``outbox``.
    """

    def __init__(self, store: Store, rate: float | None) -> None:
        self._store = store
        self._rate = rate
        self._lock = forks.lock(forks.Rank.AUDIT)
        self._calls: OrderedDict[tuple[str, str], Judged] = OrderedDict()
        self._read = 0
        self.outbox = Outbox(store, AUDIT, "an audit record", MAX_WAITING)

    def put(
        self,
        result: VerificationResult,
        digest: int,
        number: int,
        session_id: str | None,
        *,
        closed: bool,
        kept: Callable[[], Mapping[str, str]] | None = None,
        read_back: Sequence[Mapping[str, Any]] = (),
    ) -> VerificationResult:
        """Put a verdict on record if it belongs there; returns the verdict.

        Only where the guard's failures are ``closed`` ones does a call wait for a store that is not near: what cannot
        be written then is blocked. What cannot be written now is written when the store is back, the latest 10,000
        records are; the verdict says so.

        Args:
            result: the verdict.
            digest: 64 bits of the tool's result.
            number: of the call, among those of its tool.
            session_id: of the call.
            closed: the profile's ``on_error`` is.
            kept: gives the redacted call, to be kept with the record of a suspect.
            read_back: the guard's own calls that were made because of it.
        """
        suspect = result.verdict != "accept"
        recorded = self._rate is not None and (suspect or is_sampled(self._rate, digest, number))
        if not recorded and result.call_id is None:
            return result
        call = judged(result, self._rate if recorded and not suspect and self._rate else 1.0)
        if result.call_id is not None:
            self._keep(result.tool, result.call_id, call)
        if not recorded:
            return result
        event = {
            "tool": result.tool, "call_id": result.call_id, "session_id": session_id, "posterior": result.posterior,
            "false_block_p": result.false_block_p, **call.as_event(),
            **({"asked": result.asked} if result.asked else {}),
            **({} if kept is None or not suspect else {"kept": kept()}),
            **({"read_back": list(read_back)} if read_back else {}),
        }  # fmt: skip
        why = self.outbox.put(event, waits=closed)
        if not why:
            return result
        note = f"not on record: {why}"
        if closed:
            return result._replace(verdict="block", note=f"{note}; on_error is closed")
        return result._replace(note=note)

    def _keep(self, tool: str, call_id: str, call: Judged) -> None:
        with self._lock:
            self._calls[tool, call_id] = call
            self._calls.move_to_end((tool, call_id))
            if len(self._calls) > MAX_REMEMBERED_CALLS:
                self._calls.popitem(last=False)

    def forgotten(self) -> None:
        """The store has lost records: its log is read from the beginning."""
        self._read = 0

    def find(self, tool: str, call_id: str) -> Judged | None:
        """The call of this name; None where neither this engine nor the log has it."""
        with self._lock:
            known = self._calls.get((tool, call_id))
        if known is not None:
            return known
        for record in self._store.events(AUDIT, after=self._read):
            self._read = record.sequence
            kept = audit_record(record)
            if kept is not None and kept.call_id is not None:
                self._keep(kept.tool, kept.call_id, kept.call)
        with self._lock:
            return self._calls.get((tool, call_id))
