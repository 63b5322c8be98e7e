"""Evaluate whether a verification session has looked closely enough to stop: models judge, rules advise or veto."""

from agentguard.convergence._evaluator import aevaluate, apply_rules, evaluate
from agentguard.convergence._reply import parse_reply
from agentguard.convergence._types import (
    ConvergenceConfig,
    ConvergenceContext,
    ConvergenceEvaluation,
    Criterion,
    Issue,
    JudgeReply,
    Opinion,
    RuleAssessment,
    SamplingRequest,
)

__all__ = [
    "ConvergenceConfig",
    "ConvergenceContext",
    "ConvergenceEvaluation",
    "Criterion",
    "Issue",
    "JudgeReply",
    "Opinion",
    "RuleAssessment",
    "SamplingRequest",
    "aevaluate",
    "apply_rules",
    "evaluate",
    "parse_reply",
]
