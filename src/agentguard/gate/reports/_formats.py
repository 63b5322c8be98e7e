"""A finished run as JSON, JUnit XML and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as Xml

from agentguard.gate._types import Label
from agentguard.gate.records._base import RunSummary
from agentguard.gate.reports._findings import Finding, findings

if TYPE_CHECKING:
    from agentguard.gate._run import GateRun


DIGITS = 4


def evaluation(run: GateRun) -> dict[str, Any]:
    """The outcome, how many claims there are of each kind, and every claim with its verdict, reasons and passage.

    ``score`` is the risk, rounded to four digits; the decision was taken on the unrounded one.

    Raises:
        GateError: If the run is not finished.
    """
    score = run.state.score
    return {
        "run_id": run.run_id,
        "use_case": run.summary.use_case,
        "score": round(score.risk, DIGITS),
        "decision": score.decision,
        "reason": score.reason,
        "total_claims": score.total_claims,
        "supported": score.supported,
        "unsupported": score.unsupported,
        "weakly_supported": score.weakly_supported,
        "target": run.summary.target,
        "judge": run.summary.judge,
        "started": run.summary.started,
        "ended": run.summary.ended,
        "config_digest": run.summary.config_digest,
        "prompts_digest": run.summary.prompts_digest,
        "evidence_digest": run.summary.evidence_digest,
        "details": [_detail(finding) for finding in findings(run.state)],
    }


def summary_as_dict(summary: RunSummary) -> dict[str, Any]:
    """A line of the history; like ``evaluation``, without the claims, and with what has not been reached as null."""
    fields = asdict(summary)
    risk = fields.pop("risk")
    return {**fields, "score": None if risk is None else round(risk, DIGITS)}


def _detail(finding: Finding) -> dict[str, Any]:
    verdict, passage = finding.verdict, finding.passage
    place = None
    if passage is not None:
        chunk = passage.chunk
        place = {"document": chunk.document, "title": chunk.title, "heading": finding.heading, "chunk_id": chunk.id}
    return {
        "claim_id": finding.claim.id,
        "claim": finding.claim.text,
        "label": verdict.label,
        "reasons": [asdict(reason) for reason in verdict.reasons],
        "quote": verdict.quote,
        "passage": place,
        "prompt_id": finding.prompt.id,
        "prompt": finding.prompt.text,
        "category": finding.prompt.category,
        "judge": verdict.judge,
    }


# --- JUnit XML ---

MOST_OF_A_NAME = 200

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WHITE = re.compile(r"\s+")


def junit_xml(run: GateRun) -> str:
    """Write a run as JUnit XML, which continuous integration shows among its tests: a claim is a test case.

    An unsupported claim is a failure. A weakly supported one is skipped: it was neither confirmed nor refuted. Failures
    stand for claims and say nothing of the decision, which tolerates some: that is the property ``decision`` of the
    suite. Characters that XML does not have are left out.

    Raises:
        GateError: If the run is not finished.
    """
    score, summary = run.state.score, run.summary
    seconds = f"{max(0.0, (summary.ended or summary.started) - summary.started):.3f}"
    counts = {
        "tests": str(score.total_claims),
        "failures": str(score.unsupported),
        "errors": "0",
        "skipped": str(score.weakly_supported),
    }
    suites = Xml.Element("testsuites", {"name": "agentguard gate", **counts, "time": seconds})
    began = datetime.fromtimestamp(summary.started, tz=timezone.utc)
    suite = Xml.SubElement(
        suites,
        "testsuite",
        {
            "name": _line(summary.use_case),
            **counts,
            "time": seconds,
            "timestamp": began.strftime("%Y-%m-%dT%H:%M:%S"),
            "hostname": _line(summary.process.partition(":")[0]) or "localhost",
        },
    )
    properties = Xml.SubElement(suite, "properties")
    for name, value in (
        ("run_id", run.run_id),
        ("decision", score.decision),
        ("risk", repr(score.risk)),
        ("reason", score.reason),
        ("target", summary.target),
        ("judge", summary.judge),
        ("evidence_digest", summary.evidence_digest),
    ):
        Xml.SubElement(properties, "property", {"name": name, "value": _line(value)})
    for finding in findings(run.state):
        _add_case(suite, finding, finding.prompt.category or summary.use_case)
    Xml.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(suites, encoding="unicode") + "\n"


def _add_case(suite: Xml.Element, finding: Finding, group: str) -> None:
    claim, verdict = finding.claim, finding.verdict
    name = _line(f"{claim.id}: {claim.text}")
    if len(name) > MOST_OF_A_NAME:
        name = name[: MOST_OF_A_NAME - 1] + "…"
    case = Xml.SubElement(suite, "testcase", {"classname": _line(group), "name": name, "time": "0"})
    if verdict.label == "supported":
        return
    why = _line("; ".join(reason.detail for reason in verdict.reasons))
    if verdict.label == "weakly_supported":
        Xml.SubElement(case, "skipped", {"message": f"weakly supported: {why}"})
        return
    failure = Xml.SubElement(case, "failure", {"type": "unsupported", "message": why})
    failure.text = _legal("\n".join(_told(finding)))


def _told(finding: Finding) -> list[str]:
    lines = [f"claim: {finding.claim.text}", f"prompt: {finding.prompt.text}"]
    lines += [f"reason: {reason.detail}" for reason in finding.verdict.reasons]
    if finding.passage is not None:
        lines.append(f"document: {finding.passage.chunk.document}")
        lines += [f"heading: {finding.heading}"] if finding.heading else []
    return [*lines, f"quote: {finding.verdict.quote}"] if finding.verdict.quote else lines


def _legal(text: str) -> str:
    return _ILLEGAL.sub("", text)


def _line(text: str) -> str:
    return _WHITE.sub(" ", _legal(text)).strip()


# --- Markdown ---

ROWS = 100
REASONS = 3
MOST_OF_A_CELL = 600

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufff9-\ufffb\\s]+")
# Whatever begins a construct of Markdown, of GitHub's extensions to it (@names, #numbers, www., ://, $formulas$) or of
# HTML. As character references: a backslash before a pipe means two things, by whether it stands in a table.
_ACTIVE = re.compile(r"[\\`*_{}\[\]<>()#+\-!|~&@:$^=\"']|(?<=www)\.|(?<=\d)\.", re.IGNORECASE)


def escape(text: str, limit: int = MOST_OF_A_CELL) -> str:
    """Text from outside on one line, that renders as itself in any place of a Markdown document.

    >>> escape("a|b <img src=x>")
    'a&#124;b &#60;img src&#61;x&#62;'
    """
    line = _UNSEEN.sub(" ", text[: 4 * limit]).strip()
    if len(line) > limit:
        line = line[: limit - 1] + "…"
    return _ACTIVE.sub(lambda match: f"&#{ord(match[0])};", line)


def markdown_summary(run: GateRun) -> str:
    """Write a run as Markdown, for the summary of a job or the comment below a change.

    It has the decision, how many claims there are of each kind, and those that are not supported, with reason and
    passage. They come from outside: what they hold is shown, never obeyed. No link, no picture, no HTML and no table
    cell can begin in them.

    Raises:
        GateError: If the run is not finished.
    """
    return "\n".join(_lines(run)) + "\n"


def _lines(run: GateRun) -> Iterator[str]:
    score, summary, tolerance = run.state.score, run.summary, run.state.config.risk_tolerance
    yield f"## Reliability gate: {score.decision}"
    yield ""
    yield f"{escape(summary.use_case)}: {escape(score.reason)}"
    yield ""
    yield "| claims | |"
    yield "|---|---:|"
    yield f"| supported | {score.supported} |"
    yield f"| weakly supported | {score.weakly_supported} |"
    yield f"| unsupported | {score.unsupported} |"
    yield f"| all | {score.total_claims} |"
    yield f"| **risk** | **{round(score.risk, DIGITS):g}** |"
    yield f"| deployed up to | {tolerance.deploy_threshold:g} |"
    yield f"| with a warning up to | {tolerance.warn_threshold:g} |"
    listed = findings(run.state)
    yield from _claims("Unsupported claims", listed, "unsupported")
    yield from _claims("Weakly supported claims", listed, "weakly_supported")
    yield ""
    yield (
        f"Run {escape(run.run_id)}, model under test {escape(summary.target)}, judged by {escape(summary.judge)}, "
        f"evidence {escape(summary.evidence_digest[:12])}"
    )


def _claims(title: str, listed: Sequence[Finding], label: Label) -> Iterator[str]:
    chosen = [finding for finding in listed if finding.verdict.label == label]
    if not chosen:
        return
    yield ""
    yield f"### {title}"
    yield ""
    yield "| | claim | why | the documents say |"
    yield "|---|---|---|---|"
    for finding in chosen[:ROWS]:
        why = escape("; ".join(reason.detail for reason in finding.verdict.reasons[:REASONS]))
        yield f"| {escape(finding.claim.id)} | {escape(finding.claim.text)} | {why} | {_said(finding)} |"
    if len(chosen) > ROWS:
        yield ""
        yield f"… and {len(chosen) - ROWS} more"


def _said(finding: Finding) -> str:
    if finding.passage is None:
        return "nothing"
    place = escape(" · ".join(part for part in (finding.passage.chunk.document, finding.heading) if part))
    quote = escape(finding.verdict.quote)
    return f"{quote}<br>*{place}*" if quote else f"*{place}*"
