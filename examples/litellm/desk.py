"""A server of MCP, whose tool makes a result up where it finds none."""

try:
    from mcp.server import MCPServer
except ImportError:  # before 2.0
    from mcp.server.fastmcp import FastMCP as MCPServer

server = MCPServer("desk")
GATES = {"LH 400": "B42"}


@server.tool()
def gate(flight: str) -> dict[str, str]:
    """The gate of a flight."""
    if flight not in GATES:
        return {"note": "It is usually one of the B gates."}
    return {"flight": flight, "gate": GATES[flight]}


if __name__ == "__main__":
    server.run()
