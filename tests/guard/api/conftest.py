"""An engine that has learned a shop's orders, behind the API, and servers on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from agentguard.guard import Policy
from agentguard.guard.api import create_app
from agentguard.verification import VerificationEngine

KEY = "test-key-0123456789"
#: Of another order than was asked for: 40 genuine calls say that a result's id is the argument's.
SWAPPED = {"tool": "get_order", "args": {"id": "W999"}, "result": {"id": "W3", "total": 23.0}}


def learn_orders(engine: VerificationEngine) -> None:
    for n in range(40):
        engine.verify(
            "get_order", args={"id": f"W{n}"}, result={"id": f"W{n}", "total": 20.0 + n}, execution_time_ms=40.0
        )


@pytest.fixture
def key() -> str:
    return KEY


@pytest.fixture
def swapped() -> dict[str, Any]:
    return dict(SWAPPED)


@pytest.fixture
def engine() -> VerificationEngine:
    made = VerificationEngine()
    learn_orders(made)
    return made


@pytest.fixture
def make_client() -> Callable[..., TestClient]:
    def make(engine: VerificationEngine, policy: Policy | None = None, **options: Any) -> TestClient:
        app = create_app(engine, policy, api_key=KEY, **options)
        return TestClient(app, headers={"X-API-Key": KEY})

    return make


@pytest.fixture
def client(engine: VerificationEngine, make_client: Callable[..., TestClient]) -> TestClient:
    return make_client(engine)


class Server:
    """A running ``agentguard serve``, asked as any program would."""

    def __init__(self, url: str, process: subprocess.Popen[str]) -> None:
        self.url, self.process = url, process

    def ask(self, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 - the address is that of the server just started
            self.url + path, data, {"X-API-Key": KEY, "Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - likewise
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)


@contextmanager
def running(*options: str) -> Iterator[Server]:
    process = subprocess.Popen(
        [sys.executable, "-m", "agentguard", "serve", "--verify", "--port", "0", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "AGENTGUARD_API_KEY": KEY},
    )  # fmt: skip
    watch = threading.Timer(300, process.kill)  # whoever waits for a server that hangs is let go
    watch.daemon = True
    watch.start()
    # Read to its end: a pipe that is full holds the server up.
    drained = threading.Thread(target=lambda: process.stderr and process.stderr.read(), daemon=True)
    drained.start()
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "http://" in line
        yield Server(line.split()[-1], process)
    finally:
        process.terminate()
        process.wait(60)
        watch.cancel()
        drained.join(60)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stderr.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Starts servers of the guard, with the options that are given; they end with the test."""
    with ExitStack() as stack:
        yield lambda *options: stack.enter_context(running(*map(str, options)))


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    """Profiles of two tools: one that needs a field, one whose content is redacted."""
    folder = tmp_path / "profiles"
    folder.mkdir()
    (folder / "weather.yaml").write_text("name: weather\nrequired_fields: [degrees]\nhas_network_io: false\n")
    (folder / "mail.yaml").write_text("name: mail\ncontent: {pii: redact, secrets: redact}\n")
    return folder
