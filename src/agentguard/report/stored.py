"""A report of what lies in a store: audit records, labels, counts by hour, and what was learned of each tool.

A store holds no call as such. Of accepted calls a sample is on record, each of which counts for as many as it stands
for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from itertools import islice
from typing import Any, Final, NamedTuple

from agentguard.admin._overview import Overview, overview
from agentguard.stores import Store
from agentguard.stores.base import Record
from agentguard.verification.audit import AUDIT, AuditRecord, audit_record
from agentguard.verification.changes import Change, changes_in
from agentguard.verification.state import sayable
from agentguard.verification.types import SEVERITY, VERDICTS, VerdictCounts

from .build import MAX_DETAIL, MAX_NAME, tool_rank
from .records import ChangeRow, ReportData, ToolReport, WorstCall
from .stored_tool import kept_of
from .tallies import LabelTally, Posteriors, by_hour
from .worst import Worst, steps_of

__all__ = ["ReviewedCall", "report_of_store"]

MOST_WEIGHT: Final = 200.0  # calls that one record may stand for
NAMES: Final = ("fabricated", "genuine")
HOUR: Final = 3_600.0
MAX_SIGNALS: Final = 100
MAX_CHANGES: Final = 30


class ReviewedCall(NamedTuple):
    """A label of a store's log: the posterior that was given, and what the reviewer found."""

    tool: str
    posterior: float
    fabricated: bool
    weight: float = 1.0
    call_id: str = ""
    verdict: str | None = None


class _Tool:
    """What the audit records say of one tool."""

    __slots__ = ("posteriors", "verdicts")

    def __init__(self) -> None:
        self.verdicts = [0.0, 0.0, 0.0]
        self.posteriors = Posteriors()


