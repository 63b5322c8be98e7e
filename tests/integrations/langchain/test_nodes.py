"""The nodes of an agent's graph: the guard has some of its own only where its policy decides something there."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from agentguard import Guard
from agentguard.errors import ResultBlocked
from agentguard.integrations.langchain import ToolGuardMiddleware

from .scripted import ASK, THREAD, Run, ScriptedEngine, agent, answers, calls

TURN = calls(("weather", {"city": "Kew"}))


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return "18 degrees"


class Asking(ToolGuardMiddleware):
    """Chooses its policy itself."""

    def __init__(self, engine: Any) -> None:
        super().__init__(Guard(engine, on_flag="review"))


class Noting(ToolGuardMiddleware):
    """Has a hook of its own, and hands on to the guard's."""

    noted = 0

    def before_model(self, state: Any, runtime: Any) -> Any:
        self.noted += 1
        return super().before_model(state, runtime)


def nodes_with(*middleware: Any) -> set[str]:
    return set(agent([weather], TURN, middleware=middleware).get_graph().nodes)


@pytest.mark.parametrize(
    "policy", [{}, {"on_flag": "block"}, {"on_flag": "observe"}, {"on_flag": "review", "shadow": True},
               {"on_block": "raise", "shadow": True}]
)  # fmt: skip
def test_where_nothing_is_decided_the_graph_is_the_one_without_a_guard(policy: Any) -> None:
    assert nodes_with(ToolGuardMiddleware(Guard(ScriptedEngine(), **policy))) == nodes_with()


@pytest.mark.parametrize("policy", [{"on_flag": "review"}, {"on_block": "end"}, {"on_block": "raise"}])
def test_a_policy_that_decides_has_two_nodes(policy: Any) -> None:
    own = {"ToolGuardMiddleware.before_model", "ToolGuardMiddleware.after_agent"}
    assert nodes_with(ToolGuardMiddleware(Guard(ScriptedEngine(), **policy))) == nodes_with() | own


def test_one_of_each_kind_at_once() -> None:
    assert isinstance(ToolGuardMiddleware(Guard(ScriptedEngine(), on_block="end")), ToolGuardMiddleware)
    assert nodes_with(ToolGuardMiddleware(ScriptedEngine())) == nodes_with()


async def test_a_class_that_inherits_may_choose_its_policy(run: Run) -> None:
    graph = agent([weather], TURN, middleware=[Asking(ScriptedEngine(weather="flag"))], checkpointer=InMemorySaver())

    assert "__interrupt__" in await run(graph, ASK, THREAD)


@pytest.mark.parametrize("on_block", ["replace", "raise"])
async def test_a_class_that_inherits_may_have_hooks_of_its_own(run: Run, on_block: Any) -> None:
    middleware = Noting(Guard(ScriptedEngine(weather="block"), on_block=on_block))
    graph = agent([weather], TURN, middleware=[middleware])
    if on_block == "raise":
        with pytest.raises(ResultBlocked):
            await run(graph, ASK)
    else:
        (message,) = answers(await run(graph, ASK))
        assert isinstance(message, ToolMessage)
    assert middleware.noted == 2
