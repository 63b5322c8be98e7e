"""An MCP server makes a result up once: the client's guard puts a notice in its place, and the caller calls again."""

import asyncio
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp.server.fastmcp import FastMCP

from agentguard import VerificationEngine
from agentguard.integrations.mcp import MCPGuardInterceptor

server = FastMCP("shop", log_level="WARNING")
answers = iter(["There should be plenty left.", '{"sku": "K-7", "count": 12}'])
server.tool("stock", structured_output=False)(lambda sku: next(answers))


async def ask() -> None:
    """Call a tool of the server, which runs in a process of its own, twice."""
    engine = VerificationEngine()
    engine.register_tool_profile("stock", required_fields=["sku", "count"], has_network_io=False)
    client = MultiServerMCPClient(
        {"shop": {"transport": "stdio", "command": sys.executable, "args": [__file__, "serve"]}}
    )
    async with client.session("shop") as session:
        (tool,) = await load_mcp_tools(session, tool_interceptors=[MCPGuardInterceptor(engine)])
        for attempt in ("1", "2"):
            answer = await tool.ainvoke({"type": "tool_call", "id": attempt, "name": "stock", "args": {"sku": "K-7"}})
            print({"error": "Blocked:", "success": "Recovered:"}[answer.status], answer.content[0]["text"])


server.run() if sys.argv[1:] == ["serve"] else asyncio.run(ask())
