"""The monitor: what it tells, keeps and survives."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError, DataError, StoreError
from agentguard.health import HealthResult, LLMCall, LLMMonitor
from agentguard.stores import MemoryStore
from agentguard.stores._disk import DiskStore

from ..rows import over

USUAL = LLMCall("m", "It is mild in Oslo.", 100.0, tokens=50)


def taught(monitor: LLMMonitor, call: LLMCall = USUAL, times: int = 5) -> LLMMonitor:
    for _ in range(times):
        monitor.record(call)
    return monitor


def test_models_have_baselines_of_their_own() -> None:
    monitor = taught(taught(LLMMonitor()), USUAL._replace(model="slow", latency_ms=5000.0))

    assert (monitor.baseline("m").latency_ms, monitor.baseline("slow").latency_ms) == (
        pytest.approx(100.0), pytest.approx(5000.0),
    )  # fmt: skip
    assert monitor.record(USUAL._replace(latency_ms=5000.0)).health == "degraded"
    assert monitor.record(USUAL._replace(model="slow", latency_ms=5000.0)).health == "stable"
    assert monitor.baseline("unknown").calls == 0


def test_settings_reach_the_engines() -> None:
    only_latency = {"token_rate": 0.0, "fingerprint": 0.0}
    monitor = taught(LLMMonitor(min_samples=2, alpha=0.5, latency=(0.1, 0.2), weights=only_latency), times=2)

    assert monitor.record(USUAL._replace(latency_ms=115.0)).score == pytest.approx(0.75)  # 0.15 / 0.2
    assert monitor.baseline("m").latency_ms == pytest.approx(107.5)


@over(
    ("given_", "message"),
    [
        ({"alpha": 0.0}, "alpha must be above 0"),
        ({"alpha": 1.5}, "alpha must be above 0"),
        ({"min_samples": 0}, "min_samples must be a whole number from 1"),
        ({"adapt_after": True}, "adapt_after must be"),
        ({"adapt_after": -1}, "adapt_after must be a whole number from 0"),
        ({"limits": (0.5, 0.2, 0.7)}, "limits must be three scores"),
        ({"limits": (0.2, 0.5)}, "limits must be three scores"),
        ({"engines": [7]}, r"an engine must be a function \(call, baseline\) -> EngineResult, not a int"),
        ({"max_models": 0}, "max_models must be"),
        ({"method": "euclid"}, "method must be 'weighted' or 'cosine'"),
        ({"latency": (3.0, 1.5)}, "latency must be two thresholds"),
        ({"fingerprint": (0.3, float("nan"))}, "fingerprint must be two thresholds"),
        ({"token_rate": (0.3,)}, "token_rate must be two thresholds"),
        ({"weights": {"latency": -1.0}}, "weights must be finite"),
        ({"alpha": 2.0, "min_samples": 0}, "alpha .*; min_samples"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(given_: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        LLMMonitor(**given_)


def test_results_are_told(caplog: pytest.LogCaptureFixture) -> None:
    told: list[HealthResult] = []
    assert LLMMonitor(on_result=told.append).record(USUAL) == told[0]

    def fail(result: HealthResult) -> None:
        raise ValueError("about Oslo")

    with caplog.at_level(logging.ERROR, logger="agentguard"):
        assert LLMMonitor(on_result=fail).record(USUAL).model == "m"
    assert [record.getMessage() for record in caplog.records] == ["on_result failed for 'm': ValueError"]


@pytest.mark.parametrize("call", [None, "m", LLMCall(None), LLMCall("m", 7), LLMCall("m", "x", expects="prose")])  # type: ignore[arg-type]  # on purpose
def test_what_cannot_be_judged_is_unknown(call: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger="agentguard"):
        found = LLMMonitor().record(call)

    assert (found.score, found.health) == (None, "unknown")
    assert len(caplog.records) == 1


def test_a_name_is_text() -> None:
    with pytest.raises(DataError, match="must be text, not int"):
        LLMMonitor().baseline(7)  # type: ignore[arg-type]  # on purpose


def test_threads_lose_no_call() -> None:
    monitor, barrier = LLMMonitor(max_models=3), Barrier(4)

    def work() -> None:
        barrier.wait()
        for number in range(300):
            monitor.record(USUAL._replace(model=f"m{number % 3}"))

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [monitor.baseline(f"m{number}").calls for number in range(3)] == [400, 400, 400]


@given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None)), st.floats(0, 1e300))
def test_any_model_and_text_can_be_kept(model: str, text: str, latency_ms: float) -> None:
    store = MemoryStore()
    with LLMMonitor(store) as monitor:
        monitor.record(LLMCall(model, text, latency_ms))

    assert LLMMonitor(store).baseline(model).calls == 1


# --- Stores ---


def test_a_monitor_goes_on_from_its_store(tmp_path: Path) -> None:
    with DiskStore(tmp_path) as store, LLMMonitor(store) as monitor:
        taught(monitor)
    with DiskStore(tmp_path) as store, LLMMonitor(store) as monitor:
        found = monitor.record(USUAL._replace(latency_ms=400.0))

    assert found.score == pytest.approx(0.546875)  # as in test_assessment
    with DiskStore(tmp_path) as store:
        assert list(store.names()) == ["health:m"]
        assert "Oslo" not in str(store.load())


def test_flushing_saves_what_changed() -> None:
    store = MemoryStore()
    monitor = taught(LLMMonitor(store))
    assert store.names() == ()
    monitor.flush()
    assert store.names() == ("health:m",)
    store.forget(["health:m"])
    monitor.flush()
    assert store.names() == ()


def test_without_a_store_there_is_nothing_to_flush() -> None:
    with taught(LLMMonitor()) as monitor:
        monitor.flush()

    assert monitor.baseline("m").calls == 5


def test_models_for_which_there_is_no_room_wait_in_the_store() -> None:
    store = MemoryStore()
    monitor = LLMMonitor(store, max_models=2)
    for name in ("a", "b", "a", "c"):
        monitor.record(USUAL._replace(model=name))

    assert store.names() == ("health:b",)
    assert len(monitor._models) == 2
    assert monitor.baseline("b").calls == 1
    assert monitor.baseline("a").calls == 2


def test_a_damaged_document_is_put_aside(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    store.save({"health:m": {"version": 99}})

    with caplog.at_level(logging.ERROR, logger="agentguard"), LLMMonitor(store) as monitor:
        monitor.record(USUAL)

    assert "kept as 'damaged:health:m': it has version 99" in caplog.text
    assert store.load(["damaged:health:m"]) == {"damaged:health:m": {"version": 99}}
    assert LLMMonitor(store).baseline("m").calls == 1


class Unreachable(MemoryStore):
    """A store that can be lost and found."""

    lost = False

    def save(self, documents: Mapping[str, Mapping[str, Any]], /) -> None:
        if self.lost:
            raise StoreError("no route to it")
        super().save(documents)

    def load(self, names: Iterable[str] | None = None, /) -> dict[str, Mapping[str, Any]]:
        if self.lost:
            raise StoreError("no route to it")
        return super().load(names)


def test_a_store_that_is_lost_costs_nothing_and_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    store = Unreachable()
    taught(LLMMonitor(store), times=20).flush()
    store.lost = True
    monitor = LLMMonitor(store)

    with caplog.at_level(logging.WARNING, logger="agentguard"):
        taught(monitor, times=7)
        monitor.flush_quietly()
        monitor.flush_quietly()
        with pytest.raises(StoreError, match="no route"):
            monitor.flush()
        assert monitor.baseline("m").calls == 7
        store.lost = False
        monitor.flush()

    # What was learned before rests on more calls than what was learned without it.
    assert LLMMonitor(store).baseline("m").calls == 20
    assert [record.getMessage() for record in caplog.records] == [
        "the store cannot be used, models are watched without it: no route to it",
        "the store can be reached again; what was learned of models meanwhile is in it now",
    ]


def test_what_was_learned_without_the_store_stands_where_it_is_more() -> None:
    store = Unreachable()
    taught(LLMMonitor(store), times=3).flush()
    store.lost = True
    monitor = taught(LLMMonitor(store), times=7)
    store.lost = False
    monitor.close()

    assert LLMMonitor(store).baseline("m").calls == 7


class Flushing(MemoryStore):
    """A store for which a thread flushes, though not before the end of the process."""

    flush_seconds = 3600.0


def test_the_end_of_the_interpreter_flushes(tmp_path: Path) -> None:
    code = """
import sys
from agentguard.health import LLMCall, LLMMonitor
from agentguard.stores import DiskStore

monitor = LLMMonitor(DiskStore(sys.argv[1]))
monitor.record(LLMCall("m", "It is mild.", 100.0))
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)

    with DiskStore(tmp_path) as store:
        assert LLMMonitor(store).baseline("m").calls == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_does_not_save_what_is_its_parents() -> None:
    monitor = taught(LLMMonitor(Flushing()))
    with monitor._lock:
        monitor.forked()  # as the flusher does in the child, where a lock may be held by a thread that is not there

    monitor.close()
    assert monitor._store is not None
    assert monitor._store.names() == ()
    assert monitor.record(USUAL).health == "stable"
