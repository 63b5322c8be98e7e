"""awesome-agentguard 0.2.0 with the signature that trials ask for; imported by the Python of its own environment."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["make"]

NEUTRAL_MS = (
    300.0  # it cannot take a time that is unknown; as in the script for recorded calls, the same for every call
)


class RivalEngine:
    """Its engine with default settings and no profile; a label has no call that it belongs to."""

    def __init__(self) -> None:
        self._engine: Any = import_module("agentguard.verification").VerificationEngine()

    def verify(
        self,
        tool: str,
        *,
        args: Any,
        result: Any,
        execution_time_ms: float | None,
        session_id: str | None,
        call_id: str | None = None,
        learn: bool = True,
        is_error: bool = False,
    ) -> Any:
        """Judge a call; it always learns."""
        ms = NEUTRAL_MS if execution_time_ms is None else execution_time_ms
        return self._engine.verify(tool, result, ms, args=args, session_id=session_id)

    def record_feedback(
        self, tool: str, confidence_score: float, was_hallucination: bool, call_id: str | None = None
    ) -> None:
        """Label a call."""
        self._engine.record_feedback(tool, confidence_score, was_hallucination)


def make() -> RivalEngine:
    """A fresh engine."""
    return RivalEngine()
