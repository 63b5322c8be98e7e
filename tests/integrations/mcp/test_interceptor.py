"""The interceptor alone: what inner interceptors may answer, ids, retries, the guard's own failure."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import ToolMessage
from langchain_core.messages.content import create_text_block
from langchain_mcp_adapters.interceptors import MCPToolCallRequest
from langgraph.types import Command
from mcp.types import CallToolResult, ImageContent, TextContent

from agentguard import ConfigurationError, VerificationEngine
from agentguard.guard import Guard, Outcome
from agentguard.integrations._mcp_content import result_of
from agentguard.integrations.mcp import MCPGuardInterceptor

from ..langchain.scripted import ScriptedEngine

REQUEST = MCPToolCallRequest(name="note", args={"n": 1}, server_name="shop")


class Seen(list[Outcome]):
    def __call__(self, outcome: Outcome, _: object) -> None:
        self.append(outcome)


def text(said: str, **fields: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=said)], **fields)


def answers(*given: Any) -> Callable[[MCPToolCallRequest], Awaitable[Any]]:
    """A server that gives these answers in turn."""
    left = iter(given)

    async def handler(request: MCPToolCallRequest) -> Any:
        return next(left)

    return handler


async def test_random_ids_do_not_make_one_answer_two() -> None:
    seen = Seen()
    guard = MCPGuardInterceptor(Guard(VerificationEngine(), on_judgement=seen))
    blocks = [[create_text_block(text="the same"), {"type": "text", "text": "kept", "id": "row-5"}] for _ in range(2)]
    assert blocks[0][0]["id"] != blocks[1][0]["id"]
    for content in blocks:
        await guard(REQUEST, answers(ToolMessage(content=content, tool_call_id="c")))
    extra = TextContent(type="text", text="x")
    await guard(REQUEST, answers(CallToolResult(content=[extra, extra.model_copy(update={"meta": {"at": 12}})])))
    expected = [{"type": "text", "text": "the same"}, {"type": "text", "text": "kept", "id": "row-5"}]
    assert [outcome.result for outcome in seen] == [expected, expected, ["x", "x"]]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_wrapped_and_unwrapped_answers_are_told_apart(value: Any) -> None:
    # A server wraps what is no object, and says it unwrapped: as text, or as its JSON. An object it says as it is.
    said = value if isinstance(value, str) else json.dumps(value)
    assert result_of(text(said).content, {"result": value}) == value
    unwrapped = {"result": value}
    assert result_of(text(json.dumps(unwrapped)).content, unwrapped) == unwrapped


async def test_where_another_interceptor_answered_the_latency_is_unknown() -> None:
    seen = Seen()
    guard = MCPGuardInterceptor(Guard(VerificationEngine(), on_judgement=seen))
    message = ToolMessage(content="from a cache", tool_call_id="c")
    assert await guard(REQUEST, answers(message)) is message
    assert [outcome.execution_time_ms for outcome in seen] == [None]


async def test_a_blocked_message_keeps_its_ids_and_loses_its_artifact(engine: VerificationEngine) -> None:
    message = ToolMessage(content="guess", tool_call_id="c", id="m", name="note", artifact={"raw": "guess"})
    blocked = await MCPGuardInterceptor(engine)(REQUEST, answers(message))
    assert isinstance(blocked, ToolMessage)
    assert (blocked.id, blocked.tool_call_id, blocked.name) == ("m", "c", "note")
    assert (blocked.status, blocked.artifact) == ("error", None)
    assert "guess" not in str(blocked.content).partition("Do not guess")[0]
    assert blocked.response_metadata["agentguard"]["verdict"] == "block"


async def test_failures_and_commands_of_other_interceptors_pass() -> None:
    seen = Seen()
    guard = MCPGuardInterceptor(Guard(VerificationEngine(), on_judgement=seen))
    for answer in (ToolMessage("no", tool_call_id="c", status="error"), Command(goto="x")):
        assert await guard(REQUEST, answers(answer)) is answer
    assert not seen


async def test_a_failure_that_the_server_reports_is_judged_as_one() -> None:
    seen = Seen()
    guard = MCPGuardInterceptor(Guard(VerificationEngine(), on_judgement=seen))
    answer = text("no such sku", isError=True)
    assert await guard(REQUEST, answers(answer)) is answer
    assert await guard(REQUEST, answers(text("12"))) is not None
    assert [(outcome.result, outcome.is_error) for outcome in seen] == [("no such sku", True), ("12", False)]
    assert seen[0].execution_time_ms is not None


async def test_an_exception_of_the_transport_passes(engine: VerificationEngine) -> None:
    async def handler(request: MCPToolCallRequest) -> Any:
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        await MCPGuardInterceptor(engine)(REQUEST, handler)


async def test_a_blocked_answer_keeps_its_meta_and_shape(engine: VerificationEngine) -> None:
    answer = CallToolResult.model_validate(
        {"content": [{"type": "text", "text": "?"}], "structuredContent": {"guess": 1}, "_meta": {"trace": "t"}}
    )
    blocked = await MCPGuardInterceptor(engine)(REQUEST, answers(answer))
    assert isinstance(blocked, CallToolResult)
    assert (blocked.isError, blocked.structuredContent, len(blocked.content)) == (True, None, 1)
    assert blocked.meta is not None
    assert blocked.meta["trace"] == "t"
    assert blocked.meta["agentguard"]["fired"] == ["schema_mismatch"]
    assert CallToolResult.model_validate(blocked.model_dump(by_alias=True)) == blocked
    assert answer.structuredContent == {"guess": 1}


async def test_a_flagged_answer_is_handed_on_with_its_verdict() -> None:
    engine = VerificationEngine(block_at=0.999)
    engine.register_tool_profile("note", required_fields=["sku"], has_network_io=False)
    for on_flag, lines in (("annotate", 1), ("observe", 0)):
        options: Any = {"on_flag": on_flag}
        flagged = await MCPGuardInterceptor(Guard(engine, **options))(REQUEST, answers(text("guess")))
        assert isinstance(flagged, CallToolResult)
        assert flagged.content[:1] == text("guess").content
        assert len(flagged.content) == 1 + lines
        assert flagged.meta is not None
        assert (flagged.meta["agentguard"]["verdict"], flagged.meta["agentguard"]["action"]) == ("flag", on_flag)
    blocked = await MCPGuardInterceptor(Guard(engine, on_flag="block"))(REQUEST, answers(text("guess")))
    assert isinstance(blocked, CallToolResult)
    assert blocked.isError


def flagging() -> ScriptedEngine:
    engine = ScriptedEngine(note="flag")
    engine.hazard = "the count is missing"
    return engine


LINE = TextContent(
    type="text",
    text="[agentguard: this result of 'note' may be wrong: the count is missing. Check it before you rely on it.]",
)


@pytest.mark.parametrize("is_error", [False, True])
@pytest.mark.parametrize("structured", [None, {"count": 12}])
async def test_the_line_is_one_more_text_and_all_else_stays(is_error: bool, structured: Any) -> None:
    picture = ImageContent(type="image", data="AA==", mimeType="image/png")
    said = TextContent(type="text", text='{"count": 12}')
    answer = CallToolResult(content=[said, picture], structuredContent=structured, isError=is_error)
    flagged = await MCPGuardInterceptor(flagging())(REQUEST, answers(answer))
    assert isinstance(flagged, CallToolResult)
    assert flagged.content == [said, picture, LINE]
    assert (flagged.structuredContent, flagged.isError) == (structured, is_error)
    assert answer.content == [said, picture]
    assert CallToolResult.model_validate(flagged.model_dump(by_alias=True)) == flagged


async def test_the_line_can_be_said_otherwise_and_is_said_once() -> None:
    guard = MCPGuardInterceptor(Guard(flagging(), flag_text="<{tool}: {hazard}>"))
    once = await guard(REQUEST, answers(text("12")))
    assert isinstance(once, CallToolResult)
    assert [block.text for block in once.content] == ["12", "<note: the count is missing>"]  # type: ignore[union-attr]
    answer = text("12")
    for _ in range(2):  # two guards on one call
        answer = await MCPGuardInterceptor(Guard(flagging(), flag_text="<{tool}>"))(REQUEST, answers(answer))
        assert [block.text for block in answer.content] == ["12", "<note>"]  # type: ignore[union-attr]
    with pytest.raises(ConfigurationError, match="flag_text"):
        MCPGuardInterceptor(Guard(flagging(), flag_text="{what}"))


@pytest.mark.parametrize("content", ["from a cache", [{"type": "text", "text": "from a cache"}]])
async def test_a_message_of_another_interceptor_gets_the_line_too(content: Any) -> None:
    message = ToolMessage(content, tool_call_id="c", id="m", artifact={"raw": 1})
    flagged = await MCPGuardInterceptor(flagging())(REQUEST, answers(message))
    assert isinstance(flagged, ToolMessage)
    if isinstance(content, str):
        assert flagged.content == f"from a cache\n\n{LINE.text}"
    else:
        assert flagged.content == [*content, {"type": "text", "text": LINE.text}]
    assert (flagged.id, flagged.artifact) == ("m", {"raw": 1})
    assert flagged.response_metadata["agentguard"]["artifact"] == "not judged"


async def test_in_shadow_there_is_no_line() -> None:
    answer = text("12")
    assert await MCPGuardInterceptor(Guard(flagging(), shadow=True))(REQUEST, answers(answer)) is answer


@pytest.mark.parametrize("idempotent", [True, False])
async def test_only_an_idempotent_tool_is_called_again(idempotent: bool) -> None:
    engine = VerificationEngine()
    engine.register_tool_profile("note", required_fields=["sku"], has_network_io=False, idempotent=idempotent)
    handler = answers(text("guess"), text('{"sku": 1}'))
    answer = await MCPGuardInterceptor(Guard(engine, max_retries=1))(REQUEST, handler)
    assert isinstance(answer, CallToolResult)
    assert answer.isError != idempotent


async def test_the_time_is_the_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    now, seen = [1.0], Seen()
    monkeypatch.setattr("agentguard.integrations.mcp.perf_counter", lambda: now[0])

    async def handler(request: MCPToolCallRequest) -> Any:
        now[0] += 0.5
        return text("x")

    await MCPGuardInterceptor(Guard(VerificationEngine(), on_judgement=seen))(REQUEST, handler)
    assert seen[0].execution_time_ms == 500.0  # the clock that only the handler moves


@pytest.mark.parametrize("options", [{"on_flag": "review"}, {"on_block": "end"}, {"tools": "note"}])
def test_what_it_cannot_do_is_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        MCPGuardInterceptor(Guard(VerificationEngine(), **options))


class TestReadBack:
    """A write that is read back by another tool of the server."""

    @staticmethod
    async def written(
        stored: dict[str, Any], *, prefixed: bool = False, tool: str = "get", readers: Any = None
    ) -> tuple[Any, list[str]]:
        engine, asked = VerificationEngine(), []
        name = "shop_note" if prefixed else "note"
        engine.register_tool_profile(name, confirm={"tool": tool, "args": {"id": "$.result.id"}})
        guard = MCPGuardInterceptor(Guard(engine, readers=readers), tool_name_prefix=prefixed)

        async def handler(request: MCPToolCallRequest) -> CallToolResult:
            asked.append(request.name)
            if request.name == "note":
                return text('{"id": "7"}')
            kept = stored.get(request.args["id"])
            return text("no such note", isError=True) if kept is None else text(json.dumps(kept))

        return await guard(REQUEST, handler), asked

    @pytest.mark.parametrize(
        ("stored", "is_error"), [({"7": {"id": "7", "n": 1}}, False), ({"7": {"id": "7", "n": 2}}, True), ({}, True)]
    )
    async def test_it_is_asked_of_the_same_server(self, stored: Any, is_error: bool) -> None:
        answer, asked = await self.written(stored)

        assert (answer.isError, asked) == (is_error, ["note", "get"])
        if is_error:
            assert "look with 'get' before you call it again" in answer.content[0].text

    async def test_by_its_own_name_where_names_have_the_servers_before_them(self) -> None:
        answer, asked = await self.written({}, prefixed=True, tool="shop_get")

        assert (answer.isError, asked) == (True, ["note", "get"])

    async def test_a_tool_of_another_server_needs_a_reader(self) -> None:
        answer, asked = await self.written({}, prefixed=True, tool="other_get")
        assert (answer.isError, asked) == (False, ["note"])
        assert "other_get(id=…) cannot be called from here" in answer.content[-1].text

        answer, _ = await self.written({}, prefixed=True, tool="other_get", readers={"other_get": lambda id: None})
        assert answer.isError
