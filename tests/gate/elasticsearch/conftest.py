"""One Elasticsearch server for all tests of this folder, started when the first of them wants it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from elasticsearch import Elasticsearch

from .server import ElasticsearchServer


@pytest.fixture(scope="session")
def elasticsearch_server() -> Iterator[ElasticsearchServer]:
    """May be killed and started again; what it has acknowledged is then still there."""
    server = ElasticsearchServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture
def elasticsearch_url(elasticsearch_server: ElasticsearchServer) -> str:
    """The address of a running server that asks for no login."""
    return elasticsearch_server.url


@pytest.fixture
def index_name(elasticsearch_url: str, _numbers: Iterator[int]) -> Iterator[str]:
    """A name that no other test has; what is made of that name is removed, for each index slows the server down."""
    name = f"docs-{next(_numbers)}"
    yield name
    with Elasticsearch(elasticsearch_url) as client:
        client.indices.delete(index=[name, f"{name}-audit", f"{name}-history"], ignore_unavailable=True)


@pytest.fixture(scope="session")
def _numbers() -> Iterator[int]:
    return itertools.count()


@pytest.fixture(autouse=True)
def _no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the tester's environment are for another cluster."""
    for name in ("API_KEY", "USERNAME", "PASSWORD", "CA_CERTS"):
        monkeypatch.delenv(f"ELASTICSEARCH_{name}", raising=False)
