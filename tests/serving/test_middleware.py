"""The middleware: bodies that never end, and what is let out."""

from __future__ import annotations

import json
import math
from typing import Any

import anyio
import pytest

from agentguard.serving._app import BODY_SECONDS, Middleware, ServiceKey

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
