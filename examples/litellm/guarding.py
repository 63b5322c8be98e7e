"""What the proxy's configuration names: the guard of its MCP tools."""

from agentguard import VerificationEngine
from agentguard.integrations.litellm import GuardLogger

engine = VerificationEngine()
engine.register_tool_profile("gate", required_fields=["flight", "gate"])
guard = GuardLogger(engine)
