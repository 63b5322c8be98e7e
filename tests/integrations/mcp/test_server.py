"""The interceptor between a real client and a real server: in memory, and in a process of its own."""

import asyncio
from typing import Any

import pytest
from langchain_core.tools import ToolException
from langchain_mcp_adapters.client import MultiServerMCPClient
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from agentguard import ResultBlocked, VerificationEngine
from agentguard.guard import Guard, Outcome
from agentguard.integrations.mcp import MCPGuardInterceptor

from ..langchain.scripted import ScriptedEngine


class Seen(list[Outcome]):
    def __call__(self, outcome: Outcome, _: object) -> None:
        self.append(outcome)


async def test_each_kind_of_answer_is_judged_as_what_the_tool_returned(connected: Any) -> None:
    seen = Seen()
    async with connected(MCPGuardInterceptor(Guard(VerificationEngine(), on_judgement=seen))) as call:
        for name, args in (
            ("stock", {"sku": "K-7"}), ("names", {"prefix": "x"}), ("result_row", {}), ("note", {"genuine": True}),
            ("parts", {}), ("picture", {}),
        ):  # fmt: skip
            assert (await call(name, **args)).status == "success"
    assert [outcome.result for outcome in seen] == [
        {"sku": "K-7", "count": 12},
        ["xa", "xb"],
        {"result": 5},
        '{\n  "sku": "K-7",\n  "count": 12\n}',
        ["one", "two"],
        ["a dot", {"type": "image", "data": "AA==", "mimeType": "image/png"}],
    ]
    assert [outcome.tool for outcome in seen] == ["stock", "names", "result_row", "note", "parts", "picture"]
    assert seen[0].args == {"sku": "K-7"}
    assert all(outcome.execution_time_ms is not None and outcome.execution_time_ms > 0 for outcome in seen)


async def test_a_made_up_answer_is_replaced_and_a_genuine_one_is_not(
    connected: Any, engine: VerificationEngine
) -> None:
    async with connected() as call:
        bare = await call("note", genuine=True)
    async with connected(MCPGuardInterceptor(engine)) as call:
        blocked, passed = await call("note", genuine=False), await call("note", genuine=True)
    assert blocked.status == "error"
    assert [block["type"] for block in blocked.content] == ["text"]
    assert blocked.content[0]["text"].startswith("The result of 'note' was blocked")
    assert "plenty" not in str(blocked)
    assert (blocked.artifact, blocked.tool_call_id, blocked.name) == (None, "call-1", "note")
    assert passed.status == "success"
    assert passed.content[0]["text"] == bare.content[0]["text"]


async def test_failures_of_the_tool_pass_and_are_judged_as_such(connected: Any) -> None:
    seen = Seen()
    async with connected() as call:
        bare = await call("breaks")
    async with connected(MCPGuardInterceptor(Guard(VerificationEngine(), on_judgement=seen))) as call:
        broken, bad = await call("breaks"), await call("note", genuine="by no means a truth value")
    assert broken.status == bad.status == "error"
    assert broken.content[0]["text"] == bare.content[0]["text"]
    assert "the shelf fell over" in broken.content[0]["text"]
    assert [(outcome.tool, outcome.is_error) for outcome in seen] == [("breaks", True), ("note", True)]
    assert "the shelf fell over" in seen[0].result


async def test_the_model_reads_the_line_of_a_flagged_answer(connected: Any) -> None:
    engine = ScriptedEngine(stock="flag", breaks="flag")
    engine.hazard = "the count moved far from its level"
    async with connected(MCPGuardInterceptor(Guard(engine, flag_text="<{hazard}>"))) as call:
        stock, broken = await call("stock", sku="K-7"), await call("breaks")
    for message in (stock, broken):
        assert message.content[-1]["text"] == "<the count moved far from its level>"
    assert stock.artifact == {"structured_content": {"sku": "K-7", "count": 12}}
    assert (stock.status, broken.status) == ("success", "error")


async def test_raise_raises_through_the_tool(connected: Any, engine: VerificationEngine) -> None:
    async with connected(MCPGuardInterceptor(Guard(engine, on_block="raise"))) as call:
        with pytest.raises(ResultBlocked, match="'count' is missing"):
            await call("note", genuine=False)


async def test_without_the_clients_handling_of_errors_a_block_is_its_exception(
    connected: Any, engine: VerificationEngine
) -> None:
    async with connected(MCPGuardInterceptor(engine), handle_tool_errors=False) as call:
        with pytest.raises(ToolException, match="was blocked"):
            await call("note", genuine=False)


async def test_only_the_tools_named_are_guarded(connected: Any, engine: VerificationEngine) -> None:
    async with connected(MCPGuardInterceptor(Guard(engine, tools=["stock"]))) as call:
        assert (await call("note", genuine=False)).status == "success"


async def test_servers_with_tools_of_one_name_are_told_apart(connected: Any) -> None:
    seen = Seen()
    guard = MCPGuardInterceptor(Guard(VerificationEngine(), on_judgement=seen), tool_name_prefix=True)
    async with connected(guard) as call:
        await call("stock", sku="K-7")
    assert seen[0].tool == "shop_stock"


async def test_in_a_graph_the_thread_is_the_session_and_the_call_keeps_its_id(connections: dict[str, Any]) -> None:
    seen = Seen()
    guard = MCPGuardInterceptor(Guard(VerificationEngine(), on_judgement=seen))
    client = MultiServerMCPClient(connections, tool_interceptors=[guard])
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode(await client.get_tools()))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    calls = [{"type": "tool_call", "id": "call-9", "name": "stock", "args": {"sku": "K-7"}}]
    message = {"role": "assistant", "content": "", "tool_calls": calls}
    out = await graph.compile().ainvoke({"messages": [message]}, {"configurable": {"thread_id": "t-1"}})
    assert out["messages"][-1].artifact == {"structured_content": {"sku": "K-7", "count": 12}}
    assert [(outcome.session_id, outcome.call_id) for outcome in seen] == [("t-1", "call-9")]
    assert seen[0].args == {"sku": "K-7"}


async def test_sixteen_calls_at_once_lose_no_update(connected: Any, engine: VerificationEngine) -> None:
    engine.trust("stock", 17)
    async with connected(MCPGuardInterceptor(engine)) as call:
        await asyncio.gather(*(call("stock", sku=f"K-{n}") for n in range(16)))
    assert engine.verify("stock", result={"sku": "K", "count": 1}).note == "trusted warm-up, 0 calls left"
