"""Logs of tool calls: read from files, replayed through an engine."""

from agentguard.traces.read import find_traces, read_traces
from agentguard.traces.replay import Tally, replay
from agentguard.traces.row import BrokenLine, TraceRow
from agentguard.traces.summary import Offender, ReplaySummary, ToolSummary, VerdictCounts

__all__ = [
    "BrokenLine",
    "Offender",
    "ReplaySummary",
    "Tally",
    "ToolSummary",
    "TraceRow",
    "VerdictCounts",
    "find_traces",
    "read_traces",
    "replay",
]
