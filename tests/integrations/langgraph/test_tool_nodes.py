"""Wrappers for any tool node, and the tool node that has them."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from agentguard import Guard
from agentguard.errors import ConfigurationError, ResultBlocked
from agentguard.integrations.langgraph import GuardedToolNode, guard_wrappers
from agentguard.integrations.receipts import ReceiptStatus, receipt_signer, verify_transcript

from ..langchain.scripted import THREAD, Run, ScriptedEngine, answers, calls


@tool
def weather(city: str) -> dict[str, int]:
    """Tell the weather."""
    return {"degrees": 18}


@tool
async def news(city: str) -> str:
    """Tell the news."""
    return "nothing new"


@tool
def move(city: str, call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Go there."""
    return Command(update={"messages": [ToolMessage("moved", tool_call_id=call_id)]})


def graph_of(node: Any) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    return graph.compile()


TURN: Any = {"messages": [calls(("weather", {"city": "Kew"}), ("move", {"city": "Rome"}))]}


def wrapped(engine: ScriptedEngine, tools: Any, **options: Any) -> Any:
    wrap, awrap = guard_wrappers(Guard(engine, **options), signer=receipt_signer())
    return ToolNode(tools, wrap_tool_call=wrap, awrap_tool_call=awrap)


BOTH = pytest.mark.parametrize(
    "node_of",
    [
        wrapped,
        lambda engine, tools, **options: GuardedToolNode(tools, Guard(engine, **options), signer=receipt_signer()),
    ],
    ids=["wrappers", "GuardedToolNode"],
)


@BOTH
async def test_raw_values_are_judged_and_the_messages_are_receipted(run: Run, node_of: Any) -> None:
    engine = ScriptedEngine(move="block")
    out = await run(graph_of(node_of(engine, [weather, move])), TURN, THREAD)

    by_tool = {asked["tool"]: asked for asked in engine.asked}
    assert by_tool["weather"]["result"] == {"degrees": 18}
    assert by_tool["move"]["result"] == "moved"
    assert all(asked["execution_time_ms"] >= 0 and asked["session_id"] == "thread-1" for asked in engine.asked)
    accepted, blocked = answers(out)
    assert accepted.content == '{"degrees": 18}'
    assert "'move' was blocked" in blocked.content
    assert {finding.status for finding in verify_transcript(out["messages"])} == {ReceiptStatus.EXECUTED}


@BOTH
async def test_shadow_changes_nothing(run: Run, node_of: Any) -> None:
    engine = ScriptedEngine(weather="block", move="block")
    out = await run(graph_of(node_of(engine, [weather, move], shadow=True)), TURN)

    assert len(engine.asked) == 2
    assert [message.content for message in answers(out)] == ['{"degrees": 18}', "moved"]
    assert all("agentguard" not in message.response_metadata for message in answers(out))


@BOTH
def test_review_is_not_for_a_tool_node(node_of: Any) -> None:
    with pytest.raises(ConfigurationError, match="ReviewNode"):
        node_of(ScriptedEngine(), [weather], on_flag="review")


def test_end_is_a_matter_of_edges() -> None:
    options: Any = {"on_block": "end"}
    with pytest.raises(ConfigurationError, match="route_by_verdict"):
        GuardedToolNode([weather], Guard(ScriptedEngine(), **options))


async def test_an_async_tool_is_guarded_under_ainvoke() -> None:
    engine = ScriptedEngine(news="block")
    turn = {"messages": [calls(("news", {"city": "Kew"}))]}
    (message,) = answers(await graph_of(wrapped(engine, [news])).ainvoke(turn))

    assert [asked["result"] for asked in engine.asked] == ["nothing new"]
    assert "blocked" in message.content


async def test_a_guarded_node_takes_what_a_tool_node_takes(run: Run) -> None:
    node = GuardedToolNode(
        [weather, move],
        Guard(ScriptedEngine(weather="block"), tools=["move"]),
        signer=receipt_signer(),
        name="mine",
        tags=["t"],
        messages_key="messages",
    )
    out = await run(graph_of(node), TURN)

    assert (node.name, node.tags) == ("mine", ["t"])
    assert answers(out)[0].content == '{"degrees": 18}'
    assert answers(out)[1].response_metadata["agentguard"]["verdict"] == "accept"


class Wrapper:
    """A wrapper of the user's, which notes what it was asked and may answer otherwise."""

    def __init__(self, answer: str | None = None, times: int = 1) -> None:
        self.asked: list[str] = []
        self.answer, self.times = answer, times

    def wrap(self, request: Any, handler: Any) -> Any:
        self.asked.append(f"sync {request.tool_call['name']}")
        result = ToolMessage("", name="weather", tool_call_id=request.tool_call["id"])
        for _ in range(self.times):
            result = handler(request)
        return result if self.answer is None else result.model_copy(update={"content": self.answer})

    async def awrap(self, request: Any, handler: Any) -> Any:
        self.asked.append(f"async {request.tool_call['name']}")
        result = ToolMessage("", name="weather", tool_call_id=request.tool_call["id"])
        for _ in range(self.times):
            result = await handler(request)
        return result if self.answer is None else result.model_copy(update={"content": self.answer})


