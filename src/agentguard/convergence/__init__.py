"""Whether a verification session has looked closely enough to stop: judged by models, bounded by rules."""

from agentguard.convergence._evaluator import aevaluate, apply_rules, evaluate
from agentguard.convergence._reply import parse_reply
from agentguard.convergence._types import (
    ConvergenceConfig,
    ConvergenceContext,
    ConvergenceEvaluation,
    Criterion,
    Cut,
    Issue,
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
