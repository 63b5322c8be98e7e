"""Audit records and labels as a store's log has them, read with care, and as the page shows them.

A log may hold what no engine wrote. What cannot be used is passed over, as engines do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from agentguard.stores.base import Record
from agentguard.verification.audit import AuditRecord, audit_record, is_share
from agentguard.verification.calibration import DECLARED
from agentguard.verification.fleet import sayable
from agentguard.verification.types import Verdict

__all__ = ["Label", "ShownLabel", "ShownVerdict", "label_event", "read_label", "read_record", "shown"]

MAX_NAME: Final = 1_000
MAX_SIGNALS: Final = 100


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
    """What a signal added to the log-odds, in nats; ``declared`` where it fired on a broken declaration."""

    name: str
    nats: float
    fired: bool
    declared: bool


@dataclass(frozen=True, slots=True)
class ShownLabel:
    """The latest word on a call; times are seconds since the epoch."""

    sequence: int
    at: float
    was_hallucination: bool


@dataclass(frozen=True, slots=True)
class ShownVerdict:
    """An audit record for the page: no arguments, no result, for the store has none."""

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


def read_record(record: Record) -> AuditRecord | None:
    """The verdict in an event of the audit log; None where there is none, or one too large to be shown."""
    found = audit_record(record)
    if found is None:
        return None
    names = [found.tool, found.call_id or "", found.session_id or "", *found.call.fired, *found.call.nats]
    short = max(map(len, names)) <= MAX_NAME and max(len(found.call.fired), len(found.call.nats)) <= MAX_SIGNALS
    return found if short else None


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


def shown(found: AuditRecord, label: Label | None) -> ShownVerdict:
    """A record for the page, the signals that said most first; lone surrogates, which JSON lacks, are written out."""
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
            ShownSignal(sayable(name), float(call.nats.get(name, 0.0)), name in fired, fired.get(name, False))
            for name in signals
        ),
        None if label is None else ShownLabel(label.sequence, label.at, label.fabricated),
    )
