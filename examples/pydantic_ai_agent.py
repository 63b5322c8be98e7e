"""A tool of a pydantic-ai agent makes a result up once: the model reads the block, and calls again."""

from pydantic_ai import Agent, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from agentguard import VerificationEngine
from agentguard.integrations.pydantic_ai import GuardCapability

engine = VerificationEngine()
engine.register_tool_profile("tide", required_fields=["port", "high_water"], has_network_io=False)
answers = iter([{"note": "High tides are usually in the morning."}, {"port": "Brest", "high_water": "05:42"}])


def model(messages, info):
    """A model that calls until a call succeeds, and then says what it learned."""
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart) and last.outcome == "success":
        return ModelResponse([TextPart(f"High water at {last.content['port']} is at {last.content['high_water']}.")])
    print(last.content)
    return ModelResponse([ToolCallPart("tide", {"port": "Brest"})])


agent = Agent(FunctionModel(model), capabilities=[GuardCapability(engine)])
agent.tool_plain(name="tide")(lambda port: next(answers))
print("Recovered:", agent.run_sync("When is high water at Brest?").output)
