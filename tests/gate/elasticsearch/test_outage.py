"""A cluster that dies, and one that does not let everybody in."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentguard.errors import StoreError
from agentguard.gate._config import ElasticsearchConfig
from agentguard.gate._types import Chunk, Document
from agentguard.gate.backends import _elasticsearch as elastic
from agentguard.gate.evidence._elasticsearch import ElasticsearchEvidence
from agentguard.gate.records._base import Event, RunSummary
from agentguard.gate.records._elasticsearch import ElasticsearchRecords

from .server import PASSWORD, ElasticsearchServer

SUMMARY = RunSummary("r1", "running", 1.0, "help desk", "1f", "ollama:llama3.2", "rules", "host:17")
CALLS: dict[str, Callable[[ElasticsearchEvidence, ElasticsearchRecords], object]] = {
    "documents": lambda evidence, _: evidence.documents(),
    "replace": lambda evidence, _: put(evidence),
    "remove": lambda evidence, _: evidence.remove(["a.md"]),
    "keyword": lambda evidence, _: evidence.keyword("warranty", 5),
    "vector": lambda evidence, _: evidence.vector((1.0, 0.0), 5),
    "chunk": lambda evidence, _: evidence.chunk("a.md#0"),
    "digest": lambda evidence, _: evidence.digest(),
    "append": lambda _, records: records.append("r1", Event("started", 1.0, {})),
    "events": lambda _, records: records.events("r1"),
    "save": lambda _, records: records.save(SUMMARY),
    "summary": lambda _, records: records.summary("r1"),
    "runs": lambda _, records: records.runs(),
}
WRITES = ("replace", "append", "save")


def put(evidence: ElasticsearchEvidence, vector: tuple[float, ...] = (1.0, 0.0)) -> None:
    text = "The warranty lasts two years."
    evidence.replace(Document("a.md", "", text, "1f"), [Chunk("a.md#0", "a.md", "", "", text, 0, len(text))], [vector])


def opened(
    host: str, index: str, user: str | None = None, password: str = PASSWORD
) -> tuple[ElasticsearchEvidence, ElasticsearchRecords]:
    config = ElasticsearchConfig(host=host, index=index)
    login = {} if user is None else {"ELASTICSEARCH_USERNAME": user, "ELASTICSEARCH_PASSWORD": password}
    return ElasticsearchEvidence(config, "compass", environ=login), ElasticsearchRecords(config, environ=login)


def told(call: str, evidence: ElasticsearchEvidence, records: ElasticsearchRecords) -> str:
    with pytest.raises(StoreError) as refused:
        CALLS[call](evidence, records)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None  # nor is it in the traceback
    assert not any(secret in str(refused.value) for secret in (PASSWORD, "warranty", "\n"))
    return str(refused.value)


def test_what_was_acknowledged_outlives_the_cluster_and_what_was_not_is_told(
    elasticsearch_server: ElasticsearchServer, index_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elastic, "PAUSES", (0.01,))
    evidence, records = opened(elasticsearch_server.url, index_name)
    put(evidence)
    records.append("r1", Event("started", 1.0, {"n": 1}))
    records.save(SUMMARY)
    elasticsearch_server.kill()
    try:
        sentences = {told(call, evidence, records) for call in CALLS}
    finally:
        elasticsearch_server.start()

    assert sentences == {
        f"Elasticsearch at {elasticsearch_server.url} cannot be reached: see whether it runs, and whether "
        "elasticsearch.host is right"
    }
    assert evidence.documents() == {"a.md": "1f"}
    assert len(evidence.vector((1.0, 0.0), 5)) == len(evidence.keyword("warranty", 5)) == 1
    assert records.events("r1") == [Event("started", 1.0, {"n": 1})]
    assert records.runs() == [SUMMARY]
    records.append("r1", Event("failed", 2.0, {}))
    assert [event.kind for event in records.events("r1")] == ["started", "failed"]


@pytest.mark.parametrize("call", CALLS)
def test_a_user_with_the_documented_privileges_may_do_all(elasticsearch_url: str, index_name: str, call: str) -> None:
    evidence, records = opened(elasticsearch_url, f"sealed-{index_name}", "writer")
    CALLS[call](evidence, records)
    put(evidence)
    CALLS[call](evidence, records)
    evidence.remove(["a.md"])
    put(evidence, (1.0, 0.0, 0.0))  # as another embedder's


@pytest.fixture(scope="module")
def written(elasticsearch_server: ElasticsearchServer) -> str:
    """The name of indices that hold a document, an event and a run."""
    evidence, records = opened(elasticsearch_server.url, "sealed-written", "writer")
    put(evidence)
    records.append("r1", Event("started", 1.0, {}))
    records.save(SUMMARY)
    return "sealed-written"


@pytest.mark.parametrize("call", CALLS)
def test_who_may_only_read_reads(elasticsearch_url: str, written: str, call: str) -> None:
    evidence, records = opened(elasticsearch_url, written, "reader")
    if call in WRITES:
        assert "does not allow this user to do that" in told(call, evidence, records)
    elif call == "remove":
        assert "refuses 1 of 1 writes (security_exception)" in told(call, evidence, records)
    else:
        assert CALLS[call](evidence, records)


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_password_is_told(elasticsearch_url: str, index_name: str, call: str) -> None:
    evidence, records = opened(elasticsearch_url, index_name, "writer", "wr0ng-pass")
    sentence = told(call, evidence, records)

    assert "refuses the login: set ELASTICSEARCH_API_KEY, or" in sentence
    assert "wr0ng" not in sentence + repr(evidence) + repr(records)
