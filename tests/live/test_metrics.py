"""What Prometheus reads of a store."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from agentguard.live._board import Board, RecordedCall
from agentguard.live._metrics import store_metrics
from agentguard.stores._base import Record
from agentguard.verification._audit import AuditRecord, Judged
from agentguard.verification._changes import change_event

parser = pytest.importorskip("prometheus_client.parser", reason="prometheus-client is not installed")


def samples(text: str) -> dict[tuple[str, ...], float]:
    return {
        (sample.name.removeprefix("agentguard_"), *sample.labels.values()): sample.value
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_it_is_the_table_of_tools(shop: Any, client: TestClient, key: str) -> None:
    sequence = client.get("/live/queue").json()["verdicts"][0]["sequence"]
    client.post("/live/reviews", json={"sequence": sequence, "was_hallucination": False})
    state = client.get("/live/state").json()
    (row,) = state["tools"]["rows"]

    answer = client.get("/metrics")
    found = samples(answer.text)

    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert {name: found[("recorded_verdicts", "get_order", name)] for name in ("accept", "flag", "block")} == {
        name: row[name] for name in ("accept", "flag", "block")
    }
    assert found[("labels", "get_order", "genuine")] == 1
    assert found[("labels", "get_order", "fabricated")] == 0
    assert found[("reviews_waiting", "get_order")] == state["queue"]["waiting"]
    assert found[("newest_record_time_seconds",)] == state["verdicts"][0]["at"]
    assert found[("store_reachable",)] == 1
    client.headers.pop("X-API-Key")
    assert client.get("/metrics").status_code == 401


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_any_name_can_be_a_label(tool: str) -> None:
    board = Board()
    record = AuditRecord(1, 5.0, tool, "c", None, 0.5, None, Judged("flag", 0.15, (), {}, 1.0))
    board.read_on(1, [RecordedCall(record)], 0, ())
    board.read_changes([Record(1, 5.0, change_event("a", tool or "-", "open", what="odd"))])
    board.set_calls({tool: 3})

    found = samples(store_metrics(board, reaches_store=False))

    assert found[("recorded_verdicts", tool, "flag")] == 1
    assert found[("counted_calls", tool)] == 3
    assert found[("recorded_changes", tool or "-", "open")] == 1
    assert found[("store_reachable",)] == 0


def test_a_store_with_nothing_in_it() -> None:
    assert samples(store_metrics(Board(), reaches_store=True)) == {("tools_left_out",): 0, ("store_reachable",): 1}
