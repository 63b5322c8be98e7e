"""Requests that are too large, of another kind, broken, or not as documented."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from agentguard.errors import ConfigurationError
from agentguard.gate.api import create_app

from .conftest import KEY

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, make_gate: Callable[..., Path]) -> TestClient:
    """One for all tests of this file: none depends on what the others asked."""
    app = create_app(make_gate(tmp_path_factory.mktemp("gate") / "root"), api_key=KEY)
    return TestClient(app, headers={"X-API-Key": KEY})


def problem_of(answer: Any) -> dict[str, Any]:
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == answer.status_code
    assert set(problem) >= {"type", "title", "status", "detail"}
    return problem


def test_a_body_over_the_limit_is_refused_by_its_declared_length(client: TestClient) -> None:
    answer = client.post("/evaluate", content=b" " * (64 * 1024 + 1), headers=JSON)

    assert answer.status_code == 413
    assert problem_of(answer)["type"] == "urn:agentguard:problem:too-large"


def test_a_body_of_exactly_the_limit_is_read(client: TestClient) -> None:
    answer = client.post("/evaluate", content=b"{" + b" " * (64 * 1024 - 2) + b"}", headers=JSON)

    assert answer.status_code == 200


def test_a_body_without_a_length_is_counted_as_it_comes(client: TestClient) -> None:
    sent = 0

    def body() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(70):
            sent += 1024
            yield b" " * 1024

    answer = client.post("/evaluate", content=body(), headers=JSON)

    assert answer.status_code == 413
    assert "content-length" not in answer.request.headers


async def ask(app: Any, path: str, messages: list[dict[str, Any]], **headers: str) -> tuple[int, int]:
    """Drive the application itself; gives the status, and how many messages it took."""
    taken = 0
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        nonlocal taken
        taken += 1
        return messages[taken - 1]

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
        "scheme": "http", "http_version": "1.1", "server": ("test", 80), "client": ("test", 1),
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    await app(scope, receive, send)
    return statuses[0], taken


async def test_what_is_over_the_limit_is_not_read(root: Path, key: str) -> None:
    app = create_app(root, api_key=key, max_body_bytes=10)
    endless = [{"type": "http.request", "body": b"12345678", "more_body": True}] * 1000

    status, taken = await ask(app, "/evaluate", endless, x_api_key=key, content_type="application/json")
    lied = await ask(app, "/evaluate", endless, x_api_key=key, content_type="application/json", content_length="3")
    honest = await ask(app, "/evaluate", endless, x_api_key=key, content_type="application/json", content_length="11")

    assert (status, taken) == (413, 2)
    assert lied == (413, 2)
    assert honest == (413, 0)


@pytest.mark.parametrize("path", ["/healthz", "/history", "/nothing"])
def test_the_limit_holds_everywhere(client: TestClient, path: str) -> None:
    assert client.request("GET", path, content=b"x" * 70_000).status_code == 413


@pytest.mark.parametrize(
    "kind", [None, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "json"]
)
def test_a_body_that_is_not_declared_as_json_is_refused(client: TestClient, kind: str | None) -> None:
    answer = client.post("/evaluate", content=b"{}", headers={} if kind is None else {"Content-Type": kind})

    assert answer.status_code == 415
    problem_of(answer)


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", "application/json;x=y"])
def test_json_may_be_declared_in_any_spelling(client: TestClient, kind: str) -> None:
    assert client.post("/evaluate", content=b"{}", headers={"Content-Type": kind}).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"{'config_path': null}",
        b"\xff\xfe\x00",
        b'{"config_path": "\xff"}',
        b"[" * 60_000,
        b'{"config_path": ' * 4_000,
        b"1" * 60_000,
    ],
    ids=["cut", "quotes", "binary", "latin", "deep list", "deep object", "long number"],
)
def test_a_body_that_is_no_json_is_refused(client: TestClient, body: bytes) -> None:
    answer = client.post("/evaluate", content=body, headers=JSON)

    assert answer.status_code == 400
    assert problem_of(answer)["detail"] == "the body cannot be read as JSON"


@pytest.mark.parametrize(
    "body",
    [
        b"", b"null", b"[]", b"3", b'"x"', b"NaN",
        b'{"config_path": 3}', b'{"config_path": []}', b'{"config_path": true}', b'{"config_path": "\\ud800.yaml"}',
        b'{"config_path": "a.yaml", "resume": "x"}', b'{"Config_Path": "a.yaml"}',
        b'{"config_path": ' + b"[" * 500 + b"]" * 500 + b"}",
    ],
)  # fmt: skip
def test_a_body_that_is_not_as_documented_is_refused(client: TestClient, body: bytes) -> None:
    answer = client.post("/evaluate", content=body, headers=JSON)

    assert answer.status_code == 422
    assert problem_of(answer)["errors"]


def test_what_was_sent_is_not_repeated(client: TestClient) -> None:
    answer = client.post("/evaluate", json={"config_path": "../<script>.yaml"})

    assert answer.status_code == 422
    assert "script" not in answer.text


def test_bounds(client: TestClient) -> None:
    expected = [
        ("/history?limit=0", 422),
        ("/history?limit=-1", 422),
        ("/history?limit=1001", 422),
        ("/history?limit=1000", 200),
        ("/history?limit=1.5", 422),
        ("/history?limit=ten", 422),
        ("/history?limit=" + "9" * 5_000, 422),
        ("/history?use_case=", 422),
        ("/history?use_case=%00", 200),
        ("/history?use_case=%f0%9f%92%a1", 200),
        ("/history?offset=3", 422),
        ("/history?config_path=../x.yaml", 422),
        ("/history?config_path=missing.yaml", 404),
        ("/runs/no-such-run", 404),
        ("/runs/a%2Fb", 404),
        ("/runs/%00", 422),
        ("/runs/" + "a" * 101, 422),
        ("/runs/a?limit=3", 422),
        ("/runs/", 404),
        ("/history/", 404),
        ("/evaluate", 405),
        ("/docs", 404),
        ("/redoc", 404),
    ]
    answers = {path: client.get(path) for path, _ in expected}

    assert [(path, answer.status_code) for path, answer in answers.items()] == expected
    for answer in answers.values():
        if answer.status_code != 200:
            problem_of(answer)


def test_a_method_that_is_not_there_names_those_that_are(client: TestClient) -> None:
    answer = client.put("/evaluate", json={})

    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"
    assert problem_of(answer)["type"] == "about:blank"


@pytest.mark.parametrize("path", ["/healthz", "/history", "/nothing", "/openapi.json"])
def test_no_answer_is_kept_or_guessed_at(client: TestClient, path: str) -> None:
    headers = client.get(path).headers

    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in headers["content-security-policy"]


def test_a_websocket_is_closed(root: Path, key: str) -> None:
    client = TestClient(create_app(root, api_key=key))

    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/evaluate"):
        pass


def test_every_operation_documents_its_problems_and_its_key(client: TestClient) -> None:
    document = client.get("/openapi.json").json()

    assert document["components"]["securitySchemes"] == {
        "ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"}
    }
    operations = {
        f"{method} {path}": operation for path, item in document["paths"].items() for method, operation in item.items()
    }
    assert set(operations) == {"post /evaluate", "get /runs/{run_id}", "get /history", "get /healthz"}
    assert "security" not in operations.pop("get /healthz")
    for operation in operations.values():
        assert operation["security"] == [{"ApiKey": []}]
        assert {"200", "401", "404", "422", "500"} <= set(operation["responses"])
        for status, answer in operation["responses"].items():
            if status != "200":
                assert answer["content"] == {
                    "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
                }
    assert "HTTPValidationError" not in document["components"]["schemas"]


@pytest.mark.parametrize(
    "arguments",
    [{"max_running": 0}, {"max_running": 33}, {"max_body_bytes": 0}, {"root": "missing"}, {"root": "a.txt"}],
)
def test_an_application_that_could_not_serve_is_not_made(tmp_path: Path, key: str, arguments: dict[str, Any]) -> None:
    (tmp_path / "a.txt").touch()
    root = tmp_path / arguments.pop("root", "")

    with pytest.raises(ConfigurationError):
        create_app(root, api_key=key, **arguments)
