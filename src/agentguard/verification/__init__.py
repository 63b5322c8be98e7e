"""Judging one tool call: profiles in, verdicts out."""

from agentguard.verification.engine import VerificationEngine
from agentguard.verification.profile import ToolProfile
from agentguard.verification.profile_loading import load_profiles
from agentguard.verification.types import SignalResult, ToolCall, VerificationResult, VerificationTier

__all__ = [
    "SignalResult",
    "ToolCall",
    "ToolProfile",
    "VerificationEngine",
    "VerificationResult",
    "VerificationTier",
    "load_profiles",
]
