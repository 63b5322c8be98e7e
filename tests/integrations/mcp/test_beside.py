"""All that a client may show its model of an answer is judged, not its structured form alone."""

from __future__ import annotations

import base64
import json
from threading import get_ident
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_mcp_adapters.interceptors import MCPToolCallRequest
from langgraph.types import Command
from mcp.types import (
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from agentguard import Guard, VerificationEngine
from agentguard.errors import ResultBlocked
from agentguard.integrations import _mcp_content
from agentguard.integrations._mcp_content import beside, result_of
from agentguard.integrations.mcp import MCPGuardInterceptor

from ..engines import INJECTION, SECRET, engine_of
from .test_interceptor import JSON, REQUEST, Seen, answers

ROW = {"id": "n7", "size": 12}
URI: Any = "file:///notes/n7.txt"


def text(said: str) -> TextContent:
    return TextContent(type="text", text=said)


def resource(said: str) -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=URI, text=said, mimeType="text/plain"))


def bytes_of(data: bytes) -> EmbeddedResource:
    blob = base64.b64encode(data).decode()
    return EmbeddedResource(type="resource", resource=BlobResourceContents(uri=URI, blob=blob))


def in_bytes(said: str) -> EmbeddedResource:
    return bytes_of(said.encode())


def in_wide_bytes(said: str) -> EmbeddedResource:
    return bytes_of(said.encode("utf-16"))


def in_old_bytes(said: str) -> EmbeddedResource:
    return bytes_of(f"Größe: {said}".encode("latin-1"))


def in_lines_of_base64(said: str) -> EmbeddedResource:
    return EmbeddedResource(
        type="resource", resource=BlobResourceContents(uri=URI, blob=base64.encodebytes(said.encode()).decode())
    )


def link(said: str) -> ResourceLink:
    return ResourceLink(type="resource_link", uri=URI, name="n7", description=said)


def twice(said: str) -> TextContent:
    """JSON that a reader takes for the structured form, and a model does not."""
    return text(f'{{"id": {json.dumps(said)}, {json.dumps(ROW)[1:]}')


PLACES = pytest.mark.parametrize(
    "place", [text, resource, in_bytes, in_wide_bytes, in_old_bytes, in_lines_of_base64, link, twice]
)


def said_in(answer: Any) -> str:
    """All that an answer says, what is in bytes too."""
    blobs = [
        base64.b64decode(block.resource.blob).replace(b"\0", b"").decode(errors="replace")
        for block in answer.content
        if isinstance(block, EmbeddedResource) and isinstance(block.resource, BlobResourceContents)
    ]
    return f"{answer.model_dump_json()} {blobs}"


@PLACES
@pytest.mark.parametrize("structured", [ROW, {"result": [1, 2]}, None])
@pytest.mark.parametrize("is_error", [False, True])
async def test_what_is_to_be_blocked_is_blocked_wherever_it_stands(place: Any, structured: Any, is_error: bool) -> None:
    answer = CallToolResult(content=[text("a note"), place(INJECTION)], structuredContent=structured, isError=is_error)
    blocked = await MCPGuardInterceptor(engine_of("note", injection="block"))(REQUEST, answers(answer))

    assert isinstance(blocked, CallToolResult)
    assert (blocked.isError, len(blocked.content)) == (True, 1)
    assert "mail the customer list" not in said_in(blocked)


@PLACES
@pytest.mark.parametrize("structured", [ROW, None])
async def test_what_is_to_be_redacted_is_nowhere_in_the_answer(place: Any, structured: Any) -> None:
    picture = ImageContent(type="image", data="AA==", mimeType="image/png")
    answer = CallToolResult(content=[picture, place(SECRET)], structuredContent=structured)
    shown = await MCPGuardInterceptor(engine_of("note", secrets="redact"))(REQUEST, answers(answer))

    assert isinstance(shown, CallToolResult)
    assert "tea4two" not in said_in(shown)
    assert "db.internal" in said_in(shown)
    assert (shown.content[0], shown.structuredContent) == (picture, structured)
    assert shown.content[1].type == answer.content[1].type
    assert CallToolResult.model_validate(shown.model_dump(by_alias=True)) == shown


async def test_the_result_of_a_server_of_the_first_edition_is_judged_and_redacted() -> None:
    old: Any = {"content": [], "toolResult": {"note": SECRET}}
    shown = await MCPGuardInterceptor(engine_of("note", secrets="redact"))(
        REQUEST, answers(CallToolResult.model_validate(old))
    )
    assert shown.toolResult["note"].startswith("dsn postgres://app:<")  # type: ignore[union-attr]
    old["toolResult"]["note"] = INJECTION
    blocked = await MCPGuardInterceptor(engine_of("note", injection="block"))(
        REQUEST, answers(CallToolResult.model_validate(old))
    )
    assert "mail the customer list" not in said_in(blocked)


async def test_bytes_that_are_no_text_stay_as_they_are() -> None:
    answer = CallToolResult(
        content=[bytes_of(b"\x89PNG\xff\xfe\x00"), text("by ada@example.org")], structuredContent={}
    )
    shown = await MCPGuardInterceptor(engine_of("note", pii="redact"))(REQUEST, answers(answer))
    assert shown.content[0] == answer.content[0]  # type: ignore[union-attr]
    assert "ada@example.org" not in said_in(shown)


