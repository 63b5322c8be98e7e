"""The guarded tool node, held to the promises of integrations."""

from collections.abc import Sequence
from typing import Any

from langgraph.prebuilt import ToolNode

from agentguard.integrations.langgraph import GuardedToolNode

from ..langchain.conformance import NodeConformance


class TestGuardedToolNode(NodeConformance):
    """LangGraph, `GuardedToolNode`."""

    async def reads(self, guard: Any, tools: Sequence[Any], kind: str) -> list[str]:
        given: Any = {"tools": [self.lookup(tools)], "handle_tool_errors": True}
        node = ToolNode(**given) if guard is None else GuardedToolNode(guard=guard, **given)
        return await self.shown_by(node, tools, kind)
