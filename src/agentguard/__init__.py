"""agentguard: verifies what an agent's tools return, before the agent believes it."""

from agentguard.errors import (
    AgentGuardError,
    ConfigurationError,
    DataError,
    FileProblems,
    GateError,
    Problem,
    ProfileError,
    ResultBlocked,
    StoreError,
)
from agentguard.verification import (
    SignalResult,
    ToolProfile,
    VerificationEngine,
    VerificationResult,
    VerificationTier,
    load_profiles,
)

__all__ = [
    "AgentGuardError",
    "ConfigurationError",
    "DataError",
    "FileProblems",
    "GateError",
    "Problem",
    "ProfileError",
    "ResultBlocked",
    "SignalResult",
    "StoreError",
    "ToolProfile",
    "VerificationEngine",
    "VerificationResult",
    "VerificationTier",
    "load_profiles",
]
