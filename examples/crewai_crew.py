"""A tool of a CrewAI agent makes a result up once: the model reads the block, and calls again."""

import json

from crewai import Agent, BaseLLM, Crew, Task
from crewai.tools import tool

from agentguard import VerificationEngine
from agentguard.integrations.crewai import guard_crew

engine = VerificationEngine()
engine.register_tool_profile("meter", required_fields=["house", "kwh"], has_network_io=False)
answers = iter(['{"note": "Consumption is normal."}', '{"house": 12, "kwh": 318}'])


class Scripted(BaseLLM):
    """A model that calls until a call succeeds, and then says what it learned."""

    def supports_function_calling(self):
        """It has tools of its own, as models of today have."""
        return True

    def call(self, messages, *args, **kwargs):
        """The next line."""
        results = [message["content"] for message in messages if message["role"] == "tool"]
        if results and "blocked" not in results[-1]:
            return f"House 12 used {json.loads(results[-1])['kwh']} kWh."
        print(results[-1] if results else "The model asks for the meter.")
        call = {"name": "meter", "arguments": json.dumps({"house": 12})}
        return [{"id": f"call-{len(messages)}", "type": "function", "function": call}]


@tool("meter")
def meter(house: int) -> str:
    """Reads the meter of a house."""
    return next(answers)


agent = Agent(role="clerk", goal="Answer.", backstory="Careful.", llm=Scripted(model="scripted"), tools=[meter])
crew = Crew(agents=[agent], tasks=[Task(description="How much?", expected_output="kWh", agent=agent)])
with guard_crew(engine, crew):
    print("Recovered:", crew.kickoff())
