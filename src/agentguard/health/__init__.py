"""How a model is doing: its latency, token rate, manner and structure against its own baseline.

Heuristics: a score says that a call is unlike the model's other calls, not that its response is wrong.
"""

from agentguard.health._engines import (
    baseline_engine,
    fingerprint_engine,
    health_score_engine,
    latency_engine,
    structure_engine,
    token_rate_engine,
)
from agentguard.health._measuring import Measurement, Reply
from agentguard.health._monitor import LLMMonitor
from agentguard.health._types import (
    EngineResult,
    Fingerprint,
    HealthEngine,
    HealthResult,
    HealthScore,
    LLMCall,
    ModelBaseline,
)

__all__ = [
    "EngineResult",
    "Fingerprint",
    "HealthEngine",
    "HealthResult",
    "HealthScore",
    "LLMCall",
    "LLMMonitor",
    "Measurement",
    "ModelBaseline",
    "Reply",
    "baseline_engine",
    "fingerprint_engine",
    "health_score_engine",
    "latency_engine",
    "structure_engine",
    "token_rate_engine",
]