@PLACES
async def test_without_content_rules_and_where_nothing_is_found_the_answer_is_the_servers(place: Any) -> None:
    for engine, said in (
        (VerificationEngine(), INJECTION),
        (engine_of("note", injection="block", pii="redact"), "a note"),
    ):
        answer = CallToolResult(content=[place(said)], structuredContent=ROW)
        assert await MCPGuardInterceptor(engine)(REQUEST, answers(answer)) is answer


@given(JSON)
def test_a_text_that_is_the_json_of_the_structured_form_is_looked_at_once(value: Any) -> None:
    for structured, said in (({"a": value}, {"a": value}), ({"result": value}, value)):
        blocks = [text(said if isinstance(said, str) else json.dumps(said, indent=1))]
        assert beside(blocks, structured, result_of(blocks, structured)) is None
    assert beside([text("more")], {"a": value}, {"a": value}) == ["more"]


@given(st.text(min_size=1), st.text(min_size=1))
def test_a_name_that_is_there_twice_hides_nothing(name: str, said: str) -> None:
    hidden = f"{{{json.dumps(name)}: {json.dumps(said)}, {json.dumps(name)}: 1}}"
    assert json.loads(hidden) == {name: 1}
    assert beside([text(hidden)], {name: 1}, {name: 1}) == [hidden]


@pytest.mark.parametrize(("content", "looked"), [({}, False), ({"injection": "block"}, True)])
@pytest.mark.parametrize(("size", "apart"), [(1, False), (200_000, True)])
async def test_what_stands_beside_is_looked_for_where_it_is_judged_and_a_large_one_in_a_thread(
    content: Any, looked: bool, size: int, apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    def noting(*args: Any) -> Any:
        threads.append(get_ident())
        return beside(*args)

    monkeypatch.setattr(_mcp_content, "beside", noting)
    engine = VerificationEngine()
    engine.register_tool_profile("note", has_network_io=False, content=content)
    answer = CallToolResult(content=[in_bytes("quiet " * size)], structuredContent=ROW)

    assert await MCPGuardInterceptor(engine)(REQUEST, answers(answer)) is answer
    assert len(threads) == looked
    assert all((thread != get_ident()) == apart for thread in threads)


def raises(error: Exception) -> Any:
    async def handler(request: MCPToolCallRequest) -> Any:
        raise error

    return handler


async def test_the_text_of_an_exception_is_judged() -> None:
    seen = Seen()
    guard = MCPGuardInterceptor(Guard(engine_of("note", injection="block", secrets="redact"), on_judgement=seen))
    blocked = await guard(REQUEST, raises(ConnectionError(INJECTION)))
    assert isinstance(blocked, CallToolResult)
    assert blocked.isError
    assert "mail the customer list" not in said_in(blocked)
    with pytest.raises(ConnectionError, match=r"db\.internal") as redacted:
        await guard(REQUEST, raises(ConnectionError(SECRET)))
    assert "tea4two" not in str(redacted.value)
    assert all(outcome.content_alone for outcome in seen)
    raising = MCPGuardInterceptor(Guard(engine_of("note", injection="block"), on_block="raise"))
    with pytest.raises(ResultBlocked) as out:
        await raising(REQUEST, raises(ConnectionError(INJECTION)))
    assert "mail the customer list" not in f"{out.value} {out.value.__context__}"


async def test_the_messages_in_a_command_of_another_interceptor_are_judged_by_their_content() -> None:
    guard = MCPGuardInterceptor(engine_of("note", injection="block", secrets="redact"))

    async def shown(said: str) -> Any:
        messages = [ToolMessage("done", tool_call_id="c"), HumanMessage(said)]
        return await guard(REQUEST, answers(Command(goto="x", update={"messages": messages})))

    redacted, blocked, clean = [await shown(said) for said in (SECRET, INJECTION, "quiet")]
    assert [message.content for message in redacted.update["messages"]] == [
        "done", "dsn postgres://app:<DATABASE_PASSWORD_1>@db.internal/shop",
    ]  # fmt: skip
    assert redacted.goto == "x"
    assert blocked.isError
    assert "mail the customer list" not in said_in(blocked)
    assert [message.content for message in clean.update["messages"]] == ["done", "quiet"]


async def test_the_error_of_another_interceptor_is_judged_by_its_content() -> None:
    guard = MCPGuardInterceptor(engine_of("note", injection="block", secrets="redact"))

    async def shown(said: str) -> Any:
        return await guard(REQUEST, answers(ToolMessage(said, tool_call_id="c", id="m", status="error")))

    redacted, blocked, clean = [await shown(said) for said in (SECRET, INJECTION, "no")]
    assert "tea4two" not in redacted.content
    assert "mail the customer list" not in blocked.content
    assert {(each.id, each.status) for each in (redacted, blocked, clean)} == {("m", "error")}
    assert (clean.content, clean.response_metadata) == ("no", {})
