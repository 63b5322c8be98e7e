"""Runs of real ADK agents on a model that reads from a script; nothing leaves the machine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai.types import Content, FunctionCall, Part


class ScriptedModel(BaseLlm):
    """Makes these calls in its first turn (name, arguments), and then says "done"."""

    calls: Any

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[Any]:
        parts = [
            Part(function_call=FunctionCall(name=name, args=args, id=f"call-{n}"))
            for n, (name, args) in enumerate(self.calls)
        ]
        asked = any(part.function_call for content in llm_request.contents for part in content.parts)
        yield LlmResponse(content=Content(role="model", parts=[Part(text="done")] if asked else parts))


def runner_of(
    tools: list[Any], *plugins: Any, calls: Any = (("lookup", {"key": 3}),), **options: Any
) -> InMemoryRunner:
    """A runner of an agent that calls once, and is done."""
    agent = LlmAgent(name="clerk", model=ScriptedModel(model="scripted", calls=calls), tools=tools, **options)
    return InMemoryRunner(agent, app_name="tests", plugins=list(plugins))


async def responses_of(runner: InMemoryRunner, kind: str, session_id: str = "talk-5") -> list[Any]:
    """Run, and give the responses of the tools as the model was shown them."""
    await runner.session_service.create_session(app_name="tests", user_id="ada", session_id=session_id)
    message = Content(role="user", parts=[Part(text="go")])
    how: Any = {"user_id": "ada", "session_id": session_id, "new_message": message}
    events = list(runner.run(**how)) if kind == "sync" else [event async for event in runner.run_async(**how)]
    return [response.response for event in events for response in event.get_function_responses()]
