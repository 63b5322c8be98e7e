"""Models in their two roles: under test, and as judge."""

from agentguard.gate.models._claims import claim_judge

__all__ = ["claim_judge"]
