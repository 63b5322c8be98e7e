"""Changes that are kept and shared: by workers of one fleet, over restarts, kills and outages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentguard.stores import DiskStore
from agentguard.verification import VerificationEngine
from agentguard.verification._changes import CHANGES, Change, change_event, changes_in, decide
from agentguard.verification._incidents import QUIET_AFTER
from agentguard.verification._snapshot import encode, sealed
from agentguard.verification.types import Trait

from .fleet_of_changes import SCENES
from .test_changes import TOOL, ask, ask_many, ask_renamed, order, renamed
from .test_sharing import SharedStore


@pytest.mark.parametrize("scene", SCENES)
def test_on_one_folder(scene: str, tmp_path: Path) -> None:
    SCENES[scene](str(tmp_path / "kept"))


class Worker:
    """An engine on a shared store, and what it told of."""

    def __init__(self, store: Any, **profile: Any) -> None:
        self.engine = VerificationEngine(store=store, audit_rate=0.0)
        if profile:
            self.engine.register_tool_profile(TOOL, **profile)
        self.told: list[Change] = []
        self.engine.on_change(self.told.append)

    @property
    def states(self) -> list[str]:
        return [change.state for change in self.told]


def trained(store: Any, count: int = 1, **profile: Any) -> list[Worker]:
    """Workers that know what genuine orders look like, and hold what changes."""
    profile = {"on_change": "hold", **profile}
    first = Worker(store, **profile)
    ask_many(first.engine, 0, 100)
    first.engine.flush()
    workers = [first, *(Worker(store, **profile) for _ in range(count - 1))]
    for number, worker in enumerate(workers):
        assert ask_many(worker.engine, 110 + 10 * number, 3) == "aaa"
        worker.engine.flush()
    return workers


def states(store: Any) -> list[str]:
    return [record.event["state"] for record in SharedStore.events(store, CHANGES)]


# --- One fleet ---


def test_what_a_worker_meets_the_others_expect() -> None:
    one, other = trained(SharedStore(), 2)
    ask_renamed(one.engine, 200, 3)
    other.engine.flush()

    assert ask(other.engine, 210, renamed(210)).change == one.told[0].id
    assert (one.states, other.states) == (["open"], ["open"])
    assert [change.since for change in other.told] == [change.since for change in one.told]


def test_a_worker_that_answers_well_does_not_end_what_goes_on_at_another() -> None:
    """Only one machine's cache is stuck: the change is open as long as somebody meets it."""
    store = SharedStore()
    one, other = trained(store, 2)
    ask_renamed(one.engine, 200, 4)
    for round_ in range(4):
        other.engine.flush()
        assert ask_many(other.engine, 300 + 10 * round_, 10) == "a" * 10
        other.engine.flush()
        one.engine.flush()
        assert "a" not in ask_renamed(one.engine, 400 + 10 * round_, 5)
        one.engine.flush()

    assert changes_in(store)[0].state == "open"


def test_it_has_recovered_when_nobody_meets_it_any_more() -> None:
    store = SharedStore()
    one, other = trained(store, 2)
    for place, worker in enumerate((one, other)):
        ask_renamed(worker.engine, 200 + 20 * place, 4)
        worker.engine.flush()
    for place, worker in enumerate((one, other)):
        ask_many(worker.engine, 300 + 20 * place, 10)
    for worker in (one, other, one, other):
        worker.engine.flush()

    assert states(store)[-1] == changes_in(store)[0].state == "recovered"
    assert [worker.engine._persistence.changes.of(TOOL)[0].state for worker in (one, other)] == ["recovered"] * 2


def test_labels_that_nobody_was_there_for_decide_once() -> None:
    """As the live page writes them: to the log of feedback, where no engine runs."""
    store = SharedStore()
    (worker,) = trained(store)
    for number in range(200, 204):
        ask(worker.engine, number, renamed(number), call_id=str(number))
    worker.engine.close()
    (change,) = changes_in(store)
    label = {"tool": TOOL, "confidence_score": 0.9, "call_id": "201", "change": change.id, "verdict": "block"}
    store.append("feedback", {**label, "was_hallucination": True})
    workers = [Worker(store) for _ in range(3)]

    assert states(store) == ["open", "fault"]
    for worker in workers:
        assert ask_renamed(worker.engine, 300, 2) == "bb"
    decide(store, change.id, "adopted")
    for worker in (*workers, Worker(store)):  # the last one reads the label after the decision that came later
        worker.engine.flush()
        assert ask_renamed(worker.engine, 310, 2) == "aa"
    assert states(store) == ["open", "fault", "adopted"]


