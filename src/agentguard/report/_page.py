"""The report as one file of HTML that asks for nothing: no script, no font, no picture from elsewhere.

``page.html`` lays out what the functions here put into sentences, tables and facts. The template escapes all text, and
text is cleaned of what no page should hold before that.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from agentguard.admin._portrait import Kind, Portrait
from agentguard.report._charts import (
    ROUNDING,
    Cell,
    Row,
    Table,
    control_chart,
    histogram,
    reliability_diagram,
    timeline,
    waterfall,
)
from agentguard.report._records import Drifted, ReportData, ToolReport, WorstCall, log_odds
from agentguard.report._text import clean, cut, many, ms, nats, number, of_unit, p_of, percent, utc

if TYPE_CHECKING:
    from jinja2 import Template

NAME: Final = 80  # characters of a name
WHAT: Final = 300  # characters of a change in words
FIELDS: Final = 24
KINDS: Final = 4
RELATIONS: Final = 10
DRIFTING: Final = 3  # tools that are named among the findings
FEW_LABELS: Final = 20  # judgement, as the next one
BAD_ERROR: Final = 0.05  # expected calibration error worth a sentence

Sentence = list["Cell | str"]


def html_of(report: ReportData) -> str:
    """Render the page. The same report makes the same page, to the byte."""
    report = _plain(report)
    findings = [*_open_changes(report), *_verdicts(report), *_missed(report), *_drift(report), *_trust(report)]
    return _template().render(report=report, findings=findings, ids=count(1), policy=policy(), sheet=style_sheet())


@cache
def style_sheet() -> str:
    """The one style sheet: two settings of light, two of width, and paper."""
    return files("agentguard.report").joinpath("page.css").read_text(encoding="utf-8")


@cache
def policy() -> str:
    """The content security policy that browsers hold the page to: show this style sheet, and nothing else."""
    digest = b64encode(sha256(style_sheet().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined  # 20 ms, for who renders a page

    drawn = (control_chart, histogram, reliability_diagram, timeline, waterfall)
    tables = (changes_table, labels_table, sum_table, tools_table, drift_table, fields_table)
    environment = Environment(
        autoescape=True, finalize=_cleaned, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    environment.globals.update(
        {each.__name__: each for each in (*drawn, *tables, call_facts, learned_facts)}, KINDS=KINDS
    )
    environment.filters.update(cut=cut, many=many, p=p_of, percent=percent, count=lambda x: f"{x:,}")
    return environment.from_string(files("agentguard.report").joinpath("page.html").read_text(encoding="utf-8"))


def _plain(value: Any) -> Any:
    """Copy a report with nothing but plain strings: a subclass may call itself markup, and would not be escaped."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, tuple):
        return type(value)(*map(_plain, value)) if hasattr(value, "_fields") else tuple(map(_plain, value))
    if isinstance(value, Mapping):
        return {_plain(name): _plain(each) for name, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: _plain(getattr(value, field.name)) for field in fields(value)})
    return value


def _cleaned(value: Any) -> Any:
    """Clean text; markup at this point is the template's own."""
    return clean(value) if type(value) is str else value


# --- What is worth a look: a sentence a finding, the gravest first ---


def _open_changes(report: ReportData) -> Iterator[Sentence]:
    changes = [change for change in report.changes if change.state == "open"]
    if changes:
        first = changes[0]
        text = f"{many(len(changes), 'change')} {'is' if len(changes) == 1 else 'are'} open"
        since = f" since {utc(first.since)}." if utc(first.since) else "."
        name, what = Cell(cut(first.tool, NAME), "code"), Cell(cut(first.what, WHAT))
        yield [Cell(text, "", "changes"), ": ", name, ", ", what, since]


def _verdicts(report: ReportData) -> Iterator[Sentence]:
    counts = report.counts
    if not counts.suspects:
        yield [f"None of {many(counts.calls, 'call')} was flagged or blocked."]
        return
    shares = f"{percent(counts.suspects / counts.calls)} of {many(counts.calls, 'call')}"
    yield [f"{counts.block:,} blocked and {counts.flag:,} flagged: {shares}."]
    if len(report.tools) > 1:
        suspects = [(k, tool) for k, tool in enumerate(report.tools, 1) if tool.counts.suspects][:DRIFTING]
        sentence: Sentence = ["Most of them: "]
        for k, tool in suspects:
            each = f" {tool.counts.block:,} blocked, {tool.counts.flag:,} flagged of {tool.counts.calls:,}"
            sentence += ["; "] if len(sentence) > 1 else []
            sentence += [_tool_link(k, tool), each]
        yield [*sentence, "."]


