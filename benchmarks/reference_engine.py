"""The engine in reference mode, for scripts that take ``--engine MODULE:FACTORY``."""

from __future__ import annotations

from agentguard.verification import VerificationEngine

__all__ = ["make"]


def make() -> VerificationEngine:
    """A fresh engine that follows the published document."""
    return VerificationEngine(mode="reference")
