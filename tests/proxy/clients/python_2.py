"""A client of the SDK for Python 2.x: does what standard input asks for, and prints what came of it as JSON."""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters, stdio_client


async def main(plan):
    target = plan["target"]
    server = target["url"] if "url" in target else stdio_client(StdioServerParameters(**target))
    async with Client(server, mode=plan.get("mode", "auto")) as client:
        listed = await client.list_tools()
        made = []
        for name, args in plan["calls"]:
            try:
                result = await client.call_tool(name, args)
                made.append(result.model_dump(mode="json", by_alias=True))
            except MCPError as error:
                made.append(str(error))
        tools = [tool.model_dump(mode="json", by_alias=True) for tool in listed.tools]
        return {"version": client.protocol_version, "tools": tools, "calls": made}


print(json.dumps(asyncio.run(main(json.load(sys.stdin)))))
