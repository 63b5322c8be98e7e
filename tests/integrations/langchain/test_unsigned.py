"""A message that no receipt can be signed for goes out as any other, without one."""

from __future__ import annotations

import logging
from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentguard import Guard
from agentguard.integrations.langchain import ToolGuardMiddleware
from agentguard.integrations.receipts import ReceiptStatus, verify_transcript
from agentguard.verification.receipts import ReceiptSigner

from .scripted import ASK, THREAD, Run, ScriptedEngine, agent, answers, calls

PICTURE: Any = [{"type": "text", "text": "a secret"}, {"type": "image", "source": {"bytes": b"a secret"}}]


@tool
def picture(of: str, call_id: Annotated[str, InjectedToolCallId]) -> ToolMessage:
    """Draw a picture."""
    return ToolMessage(PICTURE, tool_call_id=call_id, name="picture")


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return "18 degrees"


def signer() -> ReceiptSigner:
    """One that has not told of anything yet."""
    return ReceiptSigner(b"a key of sixteen bytes or more")


def statuses(out: Any) -> list[ReceiptStatus]:
    return [finding.status for finding in verify_transcript(out["messages"], signer(), session_id="thread-1")]


async def test_it_is_shown_with_its_verdict_and_the_run_goes_on(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    turns = [calls(("picture", {"of": "a cat"}), ("weather", {"city": "Kew"})), calls(("picture", {"of": "a dog"}))]
    middleware = ToolGuardMiddleware(ScriptedEngine(), signer=signer())
    with caplog.at_level(logging.ERROR, logger="agentguard"):
        out = await run(agent([picture, weather], *turns, middleware=[middleware]), ASK, THREAD)

    drawn, told, again = answers(out)
    assert drawn.content == again.content == PICTURE
    assert out["messages"][-1].content == "done"
    stamp = drawn.response_metadata["agentguard"]
    assert (stamp["verdict"], "receipt" in stamp) == ("accept", False)
    assert "receipt" in told.response_metadata["agentguard"]
    assert statuses(out) == [ReceiptStatus.MISSING, ReceiptStatus.EXECUTED, ReceiptStatus.MISSING]
    assert [record.getMessage() for record in caplog.records] == [
        "a result of 'picture' has no receipt, for shown cannot be signed: a bytes is no JSON value; hand over the "
        "text, or the JSON, that the model is shown"
    ]


async def test_what_takes_its_place_is_signed(run: Run) -> None:
    middleware = ToolGuardMiddleware(ScriptedEngine(picture="block"), signer=signer())
    out = await run(agent([picture], calls(("picture", {"of": "a cat"})), middleware=[middleware]), ASK, THREAD)

    assert "'picture' was blocked" in answers(out)[0].content
    assert statuses(out) == [ReceiptStatus.EXECUTED]


@pytest.mark.parametrize(("decision", "shown"), [("approve", PICTURE), ("reject", None), ("respond", "a cat")])
async def test_a_person_is_asked_and_heard_and_nothing_is_learned_of_it(run: Run, decision: str, shown: Any) -> None:
    engine = ScriptedEngine(picture="flag")
    middleware = ToolGuardMiddleware(Guard(engine, on_flag="review"), signer=signer())
    graph = agent([picture], calls(("picture", {"of": "a cat"})), middleware=[middleware], checkpointer=InMemorySaver())
    await run(graph, ASK, THREAD)
    resume: Any = {"decisions": [{"type": decision, "message": "a cat"}]}
    out = await run(graph, Command(resume=resume), THREAD)

    (message,) = answers(out)
    assert message.content == shown or (shown is None and "rejected the result" in message.content)
    assert engine.feedback == []
    assert statuses(out) == [ReceiptStatus.MISSING]
