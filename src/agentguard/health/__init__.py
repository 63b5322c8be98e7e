"""How a model is doing: its latency, token rate, manner and structure against its own baseline.

Heuristics: a score says that a call is unlike the model's other calls, not that its response is wrong.
"""

from agentguard.health._measuring import Measurement, Reply
from agentguard.health._monitor import LLMMonitor
from agentguard.health._types import EngineResult, Fingerprint, HealthEngine, HealthResult, LLMCall, ModelBaseline

__all__ = [
    "EngineResult",
    "Fingerprint",
    "HealthEngine",
    "HealthResult",
    "LLMCall",
    "LLMMonitor",
    "Measurement",
    "ModelBaseline",
    "Reply",
]
