"""Audit records and labels as a store's log has them, read with care, and as the page shows them.

A log may hold what no engine wrote. What cannot be used is passed over, as engines do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from agentguard.stores.base import Record
from agentguard.verification.audit import AuditRecord, audit_record, is_share
from agentguard.verification.calibration import DECLARED
from agentguard.verification.persistence import sayable
from agentguard.verification.types import Verdict

MAX_NAME: Final = 1_000
MAX_SIGNALS: Final = 100
MAX_SENTENCE: Final = 400
MAX_CONTENT: Final = 20_000


class RecordedCall(NamedTuple):
    """A verdict in the log, and what it says of the call beside that.

    Attributes:
        record: the verdict.
        change: the id of the lasting change that the call looks like.
        asked: how often this very call had had this very result before.
        said: what signals found, in words.
    """

    record: AuditRecord
    change: str | None = None
    asked: int = 0
    said: Mapping[str, str] = MappingProxyType({})


class Label(NamedTuple):
    """What somebody said of a call: the label's number and time in the log, and the call by its names."""

    sequence: int
    at: float
    tool: str
    call_id: str | None
    posterior: float | None
    fabricated: bool


@dataclass(frozen=True, slots=True)
class ShownSignal:
    """What a signal added to the log-odds, in nats, and what it found, in words; ``declared``: a broken declaration."""

    name: str
    nats: float
    fired: bool
    declared: bool
    said: str


@dataclass(frozen=True, slots=True)
class ShownLabel:
    """The latest word on a call; times are seconds since the epoch."""

    sequence: int
    at: float
    was_hallucination: bool


@dataclass(frozen=True, slots=True)
class ShownVerdict:
    """An audit record for the page, without arguments and result.

    ``change`` is the id of the lasting change that the call looks like, ``asked`` how often it was asked before.
    """

    sequence: int
    at: float
    tool: str
    call_id: str | None
    session_id: str | None
    verdict: Verdict
    prior: float
    posterior: float
    false_block_p: float | None
    propensity: float
    signals: tuple[ShownSignal, ...]
    label: ShownLabel | None
    change: str | None
    asked: int


@dataclass(frozen=True, slots=True)
class KeptCall:
    """A call itself, redacted, as the engine has kept it; None where it was not kept."""

    args: str | None
    result: str | None


def read_record(record: Record) -> RecordedCall | None:
    """The verdict in an event of the audit log; None where there is none, or one too large to be shown."""
    found = audit_record(record)
    if found is None:
        return None
    names = [found.tool, found.call_id or "", found.session_id or "", *found.call.fired, *found.call.nats]
    short = max(map(len, names)) <= MAX_NAME and max(len(found.call.fired), len(found.call.nats)) <= MAX_SIGNALS
    if not short:
        return None
    change, asked, said = (record.event.get(name) for name in ("change", "asked", "said"))
    return RecordedCall(
        found,
        change if isinstance(change, str) and 0 < len(change) <= MAX_NAME else None,
        asked if type(asked) is int and 0 <= asked < 2**53 else 0,
        _sentences(said),
    )


def _sentences(said: Any) -> Mapping[str, str]:
    """What signals found, by their names; what is none is left out, what is long is cut."""
    if not isinstance(said, Mapping):
        return {}
    sentences = islice(said.items(), MAX_SIGNALS)
    return {name: text[:MAX_SENTENCE] for name, text in sentences if isinstance(name, str) and isinstance(text, str)}


def read_kept(record: Record) -> KeptCall | None:
    """The call itself, where the engine has put it on record; None where it has not."""
    kept = record.event.get("kept")
    if not isinstance(kept, Mapping):
        return None
    args, result = (
        sayable(text[:MAX_CONTENT]) if isinstance(text, str) else None for text in map(kept.get, ("args", "result"))
    )
    return None if args is None and result is None else KeptCall(args, result)


def read_label(record: Record) -> Label | None:
    """The label in an event of the log of feedback; None where there is none."""
    event = record.event
    tool, call_id, fabricated = event.get("tool"), event.get("call_id"), event.get("was_hallucination")
    if not isinstance(tool, str) or not isinstance(fabricated, bool):
        return None
    posterior = event.get("confidence_score")
    return Label(
        record.sequence,
        record.at,
        tool,
        call_id if isinstance(call_id, str) else None,
        posterior if is_share(posterior) else None,
        fabricated,
    )


def label_event(found: AuditRecord, *, was_hallucination: bool) -> Mapping[str, Any]:
    """The event that ``VerificationEngine.record_feedback`` writes for this call."""
    named = {"tool": found.tool, "confidence_score": found.posterior, "was_hallucination": was_hallucination}
    return {**named, "call_id": found.call_id, **found.call.as_event()}


def shown(recorded: RecordedCall, label: Label | None) -> ShownVerdict:
    """A record for the page, the signals that said most first; lone surrogates, which JSON lacks, are written out."""
    found = recorded.record
    call = found.call
    fired = {name.removeprefix(DECLARED): name.startswith(DECLARED) for name in call.fired}
    signals = sorted(
        (name for name in {**fired, **call.nats} if name in fired or call.nats[name]),
        key=lambda name: -abs(call.nats.get(name, 0.0)),
    )
    return ShownVerdict(
        found.sequence,
        found.at,
        sayable(found.tool),
        None if found.call_id is None else sayable(found.call_id),
        None if found.session_id is None else sayable(found.session_id),
        call.verdict,
        call.prior,
        found.posterior,
        found.false_block_p,
        call.propensity,
        tuple(
            ShownSignal(
                sayable(name),
                float(call.nats.get(name, 0.0)),
                name in fired,
                fired.get(name, False),
                sayable(recorded.said.get(name, "")),
            )
            for name in signals
        ),
        None if label is None else ShownLabel(label.sequence, label.at, label.fabricated),
        None if recorded.change is None else sayable(recorded.change),
        recorded.asked,
    )
