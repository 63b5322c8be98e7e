"""Logs of tool calls: read from files, replayed through an engine."""

from agentguard.traces._formats import Skip
from agentguard.traces._read import BrokenLine, Reading, TraceRow, find_traces, read_traces
from agentguard.traces._replay import Offender, ReplaySummary, Tally, ToolSummary, replay
from agentguard.verification.types import VerdictCounts

__all__ = [
    "BrokenLine",
    "Offender",
    "Reading",
    "ReplaySummary",
    "Skip",
    "Tally",
    "ToolSummary",
    "TraceRow",
    "VerdictCounts",
    "find_traces",
    "read_traces",
    "replay",
]
