"""An engine that has learned a shop's orders, behind the API, and servers on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from agentguard.guard import Guard
from agentguard.guard.api import create_app
from agentguard.verification import VerificationEngine

from .servers import KEY, SWAPPED, Server, learn_orders, running


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
    def make(guard: Guard | VerificationEngine, **options: Any) -> TestClient:
        app = create_app(guard, api_key=KEY, **options)
        return TestClient(app, headers={"X-API-Key": KEY})

    return make


@pytest.fixture
def client(engine: VerificationEngine, make_client: Callable[..., TestClient]) -> TestClient:
    return make_client(engine)


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
