"""A webhook: what is sent, how it is signed, and that nobody waits for it. The receiver is a real server."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from agentguard.errors import ConfigurationError, StoreError
from agentguard.stores import MemoryStore
from agentguard.telemetry import WebhookObserver
from agentguard.telemetry._webhook import signature
from agentguard.verification._changes import Change

SECRET = "a secret of the receiver's"
SOON = 60.0  # seconds, after which a test gives up
OPEN = Change(
    "0a1b2c3d4e5f", "get_price", "open", "price is about × 1,000 its usual level", ("level price",), 1_700_000_000.0,
    1_700_000_000.25, 3, 2, False,
)  # fmt: skip


class Received:
    """A server that answers as it is told to, and what it was sent."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], bytes, str]] = []
        self.answers: list[int] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.asked = threading.Semaphore(0)
        received = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                received.requests.append((headers, body, self.path))
                received.asked.release()
                received.may_answer.wait(SOON)
                self.send_response(received.answers.pop(0) if received.answers else 204)
                if self.path == "/elsewhere":
                    self.send_header("Location", "/target")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(body) for _, body, _ in self.requests]

    def close(self) -> None:
        self.may_answer.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(SOON)


@pytest.fixture
def receiver() -> Iterator[Received]:
    made = Received()
    yield made
    made.close()


@pytest.fixture
def hook(receiver: Received, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., WebhookObserver]]:
    """Makes observers that wait for nothing between two attempts, by our own means: stamina is not there."""
    monkeypatch.setitem(sys.modules, "stamina", None)
    monkeypatch.setenv("AGENTGUARD_WEBHOOK_SECRET", SECRET)
    made: list[WebhookObserver] = []

    def make(url: str = "", **options: Any) -> WebhookObserver:
        made.append(WebhookObserver(url or receiver.url, **{"wait_seconds": 0.0, **options}))
        return made[-1]

    yield make
    receiver.may_answer.set()
    for each in made:
        each.close(SOON)


def test_what_is_sent(receiver: Received, hook: Callable[..., WebhookObserver]) -> None:
    observer = hook()
    observer.changed(OPEN)
    assert observer.flush(SOON)

    assert receiver.bodies == [{
        "change": "0a1b2c3d4e5f", "tool": "get_price", "state": "open",
        "what": "price is about × 1,000 its usual level", "at": "2023-11-14T22:13:20.250+00:00",
    }]  # fmt: skip
    (headers, _, path) = receiver.requests[0]
    assert (headers["content-type"], path) == ("application/json", "/hook")


def test_a_followed_change_is_sent_with_its_reason(receiver: Received, hook: Callable[..., WebhookObserver]) -> None:
    observer = hook()
    dsn = "postgres://app:tea4two@db.internal/shop"
    observer.changed(OPEN._replace(state="followed", why=f"the old values stand under a new name, {dsn}"))
    assert observer.flush(SOON)

    (body,) = receiver.bodies
    assert body["state"] == "followed"
    assert body["why"].startswith("the old values stand under a new name")
    assert "tea4two" not in body["why"]


def test_the_receiver_can_tell_who_sent_it(receiver: Received, hook: Callable[..., WebhookObserver]) -> None:
    observer = hook()
    observer.changed(OPEN)
    assert observer.flush(SOON)

    ((headers, body, _),) = receiver.requests
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(SECRET.encode(), signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert headers["webhook-timestamp"].isdecimal()
    assert SECRET not in json.dumps(headers)


def test_the_signature_is_that_of_standard_webhooks() -> None:
    """With the example of the specification's own libraries (standardwebhooks.com)."""
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")

    assert signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}') == (
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )


