"""The reliability gate: what a model claims, held against trusted documents, before it is released.

A run goes through six stages: prompts, the model's responses, their claims, the evidence for each, a verdict on each,
a score and the decision: deploy, warn or block. Every step is recorded.
"""

from agentguard.gate.config import GateConfig
from agentguard.gate.config_file import load_config, parse_config
from agentguard.gate.ingest.ingesting import IngestReport, ingest
from agentguard.gate.judging import Case, Judge, Target
from agentguard.gate.pipeline import evaluate
from agentguard.gate.runs import GateRun, read_run
from agentguard.gate.services import Services, open_library, open_services
from agentguard.gate.types import (
    Chunk,
    Claim,
    ClaimVerdict,
    Document,
    Evidence,
    Passage,
    Prompt,
    Reason,
    Response,
    Score,
)

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
