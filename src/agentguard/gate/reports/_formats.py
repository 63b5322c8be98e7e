"""A finished run as JSON, JUnit XML and Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as Xml

from agentguard.gate._history import LabelChange
from agentguard.gate._kinds import KINDS
from agentguard.gate._types import Label, Quarantined
from agentguard.gate.records._base import RunSummary
from agentguard.gate.reports._findings import Finding, findings

if TYPE_CHECKING:
    from agentguard.gate._run import GateRun


DIGITS = 4

#: What a report counts beside claims, by the names of ``Score``, with what each is.
COUNTS = {
    "prompts": "prompts",
    "answered": "answered with a claim",
    "empty": "empty answers",
    "refused": "refused",
    "claimless": "other answers without a claim",
    "unreadable": "verdicts that could not be read",
    "contradicted": "verdicts that the rules contradict",
    "disagreed": "verdicts that judges do not agree on",
    "quarantined": "passages in quarantine",
    "reused": "answers taken over from another run",
}


def evaluation(run: GateRun) -> dict[str, Any]:
    """The outcome, how many claims there are of each kind, and every claim with its verdict, reasons and passage.

    ``score`` is the risk, rounded to four digits; the decision was taken on the unrounded one.

    Raises:
        GateError: If the run is not finished.
    """
    score = run.state.score
    details = [_detail(finding) for finding in findings(run.state)]
    kinds = Counter(detail["kind"] for detail in details)
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
        **{name: getattr(score, name) for name in COUNTS},
        "target": run.summary.target,
        "judge": run.summary.judge,
        "started": run.summary.started,
        "ended": run.summary.ended,
        "config_digest": run.summary.config_digest,
        "prompts_digest": run.summary.prompts_digest,
        "prompt_sets": run.summary.prompt_sets,
        "evidence_digest": run.summary.evidence_digest,
        "quarantine": [asdict(held) for held in quarantined(run)],
        "kinds": {kind: kinds[kind] for kind in KINDS},
        "details": details,
    }


def quarantined(run: GateRun) -> tuple[Quarantined, ...]:
    """Passages that were no evidence in a run, because they hold instructions to a model."""
    return run.state.quarantined if "quarantined" in run.state.written else ()


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
        "kind": finding.kind,
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
        *((name, str(getattr(score, name))) for name in COUNTS),
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
    lines = [f"claim: {finding.claim.text}", f"prompt: {finding.prompt.text}", f"kind: {finding.kind}"]
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
MOST_OF_A_TEXT = 600
MOST_OF_A_COMMENT = 60_000  # GitHub takes 65,536 characters

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufff9-\ufffb\\s]+")
# What begins a construct of Markdown or HTML within a line; what begins one at the start of a line never stands there.
_ACTIVE = re.compile(r"[\\`*_\[\]<~$|]")
# What GitHub makes names, numbers and addresses of, and what would be read as a character reference.
_NAMED = re.compile(r"@|#(?=\w)|:(?=//)|(?<=www)\.|&(?=#?\w)", re.IGNORECASE)


def escape(text: str, limit: int = MOST_OF_A_TEXT) -> str:
    r"""Text from outside on one line, that renders as itself anywhere but at the beginning of a line of Markdown.

    >>> print(escape("0.3788 of a*b, see <img src=x> and @all"))
    0.3788 of a\*b, see \<img src=x> and &#64;all
    """
    line = _UNSEEN.sub(" ", text[: 4 * limit]).strip()
    if len(line) > limit:
        line = line[: limit - 1] + "…"
    return _ACTIVE.sub(r"\\\g<0>", _NAMED.sub(lambda match: f"&#{ord(match[0])};", line))


def markdown_summary(run: GateRun, changes: Sequence[LabelChange] | None = None, since: str = "") -> str:
    """Write a run as Markdown, for the summary of a job or the comment below a change.

    It has the decision, what is counted, what changed since another run, and each claim that is not supported with its
    question, why, and what the documents say. All that comes from outside: what it holds is shown, never obeyed. No
    link, no picture and no HTML can begin in it.

    Args:
        run: A finished run.
        changes: What changed since another run; None if there is none to compare with.
        since: That run's id.

    Raises:
        GateError: If the run is not finished.
    """
    lines, length = [], 0
    for line in _lines(run, changes, since):
        length += len(line) + 1
        if length > MOST_OF_A_COMMENT:
            lines += ["", "… and more; the other reports of the run have all of it"]
            break
        lines.append(line)
    return "\n".join(lines) + "\n"


def _lines(run: GateRun, changes: Sequence[LabelChange] | None, since: str) -> Iterator[str]:
    score, summary, tolerance = run.state.score, run.summary, run.state.config.risk_tolerance
    yield f"## Reliability gate: {score.decision}"
    yield ""
    yield f"Use case: {escape(summary.use_case)}. Reason: {escape(score.reason)}"
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
    for name, meaning in COUNTS.items():
        if name in ("prompts", "answered") or getattr(score, name):
            yield f"| {meaning} | {getattr(score, name)} |"
    yield from _changed(changes, since)
    listed = findings(run.state)
    yield from _claims("Unsupported claims", listed, "unsupported")
    yield from _claims("Weakly supported claims", listed, "weakly_supported")
    held = quarantined(run)
    if held:
        yield ""
        yield "### No evidence: documents with instructions to a model"
        yield ""
        yield from (f"- document {escape(each.document)}: {escape(each.detail)}" for each in held[:ROWS])
    yield ""
    yield (
        f"Run {escape(run.run_id)}, model under test {escape(summary.target)}, judged by {escape(summary.judge)}, "
        f"evidence {escape(summary.evidence_digest[:12])}"
    )


def _changed(changes: Sequence[LabelChange] | None, since: str) -> Iterator[str]:
    if changes is None:
        return
    worse = [change for change in changes if change.is_worse]
    yield ""
    yield f"### Since run {escape(since)}"
    yield ""
    yield f"{len(worse)} claims got worse, {len(changes) - len(worse)} better."
    for title, chosen in (("worse", worse), ("better", [change for change in changes if not change.is_worse])):
        if chosen:
            yield ""
        for change in chosen[:ROWS]:
            labels = " → ".join((label or "not said").replace("_", " ") for label in (change.label_a, change.label_b))
            yield f"- {title}, {labels}: {escape(change.claim_b or change.claim)} (asked: {escape(change.prompt)})"


def _claims(title: str, listed: Sequence[Finding], label: Label) -> Iterator[str]:
    chosen = [finding for finding in listed if finding.verdict.label == label]
    if not chosen:
        return
    yield ""
    yield f"### {title}"
    for finding in chosen[:ROWS]:
        yield ""
        yield f"Claim {escape(finding.claim.id)}: **{escape(finding.claim.text) or '–'}**"
        yield ""
        yield f"- asked: {escape(finding.prompt.text)}"
        yield f"- why ({finding.kind}): {escape(finding.verdict.reasons[0].detail)}"
        yield f"- the documents say: {_evidence(finding)}"
    if len(chosen) > ROWS:
        yield ""
        yield f"… and {len(chosen) - ROWS} more"


def _evidence(finding: Finding) -> str:
    if finding.passage is None:
        return "nothing"
    place = escape(" · ".join(part for part in (finding.passage.chunk.document, finding.heading) if part))
    quote = escape(finding.verdict.quote)
    return f"“{quote}” ({place})" if quote else place
