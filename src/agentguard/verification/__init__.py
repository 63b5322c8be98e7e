"""Judging one tool call: profiles in, verdicts out."""

from agentguard.verification.case import Case
from agentguard.verification.changes import Change
from agentguard.verification.engine import VerificationEngine
from agentguard.verification.method import Check
from agentguard.verification.profile import DeclaredEcho, ToolProfile
from agentguard.verification.profile_loading import load_profiles
from agentguard.verification.settings import Settings
from agentguard.verification.types import Feedback, SignalResult, ToolCall, VerificationResult, VerificationTier

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
