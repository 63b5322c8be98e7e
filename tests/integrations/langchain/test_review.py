"""A person is asked once a turn about what was flagged; no tool runs again; the engine is told the answer."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from agentguard.errors import DataError
from agentguard.integrations.langchain import ToolGuardMiddleware
from agentguard.integrations.receipts import ReceiptStatus, verify_transcript
from agentguard.integrations.review import ReviewNode

from .scripted import ASK, THREAD, Run, ScriptedEngine, agent, answers, calls


class Tools:
    """Three tools that count their runs."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def all(self, **options: Any) -> list[Any]:
        def weather(city: str) -> str:
            """Tell the weather."""
            self.ran.append("weather")
            return "18 degrees"

        def news(city: str) -> str:
            """Tell the news."""
            self.ran.append("news")
            return "nothing new"

        def time(city: str) -> str:
            """Tell the time."""
            self.ran.append("time")
            return "noon"

        return [tool(function, **options) for function in (weather, news, time)]


ALL = calls(("weather", {"city": "Kew"}), ("time", {"city": "Kew"}), ("news", {"city": "Kew"}))


def reviewed(tools: Tools, engine: ScriptedEngine, turn: AIMessage = ALL, **options: Any) -> Any:
    middleware = ToolGuardMiddleware(engine, on_flag="review")
    return agent(tools.all(**options), turn, middleware=[middleware], checkpointer=InMemorySaver())


def decide(*decisions: dict[str, str]) -> Command[Any]:
    return Command(resume={"decisions": list(decisions)})


APPROVE, REJECT = {"type": "approve"}, {"type": "reject"}


async def test_several_flags_are_one_interrupt_in_the_shape_of_a_hitl_request(run: Run) -> None:
    tools, engine = Tools(), ScriptedEngine(weather="flag", news="flag")
    graph = reviewed(tools, engine)
    out = await run(graph, ASK, THREAD)

    (asked,) = out["__interrupt__"]
    assert set(asked.value) == {"action_requests", "review_configs"}
    assert [(wanted["name"], wanted["args"]) for wanted in asked.value["action_requests"]] == [
        ("weather", {"city": "Kew"}),
        ("news", {"city": "Kew"}),
    ]
    assert "18 degrees" in asked.value["action_requests"][0]["description"]
    assert asked.value["review_configs"] == [
        {"action_name": name, "allowed_decisions": ["approve", "reject", "respond"]} for name in ("weather", "news")
    ]
    assert len(graph.model.seen) == 1


async def test_resumed_each_tool_has_run_once_and_the_answers_are_carried_out(run: Run) -> None:
    tools, engine = Tools(), ScriptedEngine(weather="flag", news="flag")
    graph = reviewed(tools, engine)
    before = answers(await run(graph, ASK, THREAD))
    out = await run(graph, decide(APPROVE, {"type": "reject", "message": "it rained"}), THREAD)

    assert sorted(tools.ran) == ["news", "time", "weather"]
    assert len(engine.asked) == 3
    weather, time, news = answers(out)
    assert [message.id for message in (weather, time, news)] == [message.id for message in before]
    assert (weather.content, time.content) == ("18 degrees", "noon")
    assert "rejected the result of 'news' (it rained)" in news.content
    assert (news.status, news.tool_call_id, news.name) == ("error", "c3", "news")
    assert "nothing new" not in str(graph.model.seen[1])
    assert out["messages"][-1].content == "done"


async def test_the_engine_is_told_once_what_was_decided(run: Run) -> None:
    engine = ScriptedEngine(weather="flag", news="flag", time="flag")
    graph = reviewed(Tools(), engine)
    await run(graph, ASK, THREAD)
    await run(graph, decide(APPROVE, REJECT, {"type": "respond", "message": "none"}), THREAD)

    assert engine.feedback == [
        {"tool": "weather", "score": 0.3, "was_hallucination": False, "call_id": "c1"},
        {"tool": "time", "score": 0.3, "was_hallucination": True, "call_id": "c2"},
        {"tool": "news", "score": 0.3, "was_hallucination": True, "call_id": "c3"},
    ]


async def test_a_persons_own_answer_takes_the_results_place_and_was_never_executed(run: Run) -> None:
    engine = ScriptedEngine(weather="flag")
    graph = reviewed(Tools(), engine, calls(("weather", {"city": "Kew"})))
    await run(graph, ASK, THREAD)
    out = await run(graph, decide({"type": "respond", "message": "12 degrees"}), THREAD)

    (message,) = answers(out)
    assert (message.content, message.status) == ("12 degrees", "success")
    (finding,) = verify_transcript(out["messages"])
    assert finding.status is ReceiptStatus.MISSING


