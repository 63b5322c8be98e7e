"""A finished run as JUnit XML, which continuous integration shows among its tests: a claim is a test case.

An unsupported claim is a failure. A weakly supported one is skipped: it was neither confirmed nor refuted. Failures
stand for claims and say nothing of the decision, which tolerates some: that is the property ``decision`` of the suite.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

from .findings import Finding, findings

if TYPE_CHECKING:
    from agentguard.gate.runs import GateRun

__all__ = ["junit_xml"]

MOST_OF_A_NAME = 200

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WHITE = re.compile(r"\s+")


def junit_xml(run: GateRun) -> str:
    """The XML document. Characters that XML does not have are left out.

    Raises:
        GateError: where the run is not finished.
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