def _tool_link(k: int, tool: ToolReport) -> Cell:
    return Cell(cut(tool.name, NAME), "code", f"tool-{k}")


def _missed(report: ReportData) -> Iterator[Sentence]:
    wrong = [counts for name, counts in report.labels if name != "genuine"]
    let_through, caught = sum(c.accept for c in wrong), sum(c.suspects for c in wrong)
    if let_through + caught:
        yield [f"Of {many(let_through + caught, 'call')} labelled wrong, {caught:,} were flagged or blocked."]
    for name, counts in report.labels:
        if name == "genuine" and counts.suspects:
            yield [f"{counts.suspects:,} of {counts.calls:,} calls labelled genuine were flagged or blocked."]


def _drift(report: ReportData) -> Iterator[Sentence]:
    far = [(k, tool, drifted) for k, tool in enumerate(report.tools, 1) for drifted in tool.drifted[:1]]
    far.sort(key=lambda each: -abs(each[2].sigmas or 0.0))
    for k, tool, drifted in far[:DRIFTING]:
        yield [_tool_link(k, tool), f" drifts: {_drift_words(drifted)}."]
    if len(far) > DRIFTING:
        yield [f"{len(far) - DRIFTING:,} more tools drift."]


def _drift_words(drifted: Drifted) -> str:
    name = cut(drifted.what, NAME)
    if drifted.learned is not None and drifted.lately is not None:
        learned, lately = of_unit(drifted.learned, drifted.unit), of_unit(drifted.lately, drifted.unit)
        by = "" if drifted.sigmas is None else f" ({abs(drifted.sigmas):.1f} sigma)"
        return f"{name} is {lately} lately, and was {learned} when it was learned{by}"
    if drifted.alarms:
        return f"the guard's chart of {name} alarmed on {many(drifted.alarms, 'call')}"
    return f"the guard's chart of {name} is near its limit"


def _trust(report: ReportData) -> Iterator[Sentence]:
    calibration = report.reliability
    if calibration is None:
        yield ["No label says what a call really was: whether the posteriors mean what they say is not known."]
    elif calibration.labels < FEW_LABELS:
        yield [f"{many(calibration.labels, 'label')} are too few to say whether the posteriors mean what they say."]
    elif calibration.error > BAD_ERROR:
        yield [
            f"Posteriors are off by {percent(calibration.error)} on average over {many(calibration.labels, 'label')}."
        ]


# --- Tables and facts ---


def changes_table(report: ReportData) -> Table:
    """Lasting changes."""
    rows = [
        (
            Cell(cut(change.tool, NAME), "code"), Cell(cut(change.what, WHAT)), change.state, utc(change.since),
            f"{change.calls:,}", f"{change.blocked:,}", "a reviewer" if change.reviewed else "nobody",
            Cell(cut(change.id, NAME), "code"),
        )
        for change in report.changes
    ]  # fmt: skip
    columns = ("tool", "what", "state", "since", "calls", "blocked", "decided by", "id")
    more = f"and {many(report.more_changes, 'more change')}" if report.more_changes else ""
    return Table("Lasting changes", columns, rows, ("tool", "what", "state", "since", "decided by", "id"), more)


def labels_table(report: ReportData) -> Table:
    """Verdicts by label."""
    rows: list[Row] = [
        (Cell(cut(name, 60)), *(f"{x:,}" for x in (counts.calls, *counts))) for name, counts in report.labels
    ]
    return Table("Verdicts by label", ("label", "calls", "accepted", "flagged", "blocked"), rows, ("label",))


def call_facts(call: WorstCall) -> Iterator[tuple[str, str]]:
    """Names and texts beside the sum of one of the worst calls."""
    facts = [("call id", call.call_id), ("session", call.session_id), ("label", call.label)]
    if call.false_block_p is not None:
        share = percent(call.false_block_p)
        facts.append(("false alarms", f"{share} of this tool's genuine calls score at least as high"))
    facts.append(("adding nothing", ", ".join(call.silent)))
    return (fact for fact in facts if fact[1])


def sum_table(call: WorstCall, name: str) -> Table:
    """The sum that a verdict rests on; without findings, which the record in a store may not have."""
    columns: tuple[str, ...] = ("signal", "nats", "sum", "P so far", "what it found")
    rows = list(_sum_rows(call))
    if not any(step.detail for step in call.steps):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return Table(f"The sum behind {name}", columns, rows, ("signal", "what it found"))


