"""The guard listed first, beside the middlewares that people use: retry, PII, human in the loop, summarisation."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentguard import Guard
from agentguard.integrations.langchain import ToolGuardMiddleware
from agentguard.integrations.receipts import ReceiptStatus, receipt_signer, verify_transcript

from .scripted import ASK, THREAD, Run, ScriptedEngine, ScriptedModel, agent, answers, calls


class Flaky:
    """Fails so many times, then works."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.runs = 0

    def weather(self, city: str) -> str:
        """Tell the weather."""
        self.runs += 1
        if self.runs <= self.failures:
            raise ConnectionError("try again")
        return "18 degrees"


WEATHER = calls(("weather", {"city": "Kew"}))


def retry(**options: Any) -> ToolRetryMiddleware:
    return ToolRetryMiddleware(max_retries=3, initial_delay=0.0, backoff_factor=0.0, jitter=False, **options)


async def test_a_retry_further_in_is_judged_once_by_its_last_attempt(run: Run) -> None:
    engine, flaky = ScriptedEngine(), Flaky(2)
    graph = agent([tool(flaky.weather)], WEATHER, middleware=[ToolGuardMiddleware(engine), retry()])
    (message,) = answers(await run(graph, ASK))

    assert flaky.runs == 3
    assert [asked["result"] for asked in engine.asked] == ["18 degrees"]
    assert engine.asked[0]["execution_time_ms"] is not None
    assert message.content == "18 degrees"


async def test_a_retry_that_gives_up_is_not_judged(run: Run) -> None:
    engine, flaky = ScriptedEngine(), Flaky(9)
    middleware = [ToolGuardMiddleware(engine, signer=receipt_signer()), retry(on_failure="continue")]
    (message,) = answers(await run(agent([tool(flaky.weather)], WEATHER, middleware=middleware), ASK))

    assert flaky.runs == 4
    assert engine.asked == []
    assert message.response_metadata["agentguard"]["verdict"] == "unjudged"


async def test_a_retry_further_out_does_not_repeat_what_is_blocked(run: Run) -> None:
    engine, flaky = ScriptedEngine(weather="block"), Flaky(0)
    graph = agent([tool(flaky.weather)], WEATHER, middleware=[retry(), ToolGuardMiddleware(engine)])
    (message,) = answers(await run(graph, ASK))

    assert flaky.runs == 1
    assert "blocked" in message.content


@tool
def contact(name: str) -> str:
    """Look up an address."""
    return "write to ada@example.org"


async def test_the_guard_judges_the_raw_result_and_pii_redacts_what_the_model_sees(run: Run) -> None:
    engine = ScriptedEngine()
    redacting = PIIMiddleware("email", strategy="redact", apply_to_tool_results=True)
    middleware = [ToolGuardMiddleware(engine, signer=receipt_signer()), redacting]
    graph = agent([contact], calls(("contact", {"name": "Ada"})), middleware=middleware)
    out = await run(graph, ASK)

    assert engine.asked[0]["result"] == "write to ada@example.org"
    assert "ada@example.org" not in str(graph.model.seen[1])
    (message,) = answers(out)
    assert message.response_metadata["agentguard"]["verdict"] == "accept"
    # The transcript tells the truth: what stands there now is not what the tool's guard showed.
    assert [finding.status for finding in verify_transcript(out["messages"])] == [ReceiptStatus.ALTERED]


async def test_a_person_reviews_the_raw_result_before_it_is_redacted(run: Run) -> None:
    middleware = [
        ToolGuardMiddleware(Guard(ScriptedEngine(contact="flag"), on_flag="review")),
        PIIMiddleware("email", strategy="redact", apply_to_tool_results=True),
    ]
    graph = agent([contact], calls(("contact", {"name": "Ada"})), middleware=middleware, checkpointer=InMemorySaver())
    out = await run(graph, ASK, THREAD)
    assert "ada@example.org" in out["__interrupt__"][0].value["action_requests"][0]["description"]
    await run(graph, Command(resume={"decisions": [{"type": "approve"}]}), THREAD)

    assert "ada@example.org" not in str(graph.model.seen[1])


@tool
def weather(city: str, days: int = 1) -> str:
    """Tell the weather."""
    return f"{city}: 18 degrees"


@tool
def climate(city: str) -> str:
    """Tell the climate."""
    return f"{city}: mild"


