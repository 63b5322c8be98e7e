"""What is worth a look, in sentences: the page's first paragraph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentguard.report._records import Drifted, ReportData, ToolReport
from agentguard.report._text import cut, many, of_unit, percent

from .changes_section import open_changes
from .elements import Node, h

__all__ = ["findings"]

FEW_LABELS: Final = 20
BAD_ERROR: Final = 0.05
TOOLS: Final = 3
NAME: Final = 80


def findings(report: ReportData) -> list[Node]:
    """One list item a finding, the gravest first; at least one."""
    said = [*open_changes(report), *_verdicts(report), *_missed(report), *_drift(report), *_reliability(report)]
    return [h("li", finding) for finding in said]


def name_of(tool: str) -> Node:
    """A tool's name as it stands in a sentence."""
    return h("code", h("bdi", cut(tool, NAME)))


def _verdicts(report: ReportData) -> Iterator[list[Node]]:
    counts = report.counts
    if not counts.suspects:
        yield [f"None of {many(counts.calls, 'call')} was flagged or blocked."]
        return
    shares = f"{percent(counts.suspects / counts.calls)} of {many(counts.calls, 'call')}"
    yield [f"{counts.block:,} blocked and {counts.flag:,} flagged: {shares}."]
    named = [(k, tool) for k, tool in enumerate(report.tools, 1) if tool.counts.suspects][:TOOLS]
    if len(report.tools) > 1:
        yield ["Most of them: ", *_listed([_counted(k, tool) for k, tool in named]), "."]


def _counted(k: int, tool: ToolReport) -> list[Node]:
    return [
        h("a", name_of(tool.name), href=f"#tool-{k}"),
        f" {tool.counts.block:,} blocked, {tool.counts.flag:,} flagged of {tool.counts.calls:,}",
    ]


def _listed(parts: list[list[Node]]) -> Iterator[Node]:
    for k, part in enumerate(parts):
        if k:
            yield "; "
        yield from part


def _missed(report: ReportData) -> Iterator[list[Node]]:
    wrong = [counts for name, counts in report.labels if name != "genuine"]
    let_through, caught = sum(c.accept for c in wrong), sum(c.suspects for c in wrong)
    if let_through + caught:
        yield [f"Of {many(let_through + caught, 'call')} labelled wrong, {caught:,} were flagged or blocked."]
    for name, counts in report.labels:
        if name == "genuine" and counts.suspects:
            yield [f"{counts.suspects:,} of {counts.calls:,} calls labelled genuine were flagged or blocked."]


def _drift(report: ReportData) -> Iterator[list[Node]]:
    far = [(k, tool, drifted) for k, tool in enumerate(report.tools, 1) for drifted in tool.drifted[:1]]
    far.sort(key=lambda found: -abs(found[2].sigmas or 0.0))
    for k, tool, drifted in far[:TOOLS]:
        yield [h("a", name_of(tool.name), href=f"#tool-{k}"), f" drifts: {_said(drifted)}."]
    if len(far) > TOOLS:
        yield [f"{len(far) - TOOLS:,} more tools drift."]


def _said(drifted: Drifted) -> str:
    name = cut(drifted.what, NAME)
    if drifted.learned is not None and drifted.lately is not None:
        learned, lately = of_unit(drifted.learned, drifted.unit), of_unit(drifted.lately, drifted.unit)
        by = "" if drifted.sigmas is None else f" ({abs(drifted.sigmas):.1f} sigma)"
        return f"{name} is {lately} lately, and was {learned} when it was learned{by}"
    if drifted.alarms:
        return f"the guard's chart of {name} alarmed on {many(drifted.alarms, 'call')}"
    return f"the guard's chart of {name} is near its limit"


def _reliability(report: ReportData) -> Iterator[list[Node]]:
    found = report.reliability
    if found is None:
        yield ["No label says what a call really was: whether the posteriors mean what they say is not known."]
    elif found.labels < FEW_LABELS:
        yield [f"{many(found.labels, 'label')} are too few to say whether the posteriors mean what they say."]
    elif found.error > BAD_ERROR:
        yield [f"Posteriors are off by {percent(found.error)} on average over {many(found.labels, 'label')}."]
