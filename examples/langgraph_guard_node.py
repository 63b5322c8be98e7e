"""Verification as a node of a graph: a made-up result is blocked, the model is told so and calls again. Offline."""

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolCall
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import tools_condition

from agentguard import VerificationEngine
from agentguard.integrations.langgraph import GuardedToolNode, GuardNode, GuardState, route_by_verdict
from agentguard.integrations.receipts import receipt_signer

results = iter([{"answer": "nice"}, {"city": "Oslo", "degrees": 18}])  # the first is made up


def weather(city: str) -> dict[str, object]:
    """The weather of a city."""
    return next(results)


calls = [AIMessage("", tool_calls=[ToolCall(name="weather", args={"city": "Oslo"}, id=f"call-{n}")]) for n in (1, 2)]
model = GenericFakeChatModel(messages=iter([*calls, AIMessage("It is 18 degrees in Oslo.")]))
engine = VerificationEngine()
engine.register_tool_profile("weather", required_fields=["degrees"], has_network_io=False)
graph = StateGraph(GuardState).add_node("model", lambda state: {"messages": model.invoke(state["messages"])})
graph.add_node("tools", GuardedToolNode([weather], engine, signer=receipt_signer()))
graph.add_node("guard", GuardNode(engine, require_receipts=True))
graph.add_edge(START, "model").add_conditional_edges("model", tools_condition).add_edge("tools", "guard")
graph.add_conditional_edges("guard", route_by_verdict, dict.fromkeys(["accept", "flag", "block"], "model"))
for message in graph.compile().invoke({"messages": ["How warm is it in Oslo?"]})["messages"]:
    print(message.type, "|", message.text or message.tool_calls)
