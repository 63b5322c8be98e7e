"""A tool of a Microsoft Agent Framework agent makes a result up once: the model reads the block, and calls again."""

import asyncio
import json

from agent_framework import Agent, BaseChatClient, ChatResponse, Content, FunctionInvocationLayer, Message

from agentguard import VerificationEngine
from agentguard.integrations.agent_framework import GuardMiddleware

engine = VerificationEngine()
engine.register_tool_profile("seats", required_fields=["room", "free"], has_network_io=False)
answers = iter([{"note": "The room is rarely full."}, {"room": "B2", "free": 4}])


class Scripted(FunctionInvocationLayer, BaseChatClient):
    """A model that calls until a call succeeds, and then says what it learned."""

    async def _inner_get_response(self, *, messages, stream, options, **kwargs):
        last = messages[-1].contents[-1]
        if last.type == "function_result" and last.result.startswith("{"):
            answer = json.loads(last.result)
            said = Content.from_text(f"{answer['room']} has {answer['free']} free seats.")
        else:
            print(last.result if last.type == "function_result" else "The model asks for the seats.")
            said = Content.from_function_call(f"call-{len(messages)}", "seats", arguments={"room": "B2"})
        return ChatResponse(messages=[Message("assistant", [said])])


def seats(room: str) -> dict:
    """How many seats are free."""
    return next(answers)


agent = Agent(Scripted(), tools=[seats], middleware=[GuardMiddleware(engine)])
print("Recovered:", asyncio.run(agent.run("Is there a seat in B2?")))
