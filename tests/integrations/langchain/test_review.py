"""A person is asked once a turn about what was flagged; no tool runs again; the engine is told the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from agentguard import Guard
from agentguard.errors import ConfigurationError
from agentguard.integrations.langchain import ToolGuardMiddleware
from agentguard.integrations.receipts import ReceiptStatus, receipt_signer, verify_transcript
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
    middleware = ToolGuardMiddleware(Guard(engine, on_flag="review"), signer=receipt_signer())
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


async def test_without_a_signer_it_is_carried_out_and_the_engine_learns(run: Run) -> None:
    engine = ScriptedEngine(weather="flag", news="flag", time="flag")
    middleware = ToolGuardMiddleware(Guard(engine, on_flag="review"))
    graph = agent(Tools().all(), ALL, middleware=[middleware], checkpointer=InMemorySaver())
    (asked,) = (await run(graph, ASK, THREAD))["__interrupt__"]
    out = await run(graph, decide(APPROVE, REJECT, {"type": "respond", "message": "none"}), THREAD)

    assert len(asked.value["action_requests"]) == 3
    weather, time, news = answers(out)
    assert (weather.content, news.content) == ("18 degrees", "none")
    assert "rejected the result of 'time'" in time.content
    assert out["messages"][-1].content == "done"
    assert [told["was_hallucination"] for told in engine.feedback] == [False, True, True]


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
        pytest.param(decide(), "0 decisions for 1 flagged result", id="too few"),
        pytest.param(decide(APPROVE, APPROVE), "2 decisions for 1 flagged result", id="too many"),
        pytest.param(Command(resume="yes"), "{'decisions': [...]}", id="not decisions"),
        pytest.param(Command(resume={"decisions": "approve"}), "{'decisions': [...]}", id="no list"),
        pytest.param(Command(resume={"decisions": ["approve"]}), "'approve'", id="no dict"),
        pytest.param(decide({"type": ["approve"]}), "type must be", id="no word"),
        pytest.param(decide({}), "type must be", id="no type"),
        pytest.param(decide({"type": "edit"}), "'edit'", id="a decision that would run the tool"),
        pytest.param(decide({"type": "respond"}), "needs a message", id="no answer"),
        pytest.param(decide({"type": "respond", "message": "  "}), "needs a message", id="an empty answer"),
        pytest.param(decide({"type": "respond", "message": {"degrees": 12}}), "needs a message", id="no text"),
        pytest.param(decide({"type": "reject", "message": 7}), "message must be a text", id="no reason"),
    ],
)
async def test_an_answer_that_does_not_fit_is_asked_for_again_and_changes_nothing(
    run: Run, resume: Command[Any], why: str
) -> None:
    tools, engine = Tools(), ScriptedEngine(weather="flag")
    graph = reviewed(tools, engine, calls(("weather", {"city": "Kew"})))
    (first,) = (await run(graph, ASK, THREAD))["__interrupt__"]
    (again,) = (await run(graph, resume, THREAD))["__interrupt__"]

    assert why in again.value["error"]
    assert again.value["error"] in again.value["action_requests"][0]["description"]
    assert "18 degrees" in again.value["action_requests"][0]["description"]
    assert again.value["review_configs"] == first.value["review_configs"]
    assert (tools.ran, engine.feedback) == (["weather"], [])
    assert answers(graph.get_state(THREAD).values)[0].response_metadata["agentguard"]["action"] == "review"
    assert len(graph.model.seen) == 1

    out = await run(graph, decide(REJECT), THREAD)
    assert "rejected the result of 'weather'" in answers(out)[0].content
    assert out["messages"][-1].content == "done"
    assert (tools.ran, len(engine.asked), len(engine.feedback)) == (["weather"], 1, 1)


@pytest.mark.parametrize("return_direct", [False, True], ids=["before the model", "after the agent"])
async def test_several_slips_in_a_row_are_survived(run: Run, return_direct: bool) -> None:
    tools, engine = Tools(), ScriptedEngine(weather="flag", news="flag")
    graph = reviewed(tools, engine, return_direct=return_direct)
    await run(graph, ASK, THREAD)
    faults = []
    for slip in ("yes", {"decisions": [APPROVE]}, {"decisions": [APPROVE, {"type": "Reject"}]}, []):
        (asked,) = (await run(graph, Command(resume=slip), THREAD))["__interrupt__"]
        faults.append(asked.value["error"])
    out = await run(graph, decide(APPROVE, REJECT), THREAD)

    assert len(faults) == 4
    assert "1 decision for 2 flagged results" in faults[1]
    assert "decision 2 of 2 ('news')" in faults[2]
    assert "'Reject'" in faults[2]
    assert sorted(tools.ran) == ["news", "time", "weather"]
    assert [(told["tool"], told["was_hallucination"]) for told in engine.feedback] == [
        ("weather", False),
        ("news", True),
    ]
    weather, _, news = answers(out)
    assert weather.content == "18 degrees"
    assert "rejected" in news.content


def test_a_slip_is_survived_in_a_database_by_another_process(tmp_path: Path) -> None:
    saver = pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph-checkpoint-sqlite").SqliteSaver
    tools, engine = Tools(), ScriptedEngine(weather="flag")
    for resume in (ASK, Command(resume="yes"), decide(APPROVE, APPROVE), decide(REJECT)):
        with saver.from_conn_string(str(tmp_path / "threads.db")) as checkpointer:
            middleware = ToolGuardMiddleware(Guard(engine, on_flag="review"), signer=receipt_signer())
            turn = calls(("weather", {"city": "Kew"}))
            out = agent(tools.all(), *([turn] if resume is ASK else []), middleware=[middleware],
                        checkpointer=checkpointer).invoke(resume, THREAD)  # fmt: skip

    assert "rejected the result of 'weather'" in answers(out)[0].content
    assert out["messages"][-1].content == "done"
    assert (tools.ran, len(engine.feedback)) == (["weather"], 1)


async def test_an_interrupt_may_be_answered_by_its_id(run: Run) -> None:
    tools, engine = Tools(), ScriptedEngine(weather="flag")
    graph = reviewed(tools, engine, calls(("weather", {"city": "Kew"})))
    (first,) = (await run(graph, ASK, THREAD))["__interrupt__"]
    (again,) = (await run(graph, Command(resume={first.id: "yes"}), THREAD))["__interrupt__"]
    out = await run(graph, Command(resume={again.id: {"decisions": [APPROVE]}}), THREAD)

    assert out["messages"][-1].content == "done"
    assert tools.ran == ["weather"]


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
        middleware=[ToolGuardMiddleware(Guard(engine, on_guard_error="closed"))],
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


async def test_a_review_that_could_never_be_answered_is_refused(run: Run) -> None:
    """Without a checkpointer the run would end here, with a question to nobody."""
    guard = ToolGuardMiddleware(Guard(ScriptedEngine(weather="flag"), on_flag="review"))
    turn = calls(("weather", {"city": "Kew"}))
    with pytest.raises(ConfigurationError, match="a review needs a checkpointer"):
        await run(agent(Tools().all(), turn, middleware=[guard]), ASK, THREAD)

    accepted = ToolGuardMiddleware(Guard(ScriptedEngine(), on_flag="review"))
    out = await run(agent(Tools().all(), turn, middleware=[accepted]), ASK, THREAD)
    assert out["messages"][-1].content == "done"
