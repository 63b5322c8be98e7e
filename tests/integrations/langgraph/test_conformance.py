"""The guarded tool node, held to the promises of integrations."""

from collections.abc import Sequence
from typing import Any, ClassVar

from langgraph.prebuilt import ToolNode

from agentguard.integrations.langgraph import GuardedToolNode

from ..langchain.conformance import NodeConformance


class TestGuardedToolNode(NodeConformance):
    """LangGraph, `GuardedToolNode`."""

    cannot: ClassVar[Any] = {
        "judged, redacted, shadow: second message, command beside a message": "further messages are not judged yet",
        "judged, redacted, open, closed, shadow: exception": "what a tool raised is not judged yet",
    }

    async def reads(self, engine: Any, tools: Sequence[Any], kind: str, **policy: Any) -> list[str]:
        given: Any = {"tools": [self.lookup(tools)], "handle_tool_errors": True}
        node = ToolNode(**given) if engine is None else GuardedToolNode(engine=engine, **given, **policy)
        return await self.shown_by(node, tools, kind)
