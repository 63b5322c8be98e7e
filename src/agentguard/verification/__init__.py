"""Judging one tool call: profiles in, verdicts out."""

from agentguard.verification._case import Case
from agentguard.verification._changes import Change
from agentguard.verification._engine import VerificationEngine
from agentguard.verification._method import Check

from .profile import DeclaredEcho, ToolProfile, load_profiles
from .types import Feedback, Settings, SignalResult, ToolCall, VerificationResult, VerificationTier

__all__ = [
    "Case",
    "Change",
    "Check",
    "DeclaredEcho",
    "Feedback",
    "Settings",
    "SignalResult",
    "ToolCall",
    "ToolProfile",
    "VerificationEngine",
    "VerificationResult",
    "VerificationTier",
    "load_profiles",
]
