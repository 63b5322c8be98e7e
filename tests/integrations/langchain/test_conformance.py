"""The middleware of ``create_agent``, held to the promises of integrations."""

from collections.abc import Sequence
from typing import Any, ClassVar

from langgraph.checkpoint.memory import InMemorySaver

from agentguard.integrations.langchain import ToolGuardMiddleware

from .conformance import LangChainConformance
from .scripted import agent


class TestToolGuardMiddleware(LangChainConformance):
    """LangChain, `ToolGuardMiddleware`."""

    cannot: ClassVar[Any] = {
        "judged, redacted, shadow: second message, command beside a message": "further messages are not judged yet",
    }

    async def reads(self, engine: Any, tools: Sequence[Any], kind: str, **policy: Any) -> list[str]:
        guard = [] if engine is None else [ToolGuardMiddleware(engine, **policy)]
        made = agent([self.lookup(tools)], self.asks(tools), middleware=guard, checkpointer=InMemorySaver())
        return await self.shown(made, kind)
