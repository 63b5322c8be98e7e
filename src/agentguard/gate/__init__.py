"""The reliability gate: hold what a model claims against trusted documents before it is released.

A run goes through six stages: prompts, the model's responses, their claims, the evidence for each, a verdict on each,
a score and the decision: deploy, warn or block. Every step is recorded.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentguard.gate._config import GateConfig, load_config, parse_config
    from agentguard.gate._history import Comparison, Regression, Trend, compare, regression, trend
    from agentguard.gate._run import (
        GateRun,
        GateState,
        Services,
        evaluate,
        extract_claims,
        generate_prompts,
        open_library,
        open_services,
        read_run,
        retrieve_evidence,
        run_model,
        score_risk,
        verify_claims,
    )
    from agentguard.gate._types import (
        Case,
        Chunk,
        Claim,
        ClaimVerdict,
        Document,
        Evidence,
        Judge,
        Passage,
        Prompt,
        PromptSet,
        Reason,
        Response,
        Score,
        Target,
    )
    from agentguard.gate.documents._ingest import IngestReport, ingest
    from agentguard.gate.records import open_records

__all__ = [
    "Case",
    "Chunk",
    "Claim",
    "ClaimVerdict",
    "Comparison",
    "Document",
    "Evidence",
    "GateConfig",
    "GateRun",
    "GateState",
    "IngestReport",
    "Judge",
    "Passage",
    "Prompt",
    "PromptSet",
    "Reason",
    "Regression",
    "Response",
    "Score",
    "Services",
    "Target",
    "Trend",
    "compare",
    "evaluate",
    "extract_claims",
    "generate_prompts",
    "ingest",
    "load_config",
    "open_library",
    "open_records",
    "open_services",
    "parse_config",
    "read_run",
    "regression",
    "retrieve_evidence",
    "run_model",
    "score_risk",
    "trend",
    "verify_claims",
]

# Loaded when one of their names is asked for: a process that reads one document needs none of the others.
_MODULES = {
    "_config": ("GateConfig", "load_config", "parse_config"),
    "_history": ("Comparison", "Regression", "Trend", "compare", "regression", "trend"),
    "_run": (
        "GateRun",
        "GateState",
        "Services",
        "evaluate",
        "extract_claims",
        "generate_prompts",
        "open_library",
        "open_services",
        "read_run",
        "retrieve_evidence",
        "run_model",
        "score_risk",
        "verify_claims",
    ),
    "documents._ingest": ("IngestReport", "ingest"),
    "records": ("open_records",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, '_types')}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
