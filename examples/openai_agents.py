"""A tool of an OpenAI agent makes a result up once: the model reads the block, and calls again."""

from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

from agentguard import VerificationEngine
from agentguard.integrations.openai_agents import guard_agent

engine = VerificationEngine()
engine.register_tool_profile("order_status", required_fields=["order", "status"], has_network_io=False)
answers = iter([{"note": "It was probably shipped."}, {"order": 41, "status": "in customs"}])


@function_tool
def order_status(order: int) -> dict[str, object]:
    """Where an order is."""
    return next(answers)


calls = [[function_call("order_status", {"order": 41}, call_id=f"call-{n}")] for n in (1, 2)]
model = ScriptedModel([*calls, [assistant_message("Order 41 is in customs.")]])
agent = guard_agent(Agent("clerk", model=model, tools=[order_status]), engine)
result = Runner.run_sync(agent, "Where is order 41?", run_config=RunConfig(tracing_disabled=True))
print("The model read:", result.to_input_list()[2]["output"])
print("Recovered:", result.final_output)
