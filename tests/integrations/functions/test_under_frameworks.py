"""``@guarded`` below other frameworks' own decorators: the schema is the function's, the block holds."""

import asyncio
import json

from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call
from langchain_core.tools import tool

from agentguard import Guard, VerificationEngine
from agentguard.integrations.functions import guarded

PROPERTIES = {"city": "string", "days": "integer"}


def new_engine() -> VerificationEngine:
    engine = VerificationEngine()
    engine.register_tool_profile("forecast", required_fields=["degrees"], has_network_io=False)
    return engine


def forecast(city: str, days: int = 1) -> dict[str, object]:
    """The weather to come."""
    return {"degrees": 18} if city == "London" else {"note": "probably mild"}


async def aforecast(city: str, days: int = 1) -> dict[str, object]:
    """The weather to come."""
    return forecast(city, days)


def test_under_langchains_tool() -> None:
    made = tool("forecast")(guarded(Guard(new_engine(), on_block="replace"), "forecast")(forecast))
    assert {name: field["type"] for name, field in made.args.items()} == PROPERTIES
    assert made.description == "The weather to come."
    assert made.invoke({"city": "London"}) == {"degrees": 18}
    assert made.invoke({"city": "Atlantis"}).startswith("The result of 'forecast' was blocked")


def test_under_langchains_tool_with_a_coroutine_function() -> None:
    made = tool("forecast")(guarded(Guard(new_engine(), on_block="replace"), "forecast")(aforecast))
    assert {name: field["type"] for name, field in made.args.items()} == PROPERTIES
    assert asyncio.run(made.ainvoke({"city": "London"})) == {"degrees": 18}
    assert asyncio.run(made.ainvoke({"city": "Atlantis"})).startswith("The result of 'forecast' was blocked")


async def test_under_function_tool_of_openai_agents() -> None:
    for function in (forecast, aforecast):
        made = function_tool(
            guarded(Guard(new_engine(), on_block="replace"), "forecast")(function), name_override="forecast"
        )
        assert {name: field["type"] for name, field in made.params_json_schema["properties"].items()} == PROPERTIES
        calls = [
            function_call("forecast", json.dumps({"city": city, "days": 1}), call_id=city)
            for city in ("London", "Atlantis")
        ]
        agent = Agent("a", model=ScriptedModel([calls, [assistant_message("done")]]), tools=[made])
        result = await Runner.run(agent, "?", run_config=RunConfig(tracing_disabled=True))
        outputs = {item["call_id"]: item["output"] for item in result.to_input_list() if "output" in item}
        assert "18" in outputs["London"]
        assert outputs["Atlantis"].startswith("The result of 'forecast' was blocked")
