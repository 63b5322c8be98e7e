"""Detectors for what the text of a result or an answer says: pure functions of text, each usable alone.

One module a detector (``injection``, ``pii``, ``secrets``, ``grounding``, ``json_repair``, and ``answers``); what they
share is here: findings, a scanner of several detectors in one pass, redaction.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentguard.content import answers, grounding, injection, json_repair, pii, secrets
    from agentguard.content._checking import Checked, Looked, check
    from agentguard.content._findings import KINDS, Finding, Kind
    from agentguard.content._redaction import Redaction, ValueRedaction, Vault, redact_value, replace
    from agentguard.content._results import Found, found_in, redacted
    from agentguard.content._scanner import Scanner, scan_all

__all__ = [
    "KINDS",
    "Checked",
    "Finding",
    "Found",
    "Kind",
    "Looked",
    "Redaction",
    "Scanner",
    "ValueRedaction",
    "Vault",
    "answers",
    "check",
    "found_in",
    "grounding",
    "injection",
    "json_repair",
    "pii",
    "redact_value",
    "redacted",
    "replace",
    "scan_all",
    "secrets",
]

# Loaded when they are asked for: `import agentguard` needs none of the patterns.
_MODULES = frozenset({"answers", "grounding", "injection", "json_repair", "pii", "secrets"})
_HOMES = {
    **dict.fromkeys(("Checked", "Looked", "check"), "_checking"),
    **dict.fromkeys(("KINDS", "Finding", "Kind"), "_findings"),
    **dict.fromkeys(("Redaction", "ValueRedaction", "Vault", "redact_value", "replace"), "_redaction"),
    **dict.fromkeys(("Found", "found_in", "redacted"), "_results"),
    **dict.fromkeys(("Scanner", "scan_all"), "_scanner"),
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
