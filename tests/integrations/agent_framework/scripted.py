"""Runs of real agents on a model that reads from a script; nothing leaves the machine."""

from __future__ import annotations

from typing import Any

from agent_framework import Agent, BaseChatClient, ChatResponse, Content, FunctionInvocationLayer, Message


class ScriptedClient(FunctionInvocationLayer, BaseChatClient):
    """Makes these calls in its first turn (name, arguments), and then says "done"."""

    def __init__(self, *calls: tuple[str, Any]) -> None:
        super().__init__(function_invocation_configuration={"include_detailed_errors": True})
        self.calls, self.turns = calls, 0

    async def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **kwargs: Any) -> ChatResponse:
        self.turns += 1
        contents = [
            Content.from_function_call(f"call-{n}", name, arguments=args) for n, (name, args) in enumerate(self.calls)
        ]
        said = contents if self.turns == 1 else [Content.from_text("done")]
        return ChatResponse(messages=[Message("assistant", said)])


async def results_of(
    tools: list[Any], *middleware: Any, calls: Any = (("lookup", {"key": 3}),), session: Any = None
) -> list[Content]:
    """Run an agent that calls once and is done; the function results that the model was shown."""
    agent = Agent(ScriptedClient(*calls), tools=tools, middleware=list(middleware))
    response = await agent.run("go", session=session)
    contents = [content for message in response.messages for content in message.contents]
    return [content for content in contents if content.type == "function_result"]
