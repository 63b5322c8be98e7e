"""The middleware: bodies that never end, and what is let out."""

from __future__ import annotations

import json
import math
from typing import Any

import anyio
import pytest
from starlette.testclient import TestClient

from agentguard.live import live_part
from agentguard.serving._app import BODY_SECONDS, LOOPBACK, Middleware, ServiceKey, assemble
from agentguard.stores import MemoryStore

KEY = "test-key-0123456789"
Messages = list[dict[str, Any]]


class Inside:
    """An application behind the middleware, and the bodies that came to it."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.bodies.append((await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"referrer-policy", b"same-origin")]})
        await send({"type": "http.response.body", "body": b"in"})


async def knock(messages: Messages, path: str = "/open", **options: Any) -> tuple[Inside, Messages]:
    """Send messages, then nothing more; what came to the application, and what was answered."""
    inside, answered, left = Inside(), list[dict[str, Any]](), list(messages)
    middleware = Middleware(
        inside, key=ServiceKey(KEY), max_body_bytes=100, public=frozenset({"/open"}), json_at=frozenset(), **options
    )

    async def receive() -> dict[str, Any]:
        if not left:
            await anyio.sleep(math.inf)
        return left.pop(0)

    async def send(message: dict[str, Any]) -> None:
        answered.append(message)

    await middleware({"type": "http", "method": "POST", "path": path, "headers": []}, receive, send)
    return inside, answered


def part(body: bytes, more: bool = True) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


@pytest.mark.parametrize("sent", [[], [part(b"a"), part(b"b")]], ids=["nothing", "a part"])
async def test_whoever_does_not_send_the_body_is_not_waited_for(sent: Messages) -> None:
    inside, (start, body) = await knock(sent, body_seconds=0.01)

    assert inside.bodies == []
    assert start["status"] == json.loads(body["body"])["status"] == 408
    assert (b"connection", b"close") in start["headers"]
    assert 1.0 <= BODY_SECONDS <= 60.0  # without being asked for: enough for 64 KiB, and no more


async def test_half_a_body_of_somebody_who_has_gone_is_no_request() -> None:
    inside, (start, _) = await knock([part(b'{"a": 1}'), {"type": "http.disconnect"}])

    assert inside.bodies == []
    assert start["status"] == 400


async def test_a_body_in_parts_is_read_whole() -> None:
    inside, (start, _) = await knock([part(b"a"), part(b""), part(b"b", more=False)])

    assert inside.bodies == [b"ab"]
    assert start["status"] == 200


async def test_without_a_key_the_body_is_not_waited_for() -> None:
    inside, (start, _) = await knock([], path="/closed", body_seconds=math.inf)

    assert inside.bodies == []
    assert start["status"] == 401


async def test_every_answer_is_closed_to_other_pages() -> None:
    for path in ("/open", "/closed"):
        _, (start, _) = await knock([part(b"", more=False)], path=path)
        headers = dict(start["headers"])

        assert headers[b"cache-control"] == b"no-store"
        assert headers[b"x-content-type-options"] == b"nosniff"
        assert headers[b"cross-origin-resource-policy"] == b"same-origin"
        assert headers[b"content-security-policy"] == b"default-src 'none'; frame-ancestors 'none'"
        # What the application says itself stands.
        assert headers[b"referrer-policy"] == (b"same-origin" if path == "/open" else b"no-referrer")


# --- Bodies by path, all bodies together, and the ids of requests ---


class Held:
    """An application that holds its requests until it is let go on."""

    def __init__(self) -> None:
        self.go = anyio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def post(body: bytes, path: str = "/open", **headers: str) -> tuple[dict[str, Any], Any]:
    """A request with a body in one part: its scope, and what it is received by."""

    async def receive() -> dict[str, Any]:
        return part(body, more=False)

    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "method": "POST", "path": path, "headers": named}, receive


async def answered(middleware: Middleware, scope: dict[str, Any], receive: Any) -> tuple[int, dict[bytes, bytes]]:
    messages: Messages = []

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    await middleware(scope, receive, send)
    return messages[0]["status"], dict(messages[0]["headers"])


def guarding(inside: Any, **options: Any) -> Middleware:
    options = {"max_body_bytes": 100, "json_at": frozenset(), "public": frozenset({"/open", "/large"}), **options}
    return Middleware(inside, key=ServiceKey(KEY), **options)


async def test_a_path_may_take_larger_bodies_than_others() -> None:
    middleware = guarding(Inside(), bodies={"/large": 300})

    sizes = [("/open", 100), ("/open", 101), ("/large", 300), ("/large", 301)]
    statuses = [(await answered(middleware, *post(b"x" * size, path)))[0] for path, size in sizes]

    assert statuses == [200, 413, 200, 413]


async def test_all_bodies_together_are_bounded_and_what_is_answered_makes_room() -> None:
    inside = Held()
    middleware = guarding(inside, max_held_bytes=150)
    statuses: list[int] = []

    async def one() -> None:
        statuses.append((await answered(middleware, *post(b"x" * 80)))[0])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one)
        await anyio.wait_all_tasks_blocked()
        status, headers = await answered(middleware, *post(b"x" * 80))
        refused = await answered(middleware, *post(b"x" * 101))  # and what was refused makes room too
        inside.go.set()
    after = [(await answered(middleware, *post(b"x" * 80)))[0] for _ in range(3)]

    assert (status, headers[b"retry-after"], headers[b"connection"]) == (503, b"1", b"close")
    assert refused[0] == 413
    assert statuses == [200]
    assert after == [200, 200, 200]


@pytest.mark.parametrize(("path", "status"), [("/c/", 415), ("/c/7", 415), ("/c/7/d", 200), ("/c", 200)])
async def test_json_may_be_asked_for_right_below_a_path(path: str, status: int) -> None:
    middleware = guarding(Inside(), json_at=frozenset({("POST", "/c/")}), public=frozenset({path}))

    assert (await answered(middleware, *post(b"{}", path, content_type="text/plain")))[0] == status


@pytest.mark.parametrize(
    ("given", "is_kept"), [("a.B-9_", True), ("x" * 64, True), ("x" * 65, False), ("a b", False), ("", False)]
)
async def test_a_request_keeps_its_id_where_that_can_stand_in_a_log(given: str, is_kept: bool) -> None:
    _, headers = await answered(guarding(Inside()), *post(b"", x_request_id=given))

    id_ = headers[b"x-request-id"].decode()
    assert id_ == given if is_kept else len(id_) == 16


async def test_a_refusal_has_an_id_too() -> None:
    status, headers = await answered(guarding(Inside()), *post(b"", "/closed", x_request_id="mine"))

    assert (status, headers[b"x-request-id"]) == (401, b"mine")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (b"localhost", 200), (b"LOCALHOST:8321", 200), (b"127.0.0.1:8321", 200), (b"[::1]:8321", 200),
        (b"guard.example:443", 200), (b"evil.example", 421), (b"evil.example:8321", 421),
        (b"localhost.evil.example", 421), (b"", 421), (b"[::1", 421), (None, 421),
    ],
)  # fmt: skip
async def test_a_request_must_call_the_server_by_a_name_of_its_own(host: bytes | None, status: int) -> None:
    middleware = guarding(Inside(), hosts=frozenset({*LOOPBACK, "guard.example"}))
    scope, messages = post(b"x")
    headers = [*scope["headers"], *([] if host is None else [(b"host", host)])]
    assert (await answered(middleware, {**scope, "headers": headers}, messages))[0] == status
    twice = [*headers, (b"host", b"localhost"), (b"host", b"localhost")]
    assert (await answered(middleware, {**scope, "headers": twice}, messages))[0] == 421


def test_a_page_whose_name_leads_here_gets_neither_the_form_nor_a_health_check() -> None:
    key = ServiceKey(KEY)
    app = assemble([live_part(MemoryStore(), key)], key=key, hosts=["Guard.Example"])
    for host, status in (("localhost:8321", 200), ("guard.example", 200), ("evil.example:8321", 421)):
        with TestClient(app, headers={"Host": host}) as client:
            for path in ("/live/login", "/healthz"):
                assert client.get(path).status_code == status
