"""How a cluster is asked, held against a server that answers whatever a test says."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from elasticsearch import Elasticsearch

from agentguard.errors import ConfigurationError, StoreError
from agentguard.gate._config import ElasticsearchConfig
from agentguard.gate.backends import _elasticsearch as elastic
from agentguard.gate.backends._elasticsearch import ElasticConnection

from ...rows import over

FOUND = {"hits": {"hits": []}}


class Answer(NamedTuple):
    status: int = 200
    body: str = json.dumps(FOUND)
    product: str | None = "Elasticsearch"
    content: str = "application/vnd.elasticsearch+json;compatible-with=8"


class Fake:
    """Gives its answers in turn, the last one again and again."""

    def __init__(self, *answers: Answer) -> None:
        self.asked: list[dict[str, str]] = []
        self.release = threading.Event()
        self.release.set()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                fake.asked.append({name.lower(): value for name, value in self.headers.items()})
                fake.release.wait(30)
                answer = answers[min(len(fake.asked), len(answers)) - 1]
                self.send_response(answer.status)
                if answer.product:
                    self.send_header("X-Elastic-Product", answer.product)
                self.send_header("Content-Type", answer.content)
                self.send_header("Content-Length", str(len(answer.body.encode())))
                self.end_headers()
                self.wfile.write(answer.body.encode())

            def log_message(self, *arguments: object) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self.release.set()
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()


@pytest.fixture
def fake() -> Iterator[Callable[..., Fake]]:
    fakes: list[Fake] = []

    def start(*answers: Answer) -> Fake:
        fakes.append(Fake(*answers))
        return fakes[-1]

    yield start
    for started in fakes:
        started.close()


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elastic, "PAUSES", (0.0, 0.0, 0.0))


def connect(host: str, *, timeout: float = 30.0, **environ: str) -> ElasticConnection:
    login = {f"ELASTICSEARCH_{name}": value for name, value in environ.items()}
    return ElasticConnection(ElasticsearchConfig(host=host, timeout_seconds=timeout), login)


def search(client: Elasticsearch) -> Any:
    return client.search(index="docs", query={"match": {"text": "s3cret question"}}).body


def told(connection: ElasticConnection) -> str:
    with pytest.raises(StoreError) as failed:
        connection.ask(search)
    assert failed.value.__suppress_context__
    assert "s3cret" not in str(failed.value)
    return str(failed.value)


def fault(status: int, kind: str = "some_exception") -> Answer:
    error = {"type": kind, "reason": "it says: s3cret", "root_cause": [{"type": kind, "reason": "it says: s3cret"}]}
    return Answer(status, json.dumps({"error": error, "status": status}))


# --- Patience


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_cluster_that_is_busy_is_asked_again(fake: Callable[..., Fake], status: int) -> None:
    server = fake(fault(status), fault(status), fault(status), Answer())

    assert connect(server.url).ask(search) == FOUND
    assert len(server.asked) == 4


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize(
    ("status", "sentence"),
    [(429, "overloaded"), (502, "behind its proxy"), (503, "not ready"), (504, "did not answer its proxy")],
)
def test_but_not_for_ever(fake: Callable[..., Fake], status: int, sentence: str) -> None:
    server = fake(fault(status))

    assert sentence in told(connect(server.url))
    assert len(server.asked) == 4


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (400, "refuses what was asked with status 400: the gate needs Elasticsearch 8.15 or newer (some_exception)"),
        (401, "refuses the login"),
        (403, "does not allow this user"),
        (404, "has no such thing"),
        (406, "does not speak the client's language: the gate needs Elasticsearch 8.15 or newer"),
        (413, "does not take that much at once"),
        (500, "has failed with status 500: see its log (some_exception)"),
    ],
)
def test_what_would_fail_again_is_asked_once(fake: Callable[..., Fake], status: int, sentence: str) -> None:
    server = fake(fault(status))

    assert told(connect(server.url)).startswith(f"Elasticsearch at {server.url} {sentence}")
    assert len(server.asked) == 1


def test_an_answer_that_does_not_come_is_not_waited_for_twice(fake: Callable[..., Fake]) -> None:
    server = fake(Answer())
    server.release.clear()

    assert "did not answer in time" in told(connect(server.url, timeout=0.05))
    assert len(server.asked) == 1


# --- What is not Elasticsearch


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (Answer(product=None), "is not Elasticsearch, by the headers of its answers"),
        (Answer(product="OpenSearch"), "is not Elasticsearch, by the headers of its answers"),
        (Answer(body="<html>s3cret</html>"), "gave an answer that is not Elasticsearch's"),
        (Answer(body="<html>s3cret</html>", content="image/png"), "gave an answer that is not Elasticsearch's"),
        (Answer(404, "<html>s3cret</html>", None, "text/html"), "has no such thing"),
        (Answer(404, '["s3cret"]'), "has no such thing"),
        (Answer(500, '{"error": "s3cret"}'), "has failed with status 500: see its log"),
        (Answer(500, '{"error": {"root_cause": []}}'), "has failed with status 500: see its log"),
    ],
)
def test_what_answers_something_else_is_told(fake: Callable[..., Fake], answer: Answer, sentence: str) -> None:
    assert sentence in told(connect(fake(answer).url))


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("host", ["http://127.0.0.1:1", "http://[::1]:1/search"])
def test_where_nobody_is_cannot_be_reached(host: str) -> None:
    assert told(connect(host)).startswith(f"Elasticsearch at {host} cannot be reached")


def test_a_server_without_tls_is_no_https(fake: Callable[..., Fake]) -> None:
    assert "certificate" in told(connect(fake(Answer()).url.replace("http:", "https:")))


def test_a_path_is_part_of_the_address(fake: Callable[..., Fake]) -> None:
    server = fake(fault(404))

    assert told(connect(f"{server.url}/search/")).startswith(f"Elasticsearch at {server.url}/search/ has no such thing")


# --- Who asks


def test_an_api_key_goes_with_every_request(fake: Callable[..., Fake]) -> None:
    server = fake(Answer())
    connection = connect(server.url, API_KEY="a2V5OnMzY3JldA==")
    connection.ask(search)

    assert server.asked[0]["authorization"] == "ApiKey a2V5OnMzY3JldA=="


def test_a_login_goes_with_every_request(fake: Callable[..., Fake]) -> None:
    server = fake(Answer())
    connect(server.url, USERNAME="guard", PASSWORD="s3cret:ü").ask(search)

    assert server.asked[0]["authorization"] == "Basic " + base64.b64encode("guard:s3cret:ü".encode()).decode()


def test_without_credentials_none_are_sent(fake: Callable[..., Fake], monkeypatch: pytest.MonkeyPatch) -> None:
    server = fake(Answer())
    connect(server.url, API_KEY="", USERNAME="", PASSWORD="").ask(search)
    monkeypatch.setenv("ELASTICSEARCH_API_KEY", "a2V5OnMzY3JldA==")
    ElasticConnection(ElasticsearchConfig(host=server.url)).ask(search)

    assert [request.get("authorization") for request in server.asked] == [None, "ApiKey a2V5OnMzY3JldA=="]


@pytest.mark.parametrize(
    "environ",
    [
        {"API_KEY": "s3cret", "USERNAME": "guard", "PASSWORD": "s3cret"},
        {"API_KEY": "s3cret", "PASSWORD": "s3cret"},
        {"USERNAME": "guard"},
        {"PASSWORD": "s3cret"},
    ],
)
def test_credentials_that_do_not_go_together_are_refused(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="ELASTICSEARCH_USERNAME") as refused:
        connect("https://search.example:9200", **environ)

    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("key", ["s3cret\nHost: x", "s3crét", "s3cret\x7f"])
def test_what_cannot_be_an_api_key_is_refused(key: str) -> None:
    with pytest.raises(ConfigurationError, match="ELASTICSEARCH_API_KEY") as refused:
        connect("https://search.example:9200", API_KEY=key)

    assert "s3c" not in str(refused.value)


@over("environ", [{"API_KEY": "s3cret"}, {"USERNAME": "guard", "PASSWORD": "s3cret"}])
@over("host", ["http://search.example:9200", "http://10.0.0.7:9200", "http://127.0.0.1.example:9200"])
def test_credentials_are_not_sent_in_the_clear(host: str, environ: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match=r"credentials.*https://") as refused:
        connect(host, **environ)

    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    "host", ["http://localhost:9200", "http://127.0.0.7:9200", "http://[::1]:9200", "https://search.example:9200"]
)
def test_but_where_nobody_listens(host: str) -> None:
    assert connect(host, API_KEY="s3cret").where == f"Elasticsearch at {host}"


def test_certificates_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="ELASTICSEARCH_CA_CERTS"):
        connect("https://search.example:9200", CA_CERTS=str(tmp_path / "ca.crt"))
    (tmp_path / "ca.crt").write_text("no certificate")
    with pytest.raises(ConfigurationError, match="ELASTICSEARCH_CA_CERTS"):
        connect("https://search.example:9200", CA_CERTS=str(tmp_path / "ca.crt"))


@pytest.mark.parametrize("host", ["http://search.example:9200?pretty", "http://search.example:9200#part"])
def test_an_address_that_the_client_cannot_use_is_refused(host: str) -> None:
    with pytest.raises(ConfigurationError, match=r"elasticsearch\.host"):
        connect(host)


# --- Writing many


def test_the_refused_of_many_writes_are_counted(elasticsearch_url: str, index_name: str) -> None:
    connection = connect(elasticsearch_url)
    mappings = {"dynamic": "strict", "properties": {"number": {"type": "integer"}}}
    connection.ask(lambda client: client.indices.create(index=index_name, mappings=mappings))
    bodies: list[dict[str, object]] = [{"number": 1}, {"s3cret": 1}, {"number": "s3cret"}, {"number": 4}]
    with pytest.raises(StoreError) as refused:
        connection.bulk({"_index": index_name, "_id": str(n), "_source": body} for n, body in enumerate(bodies))

    assert str(refused.value) == (
        f"Elasticsearch at {elasticsearch_url} refuses 2 of 4 writes (document_parsing_exception, "
        "strict_dynamic_mapping_exception): mend what it complains of, and do the same again"
    )
    assert connection.ask(lambda client: client.count(index=index_name)["count"]) == 2
    connection.close()
