"""The judge that needs no model: splits by grammar, verifies by what claim and passage state."""

from agentguard.gate.rules._judge import RuleJudge

__all__ = ["RuleJudge"]
