"""Labels of calls and decisions on lasting changes, over HTTP, with several workers on one store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from agentguard.errors import StoreError
from agentguard.stores import DiskStore, MemoryStore
from agentguard.verification import VerificationEngine

from .servers import learn_orders

Make = Callable[..., TestClient]


def change(client: TestClient) -> str:
    """Calls that are odd in the same way, as many as make a lasting change; its id."""
    ids = set()
    for n in range(5):
        call = {"tool": "get_order", "args": {"id": f"W{900 + n}"}, "result": {"id": f"X{n}", "total": 23.0}}
        ids.add(client.post("/v1/verify", json={**call, "call_id": f"bad{n}"}).json()["change"])
    (id_,) = ids
    return str(id_)


class Worker:
    """One of several servers on a store."""

    def __init__(self, engine: VerificationEngine, client: TestClient) -> None:
        self.engine, self.client = engine, client


@pytest.fixture
def workers(tmp_path: Path, make_client: Make) -> Iterator[list[Worker]]:
    with ExitStack() as stack:
        engines = [
            stack.enter_context(VerificationEngine(store=stack.enter_context(DiskStore(tmp_path / "store"))))
            for _ in range(2)
        ]
        yield [Worker(engine, make_client(engine)) for engine in engines]


def test_what_one_worker_is_told_another_on_the_store_heeds(workers: list[Worker], swapped: dict[str, Any]) -> None:
    one, other = workers
    learn_orders(one.engine)
    id_ = change(one.client)
    one.engine.flush()

    (listed,) = other.client.get("/v1/changes").json()["changes"]
    decided = other.client.post(f"/v1/changes/{listed['id']}", json={"state": "adopted"}).json()
    other.engine.flush()
    one.engine.flush()

    assert listed["id"] == id_
    assert (listed["tool"], listed["state"], listed["calls"], listed["reviewed"]) == ("get_order", "open", 5, False)
    assert (decided["state"], decided["reviewed"]) == ("adopted", True)
    again = {**swapped, "args": {"id": "W998"}, "learn": False}
    assert one.client.post("/v1/verify", json=again).json()["verdict"] == "accept"


def test_a_decision_that_stands_is_no_second_event(workers: list[Worker]) -> None:
    one, _ = workers
    learn_orders(one.engine)
    id_ = change(one.client)
    one.engine.flush()

    answers = [one.client.post(f"/v1/changes/{id_}", json={"state": "fault"}).json() for _ in range(2)]

    assert answers[0] == answers[1]
    assert answers[0]["state"] == "fault"


def test_changes_of_one_tool(client: TestClient) -> None:
    change(client)

    assert len(client.get("/v1/changes?tool=get_order").json()["changes"]) == 1
    assert client.get("/v1/changes?tool=search").json() == {"changes": []}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/changes/0123456789ab", {"state": "fault"}, 404),
        ("/v1/changes/0123456789ab", {"state": "open"}, 422),
        ("/v1/changes/0123456789ab", {}, 422),
        ("/v1/changes/0123", {"state": "fault"}, 422),
        ("/v1/changes/0123456789AB", {"state": "fault"}, 422),
        ("/v1/changes/", {"state": "fault"}, 404),
    ],
)
def test_a_decision_on_what_is_not_there(client: TestClient, path: str, body: dict[str, str], status: int) -> None:
    assert client.post(path, json=body).status_code == status


def test_a_decision_must_be_declared_as_json(client: TestClient) -> None:
    assert client.post("/v1/changes/0123456789ab", content=b'{"state": "fault"}').status_code == 415


def test_a_label_of_a_call_counts_once_and_the_latest_stands(client: TestClient, swapped: dict[str, Any]) -> None:
    client.post("/v1/verify", json={**swapped, "call_id": "bad"})
    label = {"tool": "get_order", "call_id": "bad", "was_hallucination": True}

    first, second = (client.post("/v1/feedback", json=label).json() for _ in range(2))
    third = client.post("/v1/feedback", json={**label, "was_hallucination": False}).json()

    assert first == {"counted": True, "note": ""}
    assert second["counted"] is False
    assert third["counted"] is True
    assert "this label replaces it" in third["note"]


def test_a_label_without_a_call_counts_for_the_tool(client: TestClient) -> None:
    answer = client.post("/v1/feedback", json={"tool": "get_order", "was_hallucination": False, "posterior": 0.3})

    assert answer.json() == {"counted": True, "note": ""}


@pytest.mark.parametrize(
    "body",
    [
        {"tool": "t"}, {"tool": "t", "was_hallucination": "yes"}, {"was_hallucination": True},
        {"tool": "t", "was_hallucination": True, "posterior": 2},
    ],
)  # fmt: skip
def test_a_label_that_is_none(client: TestClient, body: dict[str, Any]) -> None:
    assert client.post("/v1/feedback", json=body).status_code == 422


class _Down(MemoryStore):
    def append(self, *args: Any, **options: Any) -> int:
        raise StoreError("no route to secret.host")

    def events(self, *args: Any, **options: Any) -> Any:
        raise StoreError("no route to secret.host")


def test_a_store_that_is_away_is_a_problem_and_nothing_of_it_is_told(make_client: Make) -> None:
    client = make_client(VerificationEngine(store=_Down()))

    label = client.post("/v1/feedback", json={"tool": "t", "was_hallucination": True})
    listed = client.get("/v1/changes")

    for answer in (label, listed):
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")
        assert "secret.host" not in answer.text
    assert client.post("/v1/verify", json={"tool": "t", "result": 1}).json()["verdict"] == "accept"
