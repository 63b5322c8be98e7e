"""What a store holds as tables and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple

from rich.console import Console

from agentguard.admin.overview import AuditTally, Overview, ToolOverview, audit_of, experience_of
from agentguard.admin.portrait import Kind, Portrait, feedback_of, portrait
from agentguard.errors import DataError
from agentguard.stores import Store
from agentguard.verification.calibration import DECLARED
from agentguard.verification.state import LabelTally, calls_of, documents_of, labels_of, require, sayable

from .output import printable, show, table

__all__ = ["KnownTool", "overview_as_dict", "report_overview", "report_tool", "tool_as_dict", "tool_in"]

_SHOWN_TOOLS = 200
_SHOWN_FIELDS = 40
_SHOWN_HOURS = 24
_KIB = 1024.0
_HOUR = 3_600


class KnownTool(NamedTuple):
    """One tool: the overview, what each mode has learned (or why that cannot be read), and what labels have made of it.

    Attributes:
        overview: the tool's line.
        portraits: by mode; a text says why there is none.
        prior: P(fabricated) before any signal, by labels.
        factors: by how much the evidence of each signal counts more or less, by labels.
    """

    overview: ToolOverview
    portraits: Mapping[str, Portrait | str]
    prior: float
    factors: Mapping[str, float]


def tool_in(store: Store, tool: str) -> KnownTool:
    """What a store holds of one tool.

    Raises:
        DataError: where that is nothing.
    """
    require(store, [tool])
    documents = documents_of(store, tool)
    portraits: dict[str, Portrait | str] = {}
    for mode, document in documents.items():
        try:
            portraits[mode] = portrait(mode, document)
        except DataError as error:
            portraits[mode] = str(error)
    learned = tuple(experience_of(mode, document) for mode, document in documents.items())
    known = ToolOverview(sayable(tool), learned, calls_of(store, tool), labels_of(store, tool), audit_of(store, tool))
    return KnownTool(known, portraits, *feedback_of(store, tool))


def overview_as_dict(found: Overview) -> dict[str, Any]:
    """The overview as plain data."""
    return {
        "tools": [_tool(tool) for tool in found.tools],
        "shared": [learned._asdict() for learned in found.shared],
        "totals": _totals(found),
        "damaged": list(found.damaged),
        "other_documents": list(found.others),
        "unreadable_feedback": found.unreadable,
    }


def tool_as_dict(known: KnownTool) -> dict[str, Any]:
    """A tool as plain data."""
    hours = known.overview.counted.hours
    return {
        **_tool(known.overview),
        "hours": {_hour(hour): {"calls": calls, "errors": errors} for hour, (calls, errors) in hours.items()},
        "prior": known.prior,
        "factors": dict(known.factors),
        "modes": {
            mode: {"unreadable": found} if isinstance(found, str) else _portrait(found)
            for mode, found in known.portraits.items()
        },
    }


def _tool(tool: ToolOverview) -> dict[str, Any]:
    return {
        "tool": tool.tool,
        "learned": [learned._asdict() for learned in tool.learned],
        "calls": tool.counted.calls,
        "errors": tool.counted.errors,
        "latest_hour": _hour(max(tool.counted.hours)) if tool.counted.hours else None,
        "labels": tool.labels._asdict(),
        "audit_records": tool.audit.records,
    }


def _totals(found: Overview) -> dict[str, int]:
    tools = found.tools
    return {
        "tools": len(tools),
        "calls": sum(tool.counted.calls for tool in tools),
        "errors": sum(tool.counted.errors for tool in tools),
        "fabricated": sum(tool.labels.fabricated for tool in tools),
        "genuine": sum(tool.labels.genuine for tool in tools),
        "audit_records": sum(tool.audit.records for tool in tools),
        "size": sum(learned.size for tool in tools for learned in tool.learned)
        + sum(learned.size for learned in found.shared),
    }


def _portrait(found: Portrait) -> dict[str, Any]:
    return {
        **found._asdict(),
        "kinds": [{**kind._asdict(), "fields": [field._asdict() for field in kind.fields]} for kind in found.kinds],
        "relations": [relation._asdict() for relation in found.relations],
        "signals": [signal._asdict() for signal in found.signals],
    }


def report_overview(out: Console, found: Overview, where: str) -> None:
    """The overview as a table."""
    numbers = ("learned", "KiB", "calls", "errors", "fabricated", "genuine", "audited")
    made = table("tool", "mode", *numbers, "latest call, UTC", right=numbers)
    for tool in found.tools[:_SHOWN_TOOLS]:
        said = (
            f"{tool.counted.calls:,}", f"{tool.counted.errors:,}", f"{tool.labels.fabricated:,}",
            f"{tool.labels.genuine:,}", f"{tool.audit.records:,}",
            _hour(max(tool.counted.hours)) if tool.counted.hours else "-",
        )  # fmt: skip
        first = True
        for mode, results, size in tool.learned or (("-", None, None),):
            learned = "-" if results is None else f"{results:,}"
            sizes = "-" if size is None else f"{size / _KIB:,.1f}"
            made.add_row(show(tool.tool if first else ""), mode, learned, sizes, *(said if first else ()))
            first = False
    totals = _totals(found)
    made.add_row(
        "all", "", "", f"{totals['size'] / _KIB:,.1f}",
        *(f"{totals[name]:,}" for name in ("calls", "errors", "fabricated", "genuine", "audit_records")), style="bold",
    )  # fmt: skip
    out.print(show(f"store: {where}", limit=2_000), soft_wrap=True)
    out.print(made)
    if len(found.tools) > _SHOWN_TOOLS:
        out.print(f"and {len(found.tools) - _SHOWN_TOOLS:,} more tools; --json lists them all")
    for shared in found.shared:
        rests = "" if shared.results is None else f" of {shared.results:,} results"
        out.print(f"shared by all tools ({shared.mode}): {shared.size / _KIB:,.1f} KiB{rests}")
    for what, names in (("documents put aside as damaged", found.damaged), ("other documents", found.others)):
        if names:
            out.print(show(f"{what}: {len(names):,}, first {names[0]}", "yellow"), soft_wrap=True)
    if found.unreadable:
        out.print(f"feedback that is no label: {found.unreadable:,}", style="yellow")


def report_tool(out: Console, known: KnownTool) -> None:
    """A tool in words."""
    tool = known.overview
    counted, labels = tool.counted, tool.labels
    out.print(show(tool.tool, "bold", limit=2_000), soft_wrap=True)
    out.print(f"calls counted: {counted.calls:,}, {counted.errors:,} of them with an error")
    for mode, found in known.portraits.items():
        out.print()
        if isinstance(found, str):
            out.print(show(f"{mode}: cannot be read: {found}", "yellow"), soft_wrap=True)
        else:
            _report_portrait(out, found)
    out.print()
    _report_labels(out, labels, tool.audit, known)
    if counted.hours:
        out.print()
        _report_hours(out, counted.hours)


def _report_portrait(out: Console, found: Portrait) -> None:
    out.print(f"{found.mode}: learned from {found.results:,} results", style="bold")
    if found.errors is not None:
        out.print(f"errors: {found.errors:.1%} of the latest calls")
    if found.latency_ms:
        out.print(f"latency: {_quantiles(found.latency_ms, 'ms')}")
    out.print(f"sets of arguments remembered: {found.argument_sets:,}")
    for kind in found.kinds:
        _report_kind(out, kind)
    if found.relations:
        out.print()
        made = table("a call is told, if so", "held in", "of calls", "nats", right=("held in", "of calls", "nats"))
        for one in found.relations[:_SHOWN_FIELDS]:
            made.add_row(show(one.broken), f"{one.held:,}", f"{one.tried:,}", f"{one.nats:.1f}")
        out.print(made)
    if found.signals:
        out.print()
        made = table("signal", "calls", "surprising ones", right=("calls", "surprising ones"))
        for signal in found.signals:
            made.add_row(show(signal.name), f"{signal.calls:,.0f}", f"{signal.surprises:,.1f}")
        out.print(made)


def _report_kind(out: Console, kind: Kind) -> None:
    out.print()
    words = f", {kind.words:,} words known" if kind.words else ""
    sizes = f", {_quantiles(kind.sizes, 'bytes')}" if kind.sizes else ""
    out.print(f"results of kind {printable(kind.kind)}: {kind.results:,}{sizes}{words}")
    if kind.fields:
        made = table("field", "type", "in", right=("in",))
        for field in kind.fields[:_SHOWN_FIELDS]:
            made.add_row(show(field.path or "(the value)"), field.type, f"{field.share:.1%}")
        out.print(made)
        if len(kind.fields) > _SHOWN_FIELDS:
            out.print(f"and {len(kind.fields) - _SHOWN_FIELDS:,} more fields; --json lists them all")


def _report_labels(out: Console, labels: LabelTally, audit: AuditTally, known: KnownTool) -> None:
    out.print(f"labels: {labels.fabricated:,} fabricated, {labels.genuine:,} genuine; audit records: {audit.records:,}")
    out.print(f"prior by labels: {known.prior:.3f}")
    if known.factors:
        made = table("evidence by labels, of all tools", "counts", right=("counts",))
        for name, factor in sorted(known.factors.items()):
            said = f"{name.removeprefix(DECLARED)}, declaration broken" if name.startswith(DECLARED) else name
            made.add_row(show(said), f"×{factor:.2f}")
        out.print(made)


def _report_hours(out: Console, hours: Mapping[int, tuple[int, int]]) -> None:
    made = table("hour, UTC", "calls", "errors", right=("calls", "errors"))
    for hour in sorted(hours)[-_SHOWN_HOURS:]:
        calls, errors = hours[hour]
        made.add_row(_hour(hour), f"{calls:,}", f"{errors:,}")
    out.print(made)


def _quantiles(found: Mapping[float, float], unit: str) -> str:
    return ", ".join(f"{share:.0%} up to {value:,.4g} {unit}" for share, value in found.items())


def _hour(hour: int) -> str:
    try:
        return datetime.fromtimestamp(hour * _HOUR, timezone.utc).strftime("%Y-%m-%d %H:00")
    except (OverflowError, ValueError, OSError):
        return str(hour)  # of a clock that was far off
