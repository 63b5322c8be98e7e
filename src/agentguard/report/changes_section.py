"""Lasting changes of tools, a row each, and what of them is worth a look."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentguard.report._records import ChangeRow, ReportData
from agentguard.report._text import cut, many

from .elements import Node, h
from .figure import table

__all__ = ["changes_section", "open_changes"]

NAME: Final = 80
WHAT: Final = 300
READING: Final = (
    "What was odd about a tool's results and lasted. An open one waits for a decision: with 'agentguard changes', or "
    "on the live page. Calls are those on record that look like it, the same call with the same result once."
)


def changes_section(report: ReportData) -> Iterator[Node]:
    """The section; nothing where no tool has changed."""
    if not report.changes:
        return
    yield h("h2", "Changes", id="changes")
    yield h("p", READING, class_="quiet")
    rows = [tuple(_cells(change)) for change in report.changes]
    columns = ("tool", "what", "state", "since", "calls", "blocked", "decided by", "id")
    more = f"and {many(report.more_changes, 'more change')}" if report.more_changes else ""
    words = ("tool", "what", "state", "since", "decided by", "id")
    yield table("Lasting changes", columns, rows, words=words, more=more)


def open_changes(report: ReportData) -> Iterator[list[Node]]:
    """One sentence, where any is open."""
    found = [change for change in report.changes if change.state == "open"]
    if found:
        first = found[0]
        said = f"{many(len(found), 'change')} {'is' if len(found) == 1 else 'are'} open"
        yield [
            h("a", said, href="#changes"), ": ", h("code", h("bdi", cut(first.tool, NAME))), ", ",
            h("bdi", cut(first.what, WHAT)), f" since {first.since}." if first.since else ".",
        ]  # fmt: skip


def _cells(change: ChangeRow) -> Iterator[Node]:
    yield h("code", h("bdi", cut(change.tool, NAME)))
    yield h("bdi", cut(change.what, WHAT))
    yield change.state
    yield change.since
    yield f"{change.calls:,}"
    yield f"{change.blocked:,}"
    yield "a reviewer" if change.reviewed else "nobody"
    yield h("code", h("bdi", cut(change.id, NAME)))
