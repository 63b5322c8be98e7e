"""A small MCP server, run by the tests in a process of its own."""

from typing import Any

from mcp.server.fastmcp import FastMCP
from mcp.types import CallToolResult, ImageContent, TextContent
from pydantic import BaseModel

server = FastMCP("shop", log_level="CRITICAL")


class Stock(BaseModel):
    """What is left of an article."""

    sku: str
    count: int


@server.tool()
def stock(sku: str) -> Stock:
    """Structured."""
    return Stock(sku=sku, count=12)


@server.tool()
def names(prefix: str) -> list[str]:
    """Structured, and wrapped by the server: no object."""
    return [prefix + "a", prefix + "b"]


@server.tool()
def result_row() -> dict[str, Any]:
    """An object whose only key is the one that servers wrap with."""
    return {"result": 5}


@server.tool(structured_output=False)
def note(genuine: bool) -> dict[str, Any]:
    """Text only: JSON, or what a model would make up."""
    return {"sku": "K-7", "count": 12} if genuine else {"guess": "plenty"}


@server.tool(structured_output=False)
def parts() -> list[str]:
    """Several blocks of text."""
    return ["one", "two"]


@server.tool()
def picture() -> CallToolResult:
    """An image beside a text."""
    return CallToolResult(
        content=[TextContent(type="text", text="a dot"), ImageContent(type="image", data="AA==", mimeType="image/png")]
    )


@server.tool()
def breaks() -> str:
    """Raises."""
    raise RuntimeError("the shelf fell over")


if __name__ == "__main__":
    server.run()
