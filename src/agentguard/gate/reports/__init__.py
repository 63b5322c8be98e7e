"""Reports of a finished run: JSON, JUnit XML, Markdown, the explanation of one claim; and the claims of all runs."""

from agentguard.gate.reports._findings import (
    Explanation,
    Finding,
    Marked,
    MarkedPassage,
    RecordedClaim,
    explain,
    findings,
    recorded_claims,
)
from agentguard.gate.reports._formats import evaluation, junit_xml, markdown_summary, summary_as_dict

__all__ = [
    "Explanation",
    "Finding",
    "Marked",
    "MarkedPassage",
    "RecordedClaim",
    "evaluation",
    "explain",
    "findings",
    "junit_xml",
    "markdown_summary",
    "recorded_claims",
    "summary_as_dict",
]
