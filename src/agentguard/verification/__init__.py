"""Judging one tool call: profiles in, verdicts out."""

from agentguard.verification.case import Case
from agentguard.verification.changes import Change
from agentguard.verification.engine import VerificationEngine
from agentguard.verification.method import Check

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
