"""An artifact goes to the application and no model reads it: it is judged, or the verdict says that it was not."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from agentguard import Guard
from agentguard.errors import ConfigurationError
from agentguard.integrations.langchain import ToolGuardMiddleware
from agentguard.integrations.langgraph import GuardedToolNode, GuardNode, ReviewNode, guard_wrappers
from agentguard.integrations.langsmith import record_langsmith_feedback
from agentguard.integrations.receipts import ReceiptStatus, receipt_signer, verify_transcript
from agentguard.verification import VerificationEngine

from .scripted import ASK, THREAD, BrokenEngine, Run, ScriptedEngine, agent, answers, calls, graph_of

ROW = {"customer": "C-8", "total": 12.5}
TURN = calls(("order", {"customer": "C-7"}))


@tool(response_format="content_and_artifact")
def order(customer: str) -> tuple[str, dict[str, Any]]:
    """Find an order."""
    return f"one order of {customer}", ROW


@tool("order")
def order_message(customer: str, call_id: Annotated[str, InjectedToolCallId]) -> Any:
    """Find an order."""
    return ToolMessage(f"one order of {customer}", tool_call_id=call_id, name="order", artifact=ROW)


@tool("order")
def bare(customer: str) -> str:
    """Find an order."""
    return f"one order of {customer}"


def in_an_agent(engine: Any, tool: Any, **options: Any) -> Any:
    return agent([tool], TURN, middleware=[ToolGuardMiddleware(Guard(engine, **options), signer=receipt_signer())])


def in_a_tool_node(engine: Any, tool: Any, **options: Any) -> Any:
    return graph_of(GuardedToolNode([tool], Guard(engine, **options), signer=receipt_signer()))


def by_wrappers(engine: Any, tool: Any, **options: Any) -> Any:
    wrap, awrap = guard_wrappers(Guard(engine, **options), signer=receipt_signer())
    return graph_of(ToolNode([tool], wrap_tool_call=wrap, awrap_tool_call=awrap))


def in_a_node(engine: Any, tool: Any, **options: Any) -> Any:
    return graph_of(ToolNode([tool]), GuardNode(Guard(engine, **options)))


GUARDS = pytest.mark.parametrize("guard", [in_an_agent, in_a_tool_node, by_wrappers, in_a_node])
TOOLS = pytest.mark.parametrize("tool", [order, order_message], ids=["pair", "message"])


async def run_of(run: Run, graph: Any) -> Any:
    return await run(graph, {"messages": [*ASK["messages"], *([] if hasattr(graph, "model") else [TURN])]}, THREAD)


def engine_of(**verdicts: str) -> ScriptedEngine:
    made = ScriptedEngine(**{name.replace("_", "#"): verdict for name, verdict in verdicts.items()})
    made.hazard = "the customer is another one"
    return made


@GUARDS
@TOOLS
async def test_by_default_it_is_not_judged_and_the_verdict_says_so(run: Run, guard: Any, tool: Any) -> None:
    engine = engine_of(order_artifact="block")
    (message,) = answers(await run_of(run, guard(engine, tool)))

    assert [asked["tool"] for asked in engine.asked] == ["order"]
    assert message.artifact == ROW
    assert message.response_metadata["agentguard"]["artifact"] == "not judged"


@GUARDS
async def test_a_result_without_one_says_nothing_of_it(run: Run, guard: Any) -> None:
    engine = engine_of()
    (message,) = answers(await run_of(run, guard(engine, bare, artifacts="judge")))

    assert len(engine.asked) == 1
    assert "artifact" not in message.response_metadata["agentguard"]


@GUARDS
@TOOLS
async def test_judged_it_is_a_call_of_its_own(run: Run, guard: Any, tool: Any) -> None:
    engine = engine_of()
    (message,) = answers(await run_of(run, guard(engine, tool, artifacts="judge")))

    content, artifact = engine.asked
    assert (content["tool"], content["result"]) == ("order", "one order of C-7")
    assert (artifact["tool"], artifact["result"], artifact["args"]) == ("order#artifact", ROW, {"customer": "C-7"})
    assert (artifact["session_id"], artifact["call_id"]) == ("thread-1", "c1")
    assert artifact["execution_time_ms"] is None
    assert message.response_metadata["agentguard"]["artifact"] == "judged"
    assert message.response_metadata["agentguard"]["verdict"] == "accept"
    assert message.artifact == ROW


@GUARDS
@TOOLS
async def test_a_blocked_one_takes_the_content_with_it(run: Run, guard: Any, tool: Any) -> None:
    (message,) = answers(await run_of(run, guard(engine_of(order_artifact="block"), tool, artifacts="judge")))

    assert message.artifact is None
    assert "The result of 'order' was blocked" in message.content
    assert "in its artifact: the customer is another one" in message.content
    assert "one order" not in message.content
    stamp = message.response_metadata["agentguard"]
    assert (stamp["tool"], stamp["verdict"], stamp["artifact"], stamp["of"]) == (
        "order", "block", "judged", "artifact",
    )  # fmt: skip


@GUARDS
async def test_a_flagged_one_is_told_to_the_model(run: Run, guard: Any) -> None:
    out = await run_of(run, guard(engine_of(order_artifact="flag"), order, artifacts="judge", flag_text="<{hazard}>"))

    (message,) = answers(out)
    assert message.content == "one order of C-7\n\n<in its artifact: the customer is another one>"
    assert message.artifact == ROW
    if guard is not in_a_node:
        assert [finding.status for finding in verify_transcript(out["messages"])] == [ReceiptStatus.EXECUTED]


@pytest.mark.parametrize(
    ("content", "artifact", "verdict", "of"),
    [
        ("flag", "accept", "flag", None),
        ("block", "flag", "block", None),
        ("flag", "flag", "flag", None),
        ("flag", "block", "block", "artifact"),
        ("accept", "flag", "flag", "artifact"),
    ],
)
async def test_the_worse_verdict_acts(run: Run, content: str, artifact: str, verdict: str, of: str | None) -> None:
    engine = engine_of(order=content, order_artifact=artifact)
    (message,) = answers(await run_of(run, in_a_tool_node(engine, order, artifacts="judge")))

    stamp = message.response_metadata["agentguard"]
    assert (stamp["verdict"], stamp.get("of")) == (verdict, of)


@GUARDS
async def test_shadow_judges_it_and_changes_nothing(run: Run, guard: Any) -> None:
    engine = engine_of(order_artifact="block")
    (message,) = answers(await run_of(run, guard(engine, order, artifacts="judge", shadow=True)))

    assert len(engine.asked) == 2
    assert (message.content, message.artifact) == ("one order of C-7", ROW)


async def test_in_shadow_the_worse_verdict_is_told(stream: Run) -> None:
    guard = Guard(engine_of(order_artifact="block"), artifacts="judge", shadow=True)
    graph = graph_of(GuardedToolNode([order], guard, events=True))
    (event,) = await stream(graph, {"messages": [TURN]}, stream_mode="custom")

    assert (event["verdict"], event["of"], event["action"], event["tool"]) == ("block", "artifact", "pass", "order")


async def test_only_artifacts_of_guarded_tools_are_judged(run: Run) -> None:
    engine = engine_of()
    await run_of(run, in_an_agent(engine, order, artifacts="judge", tools=["order"]))
    assert [asked["tool"] for asked in engine.asked] == ["order", "order#artifact"]
    engine = engine_of()
    await run_of(run, in_an_agent(engine, order, artifacts="judge", tools=["other"]))
    assert engine.asked == []


async def test_a_guard_node_behind_guarded_tools_judges_nothing_again(run: Run) -> None:
    engine = engine_of(order_artifact="flag")
    graph = graph_of(
        GuardedToolNode([order], Guard(engine, artifacts="judge"), signer=receipt_signer()),
        GuardNode(Guard(engine, artifacts="judge", on_flag="block")),
    )
    (message,) = answers(await run_of(run, graph))

    assert len(engine.asked) == 2
    assert (message.artifact, message.status) == (None, "error")


async def test_a_review_teaches_what_it_was_about(run: Run) -> None:
    engine = engine_of(order_artifact="flag")
    graph = graph_of(
        GuardedToolNode([order], Guard(engine, artifacts="judge"), signer=receipt_signer()),
        ReviewNode(engine),
        saver=True,
    )
    out = await run_of(run, graph)
    (asked,) = out["__interrupt__"]
    assert "C-8" in asked.value["action_requests"][0]["description"]
    record_langsmith_feedback(engine, {"name": "order", "outputs": {"messages": answers(out)}}, 0.0)
    await run(graph, Command(resume={"decisions": [{"type": "approve"}]}), THREAD)

    assert [(told["tool"], told["was_hallucination"]) for told in engine.feedback] == [
        ("order#artifact", True),
        ("order#artifact", False),
    ]


@pytest.mark.parametrize("on_guard_error", ["open", "closed"])
async def test_the_guards_own_failure(run: Run, on_guard_error: Any) -> None:
    graph = in_a_tool_node(BrokenEngine(), order, artifacts="judge", on_guard_error=on_guard_error)
    (message,) = answers(await run_of(run, graph))

    assert message.artifact == (ROW if on_guard_error == "open" else None)


async def test_a_profile_takes_content_out_of_an_artifact(run: Run) -> None:
    engine = VerificationEngine()
    engine.register_tool_profile("order#artifact", content={"pii": "redact"}, has_network_io=False)

    @tool("order", response_format="content_and_artifact")
    def with_a_card(customer: str) -> tuple[str, dict[str, Any]]:
        """Find an order."""
        return "one order", {"card": "4111 1111 1111 1111", "total": 12.5}

    (message,) = answers(await run_of(run, in_a_tool_node(engine, with_a_card, artifacts="judge")))

    assert message.content == "one order"
    assert "4111" not in str(message.artifact)
    assert message.artifact["total"] == 12.5


@GUARDS
def test_a_wrong_word_is_refused(guard: Any) -> None:
    with pytest.raises(ConfigurationError, match="artifacts must be 'ignore' or 'judge'"):
        guard(engine_of(), order, artifacts="maybe")
