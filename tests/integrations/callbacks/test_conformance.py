"""The callback handler around a tool node that handles errors, held to the promises of integrations."""

from collections.abc import Sequence
from typing import Any, ClassVar

from langgraph.prebuilt import ToolNode

from agentguard.integrations.callbacks import GuardCallbackHandler

from ..langchain.conformance import NodeConformance


class TestGuardCallbackHandler(NodeConformance):
    """LangChain callbacks with `raise_on_block`."""

    cannot: ClassVar[Any] = {
        "redacted": "a callback cannot replace a result",
    }

    async def reads(self, guard: Any, tools: Sequence[Any], kind: str) -> list[str]:
        guard = [] if guard is None else [GuardCallbackHandler(guard, raise_on_block=True)]
        return await self.shown_by(
            ToolNode([self.lookup(tools)], handle_tool_errors=True), tools, kind, callbacks=guard
        )
