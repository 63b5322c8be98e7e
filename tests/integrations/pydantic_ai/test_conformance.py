"""The capability of pydantic-ai, held to the promises of integrations."""

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic_ai import Agent, ModelResponse, ModelRetry, TextPart, ToolCallPart, ToolReturn
from pydantic_ai.exceptions import CallDeferred, ToolFailed
from pydantic_ai.messages import ModelRequest, RetryPromptPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from agentguard.integrations.pydantic_ai import GuardCapability
from agentguard.testing import IntegrationConformance

from ..answers import Note, in_a_loop, lookup_of


def _defer() -> Any:
    raise CallDeferred


class TestGuardCapability(IntegrationConformance):
    """pydantic-ai, `GuardCapability`."""

    cannot: ClassVar[Any] = {
        "redacted: model": "a value that is no text, dict or list is withheld as a whole",
    }
    controls: ClassVar[Any] = {**IntegrationConformance.controls, "deferred": _defer}

    def forms(self) -> Any:
        return {
            **super().forms(), "model": lambda text: Note(note=text), "return value": ToolReturn,
            "content": lambda text: ToolReturn("found", content=text),
            "contents": lambda text: ToolReturn("found", content=["as of today", text]),
            "failure": ToolFailed, "retry": ModelRetry,
        }  # fmt: skip

    async def reads(self, guard: Any, tools: Sequence[Any], kind: str) -> list[str]:
        return [_said(part) for part in await self._parts(guard, tools, kind)]

    async def leaves(self, guard: Any, tools: Sequence[Any], kind: str) -> Any:
        new = {"timestamp", "tool_call_id"}
        return [
            {key: value for key, value in vars(part).items() if key not in new}
            for part in await self._parts(guard, tools, kind)
        ]

    async def _parts(self, guard: Any, tools: Sequence[Any], kind: str) -> list[Any]:
        def model(messages: Any, info: Any) -> ModelResponse:
            if len(messages) > 1:
                return ModelResponse([TextPart("done")])
            return ModelResponse([ToolCallPart("lookup", {"number": n}) for n in range(len(tools))])

        agent = Agent(FunctionModel(model), capabilities=[] if guard is None else [GuardCapability(guard)])
        agent.tool_plain(lookup_of(tools, kind))
        result = await (asyncio.to_thread(in_a_loop, agent.run_sync, "go") if kind == "sync" else agent.run("go"))
        _, *requests = [message for message in result.all_messages() if isinstance(message, ModelRequest)]
        return [part for request in requests for part in request.parts]


def _said(part: Any) -> str:
    """What the model is told."""
    if isinstance(part, ToolReturnPart):
        return part.model_response_str()
    return part.model_response() if isinstance(part, RetryPromptPart) else str(part.content)
