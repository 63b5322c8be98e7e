"""A server of the SDK for Python 2.x at a URL: python server_2.py PORT."""

import sys
from typing import Annotated, TypedDict

from mcp.server.mcpserver import Context, MCPServer
from pydantic import Field

server = MCPServer("harbour", log_level="INFO")


class Ferry(TypedDict):
    place: str
    leaves: str


@server.tool()
def ferry(place: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Place"})]) -> Ferry:
    """The next ferry."""
    return {"place": place, "leaves": "09:00"}


@server.tool()
async def slow(steps: int, context: Context) -> str:
    """Tells how far it is."""
    for step in range(steps):
        await context.report_progress(step, steps)
    return "done"


server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
