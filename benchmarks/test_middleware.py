"""One tool call through LangGraph's ``ToolNode``: bare, under a middleware that does nothing, under the guard.

The rows are the times of one call; what the guard adds is the difference of ``guard`` and ``nothing``. They are taken
one after the other, so compare medians of one run.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime
from pytest_benchmark.fixture import BenchmarkFixture

from agentguard.integrations.langgraph import guard_wrappers
from agentguard.verification import VerificationEngine

WARM_UP, ROUNDS = 200, 1_000
NUMBERS = count()


@tool
def get_order(order_id: str) -> dict[str, Any]:
    """An order, about 300 bytes as JSON."""
    lines = [{"sku": f"sku-{n}", "quantity": n, "unit_price": 9.5 + n} for n in range(5)]
    return {"order_id": order_id, "status": "shipped", "total": 61.0, "currency": "EUR", "lines": lines}


def nothing(request: Any, handler: Callable[[Any], Any]) -> Any:
    return handler(request)


def node(wrapping: str) -> ToolNode:
    if wrapping == "none":
        return ToolNode([get_order])
    if wrapping == "nothing":
        return ToolNode([get_order], wrap_tool_call=nothing)
    wrap, awrap = guard_wrappers(VerificationEngine())
    return ToolNode([get_order], wrap_tool_call=wrap, awrap_tool_call=awrap)


def asked() -> dict[str, Any]:
    number = next(NUMBERS)
    call = {"name": "get_order", "args": {"order_id": f"W{number % 50}"}, "id": f"call-{number}", "type": "tool_call"}
    return {"messages": [AIMessage("", tool_calls=[call])]}


@pytest.mark.parametrize("wrapping", ["none", "nothing", "guard"])
def test_one_tool_call(benchmark: BenchmarkFixture, wrapping: str) -> None:
    benchmark.group = "one tool call in LangGraph, by what wraps it"
    tools = node(wrapping)
    config = {"configurable": {"__pregel_runtime": Runtime(), "thread_id": "bench"}}

    def call(state: dict[str, Any]) -> dict[str, Any]:
        return tools.invoke(state, config)  # type: ignore[arg-type]

    for _ in range(WARM_UP):
        call(asked())
    # pytest-benchmark has no annotations on this method.
    answer = benchmark.pedantic(call, setup=lambda: ((asked(),), {}), rounds=ROUNDS, iterations=1)  # type: ignore[no-untyped-call]
    message = answer["messages"][0]
    assert message.status == "success"
    assert ("agentguard" in message.response_metadata) == (wrapping == "guard")
