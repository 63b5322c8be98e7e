"""One tool: its charts, what drifted, what was learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from agentguard.admin._portrait import Kind, Portrait

from .control_chart import control_chart
from .elements import Element, Node, h
from .figure import Ids, table
from .histogram import histogram
from .records import Drifted, ReportData, ToolReport
from .text import cut, many, ms, number, of_unit, percent

__all__ = ["tool_section", "tools_table"]

NAME = 80
FIELDS = 24
KINDS = 4
RELATIONS = 10
NO_CHART = "No control chart: no time of at least eight calls is known, and no number in its results varies."


def tools_table(tools: tuple[ToolReport, ...], more: int) -> Element:
    """All tools that are shown, each with a link to its section."""
    rows: list[tuple[Node, ...]] = [
        (
            h("a", h("bdi", cut(tool.name, NAME)), href=f"#tool-{k}"),
            *(f"{count:,}" for count in (tool.counts.calls, *tool.counts)),
            "–" if tool.mean_posterior is None else f"{tool.mean_posterior:.3f}",
            ", ".join(cut(drifted.what, 30) for drifted in tool.drifted[:3]) or "–",
        )
        for k, tool in enumerate(tools, 1)
    ]
    columns = ("tool", "calls", "accepted", "flagged", "blocked", "mean P", "drifts")
    said = f"and {many(more, 'more tool')}, with fewer flagged or blocked calls" if more else ""
    return table("Tools", columns, rows, words=("tool", "drifts"), more=said)


def tool_section(ids: Ids, number_: int, tool: ToolReport, report: ReportData) -> Element:
    """The section of one tool."""
    name = cut(tool.name, NAME)
    counts = tool.counts
    charts = [control_chart(ids, chart, tool.name) for chart in tool.charts]
    called = any(tool.histogram.weights)
    return h(
        "section",
        h("h3", h("bdi", name), id=f"tool-{number_}"),
        h(
            "p", f"{many(counts.calls, 'call')}: {counts.accept:,} accepted, {counts.flag:,} flagged, "
            f"{counts.block:,} blocked", class_="quiet",
        ),
        [h("p", note, class_="quiet") for note in tool.notes],
        charts or h("p", NO_CHART, class_="quiet"),
        histogram(ids, tool.histogram, report.accept_below, report.block_at, of=name) if called else None,
        list(_drifted(tool)),
        list(_learned(tool.learned, name)),
    )  # fmt: skip


def _drifted(tool: ToolReport) -> Iterator[Node]:
    if not tool.drifted:
        return
    yield h("h4", "What drifted")
    columns = ("number", "learned", "lately", "sigma", "alarms", "first at", "of its limit now")
    rows = [tuple(_drift_cells(drifted)) for drifted in tool.drifted]
    yield table(f"What drifted of {cut(tool.name, NAME)}", columns, rows)


def _drift_cells(drifted: Drifted) -> Iterator[Node]:
    yield h("bdi", cut(drifted.what, NAME))
    for x in (drifted.learned, drifted.lately):
        yield "–" if x is None else of_unit(x, drifted.unit)
    yield "–" if drifted.sigmas is None else number(round(drifted.sigmas, 1))
    yield "–" if drifted.alarms is None else f"{drifted.alarms:,}"
    yield "–" if drifted.first is None else f"value {drifted.first:,}"
    yield "–" if drifted.now is None else percent(drifted.now)


def _learned(learned: Mapping[str, Portrait | str], name: str) -> Iterator[Node]:
    for mode, found in learned.items():
        title = f"What was learned ({mode})" if len(learned) > 1 else "What was learned"
        if isinstance(found, str):
            yield h("h4", title)
            yield h("p", f"It cannot be read: {found}")
            continue
        yield h("h4", title)
        yield h("dl", list(_facts(found)), class_="facts")
        for kind in found.kinds[:KINDS]:
            yield from _fields(kind, name)


def _facts(found: Portrait) -> Iterator[Node]:
    facts = [("from", many(found.results, "result")), ("sets of arguments", f"{found.argument_sets:,}")]
    if found.errors is not None:
        facts.append(("errors", f"{percent(found.errors)} of the latest calls"))
    if found.latency_ms:
        quantiles = ", ".join(f"{percent(share)} up to {ms(x)}" for share, x in found.latency_ms.items())
        facts.append(("latency", quantiles))
    for kind in found.kinds[:KINDS]:
        sizes = "".join(f", {percent(share)} up to {number(round(x))} B" for share, x in kind.sizes.items())
        words = f", {kind.words:,} words known" if kind.words else ""
        facts.append((f"results: {kind.kind}", f"{kind.results:,}{sizes}{words}"))
    if len(found.kinds) > KINDS:
        facts.append(("other kinds of results", f"{len(found.kinds) - KINDS:,}"))
    telling = [relation for relation in found.relations if relation.nats > 0.0]
    if telling:
        broken = (f"{cut(one.broken, 120)} (in {one.tried - one.held:,} of {one.tried:,} calls)" for one in telling)
        facts.append(("would be odd", "; ".join(islice(broken, RELATIONS))))
    for name, said in facts:
        yield h("dt", name)
        yield h("dd", h("bdi", said))


def _fields(kind: Kind, name: str) -> Iterator[Node]:
    if kind.fields:
        rows = [
            (h("code", h("bdi", cut(field.path, NAME) or "(the value)")), field.type, percent(field.share))
            for field in kind.fields[:FIELDS]
        ]
        left = len(kind.fields) - FIELDS
        yield table(
            f"Fields of {kind.kind} results of {name}", ("path", "type", "in"), rows, words=("path", "type"),
            more=f"and {many(left, 'more field')}" if left > 0 else "",
        )  # fmt: skip