def test_labels_are_not_claimed_again_by_each_worker_that_starts() -> None:
    store = SharedStore()
    (worker,) = trained(store)
    for number in range(200, 210):
        verdict = ask(worker.engine, number, renamed(number), call_id=str(number))
        worker.engine.record_feedback(TOOL, verdict.posterior, True, str(number))
    worker.engine.close()
    asked: list[str] = []
    store.claim = lambda kind, key, /: asked.append(key) or False  # type: ignore[method-assign, func-returns-value]
    Worker(store).engine.flush()

    assert asked == []


# --- Restarts ---


def restarted(worker: Worker, store: Any, **profile: Any) -> Worker:
    worker.engine.close()
    return Worker(store, **{"on_change": "hold", **profile})


def test_a_restart_begins_no_new_count_of_blocked_calls() -> None:
    store = SharedStore()
    (worker,) = trained(store)
    assert ask_many(worker.engine, 200, 2, order(3)) == "bb"
    worker = restarted(worker, store)
    assert ask_many(worker.engine, 202, 4, order(3)) == "bfff"


def test_a_call_that_is_asked_again_after_a_restart_has_the_verdict_it_had() -> None:
    store = SharedStore()
    (worker,) = trained(store, max_blocks=1)
    first = ask(worker.engine, 200, order(3))
    assert ask_many(worker.engine, 201, 3, order(3)) == "fff"
    worker = restarted(worker, store, max_blocks=1)
    again = ask(worker.engine, 200, order(3))

    assert (first.verdict, again.verdict, again.asked) == ("block", "block", 1)
    assert changes_in(store)[0].calls == 5  # the repeat too


def test_a_mode_is_found_by_processes_that_live_for_one_run_each() -> None:
    store = SharedStore()
    (worker,) = trained(store, on_change="follow")
    for round_ in range(3):
        assert ask_renamed(worker.engine, 200 + 30 * round_, 1) == "ffa"[round_]
        assert ask_many(worker.engine, 203 + 30 * round_, 20) == "a" * 20
        worker = restarted(worker, store, on_change="follow")

    assert changes_in(store)[0].state == "mode"


def test_history_is_told_to_nobody() -> None:
    store = SharedStore()
    (worker,) = trained(store)
    ask_renamed(worker.engine, 200, 4)
    worker.engine.reject(worker.told[0])
    worker = restarted(worker, store)
    ask_renamed(worker.engine, 210, 4)
    worker.engine.flush()

    assert worker.told == []


def test_what_an_adoption_taught_is_saved() -> None:
    store = SharedStore()
    (worker,) = trained(store)
    ask_renamed(worker.engine, 200, 8)
    worker.engine.flush()
    worker.engine.adopt(worker.told[0])
    before = encode(worker.engine._tools.find(TOOL, keep=True).memory)
    worker = restarted(worker, store)

    assert encode(worker.engine._tools.find(TOOL, keep=True).memory) == before


def test_an_adoption_that_has_served_its_time_is_not_waived_anew_at_each_start() -> None:
    store = SharedStore()
    (worker,) = trained(store)
    ask_renamed(worker.engine, 200, 8)
    worker.engine.adopt(worker.told[0])
    ask_renamed(worker.engine, 210, 30)
    ask_many(worker.engine, 300, 60)
    (known,) = worker.engine._tools.find(TOOL, keep=True).incidents
    worker = restarted(worker, store)
    (restored,) = worker.engine._tools.find(TOOL, keep=True).incidents

    assert restored.misses == known.misses > QUIET_AFTER


def test_damaged_incidents_are_begun_anew_and_what_was_learned_is_not(caplog: pytest.LogCaptureFixture) -> None:
    store = SharedStore()
    (worker,) = trained(store)
    ask_renamed(worker.engine, 200, 4)
    worker.engine.close()
    name = f"calibrated:{TOOL}"
    document = store.load([name])[name]
    store.save({name: sealed({**document, "incidents": {"incidents": [7], "same": []}})})
    worker = Worker(store, on_change="hold")

    assert "a" not in ask_renamed(worker.engine, 300, 4)  # by the log of changes
    assert "incidents" in caplog.text
    assert f"damaged:{name}" not in store.names()


