"""What a phrase is that gives an injection away: its category, of nine, and its weight.

A weight is evidence in nats (log-odds): by itself, one of ``STRONG`` makes a text an injection, one of ``MEDIUM``
suspicious; ``LIGHT`` and ``WEAK`` ones count beside others only.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "CATEGORIES",
    "CONTEXT_EXFILTRATION",
    "DELIMITER_ATTACK",
    "ENCODING_BYPASS",
    "INDIRECT_INJECTION",
    "INSTRUCTION_MANIPULATION",
    "LIGHT",
    "MEDIUM",
    "MULTI_TURN_ATTACK",
    "PAYLOAD_INJECTION",
    "STRONG",
    "SYSTEM_OVERRIDE",
    "TOOL_ABUSE",
    "WEAK",
    "Trigger",
]

CATEGORIES = (
    SYSTEM_OVERRIDE,
    CONTEXT_EXFILTRATION,
    TOOL_ABUSE,
    INSTRUCTION_MANIPULATION,
    DELIMITER_ATTACK,
    ENCODING_BYPASS,
    MULTI_TURN_ATTACK,
    INDIRECT_INJECTION,
    PAYLOAD_INJECTION,
) = (
    "system override",
    "context exfiltration",
    "tool/function abuse",
    "instruction manipulation",
    "delimiter attack",
    "encoding bypass",
    "multi-turn attack",
    "indirect injection",
    "payload injection",
)
STRONG, MEDIUM, LIGHT, WEAK = 6.0, 4.0, 3.0, 2.0


class Trigger(NamedTuple):
    """A phrase: its name, its category, what it weighs in nats, why it counts, and its pattern for re2."""

    name: str
    category: str
    weight: float
    detail: str
    regex: str
