"""Stop an agent by a callback handler when a tool's result is fabricated. Offline: a script stands for the model."""

from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolCall

from agentguard.errors import ResultBlocked
from agentguard.integrations.callbacks import GuardCallbackHandler
from agentguard.verification import VerificationEngine


def get_weather(city: str) -> dict[str, str]:
    """The weather of a city."""
    return {"city": "Rome", "condition": "mild"}  # not what was asked for, and no temperature


Model = type("Model", (GenericFakeChatModel,), {"bind_tools": lambda self, tools, **options: self})
call = AIMessage("", tool_calls=[ToolCall(name="get_weather", args={"city": "Oslo"}, id="call-1")])
engine = VerificationEngine()
engine.register_tool_profile("get_weather", required_fields=["temperature"], echoes={"city": "city"})
agent = create_agent(Model(messages=iter([call, AIMessage("It is mild in Oslo.")])), [get_weather])
try:
    agent.invoke({"messages": ["Oslo?"]}, {"callbacks": [GuardCallbackHandler(engine, raise_on_block=True)]})
except ResultBlocked as blocked:
    print(blocked)
