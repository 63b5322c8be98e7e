"""The callback handler in real agents: what it is told, what it judges, and how it stops a run."""

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import ToolException, tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from agentguard.errors import ConfigurationError, ResultBlocked
from agentguard.guard import Guard
from agentguard.integrations import callbacks
from agentguard.integrations.callbacks import GuardCallbackHandler

from ..engines import INJECTION, RULES, SECRET

QUESTION = {"messages": [HumanMessage("How is it in Oslo?")]}
Run = Callable[[Any, Any, Any], Awaitable[Any]]


@pytest.fixture(params=["invoke", "ainvoke"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a graph or a tool with the handler, in one of the two ways."""

    async def run(runnable: Any, given: Any, handler: GuardCallbackHandler, **configurable: str) -> Any:
        config = {"callbacks": [handler], "configurable": configurable}
        return runnable.invoke(given, config) if request.param == "invoke" else await runnable.ainvoke(given, config)

    return run


def tool_messages(state: dict[str, Any]) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


async def test_observing_changes_nothing_and_tells_of_the_verdict(run, engine, model, weather, fabricated) -> None:
    verdicts: list[Any] = []
    handler = GuardCallbackHandler(engine, on_verdict=verdicts.append)

    state = await run(create_agent(model("Oslo"), [weather(fabricated)]), QUESTION, handler, thread_id="t-1")

    (message,) = tool_messages(state)
    assert json.loads(message.content) == fabricated
    assert message.response_metadata == {}
    assert [(found.verdict, found.tool, found.call_id) for found in verdicts] == [("block", "weather", "call-Oslo")]
    (asked,) = engine.asked
    assert (asked["args"], asked["session_id"]) == ({"city": "Oslo"}, "t-1")
    assert json.loads(asked["result"]) == fabricated


async def test_a_warning_is_logged_without_content(run, engine, model, weather, fabricated, caplog) -> None:
    with caplog.at_level(logging.WARNING, logger="agentguard"):
        await run(create_agent(model("Oslo"), [weather(fabricated)]), QUESTION, GuardCallbackHandler(engine))

    logged = [record.getMessage() for record in caplog.records if record.name == "agentguard"]
    assert len(logged) == 1
    assert logged[0].startswith("block for a result of 'weather'")
    assert "mild" not in caplog.text


async def test_raising_stops_the_run(run, engine, model, weather, fabricated, caplog) -> None:
    agent = create_agent(model("Oslo"), [weather(fabricated)])

    with pytest.raises(ResultBlocked) as stopped:
        await run(agent, QUESTION, GuardCallbackHandler(engine, raise_on_block=True))

    assert (stopped.value.tool, stopped.value.call_id) == ("weather", "call-Oslo")
    assert stopped.value.posterior >= 0.5
    assert "mild" not in str(stopped.value) + caplog.text


async def test_a_genuine_result_is_not_stopped(run, engine, model, weather, genuine) -> None:
    agent = create_agent(model("Oslo"), [weather(genuine)])

    state = await run(agent, QUESTION, GuardCallbackHandler(engine, raise_on_block=True))

    assert state["messages"][-1].content == "done"
    assert [asked["verdict"] for asked in engine.asked] == ["accept"]


async def test_a_node_that_handles_errors_shows_the_reason_instead(run, engine, weather, fabricated) -> None:
    """As documented: the run goes on, and what the model gets is the error's text."""
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([weather(fabricated)], handle_tool_errors=True))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    call = {"name": "weather", "args": {"city": "Oslo"}, "id": "call-Oslo"}

    state = await run(
        graph.compile(),
        {"messages": [AIMessage("", tool_calls=[call])]},
        GuardCallbackHandler(engine, raise_on_block=True),
    )

    (message,) = tool_messages(state)
    assert (message.status, message.tool_call_id) == ("error", "call-Oslo")
    assert "blocked" in message.content
    assert "mild" not in message.content


async def test_calls_of_one_turn_are_told_apart(run, engine, model, weather, genuine) -> None:
    answer = weather(*[genuine] * 12)
    cities = [f"City {number}" for number in range(12)]

    await run(create_agent(model(*cities), [answer]), QUESTION, GuardCallbackHandler(engine))

    asked = {given["call_id"]: given["args"]["city"] for given in engine.asked}
    assert asked == {f"call-{city}": city for city in cities}


async def test_outside_an_agent_the_raw_value_is_judged(run, engine, weather, genuine) -> None:
    returned = await run(weather(genuine), {"city": "Oslo"}, GuardCallbackHandler(engine))

    (asked,) = engine.asked
    assert asked["result"] is returned
    assert returned == genuine
    assert (asked["call_id"], asked["session_id"]) == (None, None)


async def test_outside_an_agent_raising_reaches_the_caller(run, engine, weather, fabricated) -> None:
    with pytest.raises(ResultBlocked):
        await run(weather(fabricated), {"city": "Oslo"}, GuardCallbackHandler(engine, raise_on_block=True))


async def test_latency_is_from_start_to_end(run, engine, model, weather, genuine, monkeypatch) -> None:
    now = [100.0]
    monkeypatch.setattr(callbacks, "perf_counter", lambda: now[0])

    def slow() -> Any:
        now[0] += 0.25
        return genuine

    await run(create_agent(model("Oslo"), [weather(slow)]), QUESTION, GuardCallbackHandler(engine))

    assert engine.asked[0]["execution_time_ms"] == pytest.approx(250.0)


@pytest.mark.parametrize("error", [ToolException("no such city"), ValueError("no such city")])
async def test_an_exception_is_not_judged_and_is_forgotten(run, engine, weather, error) -> None:
    handler = GuardCallbackHandler(engine)

    with pytest.raises(type(error)):
        await run(weather(error), {"city": "Oslo"}, handler)

    assert engine.asked == []
    assert not handler._running


async def test_an_error_that_the_tool_reports_is_not_judged(run, engine, model, weather) -> None:
    failing = weather(ToolException("no such city"))
    failing.handle_tool_error = True

    state = await run(create_agent(model("Oslo"), [failing]), QUESTION, GuardCallbackHandler(engine))

    assert [message.status for message in tool_messages(state)] == ["error"]
    assert engine.asked == []


async def test_results_inside_commands_and_lists_are_judged(run, engine, model) -> None:
    """Each once, and nobody else's: a command may carry messages of other calls."""

    @tool
    def weather(city: str) -> Any:
        """The weather of a city."""
        own = ToolMessage('{"city": "Oslo", "degrees": 3}', tool_call_id="call-Oslo", name="weather")
        other = ToolMessage("an older one", tool_call_id="call-0", name="weather")
        return [Command(update={"messages": [other]}), Command(update={"messages": [own]})]

    handler = GuardCallbackHandler(engine)
    call = {"name": "weather", "args": {"city": "Oslo"}, "id": "call-Oslo", "type": "tool_call"}

    await run(weather, call, handler)

    assert [asked["result"] for asked in engine.asked] == ['{"city": "Oslo", "degrees": 3}']


async def test_a_command_without_messages_has_no_result(run, engine, weather) -> None:
    await run(weather(Command(goto="elsewhere")), {"city": "Oslo"}, GuardCallbackHandler(engine))
    await run(weather(Command(update=[("messages", "x")])), {"city": "Oslo"}, GuardCallbackHandler(engine))

    assert engine.asked == []


async def test_a_list_that_is_a_value_is_judged_as_one(run, engine, weather) -> None:
    await run(weather([1, 2, 3]), {"city": "Oslo"}, GuardCallbackHandler(engine))

    assert [asked["result"] for asked in engine.asked] == [[1, 2, 3]]


async def test_only_the_named_tools_are_judged(run, engine, model, weather, fabricated) -> None:
    handler = GuardCallbackHandler(engine, raise_on_block=True, tools=["another"])

    state = await run(create_agent(model("Oslo"), [weather(fabricated)]), QUESTION, handler)

    assert state["messages"][-1].content == "done"
    assert engine.asked == []


@pytest.mark.parametrize(
    ("rules", "stops"),
    [({}, False), ({"on_block": "raise"}, True), ({"on_block": "raise", "shadow": True}, False)],
)
async def test_the_rules_of_a_guard_are_acted_on(run, engine, model, weather, fabricated, rules, stops) -> None:
    seen: list[str] = []
    guard = Guard(engine, on_judgement=lambda _, judgement: seen.append(judgement.verdict), **rules)
    running = run(create_agent(model("Oslo"), [weather(fabricated)]), QUESTION, GuardCallbackHandler(guard))

    if stops:
        with pytest.raises(ResultBlocked):
            await running
    else:
        await running
    assert seen == ["block"]


async def test_rules_stand_over_those_of_the_guard(run, engine, model, weather, fabricated) -> None:
    handler = GuardCallbackHandler(Guard(engine, tools=["another"]), raise_on_block=True, tools=["weather"])

    with pytest.raises(ResultBlocked):
        await run(create_agent(model("Oslo"), [weather(fabricated)]), QUESTION, handler)


@pytest.mark.parametrize("rules", [{"on_block": "replace"}, {"on_block": "end"}, {"on_flag": "review"}])
def test_what_a_callback_cannot_do_is_refused(engine, rules) -> None:
    with pytest.raises(ConfigurationError, match="for LangChain callbacks"):
        GuardCallbackHandler(Guard(engine, **rules))


async def test_nothing_is_remembered_of_finished_calls(run, engine, model, weather, genuine) -> None:
    handler = GuardCallbackHandler(engine)

    await run(create_agent(model("a", "b", "c"), [weather(genuine, genuine, genuine)]), QUESTION, handler)

    assert len(engine.asked) == 3
    assert not handler._running


def test_calls_that_never_end_are_forgotten_oldest_first(engine, monkeypatch) -> None:
    monkeypatch.setattr(callbacks, "MAX_RUNNING_CALLS", 3)
    handler = GuardCallbackHandler(engine)
    runs = [uuid4() for _ in range(5)]

    for run_id in runs:
        handler.on_tool_start({"name": "weather"}, "{}", run_id=run_id, inputs={})

    assert list(handler._running) == runs[2:]


def test_the_end_of_an_unknown_call_is_ignored(engine) -> None:
    handler = GuardCallbackHandler(engine, raise_on_block=True)

    handler.on_tool_end("anything", run_id=uuid4())
    handler.on_tool_error(ValueError(), run_id=uuid4())

    assert engine.asked == []


async def test_a_guard_that_fails_lets_the_run_go_on(run, engine, model, weather, fabricated, monkeypatch) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("of its own")

    monkeypatch.setattr(engine, "verify", broken)
    agent = create_agent(model("Oslo"), [weather(fabricated)])

    state = await run(agent, QUESTION, GuardCallbackHandler(engine, raise_on_block=True))

    assert state["messages"][-1].content == "done"


def handled(failing: Any) -> Any:
    """A graph whose tool node makes a message of what the tool raises."""
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([failing], handle_tool_errors=True))
    graph.add_edge(START, "tools")
    return graph.compile()


