"""A front of HTTP: requests and answers pass, the messages in them are looked at."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from agentguard.proxy import _http
from agentguard.proxy._guarding import Guarding
from agentguard.proxy._http import HttpFront
from agentguard.proxy._remote import http_client
from agentguard.verification.profile import parse_profile

from .conftest import HttpServer, answer, call, events, line, reply, text

Make = Callable[..., Guarding]
WRONG = text("There should be plenty left.")


class Fronted:
    """A front before a server that a function stands for, and a client of it."""

    def __init__(self, guarding: Guarding, handler: Any, headers: dict[str, str] | None = None, **options: Any) -> None:
        upstream = http_client(headers or {})
        self.server = HttpServer(handler)
        upstream._transport = self.server
        upstream._mounts = {}
        self.front = HttpFront("http://server.test/api", upstream, guarding, **options)
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(self.front), base_url="http://localhost:8000")

    async def post(self, body: bytes, **headers: str) -> httpx.Response:
        return await self.client.post(
            "/mcp", content=body, headers={key.replace("_", "-"): headers[key] for key in headers}
        )


def result(id_: Any, value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": value}


async def test_an_answer_that_is_accepted_passes_as_it_is(guarding: Make) -> None:
    body = b'{ "jsonrpc":"2.0", "id":1, "result":{"content":[],"n":1.0e0}}'

    async def handler(asked: httpx.Request) -> httpx.Response:
        headers = {"content-type": "application/json", "x-more": "1", "connection": "close"}
        return httpx.Response(200, headers=headers, content=body)

    fronted = Fronted(guarding(), handler)
    sent = call(1, "other")
    got = await fronted.post(sent, x_own="2", mcp_protocol_version="2025-06-18")
    (asked,) = fronted.server.requests

    assert (got.content, got.headers["x-more"]) == (body, "1")
    assert "connection" not in got.headers
    assert (asked.content, asked.headers["x-own"], asked.headers["mcp-protocol-version"]) == (sent, "2", "2025-06-18")
    assert str(asked.url) == "http://server.test/api"
    assert asked.headers["host"] == "server.test"


async def test_a_blocked_answer_is_replaced(guarding: Make) -> None:
    async def handler(asked: httpx.Request) -> httpx.Response:
        return reply(result(1, WRONG))

    got = (await Fronted(guarding(), handler).post(call(1))).json()

    assert got["result"]["isError"] is True
    assert "plenty" not in str(got["result"]["content"])


@pytest.mark.parametrize("id_", [1, "1", "made up"])
async def test_a_stream_passes_but_for_the_answer_that_is_blocked(guarding: Make, id_: Any) -> None:
    first = ': hi\nevent: message\nid: 1\ndata: {"method":  "progress"}\n\n'
    second = f"id: 2\nevent: message\ndata: {json.dumps(result(id_, WRONG))}\n\n: end\n\n"

    async def handler(asked: httpx.Request) -> httpx.Response:
        return events(first[:20], first[20:] + second[:30], second[30:])

    got = (await Fronted(guarding(), handler).post(call(1))).text

    assert got.startswith(f"{first}id: 2\nevent: message\ndata: ")
    assert got.endswith("\n\n: end\n\n")
    assert "was blocked" in got


async def test_an_observer_passes_every_byte(guarding: Make) -> None:
    stream = f"data: {json.dumps(result(1, WRONG))}\r\n\r\nrest"

    async def handler(asked: httpx.Request) -> httpx.Response:
        return events(stream)

    kept = guarding(shadow=True)
    assert (await Fronted(kept, handler).post(call(1))).text == stream
    assert kept.counts["blocked"] == 1


async def test_sessions_are_kept_apart(guarding: Make) -> None:
    kept = guarding()
    seen: list[Any] = []
    judge = kept.judge
    kept.judge = lambda outcome, beside=None: seen.append(outcome) or judge(outcome, beside)  # type: ignore[method-assign]

    async def handler(asked: httpx.Request) -> httpx.Response:
        message = json.loads(asked.content)
        if message["method"] == "initialize":
            return reply(result(message["id"], {}), **{"mcp-session-id": f"s-{len(fronted.server.requests)}"})
        return reply(result(message["id"], text("12")))

    fronted = Fronted(kept, handler)
    sessions = []
    for _ in range(2):
        begun = await fronted.post(line({"jsonrpc": "2.0", "id": 0, "method": "initialize"}))
        sessions.append(begun.headers["mcp-session-id"])
    for session in (sessions[0], sessions[1], sessions[0]):
        await fronted.post(call(1, "other"), mcp_session_id=session)

    assert sessions == ["s-1", "s-2"]
    one, other, again = (outcome.session_id for outcome in seen)
    assert one == again != other


async def test_an_answer_that_comes_on_another_stream_is_judged_too(guarding: Make) -> None:
    async def handler(asked: httpx.Request) -> httpx.Response:
        if asked.method == "POST":
            return events("id: 1\ndata: \n\n")
        assert asked.headers["last-event-id"] == "1"
        return events(f"data: {json.dumps(result(1, WRONG))}\n\n")

    fronted = Fronted(guarding(), handler)
    await fronted.post(call(1), mcp_session_id="s")
    got = await fronted.client.get("/mcp", headers={"mcp-session-id": "s", "last-event-id": "1"})

    assert "was blocked" in got.text


async def test_a_session_that_ended_is_forgotten(guarding: Make) -> None:
    async def handler(asked: httpx.Request) -> httpx.Response:
        return httpx.Response(200)

    fronted = Fronted(guarding(), handler)
    await fronted.post(call(1), mcp_session_id="s")
    assert list(fronted.front._sessions) == ["s"]
    await fronted.client.delete("/mcp", headers={"mcp-session-id": "s"})
    assert not fronted.front._sessions


async def test_sessions_are_bounded(guarding: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_http, "MOST_SESSIONS", 2)

    async def handler(asked: httpx.Request) -> httpx.Response:
        return httpx.Response(202)

    fronted = Fronted(guarding(), handler)
    for session in ("a", "b", "a", "c"):
        await fronted.post(line({"jsonrpc": "2.0", "method": "x"}), mcp_session_id=session)

    assert list(fronted.front._sessions) == ["a", "c"]


async def test_what_the_server_says_of_a_request_passes(guarding: Make) -> None:
    async def handler(asked: httpx.Request) -> httpx.Response:
        return httpx.Response(401, headers={"www-authenticate": "Bearer x"}, content=b"no")

    got = await Fronted(guarding(), handler).post(call(1), authorization="Bearer theirs")

    assert (got.status_code, got.headers["www-authenticate"], got.content) == (401, "Bearer x", b"no")


async def test_our_own_headers_stand_over_the_clients(guarding: Make) -> None:
    async def handler(asked: httpx.Request) -> httpx.Response:
        return httpx.Response(202)

    fronted = Fronted(guarding(), handler, {"Authorization": "Bearer ours"})
    await fronted.post(call(1), authorization="Bearer theirs")

    assert fronted.server.requests[0].headers.get_list("authorization") == ["Bearer ours"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 202), ({"host": "127.0.0.1:1"}, 202), ({"host": "[::1]:1"}, 202),
        ({"origin": "http://localhost:3000"}, 202),
        ({"host": "evil.example"}, 403), ({"origin": "https://evil.example"}, 403), ({"origin": "null"}, 403),
        ({"host": ""}, 403), ({"host": "[bad"}, 403),
    ],
)  # fmt: skip
async def test_pages_of_other_sites_reach_nothing(guarding: Make, headers: dict[str, str], status: int) -> None:
    async def handler(asked: httpx.Request) -> httpx.Response:
        return httpx.Response(202)

    fronted = Fronted(guarding(), handler)
    assert (await fronted.post(call(1), **headers)).status_code == status
    assert len(fronted.server.requests) == (status == 202)
    open_to_all = Fronted(guarding(), handler, is_open=True)
    assert (await open_to_all.post(call(1), **headers)).status_code == 202


async def test_what_is_not_served(guarding: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    async def handler(asked: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    monkeypatch.setattr(_http, "LONGEST", 1_000)
    fronted = Fronted(guarding(), handler)

    assert (await fronted.client.get("/elsewhere")).status_code == 404
    assert (await fronted.client.put("/mcp")).status_code == 405
    assert (await fronted.post(b"x" * 2_000)).status_code == 413
    taken: list[int] = []

    async def chunks() -> Any:
        for number in range(30):
            taken.append(number)
            yield b"x" * 100

    assert (await fronted.client.post("/mcp", content=chunks())).status_code == 413
    assert len(taken) == 30  # whoever sends on to the end sees the answer
    assert (await fronted.post(call(1))).status_code == 502


async def test_an_answer_that_is_too_long_passes_unjudged(guarding: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_http, "LONGEST", 1_000)
    body = answer(1, text("x" * 3_000))

    async def handler(asked: httpx.Request) -> httpx.Response:
        async def chunks() -> Any:
            for start in range(0, len(body), 500):
                yield body[start : start + 500]

        return httpx.Response(200, headers={"content-type": "application/json"}, content=chunks())

    assert (await Fronted(guarding(), handler).post(call(1))).content == body


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_an_answer_that_is_too_long_is_withheld_where_failures_are_closed(
    guarding: Make, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(_http, "LONGEST", 1_000)
    body = answer(1, text("x" * 3_000))

    async def handler(asked: httpx.Request) -> httpx.Response:
        async def chunks() -> Any:
            yield b"data: " if "event" in kind else b""
            for start in range(0, len(body), 500):
                yield body[start : start + 500]
            yield b"\n"

        return httpx.Response(200, headers={"content-type": kind}, content=chunks())

    got = (await Fronted(guarding(on_guard_error="closed"), handler).post(call(1))).text
    made = json.loads(got.removeprefix("data: "))

    assert made["id"] == 1
    assert "too long to be verified" in made["result"]["content"][0]["text"]


async def test_a_client_that_goes_away_ends_the_request(guarding: Make) -> None:
    cancelled, begun = asyncio.Event(), asyncio.Event()

    async def handler(asked: httpx.Request) -> httpx.Response:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    async def receive() -> Any:
        if not begun.is_set() and not asked:
            asked.append(1)
            return {"type": "http.request", "body": call(1), "more_body": False}
        await begun.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        raise AssertionError(message)

    asked: list[int] = []
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": [(b"host", b"localhost")]}
    await Fronted(guarding(), handler).front(scope, receive, send)

    assert cancelled.is_set()


class TestReadBack:
    """A write that is read back through the same server, as its client would."""

    WRITE = parse_profile({"name": "create", "confirm": {"tool": "get", "args": {"id": "$.result.id"}}})

    @pytest.mark.parametrize("as_events", [False, True])
    @pytest.mark.parametrize(("amount", "is_error"), [(5, False), (500, True)])
    async def test_it_is_asked_with_the_clients_own_headers(
        self, guarding: Make, as_events: bool, amount: int, is_error: bool
    ) -> None:
        async def handler(asked: httpx.Request) -> httpx.Response:
            message = json.loads(asked.content)
            kept = {"id": "O-1"} if message["params"]["name"] == "create" else {"id": "O-1", "amount": amount}
            said = result(message["id"], text(json.dumps(kept)))
            return events(f"data: {json.dumps(said)}\n\n") if as_events else reply(said)

        fronted = Fronted(guarding(self.WRITE), handler)
        own = {"mcp_session_id": "s-1", "authorization": "Bearer x", "mcp_method": "tools/call", "mcp_name": "create"}
        got = await fronted.post(call(1, "create", amount=5), **own)
        _, asked = fronted.server.requests

        assert ("was blocked" in got.text) == is_error
        assert "agentguard-" not in got.text
        assert json.loads(asked.content)["params"] == {"name": "get", "arguments": {"id": "O-1"}}
        named = [asked.headers[name] for name in ("mcp-session-id", "authorization", "mcp-method", "mcp-name")]
        assert named == ["s-1", "Bearer x", "tools/call", "get"]

    @pytest.mark.parametrize(("status", "raised"), [(None, "ConnectError"), (404, "ConnectionError")])
    async def test_a_server_that_cannot_be_reached_leaves_it_unconfirmed(
        self, guarding: Make, status: int | None, raised: str
    ) -> None:
        async def handler(asked: httpx.Request) -> httpx.Response:
            if json.loads(asked.content)["params"]["name"] == "create":
                return reply(result(1, text('{"id": "O-1"}')))
            if status is None:
                raise httpx.ConnectError("refused")
            return httpx.Response(status)  # the session is gone

        got = (await Fronted(guarding(self.WRITE), handler).post(call(1, "create", amount=5))).json()

        assert f"could not be confirmed: get(id=…) raised {raised}" in got["result"]["content"][-1]["text"]


@pytest.mark.parametrize("kind", ["text/plain; x=application/json", "application/problem+json", ""])
async def test_an_answer_of_another_type_is_judged_where_failures_are_closed(guarding: Make, kind: str) -> None:
    async def handler(asked: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": kind}, content=answer(1, WRONG))

    assert b"was blocked" in (await Fronted(guarding(on_guard_error="closed"), handler).post(call(1))).content


async def test_what_cannot_be_read_in_a_stream_is_withheld_where_failures_are_closed(guarding: Make) -> None:
    deep = '{"jsonrpc":"2.0","id":1,"result":' + "[" * 1_500 + "]" * 1_500 + "}"
    chunks = (f"data: {deep}\n\n", f"data: {answer(9, WRONG).decode().strip()}\n\n", "data: the end")

    async def handler(asked: httpx.Request) -> httpx.Response:
        return events(*chunks)

    got = (await Fronted(guarding(on_guard_error="closed"), handler).post(call(1))).text
    # Some clients take whatever comes on the stream of a request for its answer.
    first, second = [json.loads(each.removeprefix("data: ")) for each in got.strip().split("\n\n")]
    assert (first["id"], second["id"]) == (1, 9)
    assert "cannot be read" in first["result"]["content"][0]["text"]
    assert "was blocked" in second["result"]["content"][0]["text"]
    assert (await Fronted(guarding(), handler).post(call(1))).text.startswith(chunks[0])