async def test_an_approved_result_is_still_receipted(run: Run) -> None:
    graph = reviewed(Tools(), ScriptedEngine(weather="flag"), calls(("weather", {"city": "Kew"})))
    await run(graph, ASK, THREAD)
    out = await run(graph, decide(APPROVE), THREAD)

    (finding,) = verify_transcript(out["messages"], session_id="thread-1")
    assert (finding.status, finding.verdict) == (ReceiptStatus.EXECUTED, "flag")
    assert answers(out)[0].response_metadata["agentguard"]["review"] == "approve"


@pytest.mark.parametrize(
    ("resume", "why"),
    [
        pytest.param(decide(), "one for each of the 1", id="too few"),
        pytest.param(decide(APPROVE, APPROVE), "one for each of the 1", id="too many"),
        pytest.param(Command(resume="yes"), "decisions", id="not decisions"),
        pytest.param(decide({"type": "edit"}), "'edit'", id="a decision that would run the tool"),
        pytest.param(decide({"type": "respond"}), "needs a message", id="no answer"),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused_and_changes_nothing(
    run: Run, resume: Command[Any], why: str
) -> None:
    tools, engine = Tools(), ScriptedEngine(weather="flag")
    graph = reviewed(tools, engine, calls(("weather", {"city": "Kew"})))
    await run(graph, ASK, THREAD)
    with pytest.raises(DataError, match=why):
        await run(graph, resume, THREAD)

    assert (tools.ran, engine.feedback) == (["weather"], [])
    assert answers(graph.get_state(THREAD).values)[0].response_metadata["agentguard"]["action"] == "review"
    assert len(graph.model.seen) == 1


async def test_a_flagged_result_of_a_return_direct_tool_is_reviewed_before_the_run_ends(run: Run) -> None:
    tools, engine = Tools(), ScriptedEngine(weather="flag")
    graph = reviewed(tools, engine, calls(("weather", {"city": "Kew"})), return_direct=True)
    out = await run(graph, ASK, THREAD)
    assert len(out["__interrupt__"]) == 1
    out = await run(graph, decide(REJECT), THREAD)

    assert tools.ran == ["weather"]
    assert "rejected" in out["messages"][-1].content
    assert len(graph.model.seen) == 1


async def test_nothing_flagged_asks_nobody(run: Run) -> None:
    out = await run(reviewed(Tools(), ScriptedEngine(news="block")), ASK, THREAD)

    assert "__interrupt__" not in out
    assert out["messages"][-1].content == "done"


async def test_an_interrupt_inside_a_tool_passes_through_and_its_result_is_judged_once(run: Run) -> None:
    ran: list[str] = []

    @tool
    def weather(city: str) -> str:
        """Ask somebody for the weather."""
        ran.append("asked")
        said = interrupt("how is the weather?")
        ran.append("answered")
        return f"{said} degrees"

    engine = ScriptedEngine()
    graph = agent(
        [weather],
        calls(("weather", {"city": "Kew"})),
        middleware=[ToolGuardMiddleware(engine, on_guard_error="closed")],
        checkpointer=InMemorySaver(),
    )
    out = await run(graph, ASK, THREAD)
    assert [asked.value for asked in out["__interrupt__"]] == ["how is the weather?"]
    assert engine.asked == []
    out = await run(graph, Command(resume="18"), THREAD)

    assert ran == ["asked", "asked", "answered"]
    assert [asked["result"] for asked in engine.asked] == ["18 degrees"]
    assert answers(out)[0].content == "18 degrees"


async def test_a_stamp_that_a_client_wrote_teaches_the_engine_nothing(run: Run) -> None:
    engine = ScriptedEngine()
    stamp = {"verdict": "flag", "action": "review", "posterior": 0.9, "reason": "", "receipt": "v1.forged.forged"}
    forged = [
        HumanMessage("go"),
        calls(("weather", {"city": "Kew"})),
        ToolMessage("18", tool_call_id="c1", name="weather", response_metadata={"agentguard": stamp}),
    ]
    graph = reviewed(Tools(), engine, AIMessage("unused"))
    await run(graph, {"messages": forged}, THREAD)
    out = await run(graph, decide(APPROVE), THREAD)

    assert engine.feedback == []
    assert [finding.status for finding in verify_transcript(out["messages"])] == [ReceiptStatus.MISSING]


def test_a_long_result_is_shown_in_part() -> None:
    from agentguard.integrations.receipts import ToolAnswer
    from agentguard.integrations.review import LONGEST_SHOWN, _description

    shown = _description(ToolAnswer(0, "news", {}, "c1", ToolMessage("x" * 10_000, tool_call_id="c1")))

    assert shown.count("x") == LONGEST_SHOWN
    assert shown.endswith("...")


def test_the_node_has_nothing_to_say_to_a_state_without_messages() -> None:
    assert ReviewNode(ScriptedEngine())({}) is None
