"""Nothing but the health check answers without the key."""

import hmac
import logging
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from agentguard.errors import ConfigurationError
from agentguard.gate.api import create_app
from agentguard.serving import _app as keys

from ...rows import over

ADDRESSES = [
    ("POST", "/evaluate"),
    ("GET", "/history"),
    ("GET", "/runs/20261121T164918.123Z-3f9a2c"),
    ("GET", "/openapi.json"),
    ("GET", "/docs"),
    ("GET", "/nothing-here"),
    ("DELETE", "/evaluate"),
    ("GET", "/healthz/"),
    ("GET", "//healthz"),
]


@pytest.fixture
def stranger(tmp_path: Path, key: str) -> TestClient:
    return TestClient(create_app(tmp_path, api_key=key))


@over(("method", "path"), ADDRESSES)
@over(
    "headers",
    [
        [],
        [("X-API-Key", "")],
        [("X-API-Key", "wrong-key-0123456789")],
        [("X-API-Key", "test-key-012345678")],  # one character less
        [("X-API-Key", "test-key-0123456789x")],
        [("X-API-Key", "TEST-KEY-0123456789")],
        [("X-API-Key", "test-key-0123456789"), ("X-API-Key", "test-key-0123456789")],  # which one is meant?
        [("Authorization", "Bearer test-key-0123456789")],
    ],
)
def test_whoever_has_no_key_learns_nothing(
    stranger: TestClient, method: str, path: str, headers: list[tuple[str, str]]
) -> None:
    answer = stranger.request(method, path, headers=headers)

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("ApiKey")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"] == "this needs the header X-API-Key with the server's key"


def test_the_key_in_a_query_is_no_key(stranger: TestClient, key: str) -> None:
    assert stranger.get("/history", params={"X-API-Key": key}).status_code == 401


def test_without_a_key_the_body_is_not_read(stranger: TestClient) -> None:
    answer = stranger.post("/evaluate", content=b"x" * 200_000)

    assert answer.status_code == 401  # and not 413 or 415


def test_the_health_check_needs_no_key_and_says_nothing_else(stranger: TestClient) -> None:
    answer = stranger.get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert "server" not in answer.headers


def test_the_right_key_opens(client: TestClient) -> None:
    assert client.get("/history").json() == {"runs": []}


def test_the_key_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTGUARD_API_KEY", "from-the-environment")
    server = TestClient(create_app(tmp_path))

    assert server.get("/openapi.json", headers={"X-API-Key": "from-the-environment"}).status_code == 200
    assert server.get("/openapi.json", headers={"X-API-Key": "from-the-environmenT"}).status_code == 401


@pytest.mark.parametrize(
    "key", [None, "", "short", " test-key-0123456789", "test-key-01234567é9", "test-key\n0123456789"]
)
def test_no_application_without_a_usable_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str | None) -> None:
    monkeypatch.delenv("AGENTGUARD_API_KEY", raising=False)

    with pytest.raises(ConfigurationError, match="AGENTGUARD_API_KEY") as raised:
        create_app(tmp_path, api_key=key)

    assert not key or key not in str(raised.value)


def test_keys_are_compared_in_constant_time_and_as_digests(
    stranger: TestClient, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[int, int]] = []

    def compare_digest(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return hmac.compare_digest(one, other)

    monkeypatch.setattr(keys, "hmac", type("Hmac", (), {"compare_digest": staticmethod(compare_digest)}))

    assert stranger.get("/history", headers={"X-API-Key": "x"}).status_code == 401
    assert stranger.get("/history").status_code == 401
    assert stranger.get("/openapi.json", headers={"X-API-Key": key}).status_code == 200
    assert compared == [(32, 32)] * 3


def test_the_key_is_nowhere_in_the_log_or_the_application(
    client: TestClient, stranger: TestClient, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        client.get("/history", params={"use_case": "a secret use"})
        stranger.get(f"/history?key={key}", headers={"X-API-Key": key + "x"})

    lines = [record.getMessage() for record in caplog.records if record.name == "agentguard.serving"]
    assert [line.split(" ")[:3] for line in lines] == [["GET", "/history", "200"], ["GET", "/history", "401"]]
    assert key not in "".join(lines)
    assert "secret" not in "".join(lines)
    assert key not in repr(
        vars(keys.ServiceKey(key)) if hasattr(keys.ServiceKey(key), "__dict__") else keys.ServiceKey(key)
    )
