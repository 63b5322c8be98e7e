"""Reports as one file of HTML: verdicts, worst calls, drift, and what was learned of each tool.

>>> from agentguard.verification import VerificationEngine
>>> from agentguard.verification.types import ToolCall
>>> builder, engine = ReportBuilder(), VerificationEngine()
>>> call = ToolCall("add", {"a": 1, "b": 2}, 3)
>>> builder.add(call, engine.verify(call.tool, args=call.args, result=call.result))
>>> page = html_of(builder.data(title="One call", source="by hand"))
>>> "<script" in page, page.count("<h1>")
(False, 1)
"""

from agentguard.report._builder import ReportBuilder
from agentguard.report._page import html_of
from agentguard.report._records import Claims, ReportData, UnsupportedClaim
from agentguard.report._stored import ReviewedCall, report_of_store

__all__ = [
    "Claims",
    "ReportBuilder",
    "ReportData",
    "ReviewedCall",
    "UnsupportedClaim",
    "html_of",
    "report_of_store",
]
