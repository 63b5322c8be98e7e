"""Clients of the server in ``server.py``: over stdio to a process of its own, or in memory."""

import logging
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp.shared.memory import create_connected_server_and_client_session

from agentguard import VerificationEngine

from .server import server

collect_ignore = ["server.py"]  # no tests: it is run in a process of its own
logging.getLogger().setLevel(logging.WARNING)  # as it was: a server that is made sets its own level for all

SERVER = Path(__file__).with_name("server.py")
Call = Callable[..., Awaitable[ToolMessage]]


@pytest.fixture
def engine() -> VerificationEngine:
    engine = VerificationEngine()
    engine.register_tool_profile("note", required_fields=["sku", "count"], has_network_io=False)
    engine.register_tool_profile("stock", required_fields=["sku", "count"], has_network_io=False)
    return engine


@pytest.fixture
def connections() -> dict[str, Any]:
    return {"shop": {"transport": "stdio", "command": sys.executable, "args": [str(SERVER)]}}


@pytest.fixture
def connected() -> Callable[..., AbstractAsyncContextManager[Call]]:
    """A session in memory whose tools are called with the interceptors that are given."""

    @asynccontextmanager
    async def connect(*interceptors: Any, **options: Any) -> Any:
        async with create_connected_server_and_client_session(server) as session:
            loaded = await load_mcp_tools(session, tool_interceptors=list(interceptors), server_name="shop", **options)
            tools = {tool.name: tool for tool in loaded}

            async def call(name: str, **args: Any) -> ToolMessage:
                return await tools[name].ainvoke({"type": "tool_call", "id": "call-1", "name": name, "args": args})

            yield call

    return connect
