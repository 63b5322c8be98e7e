"""A store that has lost what it held: noticed, said once, and made whole from what workers know."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Any

import pytest

from agentguard.stores import DiskStore, MemoryStore
from agentguard.verification import VerificationEngine
from agentguard.verification._changes import CHANGES

KEPT = 3600.0  # seconds: nothing is handed over but by ``flush``


class Wiped(MemoryStore):
    """On a server that may be emptied, or set back to an earlier copy."""

    flush_seconds: float | None = KEPT

    def wipe(self) -> None:
        self.__dict__.update(MemoryStore().__dict__)


def learn(engine: VerificationEngine, tool: str = "price", calls: int = 40) -> None:
    for number in range(calls):
        engine.verify(tool, args={"n": number}, result={"price": 100.0 + number % 7}, execution_time_ms=20.0)


def break_(engine: VerificationEngine, calls: int = 4) -> list[str]:
    return [
        engine.verify("price", args={"n": n}, result={"price": None}, execution_time_ms=20.0).verdict
        for n in range(100, 100 + calls)
    ]


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "has lost" in record.getMessage()]


def test_labels_that_come_after_are_heeded(caplog: pytest.LogCaptureFixture) -> None:
    store = Wiped()
    one, other = VerificationEngine(store=store), VerificationEngine(store=store)
    learn(one)
    learn(other)
    for _ in range(3):
        one.record_feedback("price", 0.9, False)
    other.flush()
    before = other.thresholds("price").prior
    store.wipe()
    one.record_feedback("price", 0.9, True)
    other.flush()
    assert other.thresholds("price").prior > before
    one.flush()
    other.flush()
    assert len(errors(caplog)) == 2  # once a worker
    assert "all that it held" in errors(caplog)[0]


def test_documents_and_decisions_are_handed_over_again_once() -> None:
    store = Wiped()
    one, other = VerificationEngine(store=store), VerificationEngine(store=store)
    learn(one)
    assert "accept" not in break_(one)
    (change,) = one.changes()
    one.reject(change)
    one.flush()
    other.flush()
    store.wipe()
    one.flush()
    other.flush()
    one.flush()
    (again,) = one.changes()
    assert (again.id, again.state, again.reviewed, again.what) == (change.id, "fault", True, change.what)
    assert [record.event["state"] for record in store.events(CHANGES)] == ["fault"]
    later = VerificationEngine(store=store)
    assert set(break_(later)) == {"block"}
    assert learn(later, calls=1) is None


def test_a_store_that_was_set_back_to_a_copy_is_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder, copy = tmp_path / "store", tmp_path / "copy"
    with DiskStore(folder, flush_seconds=KEPT) as store:
        engine = VerificationEngine(store=store)
        learn(engine)
        engine.record_feedback("price", 0.9, False)
        engine.flush()
        with DiskStore(folder) as quiet:  # the last to close brings all into one file
            quiet.standing([])
        shutil.copytree(folder, copy)
        engine.record_feedback("price", 0.9, False)
        engine.record_feedback("price", 0.9, False)
        assert "accept" not in break_(engine)
        engine.adopt(engine.changes()[0])
        engine.flush()
        shutil.rmtree(folder)
        shutil.copytree(copy, folder)
        engine.flush()
        assert "the newest events of feedback and changes" in errors(caplog)[0]
        before = engine.thresholds("price").prior
        with DiskStore(folder, flush_seconds=KEPT) as opened:
            VerificationEngine(store=opened).record_feedback("price", 0.9, True)
        engine.flush()
        assert engine.thresholds("price").prior > before
        assert [(change.state, change.reviewed) for change in engine.changes()] == [("adopted", True)]


def test_a_folder_that_was_removed_under_way_is_made_anew_and_nothing_acknowledged_is_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "store"
    with DiskStore(folder, flush_seconds=KEPT) as store:
        engine = VerificationEngine(store=store)
        learn(engine)
        engine.flush()
        shutil.rmtree(folder)
        assert engine.record_feedback("price", 0.9, True).counted
        learn(engine, calls=5)
        engine.close()
    assert any("removed or replaced while it was open" in record.getMessage() for record in caplog.records)
    with DiskStore(folder) as opened:
        assert [record.event["tool"] for record in opened.events("feedback")] == ["price"]
        learned: Any = opened.load(["calibrated:price"])["calibrated:price"]["learned"]
        assert learned["~ToolMemory"]["count"] == 45
    assert folder.stat().st_mode & 0o077 == 0


def test_nothing_is_said_of_a_store_that_only_grew_or_was_pruned(caplog: pytest.LogCaptureFixture) -> None:
    store = Wiped()
    engine = VerificationEngine(store=store)
    learn(engine)
    engine.record_feedback("price", 0.9, True)
    engine.flush()
    store.prune(0.0)
    engine.record_feedback("price", 0.9, True)
    engine.flush()
    with caplog.at_level(logging.ERROR):
        engine.flush()
    assert errors(caplog) == []
