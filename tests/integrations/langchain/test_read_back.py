"""Writes that are read back by the tools beside them: in an agent, in a tool node."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph

from agentguard.guard import Guard
from agentguard.integrations.langchain import ToolGuardMiddleware
from agentguard.integrations.langgraph import GuardedToolNode
from agentguard.integrations.receipts import receipt_signer
from agentguard.verification import VerificationEngine

from .scripted import ASK, THREAD, Run, agent, answers, calls

ORDER: dict[str, Any] = {"customer": "C1", "amount": 12.5}


class Shop:
    """Says that every order is made; stores only what is worth something, and then as it ``stores`` it."""

    def __init__(self, **stored: Any) -> None:
        self.stored = stored
        self.orders: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []

    def create_order(self, customer: str, amount: float) -> dict[str, str]:
        """Make an order."""
        self.asked.append("create_order")
        if amount > 0:
            self.orders["O-1"] = {"id": "O-1", "customer": customer, "amount": amount, **self.stored}
        return {"id": "O-1", "status": "ok"}

    def get_order(self, order_id: str) -> dict[str, Any]:
        """Look an order up."""
        self.asked.append("get_order")
        return self.orders[order_id]

    @property
    def tools(self) -> list[Any]:
        return [tool(self.create_order), tool(self.get_order)]


def engine(**confirm: Any) -> VerificationEngine:
    made = VerificationEngine()
    made.register_tool_profile(
        "create_order", confirm={"tool": "get_order", "args": {"order_id": "$.result.id"}, **confirm}
    )
    return made


def graph_of(kind: str, shop: Shop, judge: VerificationEngine, turn: AIMessage, **options: Any) -> tuple[Any, Any]:
    """A graph in which the tools are guarded, and what it is to be asked."""
    if kind == "agent":
        return agent(
            shop.tools, turn, middleware=[ToolGuardMiddleware(Guard(judge, **options), signer=receipt_signer())]
        ), ASK
    graph = StateGraph(MessagesState)
    graph.add_node("tools", GuardedToolNode(shop.tools, Guard(judge, **options), signer=receipt_signer()))
    graph.add_edge(START, "tools")
    return graph.compile(), {"messages": [turn]}


async def written(run: Run, kind: str, shop: Shop, judge: VerificationEngine, **args: Any) -> ToolMessage:
    """The one message that an order brings."""
    graph, ask = graph_of(kind, shop, judge, calls(("create_order", {**ORDER, **args})))
    (message,) = answers(await run(graph, ask, THREAD))
    assert shop.asked == ["create_order", "get_order"]
    return message


@pytest.mark.parametrize("kind", ["agent", "node"])
async def test_an_order_that_is_there_is_handed_on(run: Run, kind: str) -> None:
    message = await written(run, kind, Shop(), engine())

    assert (message.status, message.content) == ("success", '{"id": "O-1", "status": "ok"}')
    [told] = message.response_metadata["agentguard"]["read_back"]
    assert (told["tool"], told["by"], told["state"]) == ("get_order", "guard", "agrees")


@pytest.mark.parametrize("kind", ["agent", "node"])
@pytest.mark.parametrize(
    ("shop", "args", "why"),
    [
        (
            Shop(),
            {"amount": -1.0},
            "get_order(order_id=…) finds no such thing",
        ),  # the tool raised, which a node handles
        (Shop(amount=99.0), {}, "get_order(order_id=…) does not read what was written: amount"),
    ],
    ids=["not stored", "another amount"],
)
async def test_one_that_is_not_is_blocked(run: Run, kind: str, shop: Shop, args: Any, why: str) -> None:
    shop.asked.clear()
    shop.orders.clear()
    message = await written(run, kind, shop, engine(), **args)

    assert message.status == "error"
    assert why in str(message.content)
    assert "look with 'get_order' before you call it again" in str(message.content)


async def test_what_cannot_be_asked_is_flagged(run: Run) -> None:
    shop = Shop()
    graph, ask = graph_of("node", shop, engine(tool="look_up"), calls(("create_order", ORDER)))
    (message,) = answers(await run(graph, ask, THREAD))

    assert message.status == "success"
    assert "look_up(order_id=…) cannot be called from here" in str(message.content)
    assert shop.asked == ["create_order"]


async def test_an_error_is_tried_again_as_the_profile_says(run: Run) -> None:
    judge, made = VerificationEngine(), []
    judge.register_tool_profile("weather", idempotent=True, retry={"attempts": 3})

    def weather(city: str) -> str:
        """Tell the weather."""
        made.append(city)
        return "Error: try later" if len(made) < 3 else "18 degrees"

    graph = agent([tool(weather)], calls(("weather", {"city": "Kew"})), middleware=[ToolGuardMiddleware(judge)])
    (message,) = answers(await run(graph, ASK))

    assert (message.content, len(made)) == ("18 degrees", 3)
