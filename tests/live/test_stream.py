"""Server-sent events: how they are framed, where they go on, and when they end."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

import anyio
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from agentguard.errors import StoreError
from agentguard.live._stream import Audience, EventStream, Seat, event
from agentguard.serving._app import ProblemError
from agentguard.stores import MemoryStore
from agentguard.stores._base import Record

SOON = 60.0  # seconds, after which a test gives up


class Heard(dict[str, str]):
    """One event, by its fields; a comment is under ``""``."""

    @property
    def data(self) -> Any:
        return json.loads(self["data"])


def events(lines: Iterator[str]) -> Iterator[Heard]:
    """Events as the HTML standard has them read (9.2.6); ``retry`` is passed over."""
    found = Heard()
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            found[name] = value.removeprefix(" ")
        else:
            if found and "retry" not in found:
                yield found
            found = Heard()


def of_kind(heard: Iterator[Heard], kind: str) -> Heard:
    return next(each for each in heard if each.get("event") == kind)


@pytest.fixture
def listen(
    shop: Any, key: str, make_app: Callable[..., Any], serve: Callable[..., str]
) -> Iterator[Callable[..., Any]]:
    """Opens streams at a server that looks every 20 ms, whose listeners are told every 50 ms that nothing happens."""
    url = serve(make_app(shop.store, poll_seconds=0.02, heartbeat=0.05, max_streams=3))
    opened: list[Any] = []
    with httpx.Client(base_url=url, headers={"X-API-Key": key}, timeout=SOON) as client:

        def listen(after: str | None = None, **headers: str) -> Iterator[Heard]:
            stream = client.stream(
                "GET", "/live/events", params={} if after is None else {"after": after}, headers=headers
            )
            answer = stream.__enter__()
            opened.append(stream)
            assert answer.status_code == 200
            assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
            assert answer.headers["cache-control"] == "no-store"
            assert "content-length" not in answer.headers
            return events(answer.iter_lines())

        listen.client = client  # type: ignore[attr-defined] - for what is asked beside the stream
        yield listen
        for stream in opened:
            stream.__exit__(None, None, None)


def test_a_verdict_comes_as_it_is_given(shop: Any, listen: Any) -> None:
    position = listen.client.get("/live/state").json()["position"]
    heard = listen(position)
    shop.fabricated("now", session="s\n\ndata: x")

    came = of_kind(heard, "verdict")

    assert came.data == listen.client.get("/live/state").json()["verdicts"][0]
    assert (came.data["call_id"], came.data["session_id"]) == ("now", "s\n\ndata: x")
    audit, feedback = position.split(".")
    assert came["id"] == f"{int(audit) + 1}.{feedback}"
    assert of_kind(heard, "tools").data == listen.client.get("/live/state").json()["tools"]


def test_a_label_is_told_to_everybody(shop: Any, listen: Any) -> None:
    state = listen.client.get("/live/state").json()
    mine, other = listen(state["position"]), listen(state["position"])
    of = state["queue"]["verdicts"][0]["sequence"]

    listen.client.post("/live/reviews", json={"sequence": of, "was_hallucination": False})

    for heard in (mine, other):
        came = of_kind(heard, "label").data
        assert (came["of"], came["was_hallucination"], came["sequence"]) == (of, False, 1)


def test_it_goes_on_where_it_was(shop: Any, listen: Any) -> None:
    heard = listen("0.0")
    first = [of_kind(heard, "verdict") for _ in range(3)]

    again = listen("0.0", **{"Last-Event-ID": first[1]["id"]})  # as a browser connects again to the same address

    assert [each.data["sequence"] for each in first] == [1, 2, 3]
    assert of_kind(again, "verdict").data == first[2].data


def test_without_a_position_it_begins_now(shop: Any, listen: Any) -> None:
    heard = listen()
    next(each for each in heard if "" in each)  # what was there is passed by
    shop.fabricated("now")

    assert of_kind(heard, "verdict").data["call_id"] == "now"


def test_a_position_that_never_was_begins_anew(listen: Any) -> None:
    heard = list(listen("1000000.0"))

    assert [each.get("event") for each in heard][-1] == "anew"


def test_labels_that_were_taken_back_begin_anew(shop: Any, listen: Any) -> None:
    heard = listen()
    shop.store.append("feedback", {"reset": "get_order", "labels": True})

    assert of_kind(heard, "anew").data == {}
    assert list(heard) == []


@pytest.mark.parametrize("position", ["", "1", "1.2.3", "-1.0", "a.b", "\u0661.\u0662", "9" * 400 + ".0"])
def test_what_is_no_position_is_refused(client: TestClient, position: str) -> None:
    answer = client.get("/live/events", params={"after": position})

    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")


def test_silence_is_told(listen: Any) -> None:
    heard = listen()

    assert [each for each in (next(heard) for _ in range(4)) if "" in each]


def test_the_stream_of_a_session_ends_with_it(
    shop: Any, key: str, make_app: Callable[..., Any], serve: Callable[..., str]
) -> None:
    url = serve(make_app(shop.store, heartbeat=3_600.0))
    with httpx.Client(base_url=url, headers={"Sec-Fetch-Site": "same-origin"}, timeout=SOON) as browser:
        browser.post("/live/login", data={"key": key})
        state = browser.get("/live/state").json()
        with browser.stream("GET", "/live/events", params={"after": state["position"]}) as answer:
            heard = events(answer.iter_lines())
            assert of_kind(heard, "tools")
            browser.post("/live/logout", headers={"X-CSRF-Token": state["csrf"]})

            assert list(heard) == []
        assert not browser.cookies


def test_there_are_no_more_listeners_than_may_be(listen: Any) -> None:
    three = [listen() for _ in range(3)]
    for heard in three:
        next(heard)

    refused = listen.client.get("/live/events")

    assert (refused.status_code, refused.json()["type"]) == (503, "urn:agentguard:problem:no-seat")
    assert int(refused.headers["retry-after"]) > 0
    assert listen.client.get("/live/state").status_code == 200


def test_whoever_goes_away_leaves_a_place(
    shop: Any, key: str, make_app: Callable[..., Any], serve: Callable[..., str]
) -> None:
    url = serve(make_app(shop.store, heartbeat=3_600.0, max_streams=1))
    address = (url.split("/")[2].split(":")[0], int(url.rsplit(":", 1)[1]))
    request = f"GET /live/events HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\n\r\n".encode()
    with socket.create_connection(address, SOON) as listener:
        listener.sendall(request)
        assert listener.recv(100).startswith(b"HTTP/1.1 200")
        assert httpx.get(f"{url}/live/events", headers={"X-API-Key": key}).status_code == 503

    for _ in range(1_000):  # the server hears of it when its loop comes to that, and not by waiting
        with httpx.stream("GET", f"{url}/live/events", headers={"X-API-Key": key}) as answer:
            if answer.status_code == 200:
                break
    else:
        pytest.fail("the place was not left")


class Flaky(MemoryStore):
    """A store that can be out of reach."""

    failing = False

    def events(self, kind: str, /, after: int = 0) -> Iterator[Record]:
        if self.failing:
            raise StoreError("it is gone")
        return super().events(kind, after)


def test_an_outage_of_the_store_is_told(
    make_shop: Any, key: str, make_app: Callable[..., Any], serve: Callable[..., str]
) -> None:
    store = Flaky()
    shop = make_shop(store, audit_rate=1.0)
    shop.fabricated("before")
    url = serve(make_app(store, poll_seconds=0.02))
    with httpx.Client(base_url=url, headers={"X-API-Key": key}, timeout=SOON) as client:
        position = client.get("/live/state").json()["position"]
        with client.stream("GET", "/live/events", params={"after": position}) as answer:
            heard = events(answer.iter_lines())
            store.failing = True
            assert of_kind(heard, "store").data == {"reachable": False}
            state = client.get("/live/state").json()
            assert (state["reaches_store"], len(state["verdicts"])) == (False, 1)
            shop.fabricated("meanwhile")
            store.failing = False

            assert of_kind(heard, "store").data == {"reachable": True}
            assert of_kind(heard, "verdict").data["call_id"] == "meanwhile"


def test_a_server_that_stops_lets_everybody_go(
    shop: Any, key: str, make_app: Callable[..., Any], serve: Callable[..., str]
) -> None:
    app = make_app(shop.store, heartbeat=3_600.0)
    url = serve(app)
    with httpx.stream("GET", f"{url}/live/events", headers={"X-API-Key": key}, timeout=SOON) as answer:
        heard = events(answer.iter_lines())
        assert of_kind(heard, "tools")
        app.state.stop()

        assert list(heard) == []
    assert httpx.get(f"{url}/live/events", headers={"X-API-Key": key}).status_code == 503


def test_the_threads_end_with_the_application(shop: Any, make_app: Callable[..., Any]) -> None:
    before = set(threading.enumerate())  # an application of another test may not have been stopped
    with TestClient(make_app(shop.store)):
        started = [
            thread for thread in threading.enumerate() if thread.name == "agentguard-live" and thread not in before
        ]

    assert started
    for thread in started:
        thread.join(timeout=30)  # each is told to end, and ends when it has looked
        assert not thread.is_alive()


# --- Without a server: a listener that does not take what it is sent ---


async def drive(stream: EventStream, receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
    with anyio.fail_after(SOON):
        await stream({"type": "http"}, receive, send)


async def never() -> Any:
    await asyncio.Event().wait()


async def test_nothing_is_made_for_whoever_takes_nothing() -> None:
    audience, made, sent = Audience(), 0, 0
    gone, full = asyncio.Event(), asyncio.Event()

    async def telling(seat: Seat) -> AsyncGenerator[bytes, None]:
        nonlocal made
        while True:
            made += 1
            yield b": x\n\n"

    async def send(message: Any) -> None:
        nonlocal sent
        sent += 1
        if sent == 4:  # the head and three events, and its buffers are full
            full.set()
            await never()

    async def receive() -> Any:
        await gone.wait()
        return {"type": "http.disconnect"}

    task = asyncio.create_task(drive(EventStream(audience, telling), receive, send))
    await full.wait()
    for _ in range(100):
        await asyncio.sleep(0)
    assert (made, len(audience)) == (3, 1)
    gone.set()
    await task

    assert (made, len(audience)) == (3, 0)


async def test_whoever_takes_nothing_for_too_long_is_let_go() -> None:
    audience, ended = Audience(), False

    async def telling(seat: Seat) -> AsyncGenerator[bytes, None]:
        nonlocal ended
        try:
            while True:
                yield b": x\n\n"
        finally:
            ended = True

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            await never()

    await drive(EventStream(audience, telling, patience=0.01), never, send)

    assert (ended, len(audience)) == (True, 0)


async def test_a_seat_is_called_from_any_thread() -> None:
    audience = Audience()
    with audience.seat() as one, audience.seat() as other:
        await asyncio.to_thread(audience.call)
        assert await one.news(SOON)
        assert await other.news(SOON)
        assert not await one.news(0.001)


async def test_after_the_end_there_is_no_seat() -> None:
    audience = Audience()
    audience.stop()  # of a server that nobody ever listened to

    with pytest.raises(ProblemError, match="shutting down"), audience.seat():
        pass


@given(st.text(), st.recursive(st.text() | st.integers() | st.none(), lambda inner: st.lists(inner, max_size=3)))
def test_no_text_can_end_an_event(name: str, value: Any) -> None:
    sent = event("verdict", {name: value})

    assert sent.isascii()
    (heard,) = events(iter(sent.decode().splitlines()))
    assert heard.data == {name: value}
