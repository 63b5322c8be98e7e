"""The reliability gate: what a model claims, held against trusted documents, before it is released.

A run goes through six stages: prompts, the model's responses, their claims, the evidence for each, a verdict on each,
a score and the decision: deploy, warn or block. Every step is recorded.
"""

from agentguard.gate._config import GateConfig, load_config, parse_config
from agentguard.gate._run import GateRun, Services, evaluate, open_library, open_services, read_run
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
    Reason,
    Response,
    Score,
    Target,
)
from agentguard.gate.ingest._ingest import IngestReport, ingest

__all__ = [
    "Case",
    "Chunk",
    "Claim",
    "ClaimVerdict",
    "Document",
    "Evidence",
    "GateConfig",
    "GateRun",
    "IngestReport",
    "Judge",
    "Passage",
    "Prompt",
    "Reason",
    "Response",
    "Score",
    "Services",
    "Target",
    "evaluate",
    "ingest",
    "load_config",
    "open_library",
    "open_services",
    "parse_config",
    "read_run",
]
