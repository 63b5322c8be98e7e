"""Stores with verdicts in them, and the page served over them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient

from agentguard.live import live_part
from agentguard.serving._app import ServiceKey, assemble
from agentguard.stores import DiskStore, MemoryStore, Store
from agentguard.verification import VerificationEngine, VerificationResult

KEY = "test-key-0123456789"


class Shop:
    """An engine on a store, and calls for it to judge: orders as they should be, and orders of somebody else."""

    def __init__(self, store: Store, audit_rate: float = 0.5) -> None:
        self.store = store
        self.engine = VerificationEngine(store=store, audit_rate=audit_rate)

    def genuine(self, calls: int, tool: str = "get_order", begin: int = 0) -> None:
        for n in range(begin, begin + calls):
            result = {"id": f"W{n}", "total": 20.0 + n}
            self.engine.verify(tool, args={"id": f"W{n}"}, result=result, execution_time_ms=40.0, call_id=f"c{n}")

    def fabricated(
        self, call_id: str | None, tool: str = "get_order", session: str | None = None
    ) -> VerificationResult:
        result = {"id": "W3", "total": 23.0}
        return self.engine.verify(
            tool, args={"id": "W999"}, result=result, execution_time_ms=41.0, call_id=call_id, session_id=session
        )


@pytest.fixture
def key() -> str:
    return KEY


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DiskStore]:
    with DiskStore(tmp_path / "store") as kept:
        yield kept


@pytest.fixture
def make_shop() -> type[Shop]:
    return Shop


@pytest.fixture
def shop(store: DiskStore) -> Iterator[Shop]:
    """Forty genuine orders, a fabricated one called ``bad``, and another without a name."""
    made = Shop(store)
    made.genuine(40)
    assert made.fabricated("bad").verdict == "block"
    made.fabricated(None)
    made.engine.flush()
    yield made
    made.engine.close()


def application(store: Store, **options: Any) -> Any:
    return assemble([live_part(store, ServiceKey(KEY), source="the store", **options)], key=ServiceKey(KEY))


@pytest.fixture
def make_app() -> Callable[..., Any]:
    return application


@pytest.fixture
def client(shop: Shop) -> Iterator[TestClient]:
    with TestClient(application(shop.store), headers={"X-API-Key": KEY}) as made:
        yield made


@contextmanager
def running(app: Any) -> Iterator[str]:
    """A server on a port of its own, in a thread; its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        settings = uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=30)
        server, began = uvicorn.Server(settings), threading.Event()
        startup = server.startup

        async def tell(sockets: Any = None) -> None:
            await startup(sockets)
            began.set()

        server.startup = tell  # type: ignore[method-assign] - to know when it has begun
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            assert began.wait(60)
            yield "http://{}:{}".format(*listening.getsockname()[:2])
        finally:
            app.state.stop()
            server.should_exit = True
            thread.join(60)
            assert not thread.is_alive()


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Serves an application for as long as the test lasts."""
    with ExitStack() as stack:
        yield lambda app: stack.enter_context(running(app))


@pytest.fixture
def memory() -> MemoryStore:
    return MemoryStore()
