"""The guard as a node: receipts decide what is believed, what was not verified is verified, edges follow verdicts."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from agentguard import Guard
from agentguard.errors import ConfigurationError, ResultBlocked
from agentguard.integrations.langgraph import (
    GuardedToolNode,
    GuardNode,
    GuardState,
    ReviewNode,
    route_by_verdict,
)
from agentguard.integrations.receipts import ReceiptStatus, receipt_signer, verify_transcript
from agentguard.verification.receipts import ReceiptSigner

from ..langchain.scripted import THREAD, BrokenEngine, Run, ScriptedEngine, answers, calls

RAN: list[str] = []


@tool
def weather(city: str) -> dict[str, int]:
    """Tell the weather."""
    RAN.append(city)
    return {"degrees": 18}


@tool
def news(city: str) -> str:
    """Tell the news."""
    if city == "nowhere":
        raise ValueError("no such city")
    return "nothing new"


TURN: Any = {"messages": [calls(("weather", {"city": "Kew"}), ("news", {"city": "Rome"}))]}
ONE: Any = {"messages": [calls(("weather", {"city": "Kew"}))]}


def signing(tools: Any, engine: Any, **options: Any) -> GuardedToolNode:
    return GuardedToolNode(tools, engine, **{"signer": receipt_signer(), **options})


def went(name: str) -> Any:
    return lambda state: {"messages": [AIMessage(f"went to {name}")]}


def graph_of(
    tools: Any, guard: GuardNode, *, change: Any = None, flag: Any = None, state: Any = GuardState, saver: bool = False
) -> Any:
    """Tools -> guard -> accept | flag | block, each of which says where it went; ``change`` meddles with messages."""

    def meddle(state: Any) -> Any:
        return {"messages": [change(message) for message in answers(state)]} if change else None

    graph = StateGraph(state)
    graph.add_node("tools", tools)
    graph.add_node("guard", guard)
    graph.add_edge(START, "tools")
    graph.add_node("meddle", meddle)
    graph.add_edge("tools", "meddle")
    graph.add_edge("meddle", "guard")
    for name in ("accept", "flag", "block"):
        graph.add_node(name, flag if name == "flag" and flag is not None else went(name))
        graph.add_edge(name, END)
    graph.add_conditional_edges("guard", route_by_verdict, ["accept", "flag", "block"])
    return graph.compile(checkpointer=InMemorySaver() if saver else None)


PLAIN = ToolNode([weather, news], handle_tool_errors=True)


@pytest.mark.parametrize(
    ("verdicts", "way"),
    [
        ({}, "accept"),
        ({"weather": "flag"}, "flag"),
        ({"news": "block"}, "block"),
        ({"weather": "flag", "news": "block"}, "block"),
    ],
)
async def test_behind_a_plain_tool_node_it_verifies_and_routes_by_the_worst(
    run: Run, verdicts: dict[str, str], way: str
) -> None:
    engine = ScriptedEngine(**verdicts)
    out = await run(graph_of(PLAIN, GuardNode(engine)), TURN, THREAD)

    assert [(asked["tool"], asked["args"], asked["result"]) for asked in engine.asked] == [
        ("weather", {"city": "Kew"}, '{"degrees": 18}'),
        ("news", {"city": "Rome"}, "nothing new"),
    ]
    assert {(asked["execution_time_ms"], asked["session_id"]) for asked in engine.asked} == {(None, "thread-1")}
    assert out["messages"][-1].content == f"went to {way}"
    assert {call: found["verdict"] for call, found in out["verdicts"].items()} == {
        "c1": verdicts.get("weather", "accept"),
        "c2": verdicts.get("news", "accept"),
    }
    assert len(answers(out)) == 2


async def test_behind_guarded_tools_it_takes_their_verdicts_and_verifies_nothing_again(run: Run) -> None:
    engine = ScriptedEngine(weather="flag", news="block")
    out = await run(graph_of(signing([weather, news], engine), GuardNode(engine)), TURN, THREAD)

    assert len(engine.asked) == 2
    assert all(found["execution_time_ms"] >= 0 for found in out["verdicts"].values())
    assert [found["verdict"] for found in out["verdicts"].values()] == ["flag", "block"]
    assert "'news' was blocked" in answers(out)[1].content
    findings = verify_transcript(out["messages"], session_id="thread-1")
    assert [(finding.status, finding.verdict) for finding in findings] == [
        (ReceiptStatus.EXECUTED, "flag"),
        (ReceiptStatus.EXECUTED, "block"),
    ]


async def test_its_own_policy_holds_for_the_verdicts_of_others(run: Run) -> None:
    engine = ScriptedEngine(weather="flag")
    out = await run(graph_of(signing([weather], engine), GuardNode(Guard(engine, on_flag="block"))), ONE, THREAD)

    assert out["messages"][-1].content == "went to block"
    assert "'weather' was blocked" in answers(out)[0].content
    assert [finding.status for finding in verify_transcript(out["messages"])] == [ReceiptStatus.EXECUTED]


async def test_a_result_that_it_only_read_is_not_receipted_as_executed(run: Run) -> None:
    out = await run(graph_of(PLAIN, GuardNode(ScriptedEngine())), ONE, THREAD)

    assert [finding.status for finding in verify_transcript(out["messages"])] == [ReceiptStatus.MISSING]


async def test_where_receipts_are_required_what_nobody_saw_executed_is_blocked(run: Run) -> None:
    engine = ScriptedEngine()
    out = await run(graph_of(PLAIN, GuardNode(engine, require_receipts=True)), ONE, THREAD)

    assert engine.asked == []
    assert out["messages"][-1].content == "went to block"
    assert "it has no receipt" in answers(out)[0].content
    assert out["verdicts"]["c1"]["fired"] == ["receipt"]


async def test_where_receipts_are_required_guarded_tools_pass_and_so_do_their_failures(run: Run) -> None:
    engine = ScriptedEngine()
    tools = signing([weather, news], engine, handle_tool_errors=True)
    turn = {"messages": [calls(("weather", {"city": "Kew"}), ("news", {"city": "nowhere"}), ("wether", {}))]}
    out = await run(graph_of(tools, GuardNode(engine, require_receipts=True)), turn, THREAD)

    assert out["messages"][-1].content == "went to accept"
    assert [found["verdict"] for found in out["verdicts"].values()] == ["accept", "unjudged", "unjudged"]
    assert len(engine.asked) == 1


async def test_failed_calls_of_a_plain_tool_node_are_not_judged(run: Run) -> None:
    engine = ScriptedEngine()
    turn = {"messages": [calls(("news", {"city": "nowhere"}))]}
    out = await run(graph_of(PLAIN, GuardNode(engine)), turn)

    assert engine.asked == []
    assert out["verdicts"]["c1"]["verdict"] == "unjudged"
    assert out["messages"][-1].content == "went to accept"


def edited(message: ToolMessage) -> ToolMessage:
    return message.model_copy(update={"content": '{"degrees": 45}'})


def relabelled(message: ToolMessage) -> ToolMessage:
    stamp = {**message.response_metadata["agentguard"], "verdict": "accept", "posterior": 0.0}
    return message.model_copy(update={"response_metadata": {"agentguard": stamp}})


def forged(message: ToolMessage) -> ToolMessage:
    stamp = {**message.response_metadata["agentguard"], "receipt": "v1.e30.00"}
    return message.model_copy(update={"response_metadata": {"agentguard": stamp}})


@pytest.mark.parametrize(
    ("change", "why"),
    [(edited, "altered"), (relabelled, "altered"), (forged, "forged")],
    ids=["content", "verdict", "receipt"],
)
async def test_a_message_that_was_tampered_with_is_blocked(run: Run, change: Any, why: str) -> None:
    engine = ScriptedEngine()
    out = await run(graph_of(signing([weather], ScriptedEngine()), GuardNode(engine), change=change), ONE, THREAD)

    (message,) = answers(out)
    assert out["messages"][-1].content == "went to block"
    assert f"its receipt says: {why}" in message.content
    assert out["verdicts"]["c1"]["posterior"] == 1.0
    assert engine.asked == []


async def test_a_bare_stamp_without_a_receipt_is_not_believed(run: Run) -> None:
    def bare(message: ToolMessage) -> ToolMessage:
        return message.model_copy(
            update={"response_metadata": {"agentguard": {"verdict": "accept", "action": "pass", "review": "approve"}}}
        )

    engine = ScriptedEngine(weather="block")
    out = await run(graph_of(signing([weather], ScriptedEngine()), GuardNode(engine), change=bare), ONE, THREAD)

    assert len(engine.asked) == 1
    assert out["messages"][-1].content == "went to block"


class AheadOfTime(ReceiptSigner):
    """Of a machine whose clock is an hour ahead."""

    def __init__(self) -> None:
        super().__init__(b"a key of sixteen bytes or more")

    def sign(self, *call: Any, issued_at: float, **names: Any) -> str:
        return super().sign(*call, issued_at=issued_at + 3_600, **names)


async def executed(run: Run, thread: Any = THREAD, signer: ReceiptSigner | None = None) -> list[Any]:
    """The call and the receipted message of an honest run."""
    node = StateGraph(MessagesState)
    node.add_node("tools", signing([weather], ScriptedEngine(), signer=signer or receipt_signer()))
    node.add_edge(START, "tools")
    messages: list[Any] = (await run(node.compile(), ONE, thread))["messages"]
    return messages


def guard_alone(**options: Any) -> Any:
    graph = StateGraph(GuardState)
    graph.add_node("guard", GuardNode(ScriptedEngine(), **options))
    graph.add_edge(START, "guard")
    return graph.compile()


async def test_the_receipt_of_an_earlier_call_is_a_replay(run: Run) -> None:
    call, message = await executed(run)
    again = [call, message, HumanMessage("again"), call.model_copy(update={"id": "a2"})]
    replayed = message.model_copy(update={"id": "m2"})
    other = calls(("weather", {"city": "Rome"}))
    other.tool_calls[0]["id"] = "c9"
    out = await run(guard_alone(), {"messages": [*again, replayed]}, THREAD)
    moved = await run(
        guard_alone(), {"messages": [call, message, other, replayed.model_copy(update={"tool_call_id": "c9"})]}, THREAD
    )

    assert out["verdicts"]["c1"]["reason"] == "its receipt says: replayed"
    assert moved["verdicts"]["c9"]["reason"] == "its receipt says: replayed"


async def test_an_id_that_the_model_uses_again_is_no_replay(run: Run) -> None:
    call, message = await executed(run)
    later, again = await executed(run)
    out = await run(guard_alone(), {"messages": [call, message, later.model_copy(update={"id": "a2"}), again]}, THREAD)

    assert out["verdicts"]["c1"]["verdict"] == "accept"


async def test_the_receipt_of_another_thread_is_refused(run: Run) -> None:
    messages = await executed(run, {"configurable": {"thread_id": "thread-2"}})
    out = await run(guard_alone(), {"messages": messages}, THREAD)

    assert out["verdicts"]["c1"]["reason"] == "its receipt says: from another session"


async def test_an_expired_receipt_is_refused(run: Run) -> None:
    out = await run(guard_alone(max_age=-1.0), {"messages": await executed(run)}, THREAD)

    assert out["verdicts"]["c1"]["reason"] == "its receipt says: expired"


async def test_a_receipt_from_the_future_is_refused(run: Run) -> None:
    messages = await executed(run, signer=AheadOfTime())
    out = await run(guard_alone(max_age=1e6, signer=AheadOfTime()), {"messages": messages}, THREAD)

    assert out["verdicts"]["c1"]["reason"] == "its receipt says: from the future"


@pytest.mark.parametrize("max_age", [float("nan"), float("inf"), -float("inf"), "60"])
def test_an_age_that_no_time_is_held_against_is_refused(max_age: Any) -> None:
    with pytest.raises(ConfigurationError, match="max_age must be a finite number of seconds, or None, not "):
        GuardNode(ScriptedEngine(), max_age=max_age)


@tool
def picture(call_id: Annotated[str, InjectedToolCallId]) -> ToolMessage:
    """Draw a picture, which no receipt can be signed for."""
    return ToolMessage([{"type": "image", "bytes": b"x"}], tool_call_id=call_id, name="picture")


@pytest.mark.parametrize(("required", "way"), [(False, "accept"), (True, "block")])
async def test_what_could_not_be_signed_is_verified_here_or_blocked(run: Run, required: bool, way: str) -> None:
    engine = ScriptedEngine()
    guard = GuardNode(engine, require_receipts=required)
    turn: Any = {"messages": [calls(("picture", {}))]}
    out = await run(graph_of(signing([picture], ScriptedEngine()), guard), turn, THREAD)

    assert out["messages"][-1].content == f"went to {way}"
    assert len(engine.asked) == (0 if required else 1)
    assert ("it has no receipt" in str(answers(out)[0].content)) is required


async def test_the_node_may_run_twice_on_one_turn(run: Run) -> None:
    out = await run(guard_alone(require_receipts=True), {"messages": await executed(run)}, THREAD)
    again = await run(guard_alone(require_receipts=True), {"messages": out["messages"]}, THREAD)

    assert again["verdicts"] == out["verdicts"]


async def test_each_verdict_is_a_custom_stream_event_where_asked_for(stream: Run) -> None:
    engine = ScriptedEngine(news="block")
    events = await stream(graph_of(PLAIN, GuardNode(engine, events=True)), TURN, stream_mode="custom")
    silent = await stream(graph_of(PLAIN, GuardNode(engine)), TURN, stream_mode="custom")

    assert [(event["type"], event["call_id"], event["verdict"]) for event in events] == [
        ("agentguard.verdict", "c1", "accept"),
        ("agentguard.verdict", "c2", "block"),
    ]
    assert all("receipt" not in event for event in events)
    assert silent == []


@pytest.mark.parametrize(
    ("first", "second", "way", "judged"),
    [
        ("accept", "accept", "accept", True), ("accept", "flag", "flag", True), ("accept", "block", "block", True),
        ("flag", "accept", "flag", False), ("block", "accept", "block", False),
    ],
)  # fmt: skip
async def test_behind_guarded_tools_without_a_signer_accepted_results_are_judged_again(
    run: Run, first: str, second: str, way: str, judged: bool
) -> None:
    before, engine = ScriptedEngine(weather=first), ScriptedEngine(weather=second)
    tools = GuardedToolNode([weather], before, flag_text="[{tool}]")
    out = await run(graph_of(tools, GuardNode(engine, flag_text="({tool})")), ONE, THREAD)

    assert [asked["result"] for asked in engine.asked] == ['{"degrees": 18}'] * judged
    assert out["messages"][-1].content == f"went to {way}"
    (message,) = answers(out)
    if way == "block":
        assert "'weather' was blocked" in message.content
    else:
        line = {"accept": "", "flag": "\n\n(weather)" if judged else "\n\n[weather]"}[way]
        assert message.content == f'{{"degrees": 18}}{line}'


@pytest.mark.parametrize("line", ["45", "", 7, None, ["45"]])
async def test_what_a_client_calls_a_line_is_judged_or_not_shown(run: Run, line: Any) -> None:
    """Nothing is shown that was not judged."""
    engine = ScriptedEngine()
    stamp = {"verdict": "accept", "action": "annotate", "posterior": 0.0, "line": line}
    claimed = ToolMessage("18 or 45", tool_call_id="c1", name="weather", response_metadata={"agentguard": stamp})
    graph = StateGraph(GuardState).add_node("guard", GuardNode(engine)).add_edge(START, "guard").compile()
    out = await run(graph, {"messages": [*ONE["messages"], claimed]}, THREAD)

    (message,) = answers(out)
    assert [asked["result"] for asked in engine.asked] == [message.content]
    assert message.content == ("18 or " if line == "45" else "18 or 45")


async def test_raise_stops_the_run(run: Run) -> None:
    with pytest.raises(ResultBlocked) as raised:
        await run(graph_of(PLAIN, GuardNode(Guard(ScriptedEngine(news="block"), on_block="raise"))), TURN)

    assert (raised.value.tool, raised.value.call_id) == ("news", "c2")


async def test_shadow_lets_everything_pass_and_records_the_verdicts(run: Run) -> None:
    engine = ScriptedEngine(weather="block", news="flag")
    out = await run(graph_of(PLAIN, GuardNode(Guard(engine, shadow=True, on_block="raise"))), TURN)

    assert [message.content for message in answers(out)] == ['{"degrees": 18}', "nothing new"]
    assert out["messages"][-1].content == "went to accept"
    assert [found["verdict"] for found in out["verdicts"].values()] == ["block", "flag"]


@pytest.mark.parametrize(("on_guard_error", "way"), [("open", "accept"), ("closed", "block")])
async def test_the_guards_own_failure(run: Run, on_guard_error: Any, way: str) -> None:
    out = await run(graph_of(PLAIN, GuardNode(Guard(BrokenEngine(), on_guard_error=on_guard_error))), ONE)

    assert out["messages"][-1].content == f"went to {way}"
    assert ("18" in answers(out)[0].content) == (way == "accept")


async def test_what_failed_open_at_the_tool_is_verified_here(run: Run) -> None:
    engine = ScriptedEngine(weather="block")
    out = await run(graph_of(signing([weather], BrokenEngine()), GuardNode(engine)), ONE)

    assert len(engine.asked) == 1
    assert engine.asked[0]["execution_time_ms"] >= 0
    assert out["messages"][-1].content == "went to block"


async def test_only_the_named_tools_are_judged(run: Run) -> None:
    engine = ScriptedEngine(weather="block")
    out = await run(graph_of(PLAIN, GuardNode(Guard(engine, tools=["news"]))), TURN)

    assert [asked["tool"] for asked in engine.asked] == ["news"]
    assert set(out["verdicts"]) == {"c2"}


async def test_flagged_results_are_reviewed_by_one_interrupt_and_no_tool_runs_again(run: Run) -> None:
    RAN.clear()
    engine = ScriptedEngine(weather="flag", news="flag")
    tools = signing([weather, news], engine)
    graph = graph_of(tools, GuardNode(engine), flag=ReviewNode(engine), saver=True)
    out = await run(graph, TURN, THREAD)
    assert [len(asked.value["action_requests"]) for asked in out["__interrupt__"]] == [2]
    out = await run(graph, Command(resume={"decisions": [{"type": "approve"}, {"type": "reject"}]}), THREAD)

    assert RAN == ["Kew"]
    assert len(engine.asked) == 2
    assert [(told["tool"], told["was_hallucination"]) for told in engine.feedback] == [
        ("weather", False),
        ("news", True),
    ]
    assert answers(out)[0].content == '{"degrees": 18}'
    assert "rejected" in answers(out)[1].content
    assert route_by_verdict(out) == "block"


async def test_a_slip_of_the_reviewer_is_asked_about_and_no_tool_runs_again(run: Run) -> None:
    RAN.clear()
    engine = ScriptedEngine(weather="flag", news="flag")
    tools = signing([weather, news], engine)
    graph = graph_of(tools, GuardNode(engine), flag=ReviewNode(engine), saver=True)
    await run(graph, TURN, THREAD)
    for slip in ("yes", {"decisions": [{"type": "approve"}]}, {"decisions": [{"type": "approve"}, {"type": "no"}]}):
        (asked,) = (await run(graph, Command(resume=slip), THREAD))["__interrupt__"]
        assert asked.value["error"]
        assert len(asked.value["action_requests"]) == 2
        assert engine.feedback == []
    out = await run(graph, Command(resume={"decisions": [{"type": "approve"}, {"type": "reject"}]}), THREAD)

    assert RAN == ["Kew"]
    assert len(engine.asked) == 2
    assert [told["was_hallucination"] for told in engine.feedback] == [False, True]
    assert "rejected" in answers(out)[1].content


async def test_a_review_behind_a_plain_tool_node_teaches_the_engine_too(run: Run) -> None:
    engine = ScriptedEngine(weather="flag")
    graph = graph_of(PLAIN, GuardNode(engine), flag=ReviewNode(engine), saver=True)
    await run(graph, ONE, THREAD)
    out = await run(graph, Command(resume={"decisions": [{"type": "approve"}]}), THREAD)

    assert engine.feedback == [{"tool": "weather", "score": 0.3, "was_hallucination": False, "call_id": "c1"}]
    assert route_by_verdict(out) == "accept"


async def test_verdicts_survive_a_checkpoint(run: Run) -> None:
    graph = graph_of(PLAIN, GuardNode(ScriptedEngine()), saver=True)
    out = await run(graph, ONE, THREAD)

    kept = graph.get_state(THREAD).values
    assert kept["verdicts"] == out["verdicts"]
    assert answers(kept)[0].response_metadata == answers(out)[0].response_metadata


async def test_a_state_without_verdicts_will_do(run: Run) -> None:
    out = await run(graph_of(PLAIN, GuardNode(ScriptedEngine(weather="block")), state=MessagesState), ONE)

    assert "verdicts" not in out
    assert out["messages"][-1].content == "went to block"


class Appending(TypedDict):
    messages: Annotated[list[AnyMessage], operator.add]


async def test_a_state_that_only_appends_is_refused(run: Run) -> None:
    with pytest.raises(ConfigurationError, match="add_messages"):
        await run(graph_of(PLAIN, GuardNode(ScriptedEngine()), state=Appending), ONE)


async def test_without_tool_messages_there_is_nothing_to_do(run: Run) -> None:
    out = await run(guard_alone(), {"messages": [HumanMessage("go")]})

    assert out["messages"][-1].content == "go"
    assert route_by_verdict(out) == "accept"


def test_a_result_without_a_verdict_is_accepted() -> None:
    state = {"messages": [calls(("weather", {})), ToolMessage("18", tool_call_id="c1")]}

    assert route_by_verdict(state) == "accept"


@pytest.mark.parametrize(
    ("options", "why"), [({"on_flag": "review"}, "ReviewNode"), ({"on_block": "end"}, "route_by_verdict")]
)
def test_what_is_a_matter_of_edges_is_refused(options: Any, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        GuardNode(Guard(ScriptedEngine(), **options))
