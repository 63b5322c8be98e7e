"""Formats of other programs in which tool calls and words are found: how each is recognised, and read."""

from __future__ import annotations

from typing import Any, Final

from agentguard.traces._formats._calls import (
    Call,
    Format,
    Found,
    Offered,
    OfferedTool,
    Reader,
    Record,
    Said,
    Skip,
    Skipped,
)
from agentguard.traces._formats._langfuse import LANGFUSE
from agentguard.traces._formats._langsmith import LANGSMITH
from agentguard.traces._formats._messages import ANTHROPIC, OPENAI
from agentguard.traces._formats._spans import OTLP, ROWS
from agentguard.traces._formats._transcripts import CLAUDE_CODE, CODEX
from agentguard.traces._formats._words import tools_in

__all__ = [
    "FORMATS",
    "Call",
    "Format",
    "Found",
    "Offered",
    "OfferedTool",
    "Reader",
    "Record",
    "Said",
    "Skip",
    "Skipped",
    "recognised",
    "tools_in",
]

FORMATS: Final = {one.name: one for one in (OTLP, ROWS, LANGSMITH, LANGFUSE, OPENAI, ANTHROPIC, CLAUDE_CODE, CODEX)}
"""The formats by name."""


def recognised(value: Any) -> Format | None:
    """The format of a record; None where none knows it.

    >>> recognised({"role": "user", "content": "Is it cold in Oslo?"}).name
    'openai'
    """
    return next((one for one in FORMATS.values() if one.recognises(value)), None)
