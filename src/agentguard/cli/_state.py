"""``agentguard state``: the contents of a store, inspected, moved, thinned out and forgotten."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console

from agentguard.admin._overview import AuditTally, Overview, ToolOverview, audit_of, experience_of, overview
from agentguard.admin._portrait import Kind, Portrait, feedback_of, portrait
from agentguard.admin._transfer import MAX_LINE_BYTES, Export, import_state
from agentguard.cli import SUMMARIES
from agentguard.cli._files import STDIO, reader, write_lines
from agentguard.cli._options import JsonOption, StoreOption, command_group, opened, shown
from agentguard.cli._terminal import console, print_line, print_more, printable, show, table, timestamp, write_json
from agentguard.errors import ConfigurationError, DataError
from agentguard.stores import Store
from agentguard.verification._calibration import DECLARED
from agentguard.verification._persistence import sayable
from agentguard.verification._state import LabelTally, calls_of, documents_of, labels_of, require
from agentguard.verification._state import reset as reset_tool

_AGE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*([smhdw])", re.ASCII)
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_SHOWN_TOOLS = 200
_SHOWN_FIELDS = 40
_SHOWN_HOURS = 24
_KIB = 1024.0
_COUNTED = ("calls", "errors", "fabricated", "genuine", "audit_records")  # of a tool, and of all together

state = command_group(SUMMARIES["state"])


@state.command("inspect")
def inspect(
    tool: Annotated[str | None, typer.Argument(metavar="[TOOL]", help="Show what was learned of this tool.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a store holds, tool by tool, or what was learned of one. Never shows arguments or results."""
    with opened(store) as kept:
        if tool is None:
            whole = overview(kept)
            if as_json:
                write_json({"store": shown(store), **_overview_as_dict(whole)})
            else:
                _report_overview(console(), whole, shown(store))
            return
        known = _known_tool(kept, tool)
    if as_json:
        write_json({"store": shown(store), **_tool_as_dict(known)})
    else:
        _report_tool(console(), known)