def _sum_rows(call: WorstCall) -> Iterator[Row]:
    yield "prior", "", nats(log_odds(call.prior)), p_of(call.prior), ""
    for step in call.steps:
        p_value = "" if step.p_value is None else f" (p {p_of(step.p_value)})"
        so_far = 1.0 / (1.0 + math.exp(-min(max(step.running, -700.0), 700.0)))  # exp(700) is a float
        yield step.signal, nats(step.nats), nats(step.running), p_of(so_far), Cell(f"{step.detail}{p_value}")
    total = nats(log_odds(call.posterior))
    if abs(call.remainder) > ROUNDING:
        yield "bound on the posterior", nats(call.remainder), total, p_of(call.posterior), ""
    yield Cell("posterior", "strong"), "", total, Cell(p_of(call.posterior), "strong"), ""


def tools_table(report: ReportData) -> Table:
    """All tools that are shown, each with a link to its section."""
    rows: list[Row] = [
        (
            Cell(cut(tool.name, NAME), href=f"tool-{k}"),
            *(f"{x:,}" for x in (tool.counts.calls, *tool.counts)),
            "–" if tool.mean_posterior is None else f"{tool.mean_posterior:.3f}",
            ", ".join(cut(drifted.what, 30) for drifted in tool.drifted[:3]) or "–",
        )
        for k, tool in enumerate(report.tools, 1)
    ]
    columns = ("tool", "calls", "accepted", "flagged", "blocked", "mean P", "drifts")
    left = report.more_tools
    more = f"and {many(left, 'more tool')}, with fewer flagged or blocked calls" if left else ""
    return Table("Tools", columns, rows, ("tool", "drifts"), more)


def drift_table(tool: ToolReport) -> Table:
    """The numbers of a tool that have drifted."""
    columns = ("number", "learned", "lately", "sigma", "alarms", "first at", "of its limit now")
    return Table(f"What drifted of {cut(tool.name, NAME)}", columns, [_drift_row(drifted) for drifted in tool.drifted])


def _drift_row(drifted: Drifted) -> Row:
    cells = (
        None if drifted.learned is None else of_unit(drifted.learned, drifted.unit),
        None if drifted.lately is None else of_unit(drifted.lately, drifted.unit),
        None if drifted.sigmas is None else number(round(drifted.sigmas, 1)),
        None if drifted.alarms is None else f"{drifted.alarms:,}",
        None if drifted.first is None else f"value {drifted.first:,}",
        None if drifted.now is None else percent(drifted.now),
    )
    return Cell(cut(drifted.what, NAME)), *(cell or "–" for cell in cells)


def learned_facts(learned: Portrait) -> Iterator[tuple[str, str]]:
    """What was learned of a tool, but for the fields of its results."""
    yield "from", many(learned.results, "result")
    yield "sets of arguments", f"{learned.argument_sets:,}"
    if learned.errors is not None:
        yield "errors", f"{percent(learned.errors)} of the latest calls"
    if learned.latency_ms:
        yield "latency", ", ".join(f"{percent(share)} up to {ms(x)}" for share, x in learned.latency_ms.items())
    for kind in learned.kinds[:KINDS]:
        sizes = "".join(f", {percent(share)} up to {number(round(x))} B" for share, x in kind.sizes.items())
        words = f", {kind.words:,} words known" if kind.words else ""
        yield f"results: {kind.kind}", f"{kind.results:,}{sizes}{words}"
    if len(learned.kinds) > KINDS:
        yield "other kinds of results", f"{len(learned.kinds) - KINDS:,}"
    broken = [
        f"{cut(relation.broken, 120)} (in {relation.tried - relation.held:,} of {relation.tried:,} calls)"
        for relation in learned.relations
        if relation.nats > 0.0
    ]
    if broken:
        yield "would be odd", "; ".join(broken[:RELATIONS])


def fields_table(kind: Kind, tool: str) -> Table:
    """The fields of one kind of a tool's results."""
    rows: list[Row] = [
        (Cell(cut(field.path, NAME) or "(the value)", "code"), field.type, percent(field.share))
        for field in kind.fields[:FIELDS]
    ]
    left = len(kind.fields) - FIELDS
    more = f"and {many(left, 'more field')}" if left > 0 else ""
    return Table(f"Fields of {kind.kind} results of {tool}", ("path", "type", "in"), rows, ("path", "type"), more)
