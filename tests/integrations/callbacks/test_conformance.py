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
        "closed": "the handler has no such policy: where it fails, results pass",
        "judged, shadow: second message, command beside a message": "further messages are not judged yet",
        "judged, open, shadow: error message, tool exception, exception": "messages about failures are not judged",
    }

    async def reads(self, engine: Any, tools: Sequence[Any], kind: str, **policy: Any) -> list[str]:
        raises = not policy.get("shadow", False)
        guard = [] if engine is None else [GuardCallbackHandler(engine, raise_on_block=raises)]
        return await self.shown_by(
            ToolNode([self.lookup(tools)], handle_tool_errors=True), tools, kind, callbacks=guard
        )
