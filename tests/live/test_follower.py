"""The store's logs, read on."""

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentguard.errors import StoreError
from agentguard.live._board import Board
from agentguard.live._store import CallCounts, Follower
from agentguard.stores import DiskStore, MemoryStore
from agentguard.stores._base import Delta, Record
from agentguard.verification._census import field


class Flaky(MemoryStore):
    """A store that can be out of reach."""

    failing = False

    def events(self, kind: str, /, after: int = 0) -> Iterator[Record]:
        if self.failing:
            raise StoreError("it is gone")
        return super().events(kind, after)


def follow(store: Any) -> tuple[Board, Follower, list[None]]:
    heard: list[None] = []
    board = Board()
    return board, Follower(store, board, every=3600.0, heard=lambda: heard.append(None)), heard


def test_it_reads_what_is_new_and_says_so(shop: Any) -> None:
    board, follower, heard = follow(shop.store)

    follower.catch_up()
    at = board.position
    follower.catch_up()
    assert len(heard) == 1
    shop.fabricated("again")
    shop.engine.record_feedback("get_order", 0.9, True, call_id="bad")
    follower.catch_up()

    assert (board.position.audit, board.position.feedback) == (at.audit + 1, 1)
    assert len(heard) == 2
    assert [shown.call_id for shown in board.newest(1)] == ["again"]
    labels = {shown.call_id: shown.label for shown in board.newest(9)}
    assert labels["bad"] is not None
    assert labels["again"] is None


def test_a_log_longer_than_a_page_is_read_whole(memory: MemoryStore, make_shop: Any) -> None:
    shop = make_shop(memory, audit_rate=1.0)
    shop.genuine(1_100)
    board, follower, _ = follow(memory)

    follower.catch_up()

    (row,) = board.tools().rows
    assert row.accept + row.flag + row.block == 1_100
    assert board.queue(0, 1).waiting == 1_100


def test_events_that_are_none_of_an_engine_are_passed_over(memory: MemoryStore) -> None:
    for kind in ("audit", "feedback"):
        for event in ({}, {"tool": 3}, {"reset": []}, {"reset": "x", "labels": True}, {"tool": "x", "call_id": {}}):
            memory.append(kind, event)
    board, follower, _ = follow(memory)

    follower.catch_up()

    assert board.newest(9) == ()
    assert board.position == (5, 5)


def test_labels_taken_back_by_a_reset_wait_again(shop: Any) -> None:
    board, follower, _ = follow(shop.store)
    follower.catch_up()
    call_id = next(call.call_id for call in board.queue(0, 100).verdicts if call.change is None)
    shop.engine.record_feedback("get_order", 0.9, False, call_id=call_id)
    follower.catch_up()
    waiting = board.queue(0, 1).waiting

    shop.store.append("feedback", {"reset": "get_order"})
    follower.catch_up()
    assert board.queue(0, 1).waiting == waiting
    shop.store.append("feedback", {"reset": "get_order", "labels": True})
    follower.catch_up()

    assert board.queue(0, 1).waiting == waiting + 1


def test_an_outage_is_told_once_and_so_is_its_end(make_shop: Any, caplog: pytest.LogCaptureFixture) -> None:
    store = Flaky()
    shop = make_shop(store, audit_rate=1.0)
    board, follower, heard = follow(store)
    store.failing = True

    with caplog.at_level(logging.INFO, "agentguard.live"):
        for _ in range(3):
            with pytest.raises(StoreError):
                follower.catch_up()
        assert (follower.reaches_store, len(heard)) == (False, 1)
        shop.fabricated("meanwhile")
        store.failing = False
        follower.catch_up()

    assert (follower.reaches_store, len(heard)) == (True, 2)
    assert [shown.call_id for shown in board.newest(9)] == ["meanwhile"]
    assert [record.getMessage() for record in caplog.records if record.name == "agentguard.live"] == [
        "the store cannot be read, the page shows what was read before: it is gone",
        "the store can be read again",
    ]


def test_its_thread_looks_again_until_it_is_stopped(shop: Any) -> None:
    first, second, board = threading.Event(), threading.Event(), Board()

    def heard() -> None:
        newest = [shown.call_id for shown in board.newest(1)]
        (second if newest == ["while it looks"] else first).set()

    follower = Follower(shop.store, board, every=0.01, heard=heard)
    follower.start()

    assert first.wait(60)
    shop.fabricated("while it looks")
    assert second.wait(60)
    follower.stop()

    assert not any(thread.name == "agentguard-live" for thread in threading.enumerate())


def test_its_thread_outlives_a_store_that_raises_what_it_should_not(caplog: pytest.LogCaptureFixture) -> None:
    asked = threading.Semaphore(0)

    class Broken(MemoryStore):
        def events(self, kind: str, /, after: int = 0) -> Iterator[Record]:
            asked.release()
            raise RuntimeError("what was asked of a tool")

    follower = Follower(Broken(), Board(), every=0.001, heard=lambda: None)
    follower.start()
    for _ in range(3):
        assert asked.acquire(timeout=60)
    follower.stop()

    assert "looking at the store failed: RuntimeError" in caplog.text
    assert "what was asked" not in caplog.text


@pytest.fixture
def count() -> Callable[..., None]:
    sent = 0

    def count(store: Any, **calls: int) -> None:
        nonlocal sent
        sent += 1
        store.save({f"calibrated:{tool}": {} for tool in calls})
        store.merge(Delta("w", sent, {tool: {field("calls"): times} for tool, times in calls.items()}))

    return count


def test_calls_are_counted_over_the_hours(tmp_path: Any, count: Callable[..., None]) -> None:
    now = 1_000_000 * 3600.0
    with DiskStore(tmp_path / "s", clock=lambda: now) as store:
        counts = CallCounts(store)
        assert counts.read() == {}
        count(store, a=3, b=1)
        assert counts.read() == {"a": 3, "b": 1}
        count(store, a=2)
        assert counts.read() == {"a": 5, "b": 1}
        now += 3600.0
        count(store, a=10, c=4)
        assert counts.read() == {"a": 15, "b": 1, "c": 4}
        now += 7200.0
        count(store, b=1)

        assert counts.read() == {"a": 15, "b": 2, "c": 4}


def test_calls_are_those_that_the_engine_counted(shop: Any) -> None:
    assert CallCounts(shop.store).read() == {"get_order": 42}
