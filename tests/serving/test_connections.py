"""Who connects and asks for nothing is closed in time, makes room for others, and keeps nobody out."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from agentguard.errors import ConfigurationError
from agentguard.serving._connections import ACCEPTED_AT_ONCE, Connections, most_connections

GET = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n"
HALF = GET[:20]
PIECES = 100
LONG = 60.0  # seconds, that no test waits for


class App:
    """Answers at once, or (at ``/wait``) when it is let, or (at ``/large``) with more than any socket holds."""

    def __init__(self) -> None:
        self.asked = threading.Semaphore(0)
        self.ended = threading.Event()
        self.let: Callable[[], None] = lambda: None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        self.asked.release()
        try:
            if scope["path"] == "/wait":
                loop, gate = asyncio.get_running_loop(), asyncio.Event()
                self.let = lambda: loop.call_soon_threadsafe(gate.set)
                self.asked.release()
                await gate.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            if scope["path"] == "/large":
                for _ in range(PIECES):
                    await send({"type": "http.response.body", "body": bytes(2**20), "more_body": True})
            await send({"type": "http.response.body", "body": b"done"})
        finally:
            self.ended.set()


@contextmanager
def served(app: Any, connections: Connections) -> Iterator[tuple[str, int]]:
    """A server in a thread of its own, with the bounds of these connections."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(
            app, http=connections.protocol(), backlog=ACCEPTED_AT_ONCE, log_config=None, lifespan="off", ws="none",
            timeout_keep_alive=int(LONG), timeout_graceful_shutdown=1,
        )  # fmt: skip
        server, started = uvicorn.Server(config), threading.Event()

        async def run() -> None:
            serving = asyncio.create_task(server.serve([listening]))
            while not server.started:
                await asyncio.sleep(0)
            listening.listen(1_024)
            started.set()
            await serving

        thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
        thread.start()
        assert started.wait(LONG)
        try:
            yield listening.getsockname()
        finally:
            server.should_exit = True
            thread.join(LONG)


@pytest.fixture
def connect() -> Iterator[Callable[..., socket.socket]]:
    with ExitStack() as stack:

        def connect(address: tuple[str, int], sent: bytes = b"") -> socket.socket:
            client = stack.enter_context(socket.create_connection(address, timeout=LONG))
            client.sendall(sent)
            return client

        yield connect


