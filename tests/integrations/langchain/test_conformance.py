"""The middleware of ``create_agent``, held to the promises of integrations."""

from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from agentguard.integrations.langchain import ToolGuardMiddleware

from .conformance import LangChainConformance
from .scripted import agent


class TestToolGuardMiddleware(LangChainConformance):
    """LangChain, `ToolGuardMiddleware`."""

    async def reads(self, guard: Any, tools: Sequence[Any], kind: str) -> list[str]:
        return await self.shown(self.made(guard, tools), kind)

    async def leaves(self, guard: Any, tools: Sequence[Any], kind: str) -> Any:
        return await self.left_by(self.made(guard, tools), kind)

    def made(self, guard: Any, tools: Sequence[Any]) -> Any:
        guard = [] if guard is None else [ToolGuardMiddleware(guard)]
        return agent([self.lookup(tools)], self.asks(tools), middleware=guard, checkpointer=InMemorySaver())