def approved(engine: ScriptedEngine, **options: Any) -> Any:
    middleware = [
        ToolGuardMiddleware(Guard(engine, **options), signer=receipt_signer()),
        HumanInTheLoopMiddleware({"weather": True}),
    ]
    return agent([weather, climate], WEATHER, middleware=middleware, checkpointer=InMemorySaver())


def decide(**decision: Any) -> Command[Any]:
    return Command(resume={"decisions": [decision]})


async def test_a_call_that_a_person_approves_first_is_judged_after(run: Run) -> None:
    engine = ScriptedEngine(weather="flag")
    graph = approved(engine, on_flag="review")
    await run(graph, ASK, THREAD)
    assert engine.asked == []
    out = await run(graph, decide(type="approve"), THREAD)
    assert "Is this result genuine?" in out["__interrupt__"][0].value["action_requests"][0]["description"]
    out = await run(graph, decide(type="approve"), THREAD)

    assert len(engine.asked) == 1
    assert out["messages"][-1].content == "done"


async def test_a_call_that_a_person_edits_is_judged_by_the_arguments_that_ran(run: Run) -> None:
    engine = ScriptedEngine()
    graph = approved(engine)
    await run(graph, ASK, THREAD)
    edited = {"name": "weather", "args": {"city": "Rome", "days": 2}}
    out = await run(graph, decide(type="edit", edited_action=edited), THREAD)

    assert [(asked["args"], asked["result"]) for asked in engine.asked] == [
        ({"city": "Rome", "days": 2}, "Rome: 18 degrees")
    ]
    assert [finding.status for finding in verify_transcript(out["messages"])] == [ReceiptStatus.EXECUTED]


async def test_a_call_that_a_person_sends_to_another_tool_is_judged_as_that_tools(run: Run) -> None:
    engine = ScriptedEngine(climate="block")
    graph = approved(engine)
    await run(graph, ASK, THREAD)
    edited = {"name": "climate", "args": {"city": "Rome"}}
    out = await run(graph, decide(type="edit", edited_action=edited), THREAD)

    (asked,) = engine.asked
    assert asked["tool"] == "climate"
    # Newer versions put the tool in at execution, behind the guard's probe; older ones rewrite the call before it.
    if asked["args"] is None:
        assert asked["execution_time_ms"] is None
    else:
        assert asked["args"] == {"city": "Rome"}
        assert asked["execution_time_ms"] > 0
    (message,) = answers(out)
    assert "'climate' was blocked" in message.content


async def test_a_call_that_a_person_rejects_never_comes_to_the_guard(run: Run) -> None:
    engine = ScriptedEngine()
    graph = approved(engine)
    await run(graph, ASK, THREAD)
    out = await run(graph, decide(type="reject"), THREAD)

    assert engine.asked == []
    assert [finding.status for finding in verify_transcript(out["messages"])] == [ReceiptStatus.MISSING]


async def test_review_comes_before_summarisation_and_its_answer_is_what_is_summarised(run: Run) -> None:
    summariser = ScriptedModel(script=[AIMessage("a summary")])
    middleware = [
        ToolGuardMiddleware(Guard(ScriptedEngine(weather="flag"), on_flag="review")),
        SummarizationMiddleware(summariser, trigger=("messages", 3), keep=("messages", 1)),
    ]
    graph = agent([weather], WEATHER, middleware=middleware, checkpointer=InMemorySaver())
    history = [HumanMessage("go"), HumanMessage("on")]
    await run(graph, {"messages": history}, THREAD)
    asked = graph.get_state(THREAD).tasks[0].interrupts
    assert len(asked) == 1
    assert summariser.seen == []
    await run(graph, Command(resume={"decisions": [{"type": "reject"}]}), THREAD)

    assert len(summariser.seen) == 1
    assert "18 degrees" not in str(summariser.seen)
    assert "18 degrees" not in str(graph.model.seen[-1])


@pytest.mark.parametrize("first", [True, False], ids=["guard first", "guard last"])
async def test_blocked_content_reaches_no_summary_in_either_order(run: Run, first: bool) -> None:
    summariser = ScriptedModel(script=[AIMessage("a summary")] * 3)
    guard = ToolGuardMiddleware(ScriptedEngine(weather="block"))
    summary = SummarizationMiddleware(summariser, trigger=("messages", 3), keep=("messages", 1))
    graph = agent([weather], WEATHER, middleware=[guard, summary] if first else [summary, guard])
    await run(graph, ASK)

    assert len(summariser.seen) == 1
    assert "18 degrees" not in str(summariser.seen)
    assert "18 degrees" not in str(graph.model.seen)
