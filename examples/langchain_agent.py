"""An agent whose tool result was made up: the guard blocks it, the model is told so and calls again. Offline."""

from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolCall

from agentguard import VerificationEngine
from agentguard.integrations.langchain import ToolGuardMiddleware

results = iter([{"answer": "nice"}, {"city": "Oslo", "degrees": 18}])  # the first is made up


def weather(city: str) -> dict[str, object]:
    """The weather of a city."""
    return next(results)


Model = type("Model", (GenericFakeChatModel,), {"bind_tools": lambda self, tools, **options: self})
calls = [AIMessage("", tool_calls=[ToolCall(name="weather", args={"city": "Oslo"}, id=f"call-{n}")]) for n in (1, 2)]
model = Model(messages=iter([*calls, AIMessage("It is 18 degrees in Oslo.")]))
engine = VerificationEngine()
engine.register_tool_profile("weather", required_fields=["degrees"], has_network_io=False)
agent = create_agent(model, [weather], middleware=[ToolGuardMiddleware(engine)])
for message in agent.invoke({"messages": ["How warm is it in Oslo?"]})["messages"]:
    print(message.type, "|", message.text or message.tool_calls)
