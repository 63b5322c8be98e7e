"""Engines for scripts that take ``--engine MODULE:FACTORY``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentguard.verification import Change, VerificationEngine
from agentguard.verification import _causes as causes
from agentguard.verification import _relations as relations
from agentguard.verification.weights import CHANGE_CONSTANT

__all__ = ["FAMILIES", "reference", "reviewed"]

#: The families of relations, and what each is replaced by where the engine is to do without it.
FAMILIES: dict[str, tuple[Any, str, Any]] = {
    **{
        family.__name__: (relations, "FAMILIES", tuple(other for other in relations.FAMILIES if other is not family))
        for family in relations.FAMILIES
    },
}


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


def __getattr__(name: str) -> Callable[[], VerificationEngine]:
    """``without_Total``: what makes a reviewed engine in a process that does without that family of relations.

    ``doubt_-0.3``: what makes a default engine in a process that takes a change for a fault by so many nats less.
    """
    if name.startswith("doubt_"):
        vars(causes)["CHANGE_CONSTANT"] = CHANGE_CONSTANT + float(name.removeprefix("doubt_"))
        return VerificationEngine
    family = name.removeprefix("without_")
    if family not in FAMILIES:
        raise AttributeError(name)

    def factory() -> VerificationEngine:
        setattr(*FAMILIES[family])
        return reviewed()

    return factory
