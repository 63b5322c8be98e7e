"""A tool of a Haystack agent makes a result up once: the model reads the block, and calls again."""

import json
from typing import Annotated

from haystack import component
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import tool

from agentguard import Guard, VerificationEngine
from agentguard.integrations.functions import guarded

engine = VerificationEngine()
engine.register_tool_profile("parcel", required_fields=["number", "place"], has_network_io=False)
answers = iter(['{"note": "It should be on its way."}', '{"number": 77, "place": "Ghent"}'])


@component
class Scripted:
    """A model that calls until a call succeeds, and then says what it learned."""

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: list | None = None, **kwargs) -> dict:
        result = messages[-1].tool_call_result
        if result and "blocked" not in result.result:
            place = json.loads(result.result)["place"]
            return {"replies": [ChatMessage.from_assistant(f"Parcel 77 is in {place}.")]}
        print(result.result if result else "The model asks for the parcel.")
        call = ToolCall("parcel", {"number": 77}, id=f"call-{len(messages)}")
        return {"replies": [ChatMessage.from_assistant(tool_calls=[call])]}


@tool
@guarded(Guard(engine, on_block="replace"))
def parcel(number: Annotated[int, "its number"]) -> str:
    """Where a parcel is."""
    return next(answers)


agent = Agent(chat_generator=Scripted(), tools=[parcel])
print("Recovered:", agent.run(messages=[ChatMessage.from_user("Where is parcel 77?")])["last_message"].text)
