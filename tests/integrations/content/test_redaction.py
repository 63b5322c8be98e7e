"""A profile that says ``content: {pii: redact}``: under every integration the model reads placeholders."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode

from agentguard.guard import Guard, Outcome
from agentguard.integrations._messages import without
from agentguard.integrations.functions import guarded
from agentguard.integrations.langchain import ToolGuardMiddleware
from agentguard.integrations.langgraph import GuardedToolNode, GuardNode, GuardState
from agentguard.integrations.receipts import ReceiptStatus, receipt_signer, verify_transcript
from agentguard.verification import VerificationEngine

from ..langchain.scripted import ASK, Run, agent, answers, calls

ADDRESS = "ada@example.org"
RAW, SHOWN = {"name": "Ada", "mail": ADDRESS}, {"name": "Ada", "mail": "<EMAIL_1>"}
LOOKUP = calls(("lookup", {"key": 7}))
TURN: Any = {"messages": [LOOKUP]}

needs_pydantic_ai = pytest.mark.skipif(
    importlib.util.find_spec("pydantic_ai") is None, reason="pydantic-ai does not run on Python 3.10"
)


@pytest.fixture
def engine() -> VerificationEngine:
    engine = VerificationEngine()
    engine.register_tool_profile("lookup", has_network_io=False, content={"pii": "redact"})
    return engine


def lookup_of(value: Any) -> Any:
    @tool
    def lookup(key: int) -> Any:
        """Look something up."""
        return value

    return lookup


# --- LangChain ---


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (f"write to {ADDRESS}", "write to <EMAIL_1>"),
        (RAW, '{"name": "Ada", "mail": "<EMAIL_1>"}'),
        ([{"type": "text", "text": ADDRESS}], [{"type": "text", "text": "<EMAIL_1>"}]),
        (
            [{"type": "text", "text": '{"to": "ada\\u0040example.org"}'}],
            [{"type": "text", "text": '{"to": "<EMAIL_1>"}'}],
        ),
    ],
    ids=["text", "object", "blocks", "JSON in blocks"],
)
async def test_langchain(engine: VerificationEngine, run: Run, raw: Any, shown: Any) -> None:
    graph = agent([lookup_of(raw)], LOOKUP, middleware=[ToolGuardMiddleware(engine, signer=receipt_signer())])
    out = await run(graph, ASK)

    (message,) = answers(out)
    assert message.content == shown
    assert ADDRESS not in str(graph.model.seen)
    assert ADDRESS not in str(out)
    stamp = message.response_metadata["agentguard"]
    assert (stamp["verdict"], stamp["redacted"]) == ("accept", ["pii"])
    # What is signed is what the model is shown.
    assert [finding.status for finding in verify_transcript(out["messages"])] == [ReceiptStatus.EXECUTED]


async def test_langchain_shadow_changes_nothing(engine: VerificationEngine, run: Run) -> None:
    graph = agent([lookup_of(ADDRESS)], LOOKUP, middleware=[ToolGuardMiddleware(Guard(engine, shadow=True))])
    (message,) = answers(await run(graph, ASK))
    assert message.content == ADDRESS


# --- LangGraph ---


def graph_of(tools: Any, guard: GuardNode) -> Any:
    graph = StateGraph(GuardState)
    graph.add_node("tools", tools)
    graph.add_node("guard", guard)
    graph.add_edge(START, "tools")
    graph.add_edge("tools", "guard")
    graph.add_edge("guard", END)
    return graph.compile()


async def test_guard_node_behind_a_plain_tool_node(engine: VerificationEngine, run: Run) -> None:
    out = await run(graph_of(ToolNode([lookup_of(RAW)]), GuardNode(engine)), TURN)
    (message,) = answers(out)
    assert message.content == '{"name": "Ada", "mail": "<EMAIL_1>"}'
    assert ADDRESS not in str(out)


async def test_guard_node_behind_guarded_tools(engine: VerificationEngine, run: Run) -> None:
    out = await run(
        graph_of(GuardedToolNode([lookup_of(ADDRESS)], engine, signer=receipt_signer()), GuardNode(engine)), TURN
    )
    (message,) = answers(out)
    assert message.content == "<EMAIL_1>"
    assert [finding.status for finding in verify_transcript(out["messages"])] == [ReceiptStatus.EXECUTED]


async def test_guard_node_in_shadow_changes_nothing(engine: VerificationEngine, run: Run) -> None:
    out = await run(graph_of(ToolNode([lookup_of(ADDRESS)]), GuardNode(Guard(engine, shadow=True))), TURN)
    assert answers(out)[0].content == ADDRESS


# --- Functions ---


async def test_functions(engine: VerificationEngine) -> None:
    @guarded(engine, "lookup")
    def plain(key: int) -> Any:
        return RAW

    @guarded(engine, "lookup")
    async def coroutine(key: int) -> Any:
        return [RAW, f"or {ADDRESS}"]

    @guarded(Guard(engine, shadow=True), "lookup")
    def watched(key: int) -> Any:
        return RAW

    assert plain(7) == SHOWN
    assert await coroutine(7) == [SHOWN, "or <EMAIL_1>"]
    assert watched(7) is RAW


async def test_a_result_that_no_placeholder_can_be_put_into_is_withheld(engine: VerificationEngine) -> None:
    class Person:
        def __init__(self) -> None:
            self.mail = ADDRESS

        def __str__(self) -> str:
            return self.mail

    @guarded(engine, "lookup")
    def plain(key: int) -> Any:
        return {"person": Person(), "mail": ADDRESS}

    assert ADDRESS not in str(plain(7))


async def test_who_is_told_of_judgements_is_given_the_raw_result(engine: VerificationEngine) -> None:
    seen: list[Outcome] = []

    @guarded(Guard(engine, on_judgement=lambda outcome, _: seen.append(outcome)), "lookup")
    def plain(key: int) -> Any:
        return RAW

    plain(7)
    assert seen[0].result == RAW


# --- MCP ---


async def test_mcp(engine: VerificationEngine) -> None:
    from langchain_mcp_adapters.interceptors import MCPToolCallRequest
    from mcp.types import CallToolResult, ImageContent, TextContent

    from agentguard.integrations.mcp import MCPGuardInterceptor

    request = MCPToolCallRequest(name="lookup", args={"key": 7}, server_name="s")
    guard = MCPGuardInterceptor(engine)
    picture = ImageContent(type="image", data="AA==", mimeType="image/png")
    text = TextContent(type="text", text='{"name":"Ada","mail":"ada@example.org"}')

    async def structured(_: Any) -> Any:
        return CallToolResult(content=[text, picture], structuredContent=RAW)

    async def message(_: Any) -> Any:
        return ToolMessage(f"to {ADDRESS}", artifact={"structured_content": RAW}, tool_call_id="c1")

    shown: Any = await guard(request, structured)
    assert shown.structuredContent == SHOWN
    assert shown.content[0].text == '{"name": "Ada", "mail": "<EMAIL_1>"}'
    assert shown.content[1] == picture
    assert shown.meta["agentguard"]["redacted"] == ["pii"]
    shown = await guard(request, message)
    assert shown.content == "to <EMAIL_1>"
    assert ADDRESS not in shown.model_dump_json()


async def test_mcp_resources(engine: VerificationEngine) -> None:
    from langchain_mcp_adapters.interceptors import MCPToolCallRequest
    from mcp.types import BlobResourceContents, CallToolResult, EmbeddedResource, ResourceLink, TextResourceContents
    from pydantic import AnyUrl

    from agentguard.integrations.mcp import MCPGuardInterceptor

    at = AnyUrl("file:///letters/7")
    letter = TextResourceContents(uri=at, text=f"Write to {ADDRESS}.")
    picture = EmbeddedResource(type="resource", resource=BlobResourceContents(uri=at, blob="AAAA"))
    link = ResourceLink(type="resource_link", uri=AnyUrl(f"mailto:{ADDRESS}"), name="Ada", description=f"<{ADDRESS}>")

    async def handler(_: Any) -> Any:
        return CallToolResult(content=[EmbeddedResource(type="resource", resource=letter), picture, link])

    request = MCPToolCallRequest(name="lookup", args={"key": 7}, server_name="s")
    shown: Any = await MCPGuardInterceptor(engine)(request, handler)
    assert shown.content[0].resource.text == "Write to <EMAIL_1>."
    assert shown.content[1] == picture
    assert (shown.content[2].type, shown.content[2].name) == ("resource_link", "Ada")
    assert ADDRESS not in shown.model_dump_json()


# --- OpenAI Agents SDK ---


async def test_openai_agents(engine: VerificationEngine) -> None:
    from agents import Agent, RunConfig, Runner, function_tool
    from agents.testing import ScriptedModel, assistant_message, function_call

    from agentguard.integrations.openai_agents import guard_agent

    @function_tool(name_override="lookup")
    def lookup(key: int) -> Any:
        return RAW

    model = ScriptedModel([[function_call("lookup", {"key": 7}, call_id="c1")], [assistant_message("done")]])
    guarded_agent = guard_agent(Agent("a", tools=[lookup], model=model), engine)
    result = await Runner.run(guarded_agent, "go", run_config=RunConfig(tracing_disabled=True))

    (output,) = [item["output"] for item in result.to_input_list() if item.get("type") == "function_call_output"]
    assert "<EMAIL_1>" in str(output)
    assert ADDRESS not in str(result.to_input_list())
    (found,) = result.tool_output_guardrail_results
    assert found.output.output_info["redacted"] == ["pii"]


# --- pydantic-ai ---


@needs_pydantic_ai
async def test_pydantic_ai(engine: VerificationEngine) -> None:
    from pydantic_ai import Agent, ModelResponse, TextPart, ToolCallPart, ToolReturn
    from pydantic_ai.messages import ModelRequest, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    from agentguard.integrations.pydantic_ai import GuardCapability

    def model(messages: Any, info: Any) -> ModelResponse:
        return ModelResponse([TextPart("done")] if len(messages) > 1 else [ToolCallPart("lookup", {"key": 7})])

    def returning(value: Any) -> Callable[[int], Any]:
        def lookup(key: int) -> Any:
            return value

        return lookup

    for value in (RAW, ToolReturn(RAW, content=f"to {ADDRESS}")):
        made: Agent[None, str] = Agent(FunctionModel(model), capabilities=[GuardCapability(engine)])
        made.tool_plain(name="lookup")(returning(value))
        result = await made.run("go")
        requests = [each for each in result.all_messages() if isinstance(each, ModelRequest)]
        (part,) = [each for request in requests for each in request.parts if isinstance(each, ToolReturnPart)]
        assert part.content == SHOWN
        assert part.metadata["agentguard"]["redacted"] == ["pii"]
        assert ADDRESS not in str(result.all_messages())


@pytest.mark.parametrize("as_block", [True, False])
def test_a_name_that_is_there_twice_in_a_block_of_json_hides_nothing(as_block: bool) -> None:
    hidden = f'{{"mail": "{ADDRESS}", "mail": "none"}}'
    content: Any = [{"type": "text", "text": hidden}] if as_block else hidden

    assert ADDRESS not in str(without(content, ["pii"]))
