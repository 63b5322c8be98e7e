"""What is told of a finished run: JSON, JUnit XML, Markdown, and the explanation of one claim."""

from agentguard.gate.reports.as_json import evaluation, summary_as_dict
from agentguard.gate.reports.explain import Explanation, Marked, MarkedPassage, explain
from agentguard.gate.reports.findings import Finding, findings
from agentguard.gate.reports.junit import junit_xml
from agentguard.gate.reports.markdown import markdown_summary

__all__ = [
    "Explanation",
    "Finding",
    "Marked",
    "MarkedPassage",
    "evaluation",
    "explain",
    "findings",
    "junit_xml",
    "markdown_summary",
    "summary_as_dict",
]