@pytest.fixture
def mode(request: pytest.FixtureRequest) -> str:
    """The way in which ``run`` goes."""
    return "async" if "async" in request.node.callspec.id else "sync"


WEATHER: Any = {"messages": [calls(("weather", {"city": "Kew"}))]}


@pytest.mark.parametrize("times", [0, 1, 2])
async def test_the_guard_is_around_a_wrapper_of_the_users(run: Run, mode: str, times: int) -> None:
    """What the tool said is judged, where it was asked, and what the wrapper made of it is shown and signed."""
    own, engine = Wrapper(answer="20 degrees", times=times), ScriptedEngine()
    wrappers: Any = {"wrap_tool_call": own.wrap, "awrap_tool_call": own.awrap}
    node = GuardedToolNode([weather], engine, signer=receipt_signer(), **wrappers)
    out = await run(graph_of(node), WEATHER, THREAD)

    assert own.asked == [f"{mode} weather"]
    assert [asked["result"] for asked in engine.asked] == [{"degrees": 18} if times else "20 degrees"]
    assert answers(out)[0].content == "20 degrees"
    assert answers(out)[0].response_metadata["agentguard"]["executed"] is bool(times)


async def test_what_a_wrapper_hands_on_may_be_blocked_and_retried_through_it(run: Run) -> None:
    own = Wrapper()
    engine = ScriptedEngine(weather="block")
    engine.register_tool_profile("weather", idempotent=True)
    node = GuardedToolNode(
        [weather], Guard(engine, max_retries=1, on_block="raise"), wrap_tool_call=own.wrap, awrap_tool_call=own.awrap
    )
    with pytest.raises(ResultBlocked):
        await run(graph_of(node), WEATHER)

    assert len(own.asked) == 2


async def test_one_wrapper_alone_is_taken_as_a_tool_node_takes_it(run: Run, mode: str) -> None:
    """A synchronous one serves asynchronous runs too, and an asynchronous one no synchronous run."""
    for options in ("wrap", "awrap"):
        guarded, plain, engine = Wrapper(), Wrapper(), ScriptedEngine(weather="block")
        blocked = GuardedToolNode([weather], engine, **{f"{options}_tool_call": getattr(guarded, options)})
        out = await run(graph_of(blocked), WEATHER)
        await run(graph_of(ToolNode([weather], **{f"{options}_tool_call": getattr(plain, options)})), WEATHER)

        asked = ["sync weather"] if options == "wrap" else ["async weather"] * (mode == "async")
        assert guarded.asked == plain.asked == asked
        assert "was blocked" in answers(out)[0].content


async def test_what_a_wrapper_raises_is_no_tools_result(run: Run) -> None:
    def fails(request: Any, handler: Any) -> Any:
        raise RuntimeError("no quota")

    async def afails(request: Any, handler: Any) -> Any:
        raise RuntimeError("no quota")

    engine = ScriptedEngine()
    node = GuardedToolNode([weather], engine, wrap_tool_call=fails, awrap_tool_call=afails, handle_tool_errors=True)
    out = await run(graph_of(node), WEATHER)

    assert engine.asked == []
    assert "no quota" in answers(out)[0].content


async def test_raise_waits_for_the_other_calls_of_the_turn(run: Run) -> None:
    engine = ScriptedEngine(weather="block")
    with pytest.raises(ResultBlocked) as raised:
        await run(graph_of(GuardedToolNode([weather, move], Guard(engine, on_block="raise"))), TURN)

    assert raised.value.tool == "weather"
    assert sorted(asked["tool"] for asked in engine.asked) == ["move", "weather"]


async def test_commands_that_are_not_blocked_do_not_raise(run: Run) -> None:
    out = await run(graph_of(GuardedToolNode([weather, move], Guard(ScriptedEngine(), on_block="raise"))), TURN)

    assert [message.content for message in answers(out)] == ['{"degrees": 18}', "moved"]


async def test_outside_a_thread_there_is_no_session(run: Run) -> None:
    engine = ScriptedEngine()
    await run(graph_of(GuardedToolNode([weather], engine)), {"messages": [calls(("weather", {"city": "Kew"}))]})

    assert engine.asked[0]["session_id"] is None


async def test_a_call_without_an_id_is_judged_all_the_same(run: Run) -> None:
    engine = ScriptedEngine()
    turn = AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Kew"}, "id": ""}])
    node = GuardedToolNode([weather], engine, signer=receipt_signer())
    (message,) = answers(await run(graph_of(node), {"messages": [turn]}))

    assert message.response_metadata["agentguard"]["verdict"] == "accept"
