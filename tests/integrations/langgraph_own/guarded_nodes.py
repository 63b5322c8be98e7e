"""A plugin for pytest that puts another class in the place of LangGraph's tool node, as ``TOOL_NODES`` says."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from langgraph import prebuilt
from langgraph.prebuilt import ToolNode, chat_agent_executor, tool_node

from agentguard import VerificationEngine
from agentguard.integrations.langgraph import GuardedToolNode


def hand_on(request: Any, handler: Callable[[Any], Any]) -> Any:
    return handler(request)


async def hand_on_async(request: Any, handler: Callable[[Any], Any]) -> Any:
    return await handler(request)


class Wrapped(ToolNode):
    """A tool node with wrappers that do nothing, where it is given none."""

    def __init__(self, tools: Any, **node: Any) -> None:
        if not {"wrap_tool_call", "awrap_tool_call"} & node.keys():
            node.update(wrap_tool_call=hand_on, awrap_tool_call=hand_on_async)
        super().__init__(tools, **node)


class Guarded(GuardedToolNode):
    """A guarded tool node with an engine of its own, as it comes."""

    def __init__(self, tools: Any, **node: Any) -> None:
        super().__init__(tools, VerificationEngine(), **node)


IN_PLACE: dict[str, type[ToolNode]] = {"plain": ToolNode, "wrapped": Wrapped, "guarded": Guarded}

for module in (prebuilt, tool_node, chat_agent_executor):
    module.ToolNode = IN_PLACE[os.environ["TOOL_NODES"]]
