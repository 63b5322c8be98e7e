"""Whatever a tool returns, the engine gets the value itself and the model what it would have got unguarded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool
from langgraph.graph import MessagesState
from langgraph.types import Command
from pydantic import BaseModel

from agentguard.integrations.langchain import ToolGuardMiddleware
from agentguard.integrations.receipts import ReceiptStatus, receipt_signer, verify_transcript

from .scripted import ASK, THREAD, Run, ScriptedEngine, agent, answers, calls


class Reading(BaseModel):
    degrees: int


@dataclass
class Station:
    name: str


def count(n: int) -> Iterator[int]:
    yield from range(n)


READING, STATION, COUNT = Reading(degrees=18), Station("Kew"), count(3)
BLOCKS = [{"type": "text", "text": "18 degrees", "id": "lc_0b1c"}]


def answer(content: str, call_id: str) -> ToolMessage:
    return ToolMessage(content, tool_call_id=call_id, name="probe")


def tool_returning(value: Any, *, is_async: bool, **options: Any) -> StructuredTool:
    """A tool that returns the value, or what the value makes of the call's id."""

    def probe(city: str, call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Answer."""
        return value(call_id) if callable(value) else value

    async def aprobe(city: str, call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Answer."""
        return value(call_id) if callable(value) else value

    if is_async:
        return StructuredTool.from_function(coroutine=aprobe, func=probe, name="probe", **options)
    return StructuredTool.from_function(func=probe, name="probe", **options)


CASES = [
    pytest.param({"degrees": 18}, {"degrees": 18}, '{"degrees": 18}', id="dict"),
    pytest.param([1, 2], [1, 2], "[1, 2]", id="list"),
    pytest.param("18 degrees", "18 degrees", "18 degrees", id="str"),
    pytest.param(None, None, "null", id="None"),
    pytest.param((1, "a"), (1, "a"), '[1, "a"]', id="tuple"),
    pytest.param(READING, READING, "degrees=18", id="pydantic"),
    pytest.param(STATION, STATION, "Station(name='Kew')", id="dataclass"),
    pytest.param(b"\xff\x00", b"\xff\x00", "b'\\xff\\x00'", id="bytes"),
    pytest.param(BLOCKS, "18 degrees", BLOCKS, id="content blocks"),
    pytest.param(
        [*BLOCKS, {"type": "image", "url": "u", "id": "lc_1"}],
        ["18 degrees", {"type": "image", "url": "u"}],
        [*BLOCKS, {"type": "image", "url": "u", "id": "lc_1"}],
        id="mixed blocks",
    ),
    pytest.param(lambda call_id: answer("18", call_id), "18", "18", id="ToolMessage"),
    pytest.param(
        lambda call_id: Command(update={"messages": [answer("18", call_id)], "city": "Kew"}), "18", "18", id="Command"
    ),
    pytest.param(
        lambda call_id: [Command(update={"city": "Kew"}), answer("18", call_id)], "18", "18", id="list of both"
    ),
    pytest.param(
        lambda call_id: Command(update={"messages": [{"role": "tool", "content": "18", "tool_call_id": call_id}]}),
        "18",
        "18",
        id="Command with a dict message",
    ),
]


class CityState(MessagesState):
    city: str


@pytest.mark.parametrize("is_async", [False, True], ids=["sync tool", "async tool"])
@pytest.mark.parametrize(("returned", "judged", "content"), CASES)
async def test_the_value_is_judged_and_the_message_is_kept(
    run: Run, returned: Any, judged: Any, content: Any, is_async: bool
) -> None:
    engine = ScriptedEngine()
    graph = agent(
        [tool_returning(returned, is_async=is_async)],
        calls(("probe", {"city": "Kew"})),
        middleware=[ToolGuardMiddleware(engine, signer=receipt_signer())],
        state_schema=CityState,
    )
    out = await run(graph, ASK, THREAD)

    (asked,) = engine.asked
    (message,) = answers(out)
    assert (asked["tool"], asked["args"], asked["result"]) == ("probe", {"city": "Kew"}, judged)
    assert type(asked["result"]) is type(judged)
    assert (asked["session_id"], asked["call_id"]) == ("thread-1", "c1")
    assert asked["execution_time_ms"] >= 0.0
    assert (message.content, message.status, message.tool_call_id) == (content, "success", "c1")
    assert message.response_metadata["agentguard"]["verdict"] == "accept"
    assert [finding.status for finding in verify_transcript(out["messages"])] == [ReceiptStatus.EXECUTED]


async def test_of_content_and_artifact_the_content_is_judged(run: Run) -> None:
    engine = ScriptedEngine()
    tool = tool_returning(({"degrees": 18}, {"raw": "18C"}), is_async=False, response_format="content_and_artifact")
    graph = agent([tool], calls(("probe", {"city": "Kew"})), middleware=[ToolGuardMiddleware(engine)])
    (message,) = answers(await run(graph, ASK))

    assert engine.asked[0]["result"] == {"degrees": 18}
    assert message.artifact == {"raw": "18C"}


async def test_a_generator_is_left_alone_and_judged_as_it_is_shown(run: Run) -> None:
    engine, made = ScriptedEngine(), count(3)
    graph = agent(
        [tool_returning(lambda _: made, is_async=False)],
        calls(("probe", {"city": "Kew"})),
        middleware=[ToolGuardMiddleware(engine)],
    )
    (message,) = answers(await run(graph, ASK))

    assert engine.asked[0]["result"] == message.content
    assert list(made) == [0, 1, 2]


@pytest.mark.parametrize("shape", ["Command", "list"])
async def test_blocking_a_command_blocks_its_other_updates_too(run: Run, shape: str) -> None:
    def returned(call_id: str) -> Any:
        message = answer("fabricated", call_id)
        if shape == "Command":
            return Command(update={"messages": [message], "city": "nowhere"})
        return [Command(update={"city": "nowhere"}), message]

    graph = agent(
        [tool_returning(returned, is_async=False)],
        calls(("probe", {"city": "Kew"})),
        middleware=[ToolGuardMiddleware(ScriptedEngine(probe="block"))],
        state_schema=CityState,
    )
    out = await run(graph, ASK)

    (message,) = answers(out)
    assert "blocked" in message.content
    assert "city" not in out
    assert "nowhere" not in str(out)


async def test_a_flagged_command_keeps_its_updates(run: Run) -> None:
    def returned(call_id: str) -> Any:
        return Command(update={"messages": [answer("18", call_id)], "city": "Kew"})

    graph = agent(
        [tool_returning(returned, is_async=False)],
        calls(("probe", {"city": "Kew"})),
        middleware=[ToolGuardMiddleware(ScriptedEngine(probe="flag"))],
        state_schema=CityState,
    )
    out = await run(graph, ASK)

    (message,) = answers(out)
    assert out["city"] == "Kew"
    assert message.response_metadata["agentguard"]["action"] == "annotate"
