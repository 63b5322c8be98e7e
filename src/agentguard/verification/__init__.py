"""Judging one tool call: profiles in, verdicts out."""

from agentguard.verification._changes import Change
from agentguard.verification._engine import VerificationEngine
from agentguard.verification._read_back import Reading

from .profile import (
    DeclaredConfirmation,
    DeclaredEcho,
    DeclaredRetry,
    DeclaredSecondSource,
    ToolProfile,
    load_profiles,
)
from .signals import Abstain, Broken, Kept, Measured, Past, Signal
from .types import Feedback, Settings, SignalResult, ToolCall, Trait, VerificationResult, VerificationTier

__all__ = [
    "Abstain",
    "Broken",
    "Change",
    "DeclaredConfirmation",
    "DeclaredEcho",
    "DeclaredRetry",
    "DeclaredSecondSource",
    "Feedback",
    "Kept",
    "Measured",
    "Past",
    "Reading",
    "Settings",
    "Signal",
    "SignalResult",
    "ToolCall",
    "ToolProfile",
    "Trait",
    "VerificationEngine",
    "VerificationResult",
    "VerificationTier",
    "load_profiles",
]
