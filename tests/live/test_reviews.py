"""A label for a call, once, whoever clicks how often and wherever."""

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from agentguard.calibration import labels_in_store
from agentguard.errors import StoreError
from agentguard.stores import DiskStore, MemoryStore
from agentguard.verification import VerificationEngine


def number_of(client: TestClient, call_id: str | None) -> int:
    (found,) = [shown for shown in client.get("/live/state").json()["verdicts"] if shown["call_id"] == call_id]
    return int(found["sequence"])


def review(client: TestClient, sequence: int, was_hallucination: bool = True, **more: Any) -> Any:
    return client.post("/live/reviews", json={"sequence": sequence, "was_hallucination": was_hallucination, **more})


def labels(store: Any) -> list[dict[str, Any]]:
    return [dict(record.event) for record in store.events("feedback")]


def test_a_review_is_the_label_that_record_feedback_would_give(shop: Any, client: TestClient) -> None:
    answer = review(client, number_of(client, "bad"))

    assert answer.status_code == 200
    assert answer.json()["label"]["was_hallucination"] is True
    (written,) = labels(shop.store)
    verdict = next(record.event for record in shop.store.events("audit") if record.event["call_id"] == "bad")
    shop.engine.record_feedback("get_order", verdict["posterior"], True, call_id="bad")
    assert labels(shop.store) == [written, written]


def test_the_call_leaves_the_queue(client: TestClient) -> None:
    before = client.get("/live/state").json()
    sequence = before["queue"]["verdicts"][0]["sequence"]
    review(client, sequence, False)
    after = client.get("/live/state").json()

    assert after["queue"]["waiting"] == before["queue"]["waiting"] - 1
    assert sequence not in [shown["sequence"] for shown in after["queue"]["verdicts"]]
    assert after["tools"]["rows"][0]["genuine"] == 1
    assert after["position"] != before["position"]


def test_a_second_review_is_refused(shop: Any, client: TestClient) -> None:
    sequence = number_of(client, "bad")
    first = review(client, sequence)

    again, otherwise = review(client, sequence), review(client, sequence, False)

    assert (first.status_code, again.status_code, otherwise.status_code) == (200, 409, 409)
    assert otherwise.json()["type"] == "urn:agentguard:problem:reviewed"
    assert len(labels(shop.store)) == 1


def test_a_label_from_elsewhere_counts_too(shop: Any, client: TestClient) -> None:
    sequence = number_of(client, "bad")
    verdict = next(shown for shown in client.get("/live/state").json()["verdicts"] if shown["call_id"] == "bad")
    shop.engine.record_feedback("get_order", verdict["posterior"], False, call_id="bad")

    assert review(client, sequence).status_code == 409


def test_a_mistake_is_corrected_by_name(shop: Any, client: TestClient) -> None:
    sequence = number_of(client, "bad")
    wrong = review(client, sequence, False).json()["label"]["sequence"]

    assert review(client, sequence, True, corrects=wrong + 1).status_code == 409
    right = review(client, sequence, True, corrects=wrong)
    assert right.status_code == 200
    assert review(client, sequence, False, corrects=wrong).status_code == 409  # it is not the last word any more
    assert review(client, sequence, True, corrects=right.json()["label"]["sequence"]).json() == right.json()

    assert [label["was_hallucination"] for label in labels(shop.store)] == [False, True]
    found = labels_in_store(shop.store)
    assert [label.fabricated for label in found.labels] == [True]
    assert found.corrected == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"sequence": 10**9, "was_hallucination": True}, 404),
        ({"sequence": 0, "was_hallucination": True}, 404),
        ({"sequence": 2**53, "was_hallucination": True}, 422),
        ({"sequence": 1}, 422),
        ({"sequence": 1, "was_hallucination": "true"}, 422),
        ({"sequence": 1, "was_hallucination": 1}, 422),
        ({"sequence": 1, "was_hallucination": None}, 422),
        ({"sequence": 1, "was_hallucination": True, "tool": "x"}, 422),
        ({"sequence": 1, "was_hallucination": True, "corrects": -1}, 422),
        ([], 422),
    ],
)
def test_what_is_no_review_changes_nothing(shop: Any, client: TestClient, body: Any, status: int) -> None:
    assert client.post("/live/reviews", json=body).status_code == status
    assert labels(shop.store) == []


