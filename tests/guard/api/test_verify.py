"""``POST /v1/verify``: what comes back for a call, under each policy, and when the guard itself fails."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from agentguard.errors import ConfigurationError
from agentguard.guard import Policy
from agentguard.guard.api import _app as api
from agentguard.guard.api import create_app
from agentguard.stores import DiskStore
from agentguard.verification import VerificationEngine

from .servers import learn_orders

JSON = {"Content-Type": "application/json"}
Make = Callable[..., TestClient]


def test_a_genuine_result_passes_as_it_came(client: TestClient) -> None:
    answer = client.post(
        "/v1/verify",
        json={
            "tool": "get_order", "args": {"id": "W41"}, "result": {"id": "W41", "total": 61.0},
            "execution_time_ms": 40.0, "session_id": "s", "call_id": "c",
        },
    )  # fmt: skip

    body = answer.json()
    assert answer.status_code == 200
    assert (body["verdict"], body["action"], body["tool"], body["call_id"]) == ("accept", "pass", "get_order", "c")
    assert 0.0 <= body["posterior"] < 0.2
    assert (body["line"], body["notice"], body["hazard"], body["fired"], body["change"]) == ("", "", "", [], None)
    assert "result" not in body  # nothing is to be shown instead


def test_a_swapped_result_is_answered_with_a_notice_and_the_reasons(
    client: TestClient, swapped: dict[str, Any]
) -> None:
    body = client.post("/v1/verify", json=swapped).json()

    assert (body["verdict"], body["action"]) == ("block", "replace")
    assert body["result"] == body["notice"]
    assert body["notice"].startswith("The result of 'get_order' was blocked")
    assert "id is not the argument id" in body["hazard"]
    (mismatch,) = [signal for signal in body["fired"] if signal["name"] == "relation_mismatch"]
    assert mismatch["detail"] == "id is not the argument id, as in 40 of 40 calls"
    assert mismatch["contribution"] > 1.0
    assert "relation_mismatch" in body["explanation"]
    assert len(body["change"]) == 12


@pytest.mark.parametrize(
    ("policy", "action", "has_result"),
    [
        (Policy(on_block="raise"), "raise", True),
        (Policy(shadow=True), "pass", False),
        (Policy(on_block="raise", shadow=True), "pass", False),
    ],
)
def test_the_policy_says_what_becomes_of_a_blocked_result(
    engine: VerificationEngine,
    make_client: Make,
    swapped: dict[str, Any],
    policy: Policy,
    action: str,
    has_result: bool,
) -> None:
    body = make_client(engine, policy).post("/v1/verify", json=swapped).json()

    assert (body["verdict"], body["action"], "result" in body) == ("block", action, has_result)
    assert bool(body["notice"]) is has_result


@pytest.mark.parametrize(
    ("on_flag", "action"), [("annotate", "annotate"), ("observe", "observe"), ("block", "replace")]
)
def test_the_policy_says_what_becomes_of_a_flagged_result(make_client: Make, on_flag: Any, action: str) -> None:
    engine = VerificationEngine(block_at=1.0)  # nothing is blocked on the posterior
    engine.register_tool_profile("weather", required_fields=["degrees"], has_network_io=False)

    body = make_client(engine, Policy(on_flag=on_flag)).post(
        "/v1/verify", json={"tool": "weather", "result": {"answer": "nice"}}
    ).json()  # fmt: skip

    assert (body["verdict"], body["action"]) == ("flag", action)
    assert (body["line"] != "") is (action == "annotate")
    assert ("result" in body) is (action == "replace")
    if action == "annotate":
        assert body["line"].startswith("[agentguard: this result of 'weather' may be wrong: required field 'degrees'")


def test_what_a_profile_redacts_is_answered_without_it(make_client: Make) -> None:
    engine = VerificationEngine()
    engine.register_tool_profile("mail", content={"pii": "redact"})

    body = make_client(engine).post(
        "/v1/verify", json={"tool": "mail", "result": {"from": "ada@example.org", "n": 10**30, "half": 0.5}}
    ).json()  # fmt: skip

    assert (body["action"], body["redacted"]) == ("pass", ["pii"])
    assert body["result"] == {"from": "<EMAIL_1>", "n": 10**30, "half": 0.5}


def test_half_a_surrogate_pair_is_read_and_written(make_client: Make) -> None:
    engine = VerificationEngine()
    engine.register_tool_profile("mail", content={"pii": "redact"})
    body = rb'{"tool": "mail", "result": {"from": "ada@example.org", "text": "cut \ud83d"}}'

    answer = make_client(engine).post("/v1/verify", content=body, headers=JSON)

    assert answer.status_code == 200
    assert json.loads(answer.content)["result"] == {"from": "<EMAIL_1>", "text": "cut \ud83d"}


def test_without_learning_nothing_is_learned(make_client: Make) -> None:
    engine = VerificationEngine()
    client = make_client(engine)
    for n in range(40):
        client.post(
            "/v1/verify",
            json={"tool": "get_order", "args": {"id": f"W{n}"}, "result": {"id": f"W{n}"}, "learn": False},
        )

    unlearned = client.post("/v1/verify", json={"tool": "get_order", "args": {"id": "W9"}, "result": {"id": "X1"}})

    assert unlearned.json()["verdict"] == "accept"


class _Broken(VerificationEngine):
    def verify(self, *args: Any, **options: Any) -> Any:
        raise RuntimeError("hunter2")


@pytest.mark.parametrize(("on_guard_error", "action"), [("open", "pass"), ("closed", "replace")])
def test_the_guard_s_own_failure_follows_the_policy(
    make_client: Make, caplog: pytest.LogCaptureFixture, on_guard_error: Any, action: str
) -> None:
    client = make_client(_Broken(), Policy(on_guard_error=on_guard_error))

    answer = client.post("/v1/verify", json={"tool": "t", "result": "x"})

    body = answer.json()
    assert (answer.status_code, body["verdict"], body["posterior"], body["action"]) == (200, None, None, action)
    assert "could not be verified" in body["notice"]
    assert body.get("result") == (body["notice"] if action == "replace" else None)
    assert "RuntimeError" in caplog.text
    assert "hunter2" not in caplog.text + answer.text


def test_no_content_is_in_the_log_and_each_request_has_its_id_there(
    client: TestClient, swapped: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        own = client.post("/v1/verify", json=swapped, headers={"X-Request-ID": "mine-1"})
        made = client.post("/v1/verify", json=swapped, headers={"X-Request-ID": "no id\x07"})
        other = client.post("/v1/verify", json=swapped)

    ids = [answer.headers["x-request-id"] for answer in (own, made, other)]
    assert ids[0] == "mine-1"
    assert len(set(ids)) == 3
    lines = [record.getMessage() for record in caplog.records if record.name == "agentguard.serving"]
    assert [line.split()[-1] for line in lines] == ids
    assert all(line.startswith("POST /v1/verify 200 ") for line in lines)
    assert "W999" not in caplog.text
    assert "W3" not in caplog.text


@pytest.mark.parametrize(
    "body",
    [
        {}, {"tool": ""}, {"tool": 3}, {"tool": None}, {"tool": "t", "execution_time_ms": "5"},
        {"tool": "t", "execution_time_ms": -1}, {"tool": "t", "is_error": 1}, {"tool": "t", "learn": "no"},
        {"tool": "t", "session": "s"}, {"tool": "t" * 1_001}, {"tool": "t", "call_id": 7}, [], "x", None,
    ],
)  # fmt: skip
def test_what_is_not_as_documented_is_refused(client: TestClient, body: Any) -> None:
    answer = client.post("/v1/verify", content=json.dumps(body), headers=JSON)

    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["errors"]


def test_a_large_result_is_read_and_a_larger_one_refused(engine: VerificationEngine, make_client: Make) -> None:
    client = make_client(engine, max_body_bytes=300_000)

    assert client.post("/v1/verify", json={"tool": "t", "result": "x" * 290_000}).status_code == 200
    refused = client.post("/v1/verify", json={"tool": "t", "result": "x" * 300_000})
    assert (refused.status_code, refused.json()["type"]) == (413, "urn:agentguard:problem:too-large")
    # Where no result comes, the door's own bound holds.
    assert client.post("/v1/feedback", content=b" " * 70_000, headers=JSON).status_code == 413


def test_a_text_to_be_looked_through_has_a_bound_of_its_own(engine: VerificationEngine, make_client: Make) -> None:
    client = make_client(engine, max_text_bytes=3_000)

    for path, body in (("scan", {"value": ""}), ("ground", {"answer": "", "results": []}), ("check", {"text": ""})):
        (name, _), *_ = body.items()
        assert client.post(f"/v1/{path}", json={**body, name: "x" * 2_000}).status_code == 200
        refused = client.post(f"/v1/{path}", json={**body, name: "x" * 3_000})
        assert (refused.status_code, refused.json()["type"]) == (413, "urn:agentguard:problem:too-large")
        assert "at most 3000 bytes" in refused.json()["detail"]
    assert client.post("/v1/verify", json={"tool": "t", "result": "x" * 3_000}).status_code == 200


@pytest.mark.parametrize("opening", ["[],", "{},", '"[",'])
def test_more_brackets_than_are_read_at_once_are_refused(client: TestClient, opening: str) -> None:
    def sent(times: int) -> Any:
        body = '{"tool": "t", "learn": false, "result": [' + opening * times + "0]}"  # with two brackets of its own
        return client.post("/v1/verify", content=body, headers=JSON)

    assert sent(2**18 - 2).status_code == 200
    refused = sent(2**18 - 1)
    assert (refused.status_code, refused.json()["type"]) == (413, "urn:agentguard:problem:too-large")
    assert "262,144 opening brackets" in refused.json()["detail"]


def test_more_than_may_be_under_way_are_told_to_come_again(make_client: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    began, go = threading.Event(), threading.Event()

    class Slow(VerificationEngine):
        def verify(self, *args: Any, **options: Any) -> Any:
            began.set()
            assert go.wait(60)
            return super().verify(*args, **options)

    monkeypatch.setattr(api, "MOST_UNDER_WAY", 1)
    with make_client(Slow()) as client, ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.post, "/v1/verify", json={"tool": "t"})
        assert began.wait(60)
        healthy = client.get("/healthz")  # the event loop goes on meanwhile
        second = client.post("/v1/verify", json={"tool": "t"})
        go.set()
        assert first.result(60).status_code == 200
        third = client.post("/v1/verify", json={"tool": "t"})

    assert healthy.status_code == 200
    assert (second.status_code, second.headers["retry-after"]) == (429, "1")
    assert third.status_code == 200


@pytest.mark.parametrize("policy", [Policy(on_flag="review"), Policy(on_block="end")])
def test_a_policy_that_asks_or_ends_is_refused(policy: Policy, key: str) -> None:
    with pytest.raises(ConfigurationError, match="over HTTP"):
        create_app(VerificationEngine(), policy, api_key=key)


def test_a_size_that_is_none_is_refused(key: str) -> None:
    for name in ("max_body_bytes", "max_text_bytes"):
        with pytest.raises(ConfigurationError, match=name):
            create_app(VerificationEngine(), api_key=key, **{name: 0})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def any_client() -> TestClient:
    engine = VerificationEngine()
    engine.register_tool_profile("mail", content={"pii": "redact", "secrets": "redact", "injection": "flag"})
    return TestClient(create_app(engine, api_key="test-key-0123456789"), headers={"X-API-Key": "test-key-0123456789"})


@given(args=json_values, result=json_values)
def test_any_json_is_judged(any_client: TestClient, args: Any, result: Any) -> None:
    answer = any_client.post("/v1/verify", json={"tool": "mail", "args": args, "result": result})

    body = answer.json()
    assert answer.status_code == 200
    assert body["action"] in ("pass", "annotate", "replace")
    assert (body["action"] == "replace" or bool(body["redacted"])) is ("result" in body)


def test_every_operation_has_an_example_that_it_takes(client: TestClient) -> None:
    document = client.get("/openapi.json").json()

    schemas = document["components"]["schemas"]
    tried = []
    for path, item in document["paths"].items():
        for operation in item.values():
            if "requestBody" in operation:
                name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
                for example in schemas[name]["examples"]:
                    answer = client.post(path.replace("{id}", "0123456789ab"), json=example)
                    tried.append((path, answer.status_code))
    assert tried == [
        ("/v1/verify", 200), ("/v1/scan", 200), ("/v1/ground", 200), ("/v1/ground", 200), ("/v1/check", 200),
        ("/v1/feedback", 200), ("/v1/changes/{id}", 404), ("/beta/litellm_basic_guardrail_api", 200),
    ]  # fmt: skip


def test_the_guard_needs_no_server_to_be_imported() -> None:
    code = "import sys, agentguard.guard; sys.exit('fastapi' in sys.modules or 'starlette' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_the_server_judges_by_its_profiles_and_goes_on_from_its_store(
    serve: Callable[..., Any], profiles: Path, tmp_path: Path, swapped: dict[str, Any]
) -> None:
    with DiskStore(tmp_path / "store") as store, VerificationEngine(store=store) as engine:
        learn_orders(engine)
    server = serve("--store", tmp_path / "store", "--profiles", profiles, "--on-block", "raise")

    status, missing = server.ask("/v1/verify", {"tool": "weather", "result": {"answer": "nice"}})
    assert (status, missing["verdict"], missing["action"]) == (200, "block", "raise")
    assert server.ask("/v1/verify", swapped)[1]["action"] == "raise"
    assert "/live/state" in server.ask("/openapi.json")[1]["paths"]  # the store's page is beside it
