"""Engines for scripts that take ``--engine MODULE:FACTORY``."""

from __future__ import annotations

from agentguard.verification import Change, VerificationEngine

__all__ = ["reference", "reviewed"]


def reference() -> VerificationEngine:
    """A fresh engine that follows the published document."""
    return VerificationEngine(mode="reference")


def reviewed() -> VerificationEngine:
    """A fresh default engine with a reviewer who takes each change for genuine that it tells of.

    Which is the right thing to say where nothing but genuine calls is learned.
    """
    engine = VerificationEngine()

    def review(change: Change) -> None:
        if change.state == "open":
            engine.adopt(change)

    engine.on_change(review)
    return engine