@state.command("export")
def export(
    output: Annotated[
        str,
        typer.Option("-o", "--output", metavar="FILE|-", help="Where to write; gzipped where it ends in .gz."),
    ],
    store: StoreOption = None,
    tool: Annotated[
        list[str] | None, typer.Option("--tool", metavar="NAME", help="Only this tool; may be given again.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write what a store holds into a file of JSON lines: documents, counts (their sum over all hours) and events.

    The file is for its owner only: it holds names of fields, words of texts and ids of calls, as the store does.
    """
    if as_json and output == STDIO:
        raise ConfigurationError("--json and the exported state cannot both go to standard output")
    with opened(store) as kept:
        lines = Export(kept, tool or None, at=time.time())
        write_lines(output, lines)
    if as_json:
        written = {"documents": lines.documents, "counts": lines.counts, "events": lines.events}
        write_json({"written": output, **written, "left_out": lines.left_out})
        return
    out = console(stderr=output == STDIO)
    what = f"documents: {lines.documents:,}, tools with counts: {lines.counts:,}, events: {lines.events:,}"
    print_line(out, f"{what}; written to {printable(output)}")
    if lines.left_out:
        named = ", ".join(printable(name) for name in lines.left_out[:5])
        out.print(show(f"left out, for no engine could read them: {len(lines.left_out):,}, first {named}", "yellow"))


@state.command("import")
def import_file(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="What 'state export' wrote, plain or gzipped.")],
    store: StoreOption = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take the file's document of a tool that the store knows already.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Take in a file that was taken in before; nothing is counted twice.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Take in what 'state export' wrote. The whole file is checked first; a faulty one changes nothing.

    Engines that are running on the store keep what they have learned of a tool, and save that over the file's. Taken
    into the store that it came from, a file's counts and events are there twice.
    """
    with reader(file, MAX_LINE_BYTES) as read, opened(store, create=True) as kept:
        done = import_state(kept, read, replace=replace, again=again)
    if as_json:
        write_json({"store": shown(store), **done._asdict()})
        return
    what = f"documents: {done.documents:,}, tools with counts: {done.counts:,}, events: {done.events:,}"
    print_line(console(), f"{what}; taken into {shown(store)}")


@state.command("prune")
def prune(
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="AGE", help="As 90m, 12h, 30d or 8w: minutes, hours, days, weeks.")
    ],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove events, documents and whole hours of counts that are older."""
    age = seconds(older_than)
    with opened(store) as kept:
        removed = kept.prune(age)
    if as_json:
        write_json({"store": shown(store), "older_than_seconds": age, "removed": removed})
    else:
        console().print(f"records older than {older_than.strip()} that were removed: {removed:,}")


@state.command("reset")
def reset(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool's name.")],
    store: StoreOption = None,
    labels: Annotated[bool, typer.Option("--labels", help="Forget the labels on its calls too.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Forget what was learned of a tool, in every mode; running engines drop it at their next flush.

    Labels stay unless --labels is given; audit records stay.
    """
    with opened(store) as kept:
        if not yes:
            known = _known_tool(kept, tool)  # a name that nobody knows is no question
            _confirm(f"Forget what was learned of {printable(known.overview.tool)!r}{' and its labels' * labels}?")
        done = reset_tool(kept, tool, labels=labels)
    if as_json:
        write_json({"store": shown(store), **done._asdict()})
        return
    what = f"documents: {done.documents:,}, calls counted: {done.calls:,}, labels: {done.labels:,}"
    print_line(console(), f"{done.tool} is forgotten; {what}")


def _confirm(question: str) -> None:
    if not _is_terminal():
        raise ConfigurationError("there is nobody to ask whether it may be forgotten; say so with --yes")
    if not typer.confirm(question, err=True):
        raise typer.Abort


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def seconds(age: str) -> float:
    """An age in seconds; raises ``ConfigurationError`` where it is none.

    >>> seconds("90m"), seconds("30d")
    (5400.0, 2592000.0)
    """
    match = _AGE.fullmatch(age.strip())
    if match is None or float(match[1]) == 0.0:
        raise ConfigurationError(
            f"an age is a number above 0 and s, m, h, d or w, as 90m, 12h or 30d, not {printable(age)[:40]!r}"
        )
    return float(match[1]) * _UNITS[match[2]]


class KnownTool(NamedTuple):
    """The contents of a store on one tool."""

    overview: ToolOverview  # the tool's line
    portraits: Mapping[str, Portrait | str]  # what was learned, by mode; a text says why there is none
    prior: float  # P(fabricated) before any signal, by labels
    factors: Mapping[str, float]  # by how much the evidence of each signal counts more or less, by labels


def _known_tool(store: Store, tool: str) -> KnownTool:
    """Read one tool; raises ``DataError`` where the store holds nothing of it."""
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


def _overview_as_dict(whole: Overview) -> dict[str, Any]:
    return {
        "tools": [_line_as_dict(tool) for tool in whole.tools],
        "shared": whole.shared,
        "totals": _totals(whole),
        "damaged": whole.damaged,
        "other_documents": whole.others,
        "unreadable_feedback": whole.unreadable,
    }


def _tool_as_dict(known: KnownTool) -> dict[str, Any]:
    hours = known.overview.counted.hours
    return {
        **_line_as_dict(known.overview),
        "hours": {_hour(hour): {"calls": calls, "errors": errors} for hour, (calls, errors) in hours.items()},
        "prior": known.prior,
        "factors": known.factors,
        "modes": {
            mode: {"unreadable": learned} if isinstance(learned, str) else learned
            for mode, learned in known.portraits.items()
        },
    }


def _line_as_dict(tool: ToolOverview) -> dict[str, Any]:
    return {
        "tool": tool.tool,
        "learned": tool.learned,
        "calls": tool.counted.calls,
        "errors": tool.counted.errors,
        "latest_hour": _latest(tool),
        "labels": tool.labels,
        "audit_records": tool.audit.records,
    }


def _figures(tool: ToolOverview) -> tuple[int, ...]:
    """The tool's numbers of ``_COUNTED``."""
    counted, labels = tool.counted, tool.labels
    return counted.calls, counted.errors, labels.fabricated, labels.genuine, tool.audit.records


def _totals(whole: Overview) -> dict[str, int]:
    sums = map(sum, zip(*map(_figures, whole.tools), strict=True)) if whole.tools else [0] * len(_COUNTED)
    documents = [*(learned for tool in whole.tools for learned in tool.learned), *whole.shared]
    size = sum(learned.size for learned in documents)
    return {"tools": len(whole.tools), **dict(zip(_COUNTED, sums, strict=True)), "size": size}


def _report_overview(out: Console, whole: Overview, where: str) -> None:
    rows = table(
        "tool", "mode", "#learned", "#KiB", "#calls", "#errors", "#fabricated", "#genuine", "#audited",
        "latest call, UTC",
    )  # fmt: skip
    for tool in whole.tools[:_SHOWN_TOOLS]:
        figures = (*_figures(tool), _latest(tool))
        first = True  # the tool's own figures are in the line of its first mode
        for mode, results, size in tool.learned or ((None, None, None),):
            kib = None if size is None else f"{size / _KIB:,.1f}"
            rows.add(tool.tool if first else "", mode, results, kib, *(figures if first else ()))
            first = False
    totals = _totals(whole)
    sums = (totals[name] for name in _COUNTED)
    rows.add("all", "", "", f"{totals['size'] / _KIB:,.1f}", *sums, style="bold")
    print_line(out, f"store: {where}")
    out.print(rows)
    print_more(out, whole.tools, _SHOWN_TOOLS, "and {:,} more tools; --json lists them all")
    for shared in whole.shared:
        rests_on = "" if shared.results is None else f" of {shared.results:,} results"
        out.print(f"shared by all tools ({shared.mode}): {shared.size / _KIB:,.1f} KiB{rests_on}")
    for what, names in (("documents put aside as damaged", whole.damaged), ("other documents", whole.others)):
        if names:
            out.print(show(f"{what}: {len(names):,}, first {names[0]}", "yellow"), soft_wrap=True)
    if whole.unreadable:
        out.print(f"feedback that is no label: {whole.unreadable:,}", style="yellow")


def _report_tool(out: Console, known: KnownTool) -> None:
    tool = known.overview
    counted = tool.counted
    print_line(out, tool.tool, "bold")
    out.print(f"calls counted: {counted.calls:,}, {counted.errors:,} of them with an error")
    for mode, learned in known.portraits.items():
        out.print()
        if isinstance(learned, str):
            out.print(show(f"{mode}: cannot be read: {learned}", "yellow"), soft_wrap=True)
        else:
            _report_portrait(out, learned)
    out.print()
    _report_labels(out, tool.labels, tool.audit, known)
    if counted.hours:
        out.print()
        rows = table("hour, UTC", "#calls", "#errors")
        for hour in sorted(counted.hours)[-_SHOWN_HOURS:]:
            rows.add(_hour(hour), *counted.hours[hour])
        out.print(rows)


def _report_portrait(out: Console, learned: Portrait) -> None:
    out.print(f"{learned.mode}: learned from {learned.results:,} results", style="bold")
    if learned.errors is not None:
        out.print(f"errors: {learned.errors:.1%} of the latest calls")
    if learned.latency_ms:
        out.print(f"latency: {_quantiles(learned.latency_ms, 'ms')}")
    out.print(f"sets of arguments remembered: {learned.argument_sets:,}")
    for kind in learned.kinds:
        _report_kind(out, kind)
    if learned.relations:
        out.print()
        relations = table("a call is told, if so", "#held in", "#of calls", "#nats")
        for relation in learned.relations[:_SHOWN_FIELDS]:
            relations.add(relation.broken, relation.held, relation.tried, f"{relation.nats:.1f}")
        out.print(relations)
    if learned.signals:
        out.print()
        signals = table("signal", "#calls", "#surprising ones")
        for signal in learned.signals:
            signals.add(signal.name, f"{signal.calls:,.0f}", f"{signal.surprises:,.1f}")
        out.print(signals)


def _report_kind(out: Console, kind: Kind) -> None:
    out.print()
    words = f", {kind.words:,} words known" if kind.words else ""
    sizes = f", {_quantiles(kind.sizes, 'bytes')}" if kind.sizes else ""
    out.print(f"results of kind {printable(kind.kind)}: {kind.results:,}{sizes}{words}")
    if kind.fields:
        rows = table("field", "type", "#in")
        for field in kind.fields[:_SHOWN_FIELDS]:
            rows.add(field.path or "(the value)", field.type, f"{field.share:.1%}")
        out.print(rows)
        print_more(out, kind.fields, _SHOWN_FIELDS, "and {:,} more fields; --json lists them all")


def _report_labels(out: Console, labels: LabelTally, audit: AuditTally, known: KnownTool) -> None:
    out.print(f"labels: {labels.fabricated:,} fabricated, {labels.genuine:,} genuine; audit records: {audit.records:,}")
    out.print(f"prior by labels: {known.prior:.3f}")
    if known.factors:
        rows = table("evidence by labels, of all tools", "#counts")
        for name, factor in sorted(known.factors.items()):
            declared = f"{name.removeprefix(DECLARED)}, declaration broken" if name.startswith(DECLARED) else name
            rows.add(declared, f"×{factor:.2f}")
        out.print(rows)


def _quantiles(values: Mapping[float, float], unit: str) -> str:
    return ", ".join(f"{share:.0%} up to {value:,.4g} {unit}" for share, value in values.items())


def _latest(tool: ToolOverview) -> str | None:
    return _hour(max(tool.counted.hours)) if tool.counted.hours else None


def _hour(hour: int) -> str:
    text = timestamp(hour * 3_600, "%Y-%m-%d %H:00")
    return str(hour) if text == str(hour * 3_600) else text  # of a clock that was far off
