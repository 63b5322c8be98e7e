"""Build a report from a store: audit records, labels, counts by hour, and what was learned of each tool.

A store holds no whole calls. Of accepted calls a sample is on record, and each counts for as many as it stands for. The
latest 256 latencies of a tool are kept in their order, the numbers in its results are not: there is a chart of latency
and none of fields. Present drift is read from the engine's own charts, which are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NamedTuple

from agentguard.admin._overview import Overview, overview
from agentguard.admin._portrait import Portrait, portrait, restored
from agentguard.errors import DataError
from agentguard.report._builder import LEAST_MS, MAX_DETAIL, MAX_NAME, tool_rank
from agentguard.report._records import (
    Chart,
    Drifted,
    Reliability,
    ReportData,
    Scale,
    ToolReport,
    WorstCall,
    on_scale,
)
from agentguard.report._series import LEAST, Series, drifted_of
from agentguard.report._tallies import LabelTally, Posteriors, Worst, by_hour, steps_of
from agentguard.report._text import utc
from agentguard.stores import Store
from agentguard.verification._audit import AUDIT, AuditRecord, audit_record
from agentguard.verification._baseline import ToolMemory
from agentguard.verification._changes import Change, changes_in
from agentguard.verification._persistence import sayable
from agentguard.verification._reference import Baseline
from agentguard.verification._state import Place, documents_of
from agentguard.verification.drift import LIMIT, SIGMA, WARM_UP
from agentguard.verification.types import SEVERITY, VERDICTS, VerdictCounts

MOST_WEIGHT: Final = 200.0  # calls that one record may stand for
NAMES: Final = ("fabricated", "genuine")
HOUR: Final = 3_600.0
MAX_SIGNALS: Final = 100
MAX_CHANGES: Final = 30
NEAR: Final = 0.5  # judgement: share of the control limit from which on a chart is reported
_STREAMS: Final[Mapping[str, tuple[str, Scale]]] = {"latency": ("ms", "log"), "size": ("bytes", "signed log")}


class ReviewedCall(NamedTuple):
    """A label in a store's log: the call's posterior, and what a reviewer found."""

    tool: str
    posterior: float
    fabricated: bool
    weight: float = 1.0
    call_id: str = ""
    verdict: str | None = None


@dataclass(slots=True)
class _Tool:
    """Weights of the verdicts and posteriors in the audit records of one tool."""

    verdicts: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    posteriors: Posteriors = field(default_factory=Posteriors)


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
    """Report what a store holds now; nothing is written to it.

    Args:
        store: to be read.
        reviewed: the labels of its log, the latest on each call.
        title: of the page.
        source: address of the store, fit to be shown.
        made: date of the report, as text.
        version: of agentguard.
        accept_below: the lower threshold, to be drawn.
        block_at: the upper threshold, to be drawn.
        worst: number of calls to open up.
        most_tools: number of tools to show.

    Raises:
        StoreError: if the store cannot be read.
    """
    known = overview(store)
    words = {(call.tool, call.call_id): NAMES[not call.fabricated] for call in reviewed if call.call_id}
    kept, tools = Worst(worst), dict[str, _Tool]()
    posteriors, hours = Posteriors(), _hours_of(known)
    changes = changes_in(store)
    for number, (record, findings) in enumerate(_records(store), 1):
        verdict, weight = record.call.verdict, min(1.0 / record.call.propensity, MOST_WEIGHT)
        tool = tools.setdefault(sayable(record.tool), _Tool())
        tool.verdicts[SEVERITY[verdict]] += weight
        tool.posteriors.push(record.posterior, weight)
        posteriors.push(record.posterior, weight)
        if verdict != "accept":
            hours.setdefault(int(record.at // HOUR), [0, 0, 0])[SEVERITY[verdict]] += 1
        kept.push(verdict, record.posterior, number, lambda: _opened(record, findings, number, words))  # noqa: B023 - at once
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
        tuple(map(_cut, changes[:MAX_CHANGES])), max(len(changes) - MAX_CHANGES, 0),
    )  # fmt: skip


def _records(store: Store) -> Iterator[tuple[AuditRecord, Mapping[str, str]]]:
    """The recorded verdicts, each with its signals' findings in words."""
    for event in store.events(AUDIT):
        record, findings = audit_record(event), event.event.get("said")
        if record is not None:
            words = findings.items() if isinstance(findings, Mapping) else ()
            yield record, {x: y[:MAX_DETAIL] for x, y in words if isinstance(x, str) and isinstance(y, str)}


def _cut(change: Change) -> Change:
    what, why = change.what[:MAX_DETAIL], change.why[:MAX_DETAIL]
    return change._replace(id=change.id[:MAX_NAME], tool=change.tool[:MAX_NAME], what=what, why=why)


