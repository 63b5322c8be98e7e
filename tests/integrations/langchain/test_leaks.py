"""Where a blocked result is still to be seen, as the middleware's docstring says: the tool tells these by itself."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tools import tool

from agentguard.integrations.langchain import ToolGuardMiddleware

from .scripted import ASK, Run, ScriptedEngine, agent, calls

FABRICATED = "fabricated: 18 degrees"


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return FABRICATED


def blocking() -> Any:
    middleware = ToolGuardMiddleware(ScriptedEngine(weather="block"))
    return agent([weather], calls(("weather", {"city": "Kew"})), middleware=[middleware])


async def test_the_stream_of_tools_shows_it(stream: Run) -> None:
    assert FABRICATED in str(await stream(blocking(), ASK, stream_mode="tools"))


async def test_the_streams_of_values_updates_and_messages_do_not(stream: Run) -> None:
    for mode in ("values", "updates", "messages"):
        chunks = str(await stream(blocking(), ASK, stream_mode=mode))
        assert FABRICATED not in chunks
        assert "was blocked" in chunks


class Listener(BaseCallbackHandler):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_tool_end(self, output: Any, **kwargs: Any) -> None:
        self.heard.append(str(output))


async def test_on_tool_end_hears_it(run: Run) -> None:
    listener = Listener()
    out = await run(blocking(), ASK, {"callbacks": [listener]})

    assert FABRICATED in str(listener.heard)
    assert FABRICATED not in str(out)


async def test_on_tool_end_events_show_it() -> None:
    events = [event async for event in blocking().astream_events(ASK, version="v2")]

    assert FABRICATED in str([event for event in events if event["event"] == "on_tool_end"])
