"""A server of MCP for the proxy of LiteLLM, run by the proxy's own interpreter: it says what it is asked to say."""

from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult, TextContent

server = MCPServer("desk")


@server.tool()
def say(text: str, fields: dict[str, Any]) -> CallToolResult:
    """A text beside structured content."""
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=fields)


if __name__ == "__main__":
    server.run()