def test_a_secret_in_the_form_of_standard_webhooks_is_decoded(
    receiver: Received, hook: Callable[..., WebhookObserver], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    observer = hook(secret_env="HOOK")
    observer.changed(OPEN)
    assert observer.flush(SOON)

    ((headers, body, _),) = receiver.requests
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"


def test_each_state_is_sent_once_and_in_order(receiver: Received, hook: Callable[..., WebhookObserver]) -> None:
    observer = hook()
    later = OPEN._replace(state="recovered", since=OPEN.since + 60)
    for change in (OPEN, OPEN._replace(calls=4), later, OPEN, later):
        observer.changed(change)
    assert observer.flush(SOON)

    assert [body["state"] for body in receiver.bodies] == ["open", "recovered"]
    assert len({headers["webhook-id"] for headers, _, _ in receiver.requests}) == 2


def test_of_several_processes_on_a_store_one_sends(receiver: Received, hook: Callable[..., WebhookObserver]) -> None:
    store = MemoryStore()
    workers = [hook(store=store) for _ in range(4)]
    for worker in workers:
        worker.changed(OPEN)
        assert worker.flush(SOON)

    assert len(receiver.requests) == 1


def test_two_receivers_are_both_told(receiver: Received, hook: Callable[..., WebhookObserver]) -> None:
    store = MemoryStore()
    for url in (receiver.url, f"{receiver.url}-other"):
        observer = hook(url, store=store)
        observer.changed(OPEN)
        assert observer.flush(SOON)

    assert [path for _, _, path in receiver.requests] == ["/hook", "/hook-other"]


def test_a_store_that_fails_holds_nothing_back(receiver: Received, hook: Callable[..., WebhookObserver]) -> None:
    class Broken(MemoryStore):
        def claim(self, kind: str, key: str, /) -> bool:
            raise StoreError("it is gone")

    for _ in range(2):
        observer = hook(store=Broken())
        observer.changed(OPEN)
        assert observer.flush(SOON)
    ids = {headers["webhook-id"] for headers, _, _ in receiver.requests}

    assert len(receiver.requests) == 2
    assert len(ids) == 1  # by which the receiver knows that it had it


def test_nobody_waits_for_the_receiver(receiver: Received, hook: Callable[..., WebhookObserver]) -> None:
    receiver.may_answer.clear()
    observer = hook()
    for n in range(10):
        observer.changed(OPEN._replace(id=f"{n:012}"))  # returns, though nothing was answered
    assert receiver.asked.acquire(timeout=SOON)
    assert not observer.flush(0.0)
    assert len(receiver.requests) == 1

    receiver.may_answer.set()
    assert observer.flush(SOON)
    assert len(receiver.requests) == 10


def test_what_does_not_fit_is_dropped_and_told_once(
    receiver: Received, hook: Callable[..., WebhookObserver], caplog: pytest.LogCaptureFixture
) -> None:
    receiver.may_answer.clear()
    observer = hook(max_waiting=3)
    with caplog.at_level(logging.INFO, "agentguard"):
        observer.changed(OPEN)
        assert receiver.asked.acquire(timeout=SOON)
        for n in range(10):
            observer.changed(OPEN._replace(id=f"{n:012}"))
        receiver.may_answer.set()
        assert observer.flush(SOON)

    assert [body["change"] for body in receiver.bodies] == [OPEN.id, *(f"{n:012}" for n in range(3))]
    assert [record.getMessage() for record in caplog.records] == [
        "3 changes wait for the webhook at 127.0.0.1: further ones are not sent to it"
    ]


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_what_passes_is_tried_again_with_a_signature_of_its_own(
    receiver: Received, hook: Callable[..., WebhookObserver], status: int, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.answers = [status, status]
    observer = hook()
    with caplog.at_level(logging.INFO, "agentguard"):
        observer.changed(OPEN)
        assert observer.flush(SOON)

    assert len(receiver.requests) == 3
    assert len({headers["webhook-id"] for headers, _, _ in receiver.requests}) == 1
    assert caplog.records == []


def test_where_stamina_is_installed_it_tries_again(
    receiver: Received, hook: Callable[..., WebhookObserver], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "stamina")
    stamina = pytest.importorskip("stamina", reason="stamina is not installed")
    tries = []
    stamina.instrumentation.set_on_retry_hooks([lambda details: tries.append(details.retry_num)])
    receiver.answers = [503, 503, 204, 400]
    observer = hook()
    for id_ in ("a", "b"):
        observer.changed(OPEN._replace(id=id_))
    assert observer.flush(SOON)
    stamina.instrumentation.set_on_retry_hooks(None)

    assert (len(receiver.requests), tries) == (4, [1, 2])


@pytest.mark.parametrize("status", [400, 401, 404, 410])
def test_what_is_refused_is_not_tried_again(
    receiver: Received, hook: Callable[..., WebhookObserver], status: int, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.answers = [status]
    observer = hook()
    with caplog.at_level(logging.INFO, "agentguard"):
        observer.changed(OPEN)
        assert observer.flush(SOON)

    assert len(receiver.requests) == 1
    assert [record.getMessage() for record in caplog.records] == [
        f"the webhook at 127.0.0.1 was not told of a change: it answered with {status}"
    ]


def test_failures_are_logged_once_until_it_works_again(
    receiver: Received, hook: Callable[..., WebhookObserver], caplog: pytest.LogCaptureFixture
) -> None:
    receiver.answers = [500] * 4
    observer = hook(attempts=2)
    with caplog.at_level(logging.INFO, "agentguard"):
        for n in range(3):
            observer.changed(OPEN._replace(id=f"{n:012}"))
            assert observer.flush(SOON)

    assert len(receiver.requests) == 5
    assert [record.getMessage() for record in caplog.records] == [
        "the webhook at 127.0.0.1 was not told of a change: it answered with 500",
        "the webhook at 127.0.0.1 is told of changes again",
    ]


def test_a_receiver_that_is_not_there_is_told_without_the_address(
    hook: Callable[..., WebhookObserver], caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    observer = hook(f"http://127.0.0.1:{port}/services/T00/SECRET-PATH", attempts=2)
    with caplog.at_level(logging.DEBUG, "agentguard"):
        observer.changed(OPEN)
        assert observer.flush(SOON)

    assert "the webhook at 127.0.0.1 was not told of a change: ConnectionRefusedError" in caplog.text
    assert "SECRET-PATH" not in caplog.text


def test_it_is_led_nowhere_else(receiver: Received, hook: Callable[..., WebhookObserver]) -> None:
    receiver.answers = [307]
    observer = hook(receiver.url.replace("/hook", "/elsewhere"))
    observer.changed(OPEN)
    assert observer.flush(SOON)

    assert [path for _, _, path in receiver.requests] == ["/elsewhere"]


def test_no_credential_in_a_name_is_sent(receiver: Received, hook: Callable[..., WebhookObserver]) -> None:
    dsn = "postgres://app:tea4two@db.internal/shop"
    observer = hook()
    observer.changed(OPEN._replace(id=f"{dsn}\r\nX-Evil: 1", tool=f"call of {dsn}", what=f"the key '{dsn}' is new"))
    assert observer.flush(SOON)

    ((headers, body, _),) = receiver.requests
    assert b"tea4two" not in body
    assert "x-evil" not in headers


def test_closed_it_sends_what_waits_and_its_thread_ends(
    receiver: Received, hook: Callable[..., WebhookObserver]
) -> None:
    observer = hook()
    for n in range(5):
        observer.changed(OPEN._replace(id=f"{n:012}"))
    observer.close(SOON)

    assert len(receiver.requests) == 5
    assert not any(thread.name == "agentguard-webhook" for thread in threading.enumerate())
    observer.changed(OPEN)
    assert len(receiver.requests) == 5


def test_closing_does_not_wait_for_what_is_to_be_tried_again(
    receiver: Received, hook: Callable[..., WebhookObserver]
) -> None:
    receiver.answers = [503] * 10
    observer = hook(wait_seconds=3_600.0)
    observer.changed(OPEN)
    assert receiver.asked.acquire(timeout=SOON)
    observer.close(0.0)

    assert not any(thread.name == "agentguard-webhook" for thread in threading.enumerate())
    assert len(receiver.requests) == 1


@pytest.mark.parametrize(
    ("url", "options", "said"),
    [
        ("ftp://x.example/hook", {}, "http:// or https://"),
        ("https:///hook", {}, "http:// or https://"),
        ("hook", {}, "http:// or https://"),
        ("https://user:geheim-7@x.example/hook", {}, "user and password"),
        ("https://x.example/hook", {"secret_env": "NOT_SET"}, "NOT_SET"),
        ("https://x.example/hook", {"secret_env": "SHORT"}, "16 characters"),
        ("https://x.example/hook", {"secret_env": "NOT_BASE64"}, "base64"),
        ("https://x.example/hook", {"attempts": 0}, "attempts"),
        ("https://x.example/hook", {"max_waiting": 0}, "max_waiting"),
        ("https://x.example/hook", {"timeout_seconds": 0.0}, "timeout_seconds"),
        ("https://x.example/hook", {"wait_seconds": -1.0}, "wait_seconds"),
    ],
)
def test_what_cannot_be_used_is_told_without_a_secret(
    monkeypatch: pytest.MonkeyPatch, url: str, options: dict[str, Any], said: str
) -> None:
    for name, value in (
        ("AGENTGUARD_WEBHOOK_SECRET", SECRET),
        ("SHORT", "geheim-7"),
        ("NOT_BASE64", "whsec_geheim-7-geheim"),
    ):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NOT_SET", raising=False)

    with pytest.raises(ConfigurationError, match=said) as raised:
        WebhookObserver(url, **options)
    assert "geheim-7" not in str(raised.value)
