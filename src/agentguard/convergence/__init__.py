"""Whether a verification session has looked closely enough to stop: judged by models, bounded by rules."""

from agentguard.convergence.config import ConvergenceConfig
from agentguard.convergence.evaluator import aevaluate, evaluate
from agentguard.convergence.parsing import parse_reply
from agentguard.convergence.rules import apply_rules
from agentguard.convergence.session import ConvergenceContext, Issue
from agentguard.convergence.types import (
    ConvergenceEvaluation,
    Criterion,
    Cut,
    JudgeReply,
    Opinion,
    RuleAssessment,
)

__all__ = [
    "ConvergenceConfig",
    "ConvergenceContext",
    "ConvergenceEvaluation",
    "Criterion",
    "Cut",
    "Issue",
    "JudgeReply",
    "Opinion",
    "RuleAssessment",
    "aevaluate",
    "apply_rules",
    "evaluate",
    "parse_reply",
]