def test_a_call_without_a_name_cannot_be_reviewed(shop: Any, client: TestClient) -> None:
    answer = review(client, number_of(client, None))

    assert (answer.status_code, answer.json()["type"]) == (409, "urn:agentguard:problem:nameless")
    assert labels(shop.store) == []


def test_of_many_who_click_at_once_one_is_heard(shop: Any, client: TestClient) -> None:
    sequence = number_of(client, "bad")
    ready = threading.Barrier(8)

    def click(n: int) -> int:
        ready.wait(60)
        return int(review(client, sequence, n % 2 == 0).status_code)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(click, range(8)))

    assert sorted(answers) == [200] + [409] * 7
    assert len(labels(shop.store)) == 1


def test_of_two_servers_one_is_heard(tmp_path: Path, shop: Any, key: str, make_app: Callable[..., Any]) -> None:
    """Each with a store of its own on the same folder; the second reads on before the first has written."""
    with DiskStore(shop.store.folder) as mine, DiskStore(shop.store.folder) as other:
        headers = {"X-API-Key": key}
        with (
            TestClient(make_app(mine), headers=headers) as first,
            TestClient(make_app(other), headers=headers) as second,
        ):
            sequence = number_of(second, "bad")
            append = mine.append

            def late(kind: str, event: Any, /) -> int:
                assert review(second, sequence, False).status_code == 409
                return append(kind, event)

            mine.append = late  # type: ignore[method-assign] - the other server is asked while this one writes
            assert review(first, sequence).status_code == 200

    assert [label["was_hallucination"] for label in labels(shop.store)] == [True]


class Flaky(MemoryStore):
    """A store that takes labels only when it is well."""

    failing = False

    def append(self, kind: str, event: Any, /) -> int:
        if self.failing and kind == "feedback":
            raise StoreError("it is gone")
        return super().append(kind, event)


def test_what_cannot_be_written_is_told_and_can_be_tried_again(
    make_shop: Any, key: str, make_app: Callable[..., Any]
) -> None:
    store = Flaky()
    make_shop(store, audit_rate=1.0).fabricated("bad")
    with TestClient(make_app(store), headers={"X-API-Key": key}) as client:
        (waiting,) = client.get("/live/queue").json()["verdicts"]
        store.failing = True

        answer = review(client, waiting["sequence"])
        assert (answer.status_code, answer.json()["type"]) == (503, "urn:agentguard:problem:store")
        assert "gone" not in answer.text
        store.failing = False

        assert review(client, waiting["sequence"]).status_code == 200
    assert len(labels(store)) == 1


WORKER = """
import sys
from agentguard.stores import DiskStore
from agentguard.verification import VerificationEngine

with DiskStore(sys.argv[1], flush_seconds=3600.0) as store, VerificationEngine(store=store) as engine:
    def prior():
        return engine.verify("get_order", args={"id": "W1"}, result={"id": "W1"}, learn=False).prior
    print(prior(), flush=True)
    sys.stdin.readline()
    engine.flush()
    print(prior(), flush=True)
"""


def test_an_engine_in_another_process_learns_of_it(shop: Any, client: TestClient) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, str(shop.store.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdout is not None
        before = float(worker.stdout.readline())
        assert review(client, number_of(client, "bad")).status_code == 200
        after = float(worker.communicate("\n", timeout=60)[0])

    # The prior has the weight of 40 calls (calibration.STRENGTH), and one label is the 41st.
    assert before == pytest.approx(0.15)
    assert after == pytest.approx((0.15 * 40 + 1) / 41)


def test_an_engine_that_begins_later_knows_it(shop: Any, client: TestClient) -> None:
    review(client, number_of(client, "bad"))
    with VerificationEngine(store=shop.store) as engine:
        assert engine.verify("get_order", result={"id": "W1"}, learn=False).prior == pytest.approx((0.15 * 40 + 1) / 41)
