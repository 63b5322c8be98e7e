"""What the gate found, for a terminal: a run, and how one claim of it came by its verdict."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from agentguard.gate._run import GateRun
from agentguard.gate._types import Decision, Label
from agentguard.gate.reports import Explanation, Finding, Marked, findings

from .output import printable, show, table

__all__ = ["DECISION_STYLES", "LABEL_STYLES", "report_explanation", "report_run"]

DECISION_STYLES: Mapping[Decision, str] = {"deploy": "green", "warn": "yellow", "block": "bold red"}
LABEL_STYLES: Mapping[Label, str] = {"supported": "green", "weakly_supported": "yellow", "unsupported": "bold red"}

SHOWN = 50
REASONS = 2
AROUND = 300
_MARK = "bold reverse"
_LONG = 20_000


def report_run(out: Console, run: GateRun) -> None:
    """Write the decision, how many claims there are of each kind, and those that are not supported."""
    score = run.state.score
    out.print(Text(score.decision, DECISION_STYLES[score.decision]), show(f": {score.reason}"), sep="", soft_wrap=True)
    out.print(show(f"{run.summary.use_case}: {run.summary.target}, judged by {run.summary.judge}"), soft_wrap=True)
    out.print()
    counts = ("claims", "supported", "weakly supported", "unsupported")
    made = table(*counts, right=counts)
    made.add_row(*map(str, (score.total_claims, score.supported, score.weakly_supported, score.unsupported)))
    out.print(made)
    found = findings(run.state)
    labels: tuple[Label, ...] = ("unsupported", "weakly_supported")
    for label in labels:
        _report_claims(out, label, [finding for finding in found if finding.verdict.label == label])
    out.print()
    more = "; 'agentguard gate explain CLAIM' tells more of a claim" if found else ""
    out.print(show(f"run {run.run_id}{more}", "dim"), soft_wrap=True)


def _report_claims(out: Console, label: Label, found: list[Finding]) -> None:
    if not found:
        return
    out.print()
    out.print(Text(label.replace("_", " "), LABEL_STYLES[label]))
    for finding in found[:SHOWN]:
        out.print(show(f"  {finding.claim.id}", "bold"), show(finding.claim.text), soft_wrap=True)
        for reason in finding.verdict.reasons[:REASONS]:
            out.print("     ", show(f"{reason.kind}: {reason.detail}"), soft_wrap=True)
        if finding.passage is not None:
            quote = f': "{finding.verdict.quote}"' if finding.verdict.quote else ""
            place = _place(finding.passage.chunk.document, finding.heading)
            out.print("     ", show(f"{place}{quote}", "dim"), soft_wrap=True)
    if len(found) > SHOWN:
        out.print(f"  and {len(found) - SHOWN:,} more; --json lists all")


def report_explanation(out: Console, told: Explanation) -> None:
    """Write a claim, where it was said, what was decided of it and why, and the passages it was held against."""
    verdict = told.verdict
    label = Text(verdict.label.replace("_", " "), LABEL_STYLES[verdict.label])
    out.print(show(told.claim.id, "bold"), label, show(f"by {verdict.judge}"), soft_wrap=True)
    out.print(show(told.claim.text, limit=_LONG), soft_wrap=True)
    out.print()
    category = f" ({told.prompt.category})" if told.prompt.category else ""
    out.print(show(f"prompt {told.prompt.id}{category}: {told.prompt.text}", limit=_LONG), soft_wrap=True)
    out.print(Text("response: ") + _marked(told.response), soft_wrap=True)
    out.print()
    out.print(Text("reasons", "bold"))
    for reason in verdict.reasons:
        beside = f" (said: {reason.said!r}, found: {reason.found!r})" if reason.said or reason.found else ""
        out.print(show(f"  {reason.kind}: {reason.detail}{beside}", limit=_LONG), soft_wrap=True)
    if verdict.answer:
        out.print(show(f"  the judge answered: {verdict.answer}", limit=_LONG), soft_wrap=True)
    out.print()
    out.print(Text("passages, the best first", "bold"))
    if not told.passages:
        out.print("  none was found")
    for rank, passage in enumerate(told.passages, 1):
        decisive = " (decided by this one)" if passage.decisive else ""
        place = _place(passage.chunk.document, passage.heading)
        title = show(f"{rank}. {place}, score {passage.score:.4f}{decisive}", "bold" * passage.decisive, _LONG)
        out.print(title, soft_wrap=True)
        out.print(Text("   ") + _marked(_around(passage.text)), soft_wrap=True)
    out.print()
    more = "the passages in full" + (", and what the judge was asked" if verdict.answer else "")
    out.print(show(f"run {told.run_id}; --json has {more}", "dim"))


def _place(document: str, heading: str) -> str:
    return f"{document} · {heading}" if heading else document


def _around(text: Marked) -> Marked:
    """What stands around the marked part, or the beginning where there is none."""
    if not text.marked:
        return Marked(text.before[:AROUND] + "…" * (len(text.before) > AROUND), "", "")
    before = text.before if len(text.before) <= AROUND else "…" + text.before[-AROUND:]
    return Marked(before, text.marked, text.after[:AROUND] + "…" * (len(text.after) > AROUND))


def _marked(text: Marked) -> Text:
    """A text with its marked part standing out, by style and, for where there are none, by brackets."""
    made = _kept(text.before)
    if text.marked:
        made += Text("»", _MARK) + _kept(text.marked, _MARK) + Text("«", _MARK)
    return made + _kept(text.after)


def _kept(part: str, style: str = "") -> Text:
    """A part of a text; unlike ``show`` it keeps the white space at its ends, where another part begins."""
    shown = printable(f"|{part[:_LONG]}|")[1:-1]
    return Text(shown, style)
