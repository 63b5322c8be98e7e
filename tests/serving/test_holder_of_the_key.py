"""What the server's key opens: everything that the server answers, and nothing of what it does not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from agentguard.guard.api import create_app
from agentguard.live import live_part
from agentguard.serving import _app as serving
from agentguard.serving._app import ServiceKey, assemble
from agentguard.stores import DiskStore
from agentguard.verification import VerificationEngine

KEY = "test-key-0123456789"
OTHERS = "quillwort"  # a word of somebody else's arguments and results
PATTERN = "snickersnack"  # one of a profile
PROFILE: dict[str, Any] = {"required_fields": ["id"], "response_patterns": [f"id|{PATTERN}"]}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DiskStore]:
    with DiskStore(tmp_path / "store") as made:
        yield made


@pytest.fixture
def engine(store: DiskStore) -> Iterator[VerificationEngine]:
    """One that has judged somebody else's calls, the last of which began a change."""
    with VerificationEngine(store=store, keep_reviewed="redacted") as made:
        made.register_tool_profile("order", **PROFILE)
        for n in range(40):
            made.verify("order", args={"by": OTHERS, "n": n}, result={"id": n, "memo": OTHERS}, call_id=f"c{n}")
        for n in range(1, 4):
            made.verify("order", args={"by": OTHERS, "n": -n}, result={"memo": OTHERS * n}, call_id=f"bad {n}")
        yield made


def test_who_may_ask_for_verdicts_reads_no_call_of_others_no_profile_and_no_store(engine: VerificationEngine) -> None:
    client = TestClient(create_app(engine, api_key=KEY), headers={"X-API-Key": KEY})
    (change,) = client.get("/v1/changes").json()["changes"]
    operations = {
        (method, path): operation
        for path, methods in client.get("/openapi.json").json()["paths"].items()
        for method, operation in methods.items()
    }
    bodies: dict[str, list[Any]] = {
        "/v1/verify": [
            {"tool": tool, "args": {"by": "?"}, "result": result, "call_id": "c1", **more}
            for tool in ("order", "other", "calibrated:order")
            for result in (None, {}, {"id": 1}, {"id": 1, "memo": "?"}, {"memo": 7}, "memo", [])
            for more in ({}, {"required_fields": [], "profile": {"required_fields": []}})
        ],
        "/v1/feedback": [{"tool": "order", "call_id": "bad 1", "was_hallucination": False, "posterior": 0.5}],
        "/v1/changes/{id}": [{"decision": word} for word in ("adopted", "fault")],
    }
    answers = [client.get("/healthz").text, client.get("/openapi.json").text]
    for method, path in operations:
        for body in bodies.get(path, [{"text": "x"}, {}]):
            for asked in (path.replace("{id}", change["id"]), f"{path}?profile=order&tool=order&limit=100"):
                sent = {"content": json.dumps(body), "headers": {"Content-Type": "application/json"}}
                answers.append(client.request(method, asked, **(sent if method != "get" else {})).text)

    assert ("post", "/v1/verify") in operations
    assert any('"verdict"' in answer for answer in answers)
    assert not [answer for answer in answers if OTHERS in answer or PATTERN in answer]
    found = engine.verify("order", result={"memo": "?"}, learn=False)
    assert "required field 'id' is missing" in found.signals["schema_mismatch"].detail
    assert found.verdict != "accept"


@pytest.mark.usefixtures("engine")
def test_beside_the_page_of_a_store_the_same_key_reads_what_the_store_keeps(store: DiskStore) -> None:
    """``agentguard serve --verify --store``: whoever may ask for verdicts is a reader of the live page."""
    app = assemble([live_part(store, ServiceKey(KEY), source="the store")], key=ServiceKey(KEY))
    with TestClient(app, headers={"X-API-Key": KEY}) as client:
        (bad,) = [event.sequence for event in store.events("audit") if event.event["call_id"] == "bad 1"]
        opened = client.get(f"/live/calls/{bad}").json()

    assert OTHERS in opened["kept"]["result"]
    with TestClient(app) as stranger:
        assert stranger.get("/live/queue").status_code == 401


def test_bodies_of_256_mib_are_held_at_most() -> None:
    """That the middleware keeps to its bound is shown in ``test_middleware``."""
    assert serving.MAX_HELD_BYTES == 256 * 2**20
