"""The judge that needs no model: split by grammar, verify by what claim and passage state."""

from agentguard.gate.rules._judge import RuleJudge

__all__ = ["RuleJudge"]
