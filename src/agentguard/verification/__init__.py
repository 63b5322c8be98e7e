"""Judging one tool call: profiles in, verdicts out."""

from agentguard.verification._changes import Change
from agentguard.verification._engine import VerificationEngine

from .profile import DeclaredEcho, ToolProfile, load_profiles
from .signals import Abstain, Broken, Kept, Measured, Past, Signal
from .types import Feedback, Settings, SignalResult, ToolCall, VerificationResult, VerificationTier

__all__ = [
    "Abstain",
    "Broken",
    "Change",
    "DeclaredEcho",
    "Feedback",
    "Kept",
    "Measured",
    "Past",
    "Settings",
    "Signal",
    "SignalResult",
    "ToolCall",
    "ToolProfile",
    "VerificationEngine",
    "VerificationResult",
    "VerificationTier",
    "load_profiles",
]
