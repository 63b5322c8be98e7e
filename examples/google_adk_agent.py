"""A tool of a Google ADK agent makes a result up once: the model reads the block, and calls again."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai.types import Content, Part

from agentguard import VerificationEngine
from agentguard.integrations.google_adk import GuardPlugin

engine = VerificationEngine()
engine.register_tool_profile("departure", required_fields=["train", "leaves"], has_network_io=False)
answers = iter([{"note": "Usually on the hour."}, {"train": "ICE 593", "leaves": "14:02"}])


class Scripted(BaseLlm):
    """A model that calls until a call succeeds, and then says what it learned."""

    async def generate_content_async(self, llm_request, stream=False):
        result = llm_request.contents[-1].parts[-1].function_response
        if result and "error" not in result.response:
            part = Part(text=f"Recovered: {result.response['train']} leaves at {result.response['leaves']}.")
        else:
            print(result.response["error"] if result else "The model asks for the departure.")
            part = Part.from_function_call(name="departure", args={"train": "ICE 593"})
        yield LlmResponse(content=Content(role="model", parts=[part]))


def departure(train: str) -> dict:
    """When a train leaves."""
    return next(answers)


async def main() -> None:
    """One question to the agent."""
    agent = LlmAgent(name="clerk", model=Scripted(model="scripted"), tools=[departure])
    runner = InMemoryRunner(agent, plugins=[GuardPlugin(engine)])
    for event in await runner.run_debug("When does ICE 593 leave?", quiet=True):
        if event.is_final_response():
            print(event.content.parts[0].text)


asyncio.run(main())
