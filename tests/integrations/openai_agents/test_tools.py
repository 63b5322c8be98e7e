"""What is guarded and what is not: copies, hand-made tools, agents as tools, other people's guardrails."""

from typing import Any

import pytest
from agents import (
    Agent,
    FunctionTool,
    RunConfig,
    Runner,
    ToolGuardrailFunctionOutput,
    WebSearchTool,
    function_tool,
    tool_output_guardrail,
)
from agents.run_context import RunContextWrapper
from agents.testing import ScriptedModel, assistant_message, function_call

from agentguard import ConfigurationError, VerificationEngine
from agentguard.guard import Guard, Outcome
from agentguard.integrations.openai_agents import guard_agent, guard_tool


class Seen(list[Outcome]):
    def __call__(self, outcome: Outcome, _: object) -> None:
        self.append(outcome)


@function_tool
def lookup(key: int) -> dict[str, object]:
    """A row."""
    return {"note": "I believe so"}


@function_tool
async def slow(key: int) -> dict[str, object]:
    """A row, with a limit of time."""
    return {"note": "I believe so"}


def output_of(result: Any) -> Any:
    return next(item["output"] for item in result.to_input_list() if item.get("type") == "function_call_output")


async def test_the_tool_given_stays_as_it_is(engine: VerificationEngine, run: Any) -> None:
    guarded = guard_tool(lookup, engine)
    assert guarded is not lookup
    assert (guarded.name, guarded.description, guarded.params_json_schema) == (
        lookup.name, lookup.description, lookup.params_json_schema,
    )  # fmt: skip
    assert guarded.__wrapped__ is lookup.__wrapped__
    assert "I believe so" in output_of(await run(Agent("a", tools=[lookup]), ("lookup", {"key": 1})))
    assert "was blocked" in output_of(await run(Agent("a", tools=[guarded]), ("lookup", {"key": 1})))


async def test_a_time_limit_changes_nothing(engine: VerificationEngine, run: Any) -> None:
    limited = function_tool(slow.__wrapped__, name_override="lookup", timeout=60)
    result = await run(Agent("a", tools=[guard_tool(limited, engine)]), ("lookup", {"key": 1}))
    (found,) = result.tool_output_guardrail_results
    assert found.output.behavior["type"] == "reject_content"


async def test_a_run_that_streams_is_guarded_too(engine: VerificationEngine) -> None:
    steps = [[function_call("lookup", {"key": 1}, call_id="c")], [assistant_message("done")]]
    agent = Agent("a", model=ScriptedModel(steps), tools=[guard_tool(lookup, engine)])
    streamed = Runner.run_streamed(agent, "go", run_config=RunConfig(tracing_disabled=True))
    assert [event async for event in streamed.stream_events()]
    assert "was blocked" in output_of(streamed)


async def test_a_hand_made_tool_is_guarded(engine: VerificationEngine, run: Any) -> None:
    async def invoke(context: RunContextWrapper[Any], arguments: str) -> Any:
        return '{"note": 1}'

    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    tool, seen = FunctionTool("lookup", "A row.", schema, invoke), Seen()
    result = await run(Agent("a", tools=[guard_tool(tool, Guard(engine, on_judgement=seen))]), ("lookup", {}))
    assert "was blocked" in output_of(result)
    assert [outcome.args for outcome in seen] == [{}]


async def test_other_guardrails_run_after_and_never_see_what_is_blocked(engine: VerificationEngine, run: Any) -> None:
    outputs: list[Any] = []

    @tool_output_guardrail
    def other(data: Any) -> ToolGuardrailFunctionOutput:
        outputs.append(data.output)
        return ToolGuardrailFunctionOutput.allow()

    tool = function_tool(lambda key: {"id": 7} if key == 2 else {"note": 1}, name_override="lookup", strict_mode=False)
    tool.tool_output_guardrails = [other]
    await run(Agent("a", tools=[guard_tool(tool, engine)]), ("lookup", {"key": 1}), ("lookup", {"key": 2}))
    assert outputs == [{"id": 7}]
    assert tool.tool_output_guardrails == [other]


async def test_an_agent_is_guarded_by_name_and_an_agent_as_tool_is_left_alone(
    engine: VerificationEngine, run: Any
) -> None:
    helper = Agent("helper", model=ScriptedModel([[assistant_message("an opinion")]])).as_tool("helper", "Asks.")
    hosted, seen = WebSearchTool(), Seen()
    agent = Agent("a", tools=[lookup, slow, helper, hosted])
    guarded = guard_agent(agent, Guard(engine, tools=["lookup", "helper"], on_judgement=seen))
    assert guarded.tools[1:] == [slow, helper, hosted]
    assert agent.tools[0] is lookup
    await run(guarded, ("lookup", {"key": 1}), ("slow", {"key": 1}), ("helper", {"input": "?"}))
    assert [outcome.tool for outcome in seen] == ["lookup"]
    with pytest.raises(ConfigurationError, match="guard the tools of that agent"):
        guard_tool(helper, engine)


async def test_a_tool_that_is_only_watched_can_be_guarded_on_top(engine: VerificationEngine, run: Any) -> None:
    twice = guard_tool(guard_tool(lookup, Guard(engine, shadow=True)), engine)
    result = await run(Agent("a", tools=[twice]), ("lookup", {"key": 1}))
    assert "was blocked" in output_of(result)


@pytest.mark.parametrize("options", [{"on_flag": "review"}, {"on_block": "end"}])
def test_what_it_cannot_do_is_refused_at_once(options: dict[str, Any], engine: VerificationEngine) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        guard_tool(lookup, Guard(engine, **options))
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        guard_agent(Agent("a", tools=[lookup]), Guard(engine, **options))
