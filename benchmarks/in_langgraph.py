"""What the guard adds to a tool call in LangGraph, over a wrapper that does nothing.

    python benchmarks/in_langgraph.py

One call through LangGraph's ``ToolNode``, by ``invoke`` and by ``ainvoke``, and one turn of an agent with
a middleware: the model asks for a call, the tool answers, the model ends. Both wrappers take turns with the same calls,
so that another load of the machine meets both; each call is a fresh one, with arguments and a result that were not
there before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from document import Section
from goals import Goal
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, tool
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime
from tables import Line, judged

from agentguard import Guard
from agentguard.integrations.langchain import ToolGuardMiddleware
from agentguard.integrations.langgraph import guard_wrappers
from agentguard.verification import VerificationEngine

__all__ = ["Added", "measure", "section"]

COMMAND = "python benchmarks/in_langgraph.py"
WARM, TIMED = 200, 1_500
CONFIG: Any = {"configurable": {"__pregel_runtime": Runtime(), "thread_id": "bench"}}


def _microseconds(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.0f} µs"


MOST = Goal("at most", 150.0, _microseconds)
MOST_A_TURN = Goal("at most", 400.0, _microseconds)
TURN = "a turn of an agent"


class Added(NamedTuple):
    """Microseconds of a call, ``invoke`` or ``ainvoke``, under the wrapper that does nothing and under the guard.

    ``added`` is the difference of the minima, which load of the machine does not move, and ``added_p50`` the median of
    the differences turn by turn, which it does.
    """

    how: str
    nothing: float
    nothing_p50: float
    added: float
    added_p50: float


def measure(warm: int = WARM, timed: int = TIMED) -> list[Added]:
    """Time both ways of calling."""
    return asyncio.run(_measured(warm, timed))


def section() -> Section:
    """The figures as a section of the measurements document."""
    lines = [
        Line(
            (row.how, *map(_microseconds, (row.nothing, row.nothing_p50, row.added_p50))),
            row.added,
            MOST_A_TURN if row.how == TURN else MOST,
        )
        for row in measure()
    ]
    text = [
        "## A tool call in LangGraph",
        f"`{COMMAND}`",
        f"What the guard adds to a call of a tool that answers 300 bytes of JSON, over a wrapper that does nothing: "
        f"{TIMED:,} fresh calls of each, in turns. Measured against the goal is the difference of the minima.",
        judged(("call", "nothing: minimum", "median", "added: median of the turns"), lines),
    ]
    return Section(text, lines)


# --- One turn after the other ---


@tool
def get_order(number: int) -> dict[str, Any]:
    """An order, about 300 bytes as JSON."""
    return _order(number)


@tool
async def aget_order(number: int) -> dict[str, Any]:
    """The same, for ``ainvoke``: LangChain carries a plain function to a thread."""
    return _order(number)


def _order(number: int) -> dict[str, Any]:
    lines = [{"sku": f"sku-{n}", "quantity": n + number % 7, "unit_price": 9.5 + n + number % 13} for n in range(5)]
    return {"order": number, "status": "shipped", "total": 61 + number % 1_000 / 8, "currency": "EUR", "lines": lines}


def _nothing(request: Any, handler: Callable[[Any], Any]) -> Any:
    return handler(request)


async def _anothing(request: Any, handler: Callable[[Any], Any]) -> Any:
    return await handler(request)


async def _measured(warm: int, timed: int) -> list[Added]:
    return [
        _added("invoke", await _times(get_order, warm, timed)),
        _added("ainvoke", await _times(aget_order, warm, timed)),
        _added(TURN, _turns(warm // 2, timed // 2)),
    ]


class _Asks(BaseChatModel):
    """Asks for one call, with the user's text as its argument, and ends."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        last = messages[-1]
        answer = (
            AIMessage("done")
            if isinstance(last, ToolMessage)
            else _asked("get_order", int(last.content))["messages"][0]
        )
        return ChatResult(generations=[ChatGeneration(message=answer)])


class _Nothing(AgentMiddleware):
    """Hands each call on."""

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(request)


def _turns(warm: int, timed: int) -> list[tuple[float, float]]:
    """Seconds of each turn of an agent: with the middleware that does nothing, and with the guard."""
    middleware = (_Nothing(), ToolGuardMiddleware(VerificationEngine()))
    agents = [create_agent(_Asks(), [get_order], middleware=[one]) for one in middleware]
    turns = []
    for number in range(warm + timed):
        took = []
        for agent in agents:
            asked = {"messages": [HumanMessage(str(number))]}
            start = perf_counter()
            messages = agent.invoke(asked)["messages"]
            took.append(perf_counter() - start)
            assert messages[-1].content == "done"
        turns.append((took[0], took[1]))
    return turns[warm:]


async def _times(called: BaseTool, warm: int, timed: int) -> list[tuple[float, float]]:
    """Seconds of each turn: under nothing, and under the guard."""
    judged: list[str] = []
    guard = Guard(VerificationEngine(), on_judgement=lambda outcome, judgement: judged.append(judgement.verdict))
    wrap, awrap = guard_wrappers(guard)
    nothing = ToolNode([called], wrap_tool_call=_nothing, awrap_tool_call=_anothing)
    guarded = ToolNode([called], wrap_tool_call=wrap, awrap_tool_call=awrap)
    turns = []
    for number in range(warm + timed):
        took = []
        for node in (nothing, guarded):
            state = _asked(called.name, number)
            start = perf_counter()
            answer = await node.ainvoke(state, CONFIG) if called is aget_order else node.invoke(state, CONFIG)
            took.append(perf_counter() - start)
            (message,) = answer["messages"]
            assert message.status == "success"
        turns.append((took[0], took[1]))
    assert len(judged) == warm + timed
    return turns[warm:]


def _asked(name: str, number: int) -> Any:
    call = {"name": name, "args": {"number": number}, "id": f"call-{number}", "type": "tool_call"}
    return {"messages": [AIMessage("", tool_calls=[call])]}


def _added(how: str, turns: Sequence[tuple[float, float]]) -> Added:
    nothing, guarded = zip(*turns, strict=True)
    differences = [after - before for before, after in turns]
    figures = (min(nothing), median(nothing), min(guarded) - min(nothing), median(differences))
    return Added(how, *(1e6 * figure for figure in figures))


if __name__ == "__main__":
    print("\n\n".join(section().text))