def report_of_store(
    store: Store,
    reviewed: tuple[ReviewedCall, ...] = (),
    *,
    title: str,
    source: str,
    made: str = "",
    version: str = "",
    accept_below: float = 0.2,
    block_at: float = 0.5,
    worst: int = 10,
    most_tools: int = 30,
) -> ReportData:
    """The report of what a store holds now; nothing is written to it.

    Args:
        store: whose content it is.
        reviewed: the labels of its log, the last word on each call.
        title: of the page.
        source: the store's address, as it may be shown.
        made: when, as text.
        version: of agentguard.
        accept_below: the threshold that is drawn.
        block_at: the other one.
        worst: how many calls to open up.
        most_tools: how many tools to show.

    Raises:
        StoreError: where the store cannot be read.
    """
    known = overview(store)
    words = {(call.tool, call.call_id): NAMES[not call.fabricated] for call in reviewed if call.call_id}
    kept, tools = Worst(worst), dict[str, _Tool]()
    posteriors, hours = Posteriors(), _hours_of(known)
    changes = changes_in(store)
    for number, (record, said) in enumerate(_records(store), 1):
        verdict, weight = record.call.verdict, min(1.0 / record.call.propensity, MOST_WEIGHT)
        tool = tools.setdefault(sayable(record.tool), _Tool())
        tool.verdicts[SEVERITY[verdict]] += weight
        tool.posteriors.push(record.posterior, weight)
        posteriors.push(record.posterior, weight)
        if verdict != "accept":
            hours.setdefault(int(record.at // HOUR), [0, 0, 0])[SEVERITY[verdict]] += 1
        kept.push(verdict, record.posterior, number, lambda: _opened(record, said, number, words))  # noqa: B023 - at once
    counted = {tool.tool: tool.counted.calls for tool in known.tools}
    counts = {name: _counts(tools.get(name), counted.get(name, 0)) for name in {*counted, *tools}}
    ranked = sorted(counts.items(), key=lambda item: tool_rank(*item))
    return ReportData(
        title, source, "store", "", made, version, accept_below, block_at,
        VerdictCounts(*(sum(each[k] for each in counts.values()) for k in range(3))), _by_label(reviewed),
        by_hour({hour: VerdictCounts(max(n - bad - worse, 0), bad, worse) for hour, (n, bad, worse) in hours.items()}),
        posteriors.histogram(), _reliability(reviewed), kept.calls(),
        tuple(_tool(store, name, each, tools.get(name)) for name, each in ranked[:most_tools]),
        max(len(ranked) - most_tools, 0), tuple(_notes(known)),
        tuple(map(_change, changes[:MAX_CHANGES])), max(len(changes) - MAX_CHANGES, 0),
    )  # fmt: skip


def _records(store: Store) -> Iterator[tuple[AuditRecord, Mapping[str, str]]]:
    """The verdicts on record, each with what signals found, in words."""
    for event in store.events(AUDIT):
        record = audit_record(event)
        if record is not None:
            yield record, _sentences(event)


def _sentences(record: Record) -> Mapping[str, str]:
    said = record.event.get("said")
    if not isinstance(said, Mapping):
        return {}
    return {name: text[:MAX_DETAIL] for name, text in said.items() if isinstance(name, str) and isinstance(text, str)}


def _change(change: Change) -> ChangeRow:
    return ChangeRow(
        change.id[:MAX_NAME], change.tool[:MAX_NAME], change.what[:MAX_DETAIL], change.state, _time(change.since),
        change.calls, change.blocked, change.reviewed,
    )  # fmt: skip


def _opened(
    record: AuditRecord, said: Mapping[str, str], number: int, words: Mapping[tuple[str, str], str]
) -> WorstCall:
    call, call_id = record.call, record.call_id or ""
    nats = {name[:MAX_NAME]: added for name, added in islice(call.nats.items(), MAX_SIGNALS)}
    steps, remainder = steps_of(call.prior, record.posterior, nats, {})
    steps = tuple(step._replace(detail=said.get(step.signal, "")) for step in steps)
    moved = "; ".join(f"{step.signal} {step.nats:+.2f}" for step in sorted(steps, key=lambda step: -abs(step.nats))[:2])
    verdict = f"{call.verdict}: P(fabricated) {record.posterior:.3f}, prior {call.prior:.3f}"
    return WorstCall(
        number, _time(record.at), record.tool[:MAX_NAME], call_id[:MAX_NAME], (record.session_id or "")[:MAX_NAME],
        call.verdict, call.prior, record.posterior, record.false_block_p, steps, remainder, (),
        f"{verdict}. {moved}"[:MAX_DETAIL] if moved else verdict, words.get((record.tool, call_id), ""), None,
    )  # fmt: skip


def _hours_of(known: Overview) -> dict[int, list[int]]:
    """Calls, flagged and blocked by hour; the latter two are counted by records."""
    hours: dict[int, list[int]] = {}
    for tool in known.tools:
        for hour, (calls, _) in tool.counted.hours.items():
            hours.setdefault(hour, [0, 0, 0])[0] += calls
    return hours


def _counts(tool: _Tool | None, calls: int) -> VerdictCounts:
    """Calls were counted; where they were not, accepted ones are as many as their records stand for."""
    if tool is None:
        return VerdictCounts(calls)
    accepted, flagged, blocked = (round(weight) for weight in tool.verdicts)
    return VerdictCounts(max(calls - flagged - blocked, 0) if calls else accepted, flagged, blocked)


def _by_label(reviewed: tuple[ReviewedCall, ...]) -> tuple[tuple[str, VerdictCounts], ...]:
    found = {name: [0, 0, 0] for name in NAMES}
    for call in reviewed:
        if call.verdict in VERDICTS:
            found[NAMES[not call.fabricated]][VERDICTS.index(call.verdict)] += 1
    return tuple((name, VerdictCounts(*counts)) for name, counts in found.items() if any(counts))


def _reliability(reviewed: tuple[ReviewedCall, ...]) -> Any:
    tally = LabelTally()
    for call in reviewed:
        tally.push(call.posterior, fabricated=call.fabricated, weight=call.weight)
    return tally.reliability()


def _tool(store: Store, name: str, counts: VerdictCounts, audited: _Tool | None) -> ToolReport:
    posteriors = Posteriors() if audited is None else audited.posteriors
    mean = posteriors.mean if counts.accept == 0 or (audited is not None and audited.verdicts[0]) else None
    kept = kept_of(store, name)
    return ToolReport(
        name[:MAX_NAME], counts, mean, posteriors.histogram(), kept.charts, kept.drifted, kept.learned, ()
    )


def _notes(known: Overview) -> Iterator[str]:
    if known.damaged:
        yield f"{len(known.damaged):,} documents were put aside as damaged."
    if known.unreadable:
        yield f"{known.unreadable:,} events of the feedback log are no label."


def _time(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return ""  # of a clock that was far off
