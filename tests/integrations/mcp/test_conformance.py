"""The interceptor of langchain-mcp-adapters, held to the promises of integrations."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

from langchain_mcp_adapters.tools import load_mcp_tools
from mcp.server.fastmcp import FastMCP
from mcp.shared.memory import create_connected_server_and_client_session
from mcp.types import CallToolResult

from agentguard.integrations.mcp import MCPGuardInterceptor
from agentguard.testing import IntegrationConformance

from ..answers import MCP


class TestMCPGuardInterceptor(IntegrationConformance):
    """MCP in LangChain, `MCPGuardInterceptor`."""

    kinds = ("async",)

    def forms(self) -> Any:
        return MCP

    async def reads(self, guard: Any, tools: Sequence[Any], kind: str) -> list[str]:
        messages = await self._messages(guard, tools)
        return [re.sub("lc_[0-9a-f-]+", "", str(message.content)) for message in messages]  # without random ids

    async def leaves(self, guard: Any, tools: Sequence[Any], kind: str) -> Any:
        messages = await self._messages(guard, tools)
        return [re.sub("lc_[0-9a-f-]+", "", message.model_dump_json()) for message in messages]

    async def _messages(self, guard: Any, tools: Sequence[Any]) -> list[Any]:
        async def answer(request: Any, handler: Any) -> Any:
            """Answer in the server's place."""
            return CallToolResult.model_validate(tools[request.args["number"]]())

        server = FastMCP("shop", log_level="CRITICAL")
        server.add_tool(lambda number: None, "lookup", structured_output=False)
        guard = [] if guard is None else [MCPGuardInterceptor(guard)]
        async with create_connected_server_and_client_session(server) as session:
            (tool,) = await load_mcp_tools(session, tool_interceptors=[*guard, answer])
            tool.handle_tool_error = True
            call: Any = {"type": "tool_call", "id": "c1", "name": "lookup"}
            asked = [{**call, "args": {"number": number}} for number in range(len(tools))]
            return await asyncio.gather(*map(tool.ainvoke, asked))