def refuses(status: int) -> Any:
    """An application that answers before it has read a body, and lets the connection end."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": [(b"connection", b"close")]})
        await send({"type": "http.response.body", "body": b"too large"})

    return app


@pytest.mark.parametrize("chunked", [False, True])
def test_a_client_that_sends_on_can_read_why_its_body_is_refused(chunked: bool) -> None:
    size = 1 << 25  # more than sockets hold
    pieces = (bytes(1 << 20) for _ in range(size >> 20))
    with served(refuses(413), Connections(header_seconds=LONG)) as address:
        client = HTTPConnection(*address, timeout=LONG)
        headers = {} if chunked else {"Content-Length": str(size)}
        client.request("POST", "/", body=pieces, headers=headers, encode_chunked=chunked)
        answered = client.getresponse()
        assert (answered.status, answered.read()) == (413, b"too large")
        client.close()


def test_who_sends_on_without_end_is_cut_off(connect: Callable[..., socket.socket]) -> None:
    connections = Connections(header_seconds=0.2)
    with served(refuses(413), connections) as address:
        client = connect(address, b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 1000000000\r\n\r\n")
        assert b"413" in rest(client)  # the server says no more, and the client does not close
        with pytest.raises(OSError, match=r".*"):
            send_on(client)


def send_on(client: socket.socket) -> None:
    """Send without end."""
    while True:
        client.sendall(bytes(1 << 20))


def rest(client: socket.socket) -> bytes:
    """What comes until the server closes."""
    pieces = []
    try:
        while piece := client.recv(2**16):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


def answer(client: socket.socket) -> bytes:
    """One small answer; the connection stays."""
    data = b""
    while not data.endswith(b"0\r\n\r\n"):
        piece = client.recv(2**16)
        assert piece, data
        data += piece
    return data


def test_who_sends_nothing_is_closed_and_told_nothing(connect: Callable[..., socket.socket]) -> None:
    with served(App(), Connections(header_seconds=0.05)) as address:
        assert rest(connect(address)) == b""


@pytest.mark.parametrize("sent", [HALF, GET[:-2], b"G"])
def test_who_sends_half_a_header_is_told_and_closed(connect: Callable[..., socket.socket], sent: bytes) -> None:
    with served(App(), Connections(header_seconds=0.05)) as address:
        head, _, body = rest(connect(address, sent)).partition(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b"connection: close" in head
    assert f"content-length: {len(body)}".encode() in head
    problem = json.loads(body)
    assert (problem["status"], problem["detail"]) == (408, "the header was not there within 0.05 seconds")


def test_a_header_that_comes_in_drops_is_not_waited_for_longer(connect: Callable[..., socket.socket]) -> None:
    with served(App(), Connections(header_seconds=0.2)) as address:
        client = connect(address, GET[:-2] % b"")
        client.settimeout(0.01)
        said = b""
        for n in range(1_000_000):  # as long as it lasts: a drop does not begin the time anew
            try:
                client.sendall(b"x-%d: y\r\n" % n)
                said += client.recv(2**16)
            except TimeoutError:
                continue
            except OSError:
                break
            if said:
                break

    assert said.startswith(b"HTTP/1.1 408 ")


def test_an_idle_connection_and_half_a_second_request_are_closed_too(connect: Callable[..., socket.socket]) -> None:
    with served(App(), Connections(header_seconds=0.05)) as address:
        idle, half = connect(address, GET % b""), connect(address, GET % b"")
        assert answer(idle).startswith(b"HTTP/1.1 200 OK")
        assert answer(half).startswith(b"HTTP/1.1 200 OK")
        half.sendall(HALF)

        assert rest(idle) == b""
        assert rest(half).startswith(b"HTTP/1.1 408 ")


def test_requests_that_come_one_behind_the_other_are_all_answered(connect: Callable[..., socket.socket]) -> None:
    with served(App(), Connections(header_seconds=0.2)) as address:
        client = connect(address, GET % b"" + GET % b"" + GET % b"")
        assert rest(client).count(b"HTTP/1.1 200 OK") == 3


def test_a_request_under_way_may_take_its_time(connect: Callable[..., socket.socket]) -> None:
    app = App()
    with served(app, Connections(header_seconds=0.05)) as address:
        client = connect(address, GET % b"wait")
        assert app.asked.acquire(timeout=LONG)
        assert app.asked.acquire(timeout=LONG)
        assert rest(connect(address, HALF)).startswith(b"HTTP/1.1 408 ")  # the time for a header is over
        app.let()

        assert answer(client).startswith(b"HTTP/1.1 200 OK")


def test_who_does_not_take_what_is_written_is_cut_off(connect: Callable[..., socket.socket]) -> None:
    app = App()
    with served(app, Connections(write_seconds=0.05)) as address:
        client = connect(address, GET % b"large")
        assert app.ended.wait(LONG)  # without one byte read: the server is through with it

        assert len(rest(client)) < PIECES * 2**20


def test_who_takes_what_is_written_gets_all_of_it_and_is_not_cut_off_later(
    connect: Callable[..., socket.socket],
) -> None:
    app = App()
    with served(app, Connections(write_seconds=1.0, header_seconds=1.2)) as address:
        client = connect(address, GET % b"large" + GET % b"wait")
        taken, tail = 0, b""
        while not tail.endswith(b"done\r\n0\r\n\r\n"):
            piece = client.recv(2**20)
            assert piece
            taken, tail = taken + len(piece), (tail + piece)[-100:]
        assert taken > PIECES * 2**20
        for _ in range(3):  # the second request is under way
            assert app.asked.acquire(timeout=LONG)
        assert rest(connect(address, HALF)).startswith(b"HTTP/1.1 408 ")  # more time has gone by than there is to write
        app.let()

        assert answer(client).startswith(b"HTTP/1.1 200 OK")


def test_where_there_are_too_many_the_longest_without_a_request_goes(connect: Callable[..., socket.socket]) -> None:
    app = App()
    with served(app, Connections(3, header_seconds=LONG)) as address:
        busy = connect(address, GET % b"wait")
        assert app.asked.acquire(timeout=LONG)
        assert app.asked.acquire(timeout=LONG)
        idle = [connect(address, GET % b"") for _ in range(2)]
        for client in idle:
            assert answer(client).startswith(b"HTTP/1.1 200 OK")
        for _ in range(20):
            assert answer(connect(address, GET % b"")).startswith(b"HTTP/1.1 200 OK")

        assert [rest(client) for client in idle] == [b"", b""]
        app.let()
        assert answer(busy).startswith(b"HTTP/1.1 200 OK")


def test_where_all_have_a_request_the_next_is_told_to_come_again(connect: Callable[..., socket.socket]) -> None:
    app = App()
    with served(app, Connections(1, header_seconds=LONG)) as address:
        busy = connect(address, GET % b"wait")
        assert app.asked.acquire(timeout=LONG)
        assert app.asked.acquire(timeout=LONG)

        refused = rest(connect(address))

        assert refused.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        assert b"retry-after: 1\r\n" in refused
        app.let()
        assert answer(busy).startswith(b"HTTP/1.1 200 OK")


def test_an_answer_does_not_wait_for_its_header_to_be_acknowledged(connect: Callable[..., socket.socket]) -> None:
    connections, options = Connections(), []
    protocol: Any = connections.protocol()

    class Watched(protocol):  # type: ignore[misc] - made when it is asked for
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            own = transport.get_extra_info("socket")
            options.append(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    connections.protocol = lambda: Watched  # type: ignore[method-assign]
    with served(App(), connections) as address:
        assert answer(connect(address, GET % b"")).startswith(b"HTTP/1.1 200 OK")

    assert options == [1]


@pytest.mark.parametrize(
    "options", [{"most": 0}, {"header_seconds": 0.0}, {"write_seconds": -1.0}, {"header_seconds": float("nan")}]
)
def test_bounds_that_are_none_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="most must be 1 or more"):
        Connections(**options)


@pytest.mark.parametrize(("files", "most"), [(256, 192), (1_024, 768), (65_536, 1_000), (-1, 1_000), (1, 1)])
def test_there_are_no_more_than_files_may_be_open(monkeypatch: pytest.MonkeyPatch, files: int, most: int) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda which: (files, files))
    monkeypatch.setattr(resource, "RLIM_INFINITY", -1)

    assert most_connections() == most
    assert Connections().most == most


def test_half_open_connections_do_not_keep_others_out_of_a_server(
    tmp_path: Path, connect: Callable[..., socket.socket]
) -> None:
    resource = pytest.importorskip("resource")
    server = subprocess.Popen(
        [sys.executable, "-m", "agentguard", "serve", "--root", str(tmp_path), "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "AGENTGUARD_API_KEY": "test-key-0123456789"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128)),
    )  # fmt: skip
    watch = threading.Timer(LONG, server.kill)
    watch.daemon = True
    watch.start()
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline().rpartition(":")[2])
        held = [connect(("127.0.0.1", port), HALF) for _ in range(400)]

        healthy = connect(("127.0.0.1", port), GET % b"healthz")
        data = b""
        while b'{"status":"ok"}' not in data:
            piece = healthy.recv(2**16)
            assert piece, data
            data += piece
        server.terminate()
        _, err = server.communicate(timeout=LONG)
    finally:
        server.kill()
        server.communicate()

    assert len(held) == 400
    assert data.startswith(b"HTTP/1.1 200 OK")
    assert "out of system resource" not in err
    assert err.count("there are more than 96 connections: those without a request are closed") == 1
