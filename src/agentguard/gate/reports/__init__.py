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
from agentguard.gate.reports._formats import (
    COUNTS,
    evaluation,
    junit_xml,
    markdown_summary,
    quarantined,
    summary_as_dict,
)
from agentguard.gate.reports._pages import dashboard, html_page

__all__ = [
    "COUNTS",
    "Explanation",
    "Finding",
    "Marked",
    "MarkedPassage",
    "RecordedClaim",
    "dashboard",
    "evaluation",
    "explain",
    "findings",
    "html_page",
    "junit_xml",
    "markdown_summary",
    "quarantined",
    "recorded_claims",
    "summary_as_dict",
]
