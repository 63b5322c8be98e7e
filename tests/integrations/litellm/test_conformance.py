"""The callback of LiteLLM's MCP gateway, held to the promises of integrations."""

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar

from mcp.types import CallToolResult

from agentguard.integrations.litellm import GuardLogger
from agentguard.testing import IntegrationConformance

from ..answers import MCP
from .test_logger import as_json, dispatched


class TestGuardLogger(IntegrationConformance):
    """LiteLLM, `GuardLogger`."""

    kinds = ("async",)
    controls: ClassVar[Any] = {}
    cannot: ClassVar[Any] = {
        "control": "the callback is asked once the call is over",
    }

    def forms(self) -> Any:
        return MCP

    async def reads(self, guard: Any, tools: Sequence[Any], kind: str) -> list[str]:
        sent = await self.leaves(guard, tools, kind)
        return [str([each["content"], each.get("structuredContent")]) for each in sent]

    async def leaves(self, guard: Any, tools: Sequence[Any], kind: str) -> Any:
        answers = [CallToolResult.model_validate(make()) for make in tools]
        sent = list(map(as_json, answers))
        if guard is not None:
            guard = GuardLogger(guard)
            sent = await asyncio.gather(*(dispatched(guard, each, f"c{n}") for n, each in enumerate(answers)))
        return sent
