"""What a blocked result becomes: for the model, for the state, for the run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from agentguard import Guard
from agentguard.errors import ConfigurationError, ResultBlocked
from agentguard.integrations.langchain import ToolGuardMiddleware
from agentguard.integrations.receipts import ReceiptStatus, receipt_signer, verify_transcript
from agentguard.verification import VerificationEngine

from .scripted import ASK, THREAD, Run, ScriptedEngine, agent, answers, calls

FABRICATED = "fabricated: 18 degrees"


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return FABRICATED


@tool
def news(city: str) -> str:
    """Tell the news."""
    return "nothing new"


WEATHER = calls(("weather", {"city": "Kew"}))


async def test_the_model_is_shown_the_notice_and_may_call_again(run: Run) -> None:
    engine = ScriptedEngine(weather=["block", "accept"])
    again = WEATHER.model_copy(update={"tool_calls": [{**WEATHER.tool_calls[0], "id": "c2"}]})
    graph = agent([weather], WEATHER, again, middleware=[ToolGuardMiddleware(engine)])
    out = await run(graph, ASK)

    blocked, accepted = answers(out)
    assert "'weather' was blocked" in blocked.content
    assert accepted.content == FABRICATED
    assert [message.content for message in graph.model.seen[1] if isinstance(message, ToolMessage)] == [blocked.content]
    assert out["messages"][-1].content == "done"


async def test_ids_stay_and_everything_that_holds_the_result_goes(run: Run) -> None:
    @tool
    def weather(city: str) -> Any:
        """Tell the weather."""
        return ToolMessage(
            FABRICATED,
            id="m1",
            name="weather",
            tool_call_id="c1",
            artifact={"raw": FABRICATED},
            additional_kwargs={"raw": FABRICATED},
            response_metadata={"raw": FABRICATED},
        )

    graph = agent([weather], WEATHER, middleware=[ToolGuardMiddleware(ScriptedEngine(weather="block"))])
    (message,) = answers(await run(graph, ASK))

    assert (message.id, message.tool_call_id, message.name, message.status) == ("m1", "c1", "weather", "error")
    assert message.content
    assert message.artifact is None
    assert FABRICATED not in message.model_dump_json()


async def test_the_artifact_of_a_pair_is_cleared(run: Run) -> None:
    @tool(response_format="content_and_artifact")
    def weather(city: str) -> tuple[str, dict[str, str]]:
        """Tell the weather."""
        return FABRICATED, {"raw": FABRICATED}

    graph = agent([weather], WEATHER, middleware=[ToolGuardMiddleware(ScriptedEngine(weather="block"))])
    (message,) = answers(await run(graph, ASK))

    assert message.artifact is None
    assert FABRICATED not in message.model_dump_json()


@pytest.mark.parametrize("verdict", ["accept", "flag", "block"])
async def test_the_verdict_is_plain_json_and_survives_a_checkpoint(run: Run, verdict: str) -> None:
    graph = agent(
        [weather],
        WEATHER,
        middleware=[ToolGuardMiddleware(ScriptedEngine(weather=verdict), signer=receipt_signer())],
        checkpointer=InMemorySaver(),
    )
    (before,) = answers(await run(graph, ASK, THREAD))
    out = graph.get_state(THREAD).values
    (after,) = answers(out)

    stamp = after.response_metadata["agentguard"]
    assert stamp == before.response_metadata["agentguard"]
    assert json.loads(json.dumps(stamp)) == stamp
    assert (stamp["verdict"], stamp["tool"], stamp["call_id"], stamp["executed"]) == (verdict, "weather", "c1", True)
    (finding,) = verify_transcript(out["messages"], session_id="thread-1")
    assert (finding.status, finding.verdict) == (ReceiptStatus.EXECUTED, verdict)


async def test_flagged_results_are_blocked_where_the_policy_says_so(run: Run) -> None:
    middleware = ToolGuardMiddleware(Guard(ScriptedEngine(weather="flag"), on_flag="block"))
    (message,) = answers(await run(agent([weather], WEATHER, middleware=[middleware]), ASK))

    assert "blocked" in message.content
    assert message.response_metadata["agentguard"]["verdict"] == "flag"


async def test_only_the_named_tools_are_guarded(run: Run) -> None:
    engine = ScriptedEngine(weather="block", news="block")
    graph = agent(
        [weather, news],
        calls(("weather", {"city": "Kew"}), ("news", {"city": "Kew"})),
        middleware=[ToolGuardMiddleware(Guard(engine, tools=["weather"]))],
    )
    guarded, free = answers(await run(graph, ASK))

    assert [asked["tool"] for asked in engine.asked] == ["weather"]
    assert "blocked" in guarded.content
    assert free.content == "nothing new"
    assert "agentguard" not in free.response_metadata


async def test_shadow_mode_judges_and_changes_nothing(run: Run, stream: Run) -> None:
    engine = ScriptedEngine(weather="block")
    guard = Guard(engine, shadow=True, on_block="raise", on_flag="review", max_retries=3)
    shadow = ToolGuardMiddleware(guard, events=True)
    (with_shadow,) = answers(await run(agent([weather], WEATHER, middleware=[shadow]), ASK))
    (without,) = answers(await run(agent([weather], WEATHER, middleware=[]), ASK))
    events = await stream(agent([weather], WEATHER, middleware=[shadow]), ASK, stream_mode="custom")

    assert with_shadow.model_copy(update={"id": None}) == without.model_copy(update={"id": None})
    assert [asked["result"] for asked in engine.asked] == [FABRICATED, FABRICATED]
    assert [(event["verdict"], event["action"]) for event in events] == [("block", "pass")]


async def test_each_verdict_is_a_custom_stream_event(stream: Run) -> None:
    graph = agent(
        [weather, news],
        calls(("weather", {"city": "Kew"}), ("news", {"city": "Kew"})),
        middleware=[ToolGuardMiddleware(ScriptedEngine(weather="block"), signer=receipt_signer(), events=True)],
    )
    events = await stream(graph, ASK, stream_mode="custom")

    found = {(event["type"], event["tool"], event["call_id"], event["verdict"]) for event in events}
    assert found == {("agentguard.verdict", "weather", "c1", "block"), ("agentguard.verdict", "news", "c2", "accept")}
    assert all("receipt" not in event for event in events)


class Counted:
    def __init__(self) -> None:
        self.runs = 0

    def weather(self, city: str) -> str:
        """Tell the weather."""
        self.runs += 1
        return f"{self.runs}"


@pytest.mark.parametrize(
    ("idempotent", "max_retries", "runs"),
    [(True, 2, 3), (True, 1, 2), (True, 0, 1), (False, 2, 1), (None, 2, 1)],
)
async def test_a_blocked_call_is_made_again_only_where_its_profile_allows_it(
    run: Run, idempotent: bool | None, max_retries: int, runs: int
) -> None:
    engine, counted = ScriptedEngine(weather="block"), Counted()
    if idempotent is not None:
        engine.register_tool_profile("weather", idempotent=idempotent)
    graph = agent(
        [tool(counted.weather)], WEATHER, middleware=[ToolGuardMiddleware(Guard(engine, max_retries=max_retries))]
    )
    (message,) = answers(await run(graph, ASK))

    assert counted.runs == runs
    assert len(engine.asked) == runs
    assert message.status == "error"


async def test_a_retry_that_is_accepted_is_what_the_model_sees(run: Run) -> None:
    engine, counted = ScriptedEngine(weather=["block", "accept"]), Counted()
    engine.register_tool_profile("weather", idempotent=True)
    graph = agent([tool(counted.weather)], WEATHER, middleware=[ToolGuardMiddleware(Guard(engine, max_retries=5))])
    (message,) = answers(await run(graph, ASK))

    assert (message.content, message.status) == ("2", "success")
    assert [asked["result"] for asked in engine.asked] == ["1", "2"]


async def test_raise_stops_the_run_before_the_model_is_called_again(run: Run) -> None:
    engine = ScriptedEngine(weather="block")
    graph = agent(
        [weather, news],
        calls(("weather", {"city": "Kew"}), ("news", {"city": "Kew"})),
        middleware=[ToolGuardMiddleware(Guard(engine, on_block="raise"))],
        checkpointer=InMemorySaver(),
    )
    with pytest.raises(ResultBlocked) as raised:
        await run(graph, ASK, THREAD)

    assert (raised.value.tool, raised.value.call_id, raised.value.posterior) == ("weather", "c1", 0.9)
    assert len(graph.model.seen) == 1
    kept = answers(graph.get_state(THREAD).values)
    assert ["blocked" in message.content for message in kept] == [True, False]


async def test_after_raise_resuming_raises_again_and_a_new_message_goes_on(run: Run) -> None:
    graph = agent(
        [weather],
        WEATHER,
        middleware=[ToolGuardMiddleware(Guard(ScriptedEngine(weather="block"), on_block="raise"))],
        checkpointer=InMemorySaver(),
    )
    for value in (ASK, None):
        with pytest.raises(ResultBlocked):
            await run(graph, value, THREAD)
    out = await run(graph, {"messages": [HumanMessage("go on without it")]}, THREAD)

    assert out["messages"][-1].content == "done"
    assert FABRICATED not in str(out["messages"])


async def test_end_ends_the_run_with_the_notice(run: Run) -> None:
    graph = agent(
        [weather],
        WEATHER,
        middleware=[ToolGuardMiddleware(Guard(ScriptedEngine(weather="block"), on_block="end"))],
        checkpointer=InMemorySaver(),
    )
    out = await run(graph, ASK, THREAD)

    assert len(graph.model.seen) == 1
    assert "blocked" in out["messages"][-1].content
    again = await run(graph, {"messages": [HumanMessage("go on without it")]}, THREAD)
    assert again["messages"][-1].content == "done"


@pytest.mark.parametrize("on_block", ["raise", "end"])
async def test_what_is_not_blocked_stops_nothing(run: Run, on_block: Any) -> None:
    middleware = ToolGuardMiddleware(Guard(ScriptedEngine(weather="flag"), on_block=on_block))
    out = await run(agent([weather], WEATHER, middleware=[middleware]), ASK)

    assert out["messages"][-1].content == "done"


async def test_a_blocked_result_of_a_return_direct_tool_is_replaced(run: Run) -> None:
    @tool(return_direct=True)
    def weather(city: str) -> str:
        """Tell the weather."""
        return FABRICATED

    graph = agent([weather], WEATHER, middleware=[ToolGuardMiddleware(ScriptedEngine(weather="block"))])
    out = await run(graph, ASK)

    assert len(graph.model.seen) == 1
    assert "blocked" in out["messages"][-1].content
    assert FABRICATED not in str(out["messages"])


async def test_raise_holds_for_a_return_direct_tool(run: Run) -> None:
    @tool(return_direct=True)
    def weather(city: str) -> str:
        """Tell the weather."""
        return FABRICATED

    middleware = ToolGuardMiddleware(Guard(ScriptedEngine(weather="block"), on_block="raise"))
    with pytest.raises(ResultBlocked):
        await run(agent([weather], WEATHER, middleware=[middleware]), ASK)


@pytest.mark.parametrize(
    "wrong", [{"on_flag": "shrug"}, {"on_block": "stop"}, {"on_guard_error": "half"}, {"max_retries": -1}]
)
def test_a_wrong_option_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        ToolGuardMiddleware(Guard(VerificationEngine(), **wrong))
