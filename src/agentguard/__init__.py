"""agentguard: verifies what an agent's tools return, before the agent believes it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from agentguard.guard import Guard
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
    "Guard",
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

_ERRORS = frozenset(name for name in __all__ if name.endswith(("Error", "Problem", "Problems", "Blocked")))


def __getattr__(name: str) -> Any:
    """Load a name when it is asked for: a process that only asks for the version does without the engine."""
    if name == "__version__":
        from agentguard._version import installed_version

        return installed_version()
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = (
        "agentguard.errors" if name in _ERRORS else "agentguard.guard" if name == "Guard" else "agentguard.verification"
    )
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