def _opened(
    record: AuditRecord, findings: Mapping[str, str], number: int, words: Mapping[tuple[str, str], str]
) -> WorstCall:
    call, call_id = record.call, record.call_id or ""
    nats = {name[:MAX_NAME]: added for name, added in islice(call.nats.items(), MAX_SIGNALS)}
    steps, remainder = steps_of(call.prior, record.posterior, nats, {})
    steps = tuple(step._replace(detail=findings.get(step.signal, "")) for step in steps)
    moved = "; ".join(f"{step.signal} {step.nats:+.2f}" for step in sorted(steps, key=lambda step: -abs(step.nats))[:2])
    verdict = f"{call.verdict}: P(fabricated) {record.posterior:.3f}, prior {call.prior:.3f}"
    return WorstCall(
        number, utc(record.at), record.tool[:MAX_NAME], call_id[:MAX_NAME], (record.session_id or "")[:MAX_NAME],
        call.verdict, call.prior, record.posterior, record.false_block_p, steps, remainder, (),
        f"{verdict}. {moved}"[:MAX_DETAIL] if moved else verdict, words.get((record.tool, call_id), ""), None,
    )  # fmt: skip


def _hours_of(known: Overview) -> dict[int, list[int]]:
    """Calls, flagged and blocked by hour; the latter two are 0 here, and counted from records."""
    hours: dict[int, list[int]] = {}
    for tool in known.tools:
        for hour, (calls, _) in tool.counted.hours.items():
            hours.setdefault(hour, [0, 0, 0])[0] += calls
    return hours


def _counts(tool: _Tool | None, calls: int) -> VerdictCounts:
    """Verdicts of a tool; without a count of calls, accepted ones are as many as their records stand for."""
    if tool is None:
        return VerdictCounts(calls)
    accepted, flagged, blocked = (round(weight) for weight in tool.verdicts)
    return VerdictCounts(max(calls - flagged - blocked, 0) if calls else accepted, flagged, blocked)


def _by_label(reviewed: tuple[ReviewedCall, ...]) -> tuple[tuple[str, VerdictCounts], ...]:
    result = {name: [0, 0, 0] for name in NAMES}
    for call in reviewed:
        if call.verdict in VERDICTS:
            result[NAMES[not call.fabricated]][VERDICTS.index(call.verdict)] += 1
    return tuple((name, VerdictCounts(*counts)) for name, counts in result.items() if any(counts))


def _reliability(reviewed: tuple[ReviewedCall, ...]) -> Reliability | None:
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


# --- The documents of one tool ---


class KeptTool(NamedTuple):
    """The part of a ``ToolReport`` that comes from the store's documents."""

    charts: tuple[Chart, ...]
    drifted: tuple[Drifted, ...]
    learned: Mapping[str, Portrait | str]


def kept_of(store: Store, tool: str) -> KeptTool:
    """Read the documents of a tool, in all modes; raises ``StoreError`` if the store cannot be read."""
    charts, now, learned = list[Chart](), dict[str, Drifted](), dict[str, Portrait | str]()
    for mode, document in documents_of(store, tool).items():
        try:
            learned[mode] = portrait(mode, document)
            memory = restored(Place(mode, tool), document)
        except DataError as error:
            learned[mode] = str(error)
            continue
        charts += _latency_chart(memory)
        now.update({drifted.what: drifted for drifted in _engine_drift(memory)})
    for shifted in drifted_of(charts[:1]):  # alarms on single calls are not kept
        engine = now.get(shifted.what)
        now[shifted.what] = shifted._replace(alarms=None, now=None if engine is None else engine.now)
    return KeptTool(tuple(charts[:1]), tuple(now.values()), learned)


def _latency_chart(memory: Any) -> Iterator[Chart]:
    """The latest latencies, in the order of calls."""
    series = Series()
    if isinstance(memory, ToolMemory):
        for x in memory.latency.arrived:
            series.push(x)
    elif isinstance(memory, Baseline):
        for milliseconds in memory.latency.recent():
            series.push(math.log(max(milliseconds, LEAST_MS)))
    if series.count >= LEAST:
        yield series.chart("latency", "ms", "log")


def _engine_drift(memory: Any) -> Iterator[Drifted]:
    """The engine's own charts that are half way to an alarm, or beyond."""
    if not isinstance(memory, ToolMemory):
        return
    for name, (unit, scale) in _STREAMS.items():
        stream = memory.drift.streams.get(name)
        if stream is None or stream.level.count < WARM_UP:
            continue
        now = abs(stream.ewma) / (LIMIT * SIGMA)
        if now >= NEAR:
            mean = stream.level.mean
            yield Drifted(name, unit, on_scale(scale, mean), on_scale(scale, mean + stream.last), None, None, None, now)
