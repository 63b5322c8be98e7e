"""The report as one file of HTML that asks for nothing: no script, no font, no picture from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from agentguard.report._records import ReportData
from agentguard.report._text import cut, many, percent

from .call_section import call_section
from .changes_section import changes_section
from .elements import Element, Node, Raw, h, html
from .figure import Ids, table
from .findings import findings
from .histogram import histogram
from .reliability_diagram import reliability_diagram
from .style import POLICY, SHEET
from .timeline import timeline
from .tool_section import tool_section, tools_table

__all__ = ["html_of"]

OF_CALLS = (
    "Every call was judged anew in recorded order. Charts hold each value as it came; where a chart has fewer points "
    "than values, neighbours are put together and alarms are kept."
)
OF_STORE = (
    "Flagged and blocked calls are on record, and a sample of the accepted ones, each of which counts for those it "
    "stands for. The chart of latency is of the latest calls; numbers in results are not kept call by call."
)
LABELS_OF_CALLS = "As the log has them; the guard did not see them."
LABELS_OF_STORE = "As reviewers gave them, where the verdict is known."
LIMITS = (
    "Limits are three sigma around the median of the first hundred values of accepted calls, sigma from the median "
    "difference between neighbours, on a logarithmic scale. A value in a run is one at which another of the four "
    "Western Electric rules holds: two of three beyond two sigma, four of five beyond one, eight to one side. Those "
    "suppose that calls do not depend on one another; a slow hour may set them off. The guard's own drift alarm, which "
    "is evidence in the verdict, allows for that."
)
SUM = (
    "A verdict is a sum of log-odds in nats: the prior's, and what each signal adds. Above zero fabricated is the more "
    "likely; three nats are odds of twenty to one."
)
SHOWN = "Of arguments and results the page shows names of fields, numbers in charts, and what an explanation names."
SHOWN_ALL = "Arguments and results of the worst calls are shown, for that was asked for."


def html_of(report: ReportData) -> str:
    """The page. The same report makes the same page, to the byte."""
    page = h("html", _head(report), h("body", list(_body(report))), lang="en")
    return "<!DOCTYPE html>\n" + "".join(html(page)) + "\n"


def _head(report: ReportData) -> Element:
    return h(
        "head",
        h("meta", charset="utf-8"),
        h("meta", http_equiv="Content-Security-Policy", content=POLICY),
        h("meta", name="viewport", content="width=device-width, initial-scale=1"),
        h("meta", name="referrer", content="no-referrer"),
        h("meta", name="color-scheme", content="light dark"),
        h("title", cut(report.title, 200)),
        h("style", Raw(SHEET)),
    )


def _body(report: ReportData) -> Iterator[Node]:
    ids = Ids()
    yield h("a", "Skip to the findings", class_="skip", href="#findings")
    yield _header(report)
    yield h(
        "main",
        h("h2", "Worth a look", id="findings"), h("ul", findings(report), class_="findings"),
        list(changes_section(report)),
        h("h2", "Verdicts", id="verdicts"), timeline(ids, report.timeline), list(_labels(report)),
        h(
            "div", histogram(ids, report.histogram, report.accept_below, report.block_at, of="all calls"),
            None if report.reliability is None else reliability_diagram(ids, report.reliability),
            class_=None if report.reliability is None else "pair",
        ),
        list(_worst(ids, report)),
        h("h2", "Tools", id="tools"), tools_table(report.tools, report.more_tools),
        [tool_section(ids, k, tool, report) for k, tool in enumerate(report.tools, 1)],
        h("h2", "How to read this", id="reading"), [h("p", said) for said in _reading(report)],
    )  # fmt: skip
    yield h(
        "footer", h("p", f"Made by agentguard {report.version}".rstrip(), f" · {report.made}" if report.made else "")
    )


def _header(report: ReportData) -> Element:
    counts = report.counts
    judged = f"judged in mode {report.mode}" if report.mode else "as it was judged"
    told = f" · {judged} · {report.made}" if report.made else f" · {judged}"
    figures = [
        ("calls", counts.calls),
        ("accepted", counts.accept),
        ("flagged", counts.flag),
        ("blocked", counts.block),
    ]
    return h(
        "header",
        h("h1", h("bdi", cut(report.title, 200))),
        h("p", h("bdi", cut(report.source, 300)), told, class_="quiet"),
        h("dl", [_figure(name, count, counts.calls) for name, count in figures], class_="figures"),
    )  # fmt: skip


def _figure(name: str, count: int, calls: int) -> Element:
    share = h("small", percent(count / calls)) if calls and name != "calls" else None
    return h("div", h("dt", name), h("dd", f"{count:,}", share))


def _labels(report: ReportData) -> Iterator[Node]:
    if report.labels:
        rows: list[tuple[Node, ...]] = [
            (h("bdi", cut(name, 60)), *(f"{count:,}" for count in (each.calls, *each))) for name, each in report.labels
        ]
        yield h("h3", "By label")
        yield h("p", LABELS_OF_CALLS if report.kind == "calls" else LABELS_OF_STORE, class_="quiet")
        yield table("Verdicts by label", ("label", "calls", "accepted", "flagged", "blocked"), rows, words=("label",))


def _worst(ids: Ids, report: ReportData) -> Iterator[Node]:
    if not report.worst:
        return
    suspects = report.counts.suspects
    yield h("h2", "The worst calls", id="worst")
    if not suspects:
        said = "None was flagged or blocked; these have the highest posteriors."
    elif suspects > len(report.worst):
        said = f"{len(report.worst):,} of {many(suspects, 'flagged or blocked call')}. {SUM}"
    else:
        said = SUM
    yield h("p", said, class_="quiet")
    for k, call in enumerate(report.worst):
        yield call_section(ids, call, report, is_open=k == 0)


def _reading(report: ReportData) -> Iterator[str]:
    yield OF_CALLS if report.kind == "calls" else OF_STORE
    yield LIMITS
    yield SUM
    yield SHOWN_ALL if any(call.content is not None for call in report.worst) else SHOWN
    yield from report.notes
