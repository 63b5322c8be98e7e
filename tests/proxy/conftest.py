"""A proxy's parts with an engine that knows one tool: results of ``stock`` have ``sku`` and ``count``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentguard.guard import Guard
from agentguard.proxy._connection import Connection, Work
from agentguard.proxy._guarding import Guarding
from agentguard.proxy._pins import Pin
from agentguard.stores import MemoryStore
from agentguard.verification import VerificationEngine
from agentguard.verification.profile import parse_profile

collect_ignore = ["clients", "scripted_server.py"]  # run in processes of their own

SERVER = Path(__file__).with_name("scripted_server.py")
PROGRAM = Path(sys.executable).with_name("agentguard")
STOCK = parse_profile({"name": "stock", "required_fields": ["sku", "count"]})


def make_guarding(*profiles: Any, pin: Path | None = None, store: Any = None, **policy: Any) -> Guarding:
    on_listing = policy.pop("on_listing", "flag")
    given = profiles or (STOCK,)
    store = MemoryStore() if store is None else store
    engine = VerificationEngine(profiles=given, store=store)
    return Guarding(Guard(engine, **policy), given, store, None if pin is None else Pin(pin), on_listing)


@pytest.fixture
def guarding() -> Iterator[Callable[..., Guarding]]:
    made: list[Guarding] = []

    def make(*profiles: Any, **options: Any) -> Guarding:
        made.append(make_guarding(*profiles, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


def line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


def call(id_: Any, tool: str = "stock", **args: Any) -> bytes:
    return line({"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": {"name": tool, "arguments": args}})


def answer(id_: Any, result: Any) -> bytes:
    return line({"jsonrpc": "2.0", "id": id_, "result": result})


def text(*texts: str, **fields: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": each} for each in texts], **fields}


def passed(connection: Connection, data: bytes) -> bytes:
    """What a client gets of a message."""
    step = connection.received(data)
    if isinstance(step, Work):
        made = step.run()
        return made if step.waits else step.message
    return step


class HttpServer(httpx.AsyncBaseTransport):
    """Answers requests by a function, and remembers them."""

    def __init__(self, handler: Callable[[httpx.Request], Awaitable[httpx.Response]]) -> None:
        self.requests: list[httpx.Request] = []
        self._handler = handler

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.requests.append(request)
        response = await self._handler(request)
        response.request = request
        return response


def reply(message: Any, **headers: str) -> httpx.Response:
    return httpx.Response(200, headers={"content-type": "application/json", **headers}, content=json.dumps(message))


def events(*chunks: str, broken: bool = False) -> httpx.Response:
    async def stream() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk.encode()
        if broken:
            raise httpx.ReadError("cut")

    return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=stream())


class Proxied:
    """A proxy in a process of its own, with a client that writes lines and reads them."""

    def __init__(
        self,
        *options: str,
        env: dict[str, str] | None = None,
        command: tuple[str, ...] = (),
        reads_log: bool = True,
    ) -> None:
        server = command or (sys.executable, str(SERVER))
        target = () if "--url" in options else ("--", *server)
        self.process = subprocess.Popen(
            [PROGRAM, "proxy", *options, *target],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **(env or {})},
            pipesize=-1 if reads_log else 4_096,  # where the system lets us: fewer lines fill it
        )  # fmt: skip
        self._watch = threading.Timer(60, self.process.kill)  # whoever waits for one that hangs is let go
        self._watch.daemon = True
        self._watch.start()
        self._said: list[bytes] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        if reads_log:
            self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        self._said += self.process.stderr

    def write(self, *lines: bytes) -> None:
        assert self.process.stdin is not None
        for each in lines:
            self.process.stdin.write(each)
        self.process.stdin.flush()

    def read(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def ask(self, message: bytes) -> Any:
        self.write(message)
        return json.loads(self.read())

    def end(self) -> tuple[int, bytes, str]:
        """Close the input: exit code, what is left of the output, and what was said."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        rest = self.process.stdout.read()
        code = self.process.wait()
        if self._reader.ident is not None:
            self._reader.join()
        self._watch.cancel()
        return code, rest, b"".join(self._said).decode()

    def close(self) -> None:
        """Kill it, where it has not ended."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[Callable[..., Proxied]]:
    begun: list[Proxied] = []

    def begin(*options: str, env: dict[str, str] | None = None, **more: Any) -> Proxied:
        begun.append(Proxied(*options, env={"XDG_STATE_HOME": str(tmp_path), **(env or {})}, **more))
        return begun[-1]

    yield begin
    for each in begun:
        each.close()