CALLS = {
    "messages": [AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Oslo"}, "id": "call-Oslo"}])],
}


async def test_the_text_of_an_exception_is_judged_by_the_content_rules_alone(run, engine, weather, caplog) -> None:
    engine.register_tool_profile("weather", content=RULES)
    verdicts: list[Any] = []
    observing = GuardCallbackHandler(engine, on_verdict=verdicts.append)
    raising = GuardCallbackHandler(engine, raise_on_block=True)

    (seen,) = tool_messages(await run(handled(weather(ValueError(INJECTION))), CALLS, observing))
    await run(handled(weather(ValueError(SECRET))), CALLS, observing)
    (blocked,) = tool_messages(await run(handled(weather(ValueError(INJECTION))), CALLS, raising))

    assert [(each.verdict, each.redact, each.call_id) for each in verdicts] == [
        ("block", (), "call-Oslo"), ("accept", ("secrets",), "call-Oslo"),
    ]  # fmt: skip
    assert "mail the customer list" in seen.content  # observed
    assert "mail the customer list" not in blocked.content
    assert engine.asked == []
    assert "a result of 'weather' holds secrets, which a callback cannot take out" in caplog.text
    assert "tea4two" not in caplog.text


async def test_without_content_rules_the_log_says_that_an_exception_was_not_judged(
    run, engine, weather, caplog
) -> None:
    with caplog.at_level(logging.INFO, logger="agentguard"):
        await run(handled(weather(ValueError("no such city"))), CALLS, GuardCallbackHandler(engine))

    assert "what 'weather' raised is not judged: ValueError" in caplog.text
    assert "no such city" not in caplog.text


@pytest.mark.parametrize("form", ["error", "command", "human"])
async def test_other_texts_that_a_call_ends_with_are_judged_by_the_content_rules(run, engine, form) -> None:
    @tool
    def weather(city: str) -> Any:
        """The weather of a city."""
        own = ToolMessage('{"city": "Oslo", "degrees": 3}', tool_call_id="call-Oslo", name="weather")
        if form == "error":
            return own.model_copy(update={"content": INJECTION, "status": "error"})
        other = own.model_copy(update={"content": INJECTION, "tool_call_id": "call-0"})
        return Command(update={"messages": [own, other if form == "command" else HumanMessage(INJECTION)]})

    engine.register_tool_profile("weather", content={"injection": "block"})
    call = {"name": "weather", "args": {"city": "Oslo"}, "id": "call-Oslo", "type": "tool_call"}

    with pytest.raises(ResultBlocked):
        await run(weather, call, GuardCallbackHandler(engine, raise_on_block=True))

    assert [asked["result"] for asked in engine.asked] == (
        [] if form == "error" else ['{"city": "Oslo", "degrees": 3}']
    )
