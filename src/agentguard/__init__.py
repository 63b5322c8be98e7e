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
    Change,
    DeclaredEcho,
    Feedback,
    SignalResult,
    ToolProfile,
    VerificationEngine,
    VerificationResult,
    VerificationTier,
    load_profiles,
)

__all__ = [
    "AgentGuardError",
    "Change",
    "ConfigurationError",
    "DataError",
    "DeclaredEcho",
    "Feedback",
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


def __getattr__(name: str) -> str:
    """``__version__``, read when it is asked for: the distribution's metadata is a file."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from agentguard._version import installed_version

    return installed_version()
