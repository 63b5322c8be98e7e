"""One of the worst calls, opened up signal by signal."""

from __future__ import annotations

import math
from collections.abc import Iterator

from agentguard.report._records import ReportData, WorstCall, log_odds
from agentguard.report._text import cut, nats, p_of, percent

from .elements import Element, Node, h
from .figure import Ids, scrolled, table
from .waterfall import ROUNDING, waterfall

__all__ = ["call_section", "verdict_mark"]

NAME = 80
WORDS = {"accept": "accepted", "flag": "flagged", "block": "blocked"}


def call_section(ids: Ids, call: WorstCall, report: ReportData, *, is_open: bool) -> Element:
    """A disclosure: the verdict in one line, and below it the sum that it rests on."""
    name = f"{'call' if report.kind == 'calls' else 'record'} {call.number:,}"
    return h(
        "details",
        h(
            "summary", verdict_mark(call.verdict), h("strong", f"P {p_of(call.posterior)} "),
            h("code", h("bdi", cut(call.tool, NAME))), h("span", f" · {name}", class_="quiet"),
            [h("span", " · ", h("bdi", call.place), class_="quiet")] if call.place else [],
        ),
        h(
            "div",
            h("p", h("bdi", call.explanation)),
            h("dl", list(_facts(call)), class_="facts"),
            h(
                "div", waterfall(ids, call, report.accept_below, report.block_at), _sum(call, name), class_="opened",
            ),
            list(_content(call)),
            class_="inner",
        ),
        open=is_open,
    )  # fmt: skip


def _sum(call: WorstCall, name: str) -> Element:
    columns: tuple[str, ...] = ("signal", "nats", "sum", "P so far", "what it found")
    rows = list(_rows(call))
    if not any(step.detail for step in call.steps):  # a store's record holds none
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return table(f"The sum behind {name}", columns, rows, words=("signal", "what it found"))


def verdict_mark(verdict: str) -> Element:
    """The verdict as a word in a frame."""
    return h("span", WORDS[verdict], class_=f"verdict {verdict}")


def _facts(call: WorstCall) -> Iterator[Element]:
    facts = [("call id", call.call_id), ("session", call.session_id), ("label", call.label)]
    for name, said in facts:
        if said:
            yield h("dt", name)
            yield h("dd", h("bdi", said))
    if call.false_block_p is not None:
        yield h("dt", "false alarms")
        yield h("dd", f"{percent(call.false_block_p)} of this tool's genuine calls score at least as high")
    if call.silent:
        yield h("dt", "adding nothing")
        yield h("dd", ", ".join(call.silent))


def _rows(call: WorstCall) -> Iterator[tuple[Node, ...]]:
    yield "prior", "", nats(log_odds(call.prior)), p_of(call.prior), ""
    for step in call.steps:
        p = "" if step.p_value is None else f" (p {p_of(step.p_value)})"
        found = h("bdi", f"{step.detail}{p}")
        yield step.signal, nats(step.nats), nats(step.running), p_of(_logistic(step.running)), found
    if abs(call.remainder) > ROUNDING:
        yield "bound on the posterior", nats(call.remainder), nats(log_odds(call.posterior)), p_of(call.posterior), ""
    yield h("strong", "posterior"), "", nats(log_odds(call.posterior)), h("strong", p_of(call.posterior)), ""


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(max(x, -700.0), 700.0)))


def _content(call: WorstCall) -> Iterator[Element]:
    if call.content is not None:
        for name, said in (("arguments", call.content.args), ("result", call.content.result)):
            yield h("h3", name.capitalize())
            yield scrolled(f"The {name} of call {call.number:,}", h("pre", said))
