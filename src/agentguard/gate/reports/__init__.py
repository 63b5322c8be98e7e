"""What is told of a finished run: JSON, JUnit XML, Markdown, the explanation of one claim; and the claims of all."""

from agentguard.gate.reports.as_json import evaluation, summary_as_dict
from agentguard.gate.reports.explain import Explanation, Marked, MarkedPassage, explain
from agentguard.gate.reports.findings import Finding, findings
from agentguard.gate.reports.junit import junit_xml
from agentguard.gate.reports.markdown import markdown_summary
from agentguard.gate.reports.said import Said, claims_said

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
