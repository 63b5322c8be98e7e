"""A server at a URL: what it gets of a client's messages, and what the client gets of its answers and streams."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from agentguard.proxy import _remote
from agentguard.proxy._messages import Line
from agentguard.proxy._remote import Remote, http_client

from .conftest import HttpServer, events, line, reply

URL = "http://server.test/mcp"


class Talk:
    def __init__(self, remote: Remote, server: HttpServer) -> None:
        self.remote = remote
        self.server = server
        self._lines = remote.lines()

    async def say(self, message: Any) -> None:
        await self.remote.send(Line(message if isinstance(message, bytes) else line(message)))

    async def hear(self) -> Any:
        return json.loads((await self._lines.__anext__()).data)


@asynccontextmanager
async def talking(handler: Any, tool: Any = lambda name: None) -> AsyncIterator[Talk]:
    client = http_client({"authorization": "Bearer key"})
    server = HttpServer(handler)
    client._transport = server
    client._mounts = {}
    remote = Remote(URL, client, tool)
    yield Talk(remote, server)
    await remote.close()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_remote, "PAUSE_MS", 0)
    monkeypatch.setattr(_remote, "LEAST_PAUSE_MS", 0)


def request(id_: Any, method: str = "x", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def result(id_: Any, **fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": fields}


async def test_a_session_from_its_beginning_to_its_end() -> None:
    async def handler(asked: httpx.Request) -> httpx.Response:
        if asked.method == "GET":
            return httpx.Response(405)
        if asked.method == "DELETE" or b"initialized" in asked.content:
            return httpx.Response(202)
        if b"initialize" in asked.content:
            return reply(result(1, protocolVersion="2025-06-18"), **{"mcp-session-id": "s-1"})
        return reply(result(2))

    async with talking(handler) as talk:
        body = b'{"jsonrpc": "2.0",  "id": 1, "method": "initialize", "params": {"future": 1.0}}'
        await talk.say(body + b"\r\n")
        assert (await talk.hear())["id"] == 1
        await talk.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        await talk.say(request(2))
        assert (await talk.hear())["id"] == 2
    begun, told, *others = talk.server.requests

    assert begun.content == body
    assert begun.headers["accept"] == "application/json, text/event-stream"
    assert "mcp-session-id" not in begun.headers
    assert {each.method for each in others} == {"GET", "POST", "DELETE"}
    for each in (told, *others):
        assert each.headers["mcp-session-id"] == "s-1"
        assert each.headers["mcp-protocol-version"] == "2025-06-18"
        assert each.headers["authorization"] == "Bearer key"


async def test_a_stream_brings_messages_until_the_answer() -> None:
    async def handler(asked: httpx.Request) -> httpx.Response:
        return events(
            ': hi\n\ndata: {"method": "progress"}\n\nid: 1\ndata:\n\n', 'data: {"id": 7,\ndata: "result": {}}\n\n'
        )

    async with talking(handler) as talk:
        await talk.say(request(7))
        assert await talk.hear() == {"method": "progress"}
        assert await talk.hear() == {"id": 7, "result": {}}


@pytest.mark.parametrize("broken", [False, True])
async def test_a_stream_that_breaks_off_is_gone_on_with(broken: bool) -> None:
    async def handler(asked: httpx.Request) -> httpx.Response:
        if asked.method == "POST":
            return events('id: e-1\nretry: 0\ndata: {"method": "progress"}\n\n', broken=broken)
        if asked.headers["last-event-id"] == "e-1":
            return events("id: e-2\ndata: \n\n")
        return events('data: {"id": 7, "result": {}}\n\n')

    async with talking(handler) as talk:
        await talk.say(request(7))
        assert await talk.hear() == {"method": "progress"}
        assert (await talk.hear())["id"] == 7

    assert [each.headers.get("last-event-id") for each in talk.server.requests] == [None, "e-1", "e-2"]


async def test_what_the_server_sends_unasked_comes_too() -> None:
    async def handler(asked: httpx.Request) -> httpx.Response:
        if asked.method == "POST":
            return httpx.Response(202)
        streams = {None: 'id: 1\ndata: {"method": "a"}\n\n', "1": 'id: 2\ndata: {"method": "b"}\n\n'}
        stream = streams.get(asked.headers.get("last-event-id"))
        return httpx.Response(405) if stream is None else events(stream)

    async with talking(handler) as talk:
        await talk.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert [await talk.hear(), await talk.hear()] == [{"method": "a"}, {"method": "b"}]


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (lambda: httpx.Response(502), "HTTP 502"),
        (lambda: httpx.Response(202), "HTTP 202"),
        (lambda: httpx.Response(307, headers={"location": "http://evil.test/"}), "which is not followed"),
        (lambda: httpx.Response(200, headers={"content-type": "text/html"}), "text/html"),
        (lambda: events("data: \n\n"), "ended without an answer"),
    ],
)
async def test_a_request_without_an_answer_gets_an_error(response: Callable[[], httpx.Response], said: str) -> None:
    async def handler(asked: httpx.Request) -> httpx.Response:
        return response()

    async with talking(handler) as talk:
        await talk.say(request("q"))
        made = await talk.hear()

    assert made["id"] == "q"
    assert said in made["error"]["message"]


async def test_a_server_that_is_not_there_is_told() -> None:
    async def handler(asked: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    async with talking(handler) as talk:
        await talk.say({"jsonrpc": "2.0", "method": "notifications/x"})
        await talk.say(request(1))
        assert "ConnectError" in (await talk.hear())["error"]["message"]


async def test_the_servers_own_errors_pass_with_an_id() -> None:
    async def handler(asked: httpx.Request) -> httpx.Response:
        error = {"code": -32600, "message": "no", "data": 1}
        return httpx.Response(400, content=json.dumps({"jsonrpc": "2.0", "id": None, "error": error}))

    async with talking(handler) as talk:
        await talk.say(request(5))
        assert await talk.hear() == {"jsonrpc": "2.0", "id": 5, "error": {"code": -32600, "message": "no", "data": 1}}


async def test_a_session_that_is_gone_is_told() -> None:
    async def handler(asked: httpx.Request) -> httpx.Response:
        if b"initialize" in asked.content:
            return reply(result(1), **{"mcp-session-id": "s-1"})
        return httpx.Response(404)

    async with talking(handler) as talk:
        await talk.say(request(1, "initialize"))
        await talk.hear()
        await talk.say(request(2))
        assert "ended this session" in (await talk.hear())["error"]["message"]


async def test_messages_come_on_one_line() -> None:
    async def handler(asked: httpx.Request) -> httpx.Response:
        return httpx.Response(
            200, headers={"content-type": "application/json"}, content=b'{\r\n "id": 1,\n "result": {}}\n'
        )

    async with talking(handler) as talk:
        await talk.say(request(1))
        (heard,) = [await anext(talk.remote.lines())]

    assert heard.data == b'{   "id": 1,  "result": {}} \n'


async def test_a_message_that_carries_its_version_has_its_names_in_headers() -> None:
    schema = {
        "properties": {
            "city": {"type": "string", "x-mcp-header": "City"},
            "deep": {"properties": {"on": {"x-mcp-header": "On"}}},
        }
    }
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}

    async def handler(asked: httpx.Request) -> httpx.Response:
        return reply(result(1))

    async with talking(handler, lambda name: {"inputSchema": schema} if name == "wéather" else None) as talk:
        arguments = {"city": "Oslo", "deep": {"on": True}}
        await talk.say(request(1, "tools/call", name="wéather", arguments=arguments, _meta=meta))
        await talk.hear()
        await talk.say(request(2, "resources/read", uri="file:///a", _meta=meta))
        await talk.hear()
    called, read = talk.server.requests

    assert called.headers["mcp-protocol-version"] == "2026-07-28"
    assert called.headers["mcp-method"] == "tools/call"
    assert called.headers["mcp-name"] == "=?base64?d8OpYXRoZXI=?="
    assert (called.headers["mcp-param-city"], called.headers["mcp-param-on"]) == ("Oslo", "true")
    assert read.headers["mcp-name"] == "file:///a"


async def test_under_later_versions_a_cancelled_request_ends_its_stream() -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    cancelled = asyncio.Event()
    begun = asyncio.Event()

    async def handler(asked: httpx.Request) -> httpx.Response:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        raise AssertionError

    async with talking(handler) as talk:
        await talk.say(request(1, _meta=meta))
        await begun.wait()
        await talk.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        await cancelled.wait()

    assert len(talk.server.requests) == 1
