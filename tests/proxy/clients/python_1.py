"""A client of the SDK for Python 1.x: does what standard input asks for, and prints what came of it as JSON."""

import asyncio
import json
import sys
from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import McpError


@asynccontextmanager
async def connected(target):
    if "url" in target:
        async with streamable_http_client(target["url"]) as (read, write, _):
            yield read, write
    else:
        parameters = StdioServerParameters(**target)
        async with stdio_client(parameters) as streams:
            yield streams


async def main(plan):
    heard = []

    async def sample(context, params):
        answer = types.TextContent(type="text", text=f"sampled {params.messages[0].content.type}")
        return types.CreateMessageResult(role="assistant", model="m", content=answer)

    async def elicit(context, params):
        return types.ElicitResult(action="accept", content={})

    async def progress(done, total, message):
        heard.append([done, total])

    async with (
        connected(plan["target"]) as (read, write),
        ClientSession(read, write, sampling_callback=sample, elicitation_callback=elicit) as session,
    ):
        begun = await session.initialize()
        listed = await session.list_tools()
        made = []
        for name, args in plan["calls"]:
            try:
                result = await session.call_tool(name, args, progress_callback=progress)
                made.append(result.model_dump(mode="json", by_alias=True))
            except McpError as error:
                made.append(str(error))
        tools = [tool.model_dump(mode="json", by_alias=True) for tool in listed.tools]
        return {"server": begun.serverInfo.name, "tools": tools, "calls": made, "heard": heard}


print(json.dumps(asyncio.run(main(json.load(sys.stdin)))))
