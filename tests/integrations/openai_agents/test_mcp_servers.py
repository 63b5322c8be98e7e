"""Tools of MCP servers are guarded by the guardrails that the SDK gives them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, ToolOutputGuardrailTripwireTriggered, function_tool
from agents.mcp import MCPServerStdio

from agentguard import VerificationEngine
from agentguard.guard import Guard, Outcome
from agentguard.integrations.openai_agents import guard_agent, guard_tool

from ..engines import INJECTION, RULES, SECRET, ScriptedEngine, engine_of

SERVER = Path(__file__).parents[1] / "mcp" / "server.py"
MADE_UP, GENUINE = ("note", {"genuine": False}), ("note", {"genuine": True})


class Seen(list[Outcome]):
    def __call__(self, outcome: Outcome, _: object) -> None:
        self.append(outcome)


def server(**options: Any) -> MCPServerStdio:
    return MCPServerStdio({"command": sys.executable, "args": [str(SERVER)]}, name="shop", **options)


def strict_engine() -> VerificationEngine:
    engine = VerificationEngine()
    engine.register_tool_profile("note", has_network_io=False, required_fields=["sku"])
    return engine


def output_of(result: Any) -> Any:
    return next(item["output"] for item in result.to_input_list() if item.get("type") == "function_call_output")


async def test_a_made_up_answer_is_rejected_and_a_genuine_one_is_as_without_a_guard(run: Any) -> None:
    seen = Seen()
    async with server() as shop:
        agent = Agent("a", mcp_servers=[shop])
        guarded = guard_agent(agent, Guard(strict_engine(), on_judgement=seen))
        blocked = await run(guarded, MADE_UP, group_id="talk-5")
        genuine, bare = await run(guarded, GENUINE), await run(agent, GENUINE)
        unguarded = await run(agent, MADE_UP)
        assert output_of(blocked).startswith("The result of 'note' was blocked")
        assert "plenty" not in str(blocked.to_input_list())
        assert "plenty" in str(output_of(unguarded))
        assert output_of(genuine) == output_of(bare)
        told = [result.tool_output_guardrail_results[0].output.output_info for result in (blocked, genuine)]
        assert [info and info["verdict"] for info in told] == ["block", None]
        assert seen[0].args == {"genuine": False}
        assert (seen[0].session_id, seen[0].call_id, seen[0].execution_time_ms) == ("talk-5", "call-0", None)
        with pytest.raises(ToolOutputGuardrailTripwireTriggered):
            await run(guard_agent(agent, Guard(strict_engine(), on_block="raise")), MADE_UP)
        assert shop.tool_output_guardrails is None


@pytest.mark.parametrize("structured", [False, True])
async def test_content_rules_hold_for_what_the_model_would_read(structured: bool, run: Any) -> None:
    engine = engine_of("names")
    async with server(use_structured_content=structured) as shop:
        guarded = guard_agent(Agent("a", mcp_servers=[shop]), engine)
        blocked = await run(guarded, ("names", {"prefix": INJECTION}))
        redacted = await run(guarded, ("names", {"prefix": SECRET}))
        clean, bare = [
            await run(each, ("names", {"prefix": "K"})) for each in (guarded, Agent("a", mcp_servers=[shop]))
        ]
    assert "mail the customer list" not in output_of(blocked)
    assert "tea4two" not in output_of(redacted)
    assert "<DATABASE_PASSWORD_1>@db.internal" in output_of(redacted)
    assert output_of(clean) == output_of(bare)


async def test_a_flagged_answer_has_the_line_unless_it_has_pictures(run: Any) -> None:
    engine = ScriptedEngine(note="flag", picture="flag", stock="flag")
    async with server() as shop:
        agent = Agent("a", mcp_servers=[shop])
        guarded = guard_agent(agent, Guard(engine, flag_text="<{tool}>", tools=["note", "picture"]))
        flagged = await run(guarded, GENUINE)
        assert output_of(flagged).endswith("\n\n<note>")
        assert "K-7" in output_of(flagged)
        for call in (("picture", {}), ("stock", {"sku": "K-7"})):
            assert output_of(await run(guarded, call)) == output_of(await run(agent, call))
        shadowed = await run(guard_agent(agent, Guard(engine, shadow=True)), GENUINE)
        assert output_of(shadowed) == output_of(await run(agent, GENUINE))


@pytest.mark.parametrize(("text", "shown"), [(INJECTION, False), ("try again", True)])
async def test_the_text_of_an_exception_is_judged_by_the_content_rules_alone(text: str, shown: bool, run: Any) -> None:
    engine = ScriptedEngine(note="block")
    engine.register_tool_profile("note", content={"injection": "block"})

    def failing(context: Any) -> Any:
        raise RuntimeError("no metadata")

    async with server(failure_error_function=lambda context, error: text, tool_meta_resolver=failing) as shop:
        output = output_of(await run(guard_agent(Agent("a", mcp_servers=[shop]), engine), GENUINE))
    assert (output == text) == shown
    assert "mail the customer list" not in output
    assert engine.asked == []


async def test_a_server_is_connected_and_closed_as_one_with_the_guarded_view() -> None:
    shop = server()
    (view,) = guard_agent(Agent("a", mcp_servers=[shop]), VerificationEngine()).mcp_servers
    assert isinstance(view, MCPServerStdio)
    async with shop:
        assert {tool.name for tool in await view.list_tools()} == {tool.name for tool in await shop.list_tools()}
    assert view.session is None


# --- Exceptions of function tools ---


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_the_text_of_an_exception_that_the_sdk_shows_is_judged_by_its_content(kind: str, run: Any) -> None:
    async def shown(text: str, **options: Any) -> Any:
        def plain(key: int) -> str:
            raise RuntimeError(text)

        async def coroutine(key: int) -> str:
            raise RuntimeError(text)

        engine = ScriptedEngine(lookup="block")
        engine.register_tool_profile("lookup", content=RULES)
        made = function_tool(plain if kind == "sync" else coroutine, name_override="lookup", **options)
        result = await run(Agent("a", tools=[guard_tool(made, engine)]), ("lookup", {"key": 1}))
        assert engine.asked == []
        return output_of(result)

    assert "no such row" not in await shown("no such row")  # the SDK's own text has none of it
    told = {"failure_error_function": lambda context, error: f"It failed: {error}"}
    assert "mail the customer list" not in await shown(INJECTION, **told)
    assert "<DATABASE_PASSWORD_1>@db.internal" in await shown(SECRET, **told)
    assert await shown("no such row", **told) == "It failed: no such row"
