"""A detector that fails: its guard is open or closed, and says nothing of the content."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from agentguard.errors import ResultBlocked
from agentguard.integrations import content
from agentguard.integrations.content import ContentGuardMiddleware

from ..langchain.scripted import ASK, THREAD, Run, ScriptedModel, agent, answers, calls

SECRET = "tea4two"


@tool
def lookup(key: str) -> str:
    """Look something up."""
    return SECRET


LOOKUP = calls(("lookup", {"key": "W-4471"}))


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every detector fails, with content in its message."""

    def fail(value: Any, *args: Any, **options: Any) -> Any:
        raise RuntimeError(f"cannot read {value}")

    monkeypatch.setattr(content, "look", fail)
    monkeypatch.setattr(content, "check", fail)
    monkeypatch.setattr(content, "check_arguments", fail)


@pytest.mark.usefixtures("broken")
class TestBroken:
    async def test_open_hands_everything_on(self, run: Run, caplog: pytest.LogCaptureFixture) -> None:
        guard = ContentGuardMiddleware(grounding="block", arguments="block")
        with caplog.at_level(logging.ERROR, "agentguard"):
            out = await run(agent([lookup], LOOKUP, middleware=[guard]), ASK)

        assert [message.content for message in out["messages"][2:]] == [SECRET, "done"]
        assert "RuntimeError" in caplog.text
        assert SECRET not in caplog.text
        assert "done" not in caplog.text

    async def test_closed_withholds_results_and_answers(self, run: Run) -> None:
        guard = ContentGuardMiddleware(on_guard_error="closed")
        graph = agent([lookup], LOOKUP, middleware=[guard])
        out = await run(graph, ASK)

        (message,) = answers(out)
        assert "withheld: it could not be looked through" in message.content
        assert message.status == "error"
        assert SECRET not in str(graph.model.seen)
        assert out["messages"][-1].content == "This answer was withheld: it could not be looked through."

    async def test_closed_makes_no_call_whose_arguments_could_not_be_traced(self, run: Run) -> None:
        guard = ContentGuardMiddleware({}, answers=None, arguments="block", on_guard_error="closed")
        graph = agent([lookup], LOOKUP, middleware=[guard])
        out = await run(graph, ASK)
        assert "was not made: its arguments could not be traced" in answers(out)[0].content

    @pytest.mark.parametrize("shadow", [True, False])
    async def test_a_structured_response(self, run: Run, shadow: bool) -> None:
        class Found(BaseModel):
            key: str

        said = AIMessage("", tool_calls=[{"name": "Found", "args": {"key": SECRET}, "id": "c1", "type": "tool_call"}])
        guard = ContentGuardMiddleware(on_guard_error="closed", shadow=shadow)
        graph = create_agent(ScriptedModel(script=[said]), [], middleware=[guard], response_format=Found)
        if shadow:
            assert (await run(graph, ASK))["structured_response"] == Found(key=SECRET)
            return
        with pytest.raises(ResultBlocked, match="could not be looked through") as raised:
            await run(graph, ASK)
        assert SECRET not in str(raised.value)

    async def test_shadow_changes_nothing_where_a_closed_guard_fails(self, run: Run) -> None:
        guard = ContentGuardMiddleware(on_guard_error="closed", arguments="block", shadow=True)
        out = await run(agent([lookup], LOOKUP, middleware=[guard]), ASK)
        assert [message.content for message in out["messages"][2:]] == [SECRET, "done"]


async def test_who_is_told_may_fail(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    @tool
    def mail() -> str:
        """Look something up."""
        return "ada@example.org"

    def fail(record: Any) -> None:
        raise RuntimeError(str(record))

    with caplog.at_level(logging.ERROR, "agentguard"):
        out = await run(agent([mail], calls(("mail", {})), middleware=[ContentGuardMiddleware(on_finding=fail)]), ASK)
    assert answers(out)[0].content == "<EMAIL_1>"
    assert "on_finding failed: RuntimeError" in caplog.text


async def test_what_a_tool_raises_goes_through(run: Run) -> None:
    @tool
    def lookup(key: str) -> str:
        """Fail."""
        raise KeyError(key)

    with pytest.raises(KeyError):
        await run(agent([lookup], LOOKUP, middleware=[ContentGuardMiddleware(on_guard_error="closed")]), ASK)


async def test_an_interrupt_inside_a_tool_goes_through(run: Run) -> None:
    @tool
    def lookup(key: str) -> str:
        """Ask."""
        return str(interrupt("which one?"))

    graph = agent([lookup], LOOKUP, middleware=[ContentGuardMiddleware()], checkpointer=InMemorySaver())
    out = await run(graph, ASK, THREAD)
    assert out["__interrupt__"][0].value == "which one?"
    out = await run(graph, Command(resume="ada@example.org"), THREAD)
    assert answers(out)[0].content == "<EMAIL_1>"
