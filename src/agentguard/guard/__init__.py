"""Verdicts turned into actions by rules: what every place that stands between an agent and its tools shares.

>>> from agentguard.verification import VerificationEngine
>>> guard = Guard(VerificationEngine(), on_flag="annotate", on_block="replace")
>>> guard.judge(Outcome("add", args={"a": 1, "b": 2}, result=3)).action
'pass'
"""

from agentguard.guard._guard import (
    Action,
    Artifacts,
    Guard,
    Judgement,
    OnFlag,
    Outcome,
    Rules,
    artifact_of,
)

__all__ = [
    "Action",
    "Artifacts",
    "Guard",
    "Judgement",
    "OnFlag",
    "Outcome",
    "Rules",
    "artifact_of",
]