def test_a_document_without_incidents_is_read_as_before() -> None:
    store = SharedStore()
    (worker,) = trained(store)
    ask_renamed(worker.engine, 200, 4)
    worker.engine.close()
    name = f"calibrated:{TOOL}"
    document = store.load([name])[name]
    store.save({name: sealed({key: document[key] for key in ("version", "tool", "learned")})})

    assert "a" not in ask_renamed(Worker(store, on_change="hold").engine, 300, 4)


# --- Outages ---


def test_a_change_that_begins_while_the_store_is_gone_is_told_once_when_it_is_back() -> None:
    store = SharedStore()
    (worker,) = trained(store)
    store.gone = True
    assert "a" not in ask_renamed(worker.engine, 200, 6)
    worker.engine._persistence.flush_quietly()
    assert worker.told == []
    store.gone = False
    for _ in range(3):
        worker.engine.flush()

    assert states(store) == ["open"]
    assert worker.told == [changes_in(store)[0]._replace(calls=6, blocked=0)]
    assert changes_in(store)[0].calls == 6


def test_two_workers_that_meet_it_meanwhile_tell_of_it_once() -> None:
    store = SharedStore()
    workers = trained(store, 2)
    store.gone = True
    for place, worker in enumerate(workers):
        ask_renamed(worker.engine, 200 + 10 * place, 4)
    store.gone = False
    for worker in workers * 2:
        worker.engine.flush()

    assert states(store) == ["open"]
    assert [worker.states for worker in workers] == [["open"], ["open"]]
    assert changes_in(store)[0].calls == 8


def test_it_has_come_and_gone_before_the_store_is_back() -> None:
    store = SharedStore()
    (worker,) = trained(store)
    store.gone = True
    ask_renamed(worker.engine, 200, 4)
    ask_many(worker.engine, 210, 4)
    store.gone = False
    for _ in range(2):
        worker.engine.flush()

    assert states(store) == worker.states == ["open", "recovered"]


def test_a_worker_that_starts_in_an_outage_takes_what_it_missed_for_history() -> None:
    store = SharedStore()
    (worker,) = trained(store)
    ask_renamed(worker.engine, 200, 4)
    worker.engine.reject(worker.told[0])
    worker.engine.close()
    store.gone = True
    late = Worker(store)
    ask(late.engine, 300)
    store.gone = False
    late.engine.flush()

    assert late.told == []
    assert ask_renamed(late.engine, 310, 2) == "bb"


def test_a_store_that_fails_at_every_second_event_loses_none() -> None:
    store, appended = SharedStore(), SharedStore.append
    (worker,) = trained(store)
    tried: list[int] = []

    def flaky(kind: str, event: Any, /) -> int:
        tried.append(1)
        store.gone = kind == CHANGES and len(tried) % 2 == 0
        try:
            return appended(store, kind, event)
        finally:
            store.gone = False

    store.append = flaky  # type: ignore[method-assign]
    for round_ in range(5):
        ask_renamed(worker.engine, 200 + 20 * round_, 4)
        ask_many(worker.engine, 204 + 20 * round_, 4)
        worker.engine._persistence.flush_quietly()
        worker.engine._persistence.flush_quietly()

    assert worker.states == states(store)
    assert all(one != other for one, other in zip(states(store), states(store)[1:], strict=False))


def test_events_that_no_engine_wrote_do_no_harm() -> None:
    store = SharedStore()
    (worker,) = trained(store)
    for event in ({}, {"change": 7}, {"change": "a" * 10**6, "tool": TOOL, "state": "fault"}, {"state": "fault"}):
        store.append(CHANGES, event)
    store.append(
        CHANGES, change_event("ffffffffffff", TOOL, "fault", by="review", what="w", traits=[Trait("own", "\ud800")])
    )
    worker.engine.flush()

    assert ask_many(worker.engine, 300, 20) == "a" * 20
    assert worker.states == ["fault"]


def test_a_folder_that_is_opened_again_has_it_all(tmp_path: Path) -> None:
    with DiskStore(tmp_path / "kept", flush_seconds=3600.0) as store:
        (worker,) = trained(store)
        ask_renamed(worker.engine, 200, 4)
        worker.engine.adopt(worker.told[0])
        worker.engine.close()
    with DiskStore(tmp_path / "kept", flush_seconds=3600.0) as store:
        (change,) = Worker(store).engine.changes()
        assert (change.state, change.calls, change.reviewed) == ("adopted", 4, True)
