"""Runs over HTTP: their outcome, their record, how many at once, and how they end before the end."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from agentguard.gate._config import load_config
from agentguard.gate._run import evaluate, open_services
from agentguard.gate.api import _gate as runs
from agentguard.gate.api import create_app
from agentguard.gate.records import open_records
from agentguard.gate.records._base import RunSummary

ASKS = """use_case: help desk of a lamp maker
evaluation: {prompts: prompts.txt}
doc_sources: [{type: local, path: docs}]
"""


def runs_of(root: Path) -> list[RunSummary]:
    records = open_records(load_config(root / ".llm-reliability.yaml"))
    try:
        return records.runs()
    finally:
        records.close()


def test_a_run_is_answered_with_score_decision_and_details(client: TestClient) -> None:
    answer = client.post("/evaluate", json={})

    outcome = answer.json()
    assert answer.status_code == 200
    # One of three claims is false: a risk of 1/3, above the 0.25 up to which is warned.
    assert outcome["score"] == pytest.approx(1 / 3, abs=1e-4)
    assert outcome["decision"] == "block"
    assert {key: outcome[key] for key in ("total_claims", "supported", "weakly_supported", "unsupported")} == {
        "total_claims": 3,
        "supported": 2,
        "weakly_supported": 0,
        "unsupported": 1,
    }
    (false,) = [detail for detail in outcome["details"] if detail["label"] == "unsupported"]
    assert false["claim"].startswith("The warranty of a lamp lasts 60 months")
    assert false["prompt"] == "How long is the warranty?"
    assert false["reasons"]


def test_a_run_can_be_read_afterwards(client: TestClient) -> None:
    outcome = client.post("/evaluate", json={"config_path": ".llm-reliability.yaml"}).json()

    read = client.get(f"/runs/{outcome['run_id']}").json()

    assert read["run"]["status"] == "finished"
    assert read["run"]["score"] == outcome["score"]
    assert read["run"]["decision"] == "block"
    assert read["details"] == outcome["details"]
    assert read["trail"] == [
        "started", "generate_prompts", "run_model", "extract_claims", "retrieve_evidence", "verify_claims",
        "score_risk", "finished",
    ]  # fmt: skip
    assert "process" not in read["run"]


def test_the_history_has_the_newest_run_first(client: TestClient) -> None:
    ids = [client.post("/evaluate", json={}).json()["run_id"] for _ in range(3)]

    def listed(**query: Any) -> list[str]:
        return [run["run_id"] for run in client.get("/history", params=query).json()["runs"]]

    newest_first = sorted(ids, reverse=True)
    assert listed() == newest_first
    assert listed(limit=2) == newest_first[:2]
    assert listed(use_case="help desk of a lamp maker") == newest_first
    assert listed(use_case="another") == []


def test_configurations_have_records_of_their_own(
    root: Path, client: TestClient, make_gate: Callable[..., Path]
) -> None:
    make_gate(root / "other")

    run_id = client.post("/evaluate", json={"config_path": "other/.llm-reliability.yaml"}).json()["run_id"]

    assert client.get("/history").json() == {"runs": []}
    assert client.get(f"/runs/{run_id}").status_code == 404
    in_other = {"config_path": "other/.llm-reliability.yaml"}
    assert client.get(f"/runs/{run_id}", params=in_other).status_code == 200
    assert [run["run_id"] for run in client.get("/history", params=in_other).json()["runs"]] == [run_id]


def test_a_configuration_that_has_changed_counts_at_once(root: Path, client: TestClient) -> None:
    client.post("/evaluate", json={})
    file = root / ".llm-reliability.yaml"
    file.write_text(file.read_text() + "risk_tolerance: {deploy_threshold: 0.4, warn_threshold: 0.5}\n")

    assert client.post("/evaluate", json={}).json()["decision"] == "deploy"


def test_faults_of_a_configuration_are_told_by_their_lines(
    root: Path, client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    (root / "bad.yaml").write_text("use_case: x\npassword: hunter2\ndoc_sources: []\n")

    answer = client.post("/evaluate", json={"config_path": "bad.yaml"})

    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:agentguard:problem:configuration"
    assert "lines 1, 2" in answer.json()["detail"] or "lines 2" in answer.json()["detail"]
    assert "hunter2" not in answer.text
    assert "password" not in answer.text
    assert "password" in caplog.text
    assert "hunter2" not in caplog.text


def test_a_file_that_a_configuration_names_in_vain(root: Path, client: TestClient) -> None:
    (root / "answers.jsonl").write_text('{"prompt": "x", "response": 3}\n')

    answer = client.post("/evaluate", json={})

    assert (answer.status_code, answer.json()["type"]) == (422, "urn:agentguard:problem:configuration")


def test_without_documents_there_is_no_run(tmp_path: Path, key: str) -> None:
    (tmp_path / "answers.jsonl").write_text('{"prompt": "x", "response": "y"}\n')
    (tmp_path / ".llm-reliability.yaml").write_text(
        "use_case: x\nevaluation: {responses: answers.jsonl}\ndoc_sources: [{type: local, path: docs}]\n"
    )
    client = TestClient(create_app(tmp_path, api_key=key), headers={"X-API-Key": key})

    answer = client.post("/evaluate", json={})

    assert (answer.status_code, answer.json()["type"]) == (409, "urn:agentguard:problem:no-documents")
    assert runs_of(tmp_path) == []


# --- With a model under test in place of the recorded answers ---


class Model:
    """Answers when it is let go; tells when it is asked."""

    def __init__(self) -> None:
        self.asked = threading.Semaphore(0)
        self.may_answer = threading.Event()
        self.raises: BaseException | None = None

    def __call__(self, prompt: str) -> str:
        self.asked.release()
        assert self.may_answer.wait(60)
        if self.raises is not None:
            raise self.raises
        return "You can return a lamp within 30 days of delivery."

    def is_asked(self) -> None:
        assert self.asked.acquire(timeout=60)


@pytest.fixture
def model(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    (root / "prompts.txt").write_text("How long can I return a lamp?\n")
    (root / ".llm-reliability.yaml").write_text(ASKS)
    asked = Model()
    monkeypatch.setattr(runs, "open_services", partial(open_services, target=asked))
    yield asked
    asked.may_answer.set()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as made:
        yield made


@pytest.mark.parametrize("at_once", [1, 2])
def test_no_more_runs_at_once_than_allowed(
    root: Path, key: str, model: Model, pool: ThreadPoolExecutor, at_once: int
) -> None:
    client = TestClient(create_app(root, api_key=key, max_running=at_once), headers={"X-API-Key": key})
    under_way = [pool.submit(client.post, "/evaluate", json={}) for _ in range(at_once)]
    for _ in under_way:
        model.is_asked()

    refused = client.post("/evaluate", json={})
    read = client.get("/history")

    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 0
    assert refused.json()["type"] == "urn:agentguard:problem:busy"
    # Reading goes on meanwhile, and sees them.
    assert [run["status"] for run in read.json()["runs"]] == ["running"] * at_once

    model.may_answer.set()
    assert [run.result(60).json()["decision"] for run in under_way] == ["deploy"] * at_once
    assert client.post("/evaluate", json={}).status_code == 200


def test_runs_that_fail_make_room_again(root: Path, key: str, model: Model) -> None:
    client = TestClient(create_app(root, api_key=key, max_running=1), headers={"X-API-Key": key})
    model.may_answer.set()
    model.raises = OSError("the answer was: hunter2")

    assert [client.post("/evaluate", json={}).status_code for _ in range(3)] == [502] * 3


def test_a_run_that_fails_names_stage_and_id_and_quotes_nothing(
    client: TestClient, model: Model, caplog: pytest.LogCaptureFixture
) -> None:
    model.may_answer.set()
    model.raises = OSError("the answer was: hunter2")

    answer = client.post("/evaluate", json={})

    problem = answer.json()
    assert answer.status_code == 502
    assert (problem["type"], problem["stage"]) == ("urn:agentguard:problem:run-failed", "run_model")
    assert "hunter2" not in answer.text + caplog.text
    assert "Traceback" not in answer.text + caplog.text
    read = client.get(f"/runs/{problem['run_id']}").json()
    assert (read["run"]["status"], read["run"]["decision"], read["details"]) == ("failed", None, [])
    assert read["trail"] == ["started", "generate_prompts", "failed"]


def test_what_nobody_foresaw_is_no_traceback_either(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("hunter2")

    monkeypatch.setattr(runs, "open_records", fail)

    answer = client.get("/history")

    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert "ZeroDivisionError in GET /history" in caplog.text
    assert "hunter2" not in answer.text + caplog.text


async def test_a_client_that_goes_away_does_not_end_the_run(
    root: Path, key: str, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()

    def evaluate_and_tell(*arguments: Any, **named: Any) -> Any:
        try:
            return evaluate(*arguments, **named)
        finally:
            ended.set()

    monkeypatch.setattr(runs, "evaluate", evaluate_and_tell)
    app = create_app(root, api_key=key)
    messages = [{"type": "http.request", "body": b"{}", "more_body": False}]

    async def receive() -> dict[str, Any]:
        return messages.pop() if messages else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        raise OSError("nobody is there")

    scope = {
        "type": "http", "method": "POST", "path": "/evaluate", "raw_path": b"/evaluate", "query_string": b"",
        "root_path": "", "scheme": "http", "http_version": "1.1", "server": ("test", 80), "client": ("test", 1),
        "headers": [(b"x-api-key", key.encode()), (b"content-type", b"application/json")],
    }  # fmt: skip
    request = asyncio.create_task(app(scope, receive, send))
    await asyncio.to_thread(model.is_asked)

    request.cancel()
    model.may_answer.set()
    await asyncio.gather(request, return_exceptions=True)

    assert await asyncio.to_thread(ended.wait, 60)
    assert [(run.status, run.decision) for run in runs_of(root)] == [("finished", "deploy")]


def test_a_server_that_stops_ends_a_run_before_its_next_stage(
    root: Path, key: str, model: Model, pool: ThreadPoolExecutor
) -> None:
    app = create_app(root, api_key=key)
    client = TestClient(app, headers={"X-API-Key": key})
    under_way = pool.submit(client.post, "/evaluate", json={})
    model.is_asked()

    app.state.stop()
    model.may_answer.set()

    problem = under_way.result(60).json()
    assert (problem["status"], problem["stage"]) == (503, "extract_claims")
    (run,) = runs_of(root)
    assert (run.run_id, run.status) == (problem["run_id"], "interrupted")
    refused = client.post("/evaluate", json={})
    assert (refused.status_code, "run_id" in refused.json()) == (503, False)
    assert len(runs_of(root)) == 1
    assert client.get("/history").status_code == 200

    config = load_config(root / ".llm-reliability.yaml")
    with open_services(config, target=model) as services:
        assert evaluate(config, services, resume=run.run_id).decision == "deploy"
    assert not model.asked.acquire(blocking=False)  # the answers it gave before are kept
