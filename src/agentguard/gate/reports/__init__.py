"""What is told of a finished run: JSON, JUnit XML, Markdown, the explanation of one claim; and the claims of all."""

from agentguard.gate.reports._findings import (
    Explanation,
    Finding,
    Marked,
    MarkedPassage,
    Said,
    claims_said,
    explain,
    findings,
)
from agentguard.gate.reports._formats import evaluation, junit_xml, markdown_summary, summary_as_dict

__all__ = [
    "Explanation",
    "Finding",
    "Marked",
    "MarkedPassage",
    "Said",
    "claims_said",
    "evaluation",
    "explain",
    "findings",
    "junit_xml",
    "markdown_summary",
    "summary_as_dict",
]
