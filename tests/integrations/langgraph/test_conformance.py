"""The guarded tool node, held to the promises of integrations."""

from collections.abc import Sequence
from typing import Any

from langgraph.prebuilt import ToolNode

from agentguard.integrations.langgraph import GuardedToolNode

from ..langchain.conformance import NodeConformance
from ..langchain.scripted import graph_of


class TestGuardedToolNode(NodeConformance):
    """LangGraph, `GuardedToolNode`."""

    async def reads(self, guard: Any, tools: Sequence[Any], kind: str) -> list[str]:
        return await self.shown_by(self.node(guard, tools), tools, kind)

    async def leaves(self, guard: Any, tools: Sequence[Any], kind: str) -> Any:
        return await self.left_by(graph_of(self.node(guard, tools)), kind, {"messages": [self.asks(tools)]})

    def node(self, guard: Any, tools: Sequence[Any]) -> ToolNode:
        given: Any = {"tools": [self.lookup(tools)], "handle_tool_errors": True}
        return ToolNode(**given) if guard is None else GuardedToolNode(guard=guard, **given)
