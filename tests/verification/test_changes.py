"""The log of changes: every event once, whoever else writes, fails or dies; hostile events are passed over."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import DataError, StoreError
from agentguard.stores import DiskStore, MemoryStore, Record
from agentguard.verification._changes import (
    CHANGES,
    DECISIONS,
    MAX_TRAITS,
    MAX_WORDS,
    STATES,
    Change,
    ChangeEvent,
    ChangeLog,
    change_event,
    changes_in,
    decide,
    find_change,
    read_change_event,
)
from agentguard.verification.types import Trait

PRICE = "0a1b2c3d4e5f"
LEVEL = Trait("level", "price", "above")
WORDS = "price is about × 1,000 its usual level"


class Ticking(MemoryStore):
    """Every event has a second of its own, from 1,001 on; the store fails when it is told to.

    Attributes:
        failing: names of the methods that fail.
        answers_lost: they do what they are asked first, as where a connection breaks before the answer.
        calls: how often each was asked.
    """

    def __init__(self, flush_seconds: float | None = 3600.0) -> None:
        self.now = 1_000.0
        super().__init__(clock=self._tick)
        self.flush_seconds = flush_seconds
        self.failing: set[str] = set()
        self.raised: Exception = StoreError("the store at example:6379 does not answer; start it again")
        self.answers_lost = False
        self.calls: dict[str, int] = {}

    def _tick(self) -> float:
        self.now += 1.0
        return self.now

    def _reach(self, name: str, work: Callable[[], Any]) -> Any:
        self.calls[name] = self.calls.get(name, 0) + 1
        if name in self.failing:
            if self.answers_lost:
                work()
            raise self.raised
        return work()

    def append(self, kind: str, event: Mapping[str, Any], /) -> int:
        result: int = self._reach("append", lambda: MemoryStore.append(self, kind, event))
        return result

    def claim(self, kind: str, key: str, /) -> bool:
        result: bool = self._reach("claim", lambda: MemoryStore.claim(self, kind, key))
        return result

    def events(self, kind: str, /, after: int = 0) -> Iterator[Record]:
        result: Iterator[Record] = self._reach("events", lambda: MemoryStore.events(self, kind, after))
        return result


def open_(log: ChangeLog, id_: str = PRICE, tool: str = "get_price") -> None:
    log.tell(id_, tool, "open", WORDS, (LEVEL,))


def recovered(log: ChangeLog, id_: str = PRICE) -> None:
    log.tell(id_, "get_price", "recovered", WORDS, (LEVEL,))


def states(store: MemoryStore, id_: str = PRICE) -> list[str]:
    """The states that the log tells of, in order."""
    return [record.event["state"] for record in MemoryStore.events(store, CHANGES) if record.event["change"] == id_]


class Hearing:
    """Hears of changes from now on."""

    def __init__(self, log: ChangeLog) -> None:
        self.told: list[Change] = []
        log.listen(self.told.append)
        log.flush()

    @property
    def states(self) -> list[str]:
        return [change.state for change in self.told]


def flush(log: ChangeLog) -> None:
    """As an engine does it."""
    log.flush()
    log.announce()


# --- A life ---


def test_a_life_is_one_event_for_each_state() -> None:
    store = Ticking()
    log = ChangeLog(store)
    hearing = Hearing(log)
    open_(log)
    open_(log)
    recovered(log)
    open_(log)
    (change,) = changes_in(store)
    times = [record.at for record in MemoryStore.events(store, CHANGES)]

    assert states(store) == ["open", "recovered", "open"]
    assert hearing.states == ["open", "recovered", "open"]
    assert change == Change(PRICE, "get_price", "open", WORDS, (LEVEL,), times[0], times[2], 0, 0, False)
    assert [change.since for change in hearing.told] == times


def test_since_is_the_time_of_the_log_everywhere() -> None:
    store = Ticking()
    log, other = ChangeLog(store), ChangeLog(store)
    hearing = Hearing(other)
    open_(log)
    decided = decide(store, PRICE, "fault")
    flush(log)
    flush(other)
    (kept,) = changes_in(store)
    (_, last) = MemoryStore.events(store, CHANGES)

    assert kept.since == last.at
    assert decided.since == last.at
    assert log.find(PRICE) == other.find(PRICE) == kept
    assert hearing.told == [log.find(PRICE)._replace(state="open", since=kept.opened, reviewed=False), kept]  # type: ignore[union-attr]


def test_a_decision_that_changes_nothing_keeps_the_time_since_when_it_is_so() -> None:
    store = Ticking()
    open_(ChangeLog(store))
    first, second = decide(store, PRICE, "fault"), decide(store, PRICE, "fault")

    assert first.since == second.since == changes_in(store)[0].since


def test_a_reviewers_word_stands_over_workers_that_had_not_read_it() -> None:
    store = Ticking()
    log = ChangeLog(store)
    open_(log)
    decide(store, PRICE, "fault")
    recovered(log)  # had not read on since

    assert (changes_in(store)[0].state, changes_in(store)[0].reviewed) == ("fault", True)
    assert log.find(PRICE) == changes_in(store)[0]


def test_what_comes_again_after_it_was_adopted_is_open_again() -> None:
    """A worker that knows of the adoption meets the same oddness anew: that is news, to everybody alike."""
    store = Ticking()
    log, other = ChangeLog(store), ChangeLog(store)
    hearing = Hearing(other)
    open_(log)
    decide(store, PRICE, "adopted")
    flush(log)
    open_(log)
    flush(other)

    assert [(change.state, change.reviewed) for change in changes_in(store)] == [("open", False)]
    assert hearing.states == ["open", "adopted", "open"]
    assert log.find(PRICE) == other.find(PRICE) == changes_in(store)[0]


def test_the_first_event_may_be_gone_and_a_later_one_says_what_it_is() -> None:
    store = MemoryStore(max_events=2)
    log = ChangeLog(store)
    open_(log)
    decide(store, PRICE, "fault")
    store.append(CHANGES, change_event("ffff", "search", "open", what="the key 'hits' is missing"))
    (_, change) = sorted(changes_in(store), key=lambda change: change.tool == "get_price")
    assert (change.state, change.reviewed, change.traits) == ("fault", True, ())

    log.decide(change._replace(what=WORDS, traits=(LEVEL,)), "adopted")
    change = find_change(changes_in(store, "get_price"), PRICE)
    assert (change.state, change.what, change.traits) == ("adopted", WORDS, (LEVEL,))


# --- Many workers ---


def test_of_many_threads_and_logs_one_tells() -> None:
    store = Ticking()
    logs = [ChangeLog(store) for _ in range(8)]
    ready = threading.Barrier(8)

    def meet(log: ChangeLog) -> None:
        ready.wait(60)
        open_(log)

    threads = [threading.Thread(target=meet, args=(log,)) for log in logs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for log in logs:
        log.flush()

    assert states(store) == ["open"]
    assert {log.find(PRICE) for log in logs} == {changes_in(store)[0]}


def test_two_workers_that_go_through_the_same_states_tell_each_once() -> None:
    store = Ticking()
    logs = [ChangeLog(store) for _ in range(2)]
    for _ in range(3):
        for log in logs:
            open_(log)
        for log in logs:
            recovered(log)

    assert states(store) == ["open", "recovered"] * 3


def test_a_worker_that_died_between_claim_and_event_does_not_silence_the_others() -> None:
    """What nobody wrote although somebody claimed it is written after a while, by one."""
    store, now = Ticking(), [0.0]
    logs = [ChangeLog(store, clock=lambda: now[0]) for _ in range(3)]
    store.failing = {"append"}
    open_(logs[0])  # claims, cannot write, and is never heard of again
    store.failing = set()
    for log in logs[1:]:
        open_(log)
        log.flush()
    assert states(store) == []

    now[0] = 3600.0
    for log in logs[1:] * 2:
        log.flush()
    assert states(store) == ["open"]


def test_what_was_forgotten_of_the_log_does_not_silence_anybody() -> None:
    """A log that keeps few events, and remembers claims for longer: a new worker counts anew, and is heard."""
    store = Ticking()
    first = ChangeLog(store)
    for _ in range(5):
        open_(first)
        recovered(first)
    kept = list(MemoryStore.events(store, CHANGES))[-4:]
    store._events[CHANGES] = type(store._events[CHANGES])(
        item for item in store._events[CHANGES] if item[0] >= kept[0].sequence
    )
    log = ChangeLog(store)
    log.flush()
    for _ in range(5):
        open_(log)
        recovered(log)

    assert states(store) == ["open", "recovered"] * 7


# --- A store that fails ---


@pytest.mark.parametrize("failing", [{"append"}, {"claim"}, {"events"}, {"append", "claim", "events"}])
@pytest.mark.parametrize("answers_lost", [False, True])
def test_what_cannot_be_written_is_written_once_when_the_store_is_back(failing: set[str], answers_lost: bool) -> None:
    store, now = Ticking(), [0.0]
    log = ChangeLog(store, clock=lambda: now[0])
    hearing = Hearing(log)
    store.failing, store.answers_lost = failing, answers_lost
    open_(log)
    with suppress(StoreError):
        log.flush()
    store.failing = set()
    for _ in range(3):
        now[0] += 3600.0
        flush(log)

    assert states(store) == ["open"]
    assert hearing.states == ["open"]
    assert hearing.told[0].since == changes_in(store)[0].since


def test_while_the_store_is_gone_no_call_waits_for_it_again() -> None:
    store = Ticking()
    log = ChangeLog(store)
    store.failing = {"append", "claim", "events"}
    open_(log)
    asked = dict(store.calls)
    for number in range(20):
        open_(log, f"{number:012x}")
    assert store.calls == asked

    store.failing = set()
    log.flush()
    assert len(changes_in(store)) == 21


def test_without_a_thread_that_flushes_the_next_event_takes_the_waiting_ones_with_it() -> None:
    store = Ticking(flush_seconds=None)
    log = ChangeLog(store)
    store.failing = {"append"}
    open_(log)
    store.failing = set()
    open_(log, "ffffffffffff")

    assert {change.id for change in changes_in(store)} == {PRICE, "ffffffffffff"}


def test_a_store_that_raises_something_else_does_no_harm_either(caplog: pytest.LogCaptureFixture) -> None:
    store = Ticking()
    log = ChangeLog(store)
    store.failing, store.raised = {"claim"}, KeyError("secret")
    open_(log)

    assert "secret" not in caplog.text
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("before", "meanwhile", "after"),
    [
        ([], ["open"], ["open"]),
        ([], ["open", "recovered"], ["open", "recovered"]),
        ([], ["open", "recovered", "open"], ["open"]),  # as it is now, and was at first
        (["open"], ["recovered"], ["open", "recovered"]),
        (["open"], ["recovered", "open"], ["open"]),
        (["open"], ["recovered", "open", "recovered"], ["open", "recovered"]),
    ],
)
def test_after_an_outage_the_log_ends_with_how_it_is(before: list[str], meanwhile: list[str], after: list[str]) -> None:
    store = Ticking()
    log = ChangeLog(store)
    tell = {"open": open_, "recovered": recovered}
    for state in before:
        tell[state](log)
    store.failing = {"append"}
    for state in meanwhile:
        tell[state](log)
    store.failing = set()
    log.flush()

    assert states(store)[-1] == after[-1]
    assert states(store)[: len(before)] == before
    assert changes_in(store)[0].state == after[-1]
    assert log.find(PRICE) == changes_in(store)[0]


def test_what_was_told_during_an_outage_gives_way_to_a_review(caplog: pytest.LogCaptureFixture) -> None:
    store = Ticking()
    log = ChangeLog(store)
    open_(log)
    store.failing = {"append"}
    recovered(log)
    store.failing = set()
    decide(store, PRICE, "fault")
    log.flush()

    assert (changes_in(store)[0].state, log.find(PRICE)) == ("fault", changes_in(store)[0])


# --- Who is called back ---


def test_history_is_no_news() -> None:
    store = Ticking()
    open_(ChangeLog(store))
    decide(store, PRICE, "fault")
    log, applied = ChangeLog(store), list[Change]()
    log.apply = applied.append
    hearing = Hearing(log)
    flush(log)

    assert (hearing.told, [change.state for change in applied]) == ([], ["open", "fault"])


def test_nor_is_it_where_the_store_could_not_be_read_at_first() -> None:
    store = Ticking()
    open_(ChangeLog(store))
    decide(store, PRICE, "fault")
    log = ChangeLog(store)
    store.failing = {"events", "claim", "append"}
    with pytest.raises(StoreError):
        log.flush()
    told = list[Change]()
    log.listen(told.append)
    open_(log, "ffffffffffff")
    store.failing = set()
    flush(log)
    flush(log)

    assert [(change.id, change.state) for change in told] == [("ffffffffffff", "open")]


def test_who_is_called_back_may_use_the_log_and_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    store = Ticking()
    log, told = ChangeLog(store), list[tuple[str, str]]()

    def decided_at_once(change: Change) -> None:
        if change.state == "open":
            log.decide(change, "adopted")
        raise RuntimeError("the secret of " + change.tool)

    log.listen(decided_at_once)
    log.listen(lambda change: told.append((change.id, change.state)))
    with caplog.at_level(logging.ERROR):
        open_(log)

    assert told == [(PRICE, "open"), (PRICE, "adopted")]
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text


def test_in_a_forked_child_what_waits_is_the_parents_to_write() -> None:
    store = Ticking()
    log = ChangeLog(store)
    store.failing = {"append"}
    open_(log)
    store.failing = set()
    log.forked()
    log.flush()

    assert states(store) == []


# --- Decisions ---


@pytest.mark.parametrize("state", ["open", "recovered", "mode", "", None, ["fault"]])
def test_what_is_no_decision_is_refused(state: Any) -> None:
    store = Ticking()
    open_(ChangeLog(store))
    with pytest.raises(DataError, match="'fault' or 'adopted'"):
        decide(store, PRICE, state)
    assert states(store) == ["open"]


@pytest.mark.parametrize("id_", ["", "0a", "0b", PRICE + "0", "zz"])
def test_an_id_that_names_none_or_several_is_refused(id_: str) -> None:
    store = Ticking()
    for known in (PRICE, "0a1bffffffff"):
        open_(ChangeLog(store), known)
    with pytest.raises(DataError):
        decide(store, id_, "fault")
    assert decide(store, "0a1b2", "fault").id == PRICE


def test_all_calls_on_record_are_counted_repeats_too() -> None:
    store = Ticking()
    open_(ChangeLog(store))
    for event in (
        {"change": PRICE, "verdict": "block"}, {"change": PRICE, "verdict": "block", "asked": 1},
        {"change": PRICE, "verdict": "flag"}, {"change": "unknown", "verdict": "block"}, {"verdict": "block"},
        {"change": [PRICE], "verdict": "block"}, {"change": {}, "verdict": []},
    ):  # fmt: skip
        store.append("audit", event)

    assert [(change.calls, change.blocked) for change in changes_in(store)] == [(3, 2)]


def test_a_change_began_with_its_first_call_whatever_came_later() -> None:
    store = Ticking()
    log = ChangeLog(store)
    store.append("audit", {"change": PRICE, "verdict": "block"})  # one call is not told of yet
    first = store.now
    store.append("audit", {"change": "other", "verdict": "block"})
    open_(log)
    store.append("audit", {"change": PRICE, "verdict": "block"})
    recovered(log)
    open_(log)
    decided = [decide(store, PRICE, state) for state in ("adopted", "fault")]
    log.decide(changes_in(store)[0], "adopted")
    open_(log)

    (change,) = changes_in(store)
    assert (change.opened, change.state, change.calls) == (first, "open", 2)
    assert {each.opened for each in (*decided, log.decide(change, "fault"))} == {first}


def test_a_change_whose_first_event_is_gone_began_with_its_first_call() -> None:
    now = iter(range(1_001, 2_000))
    store = MemoryStore(max_events=2, clock=lambda: float(next(now)))
    store.append("audit", {"change": PRICE, "verdict": "block"})
    open_(ChangeLog(store))
    for state in ("adopted", "fault"):
        decide(store, PRICE, "adopted" if state == "adopted" else "fault")

    assert [(change.state, change.opened) for change in changes_in(store)] == [("fault", 1_001.0)]


# --- What the engine followed ---

WHY = "every value is still there, under another name"


def follow(log: ChangeLog, why: str = WHY) -> None:
    log.tell(PRICE, "get_price", "followed", WORDS, (LEVEL,), why=why)


def test_a_followed_change_says_why_until_somebody_undoes_it() -> None:
    store = Ticking()
    log, other = ChangeLog(store), ChangeLog(store)
    hearing = Hearing(other)
    open_(log)
    follow(log)
    follow(log)
    flush(other)
    (change,) = changes_in(store)
    event = read_change_event(list(MemoryStore.events(store, CHANGES))[-1])

    assert event is not None
    assert (event.state, event.by, event.why) == ("followed", "engine", WHY)
    assert (change.state, change.why, change.reviewed) == ("followed", WHY, False)
    assert [(told.state, told.why) for told in hearing.told] == [("open", ""), ("followed", WHY)]
    assert log.find(PRICE) == other.find(PRICE) == change

    undone = decide(store, PRICE, "fault")
    follow(log)  # had not read it
    assert (undone.state, undone.why) == ("fault", "")
    assert changes_in(store) == [undone]


def test_where_the_events_were_lost_it_still_says_why() -> None:
    store = Ticking()
    log = ChangeLog(store)
    open_(log)
    follow(log)
    log._store = fresh = Ticking()
    log.forgotten()
    log.flush()

    assert [(change.state, change.what, change.why) for change in changes_in(fresh)] == [("followed", WORDS, WHY)]


def test_a_followed_change_is_logged_once_with_how_to_undo_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "agentguard")
    with DiskStore(tmp_path / "kept") as kept:
        for log in (first := ChangeLog(kept), second := ChangeLog(kept)):
            log.flush()
        open_(first)
        assert caplog.record_tuples == []
        for log in (first, second, first):
            follow(log)
            second.flush()
    assert caplog.record_tuples == [(
        "agentguard", logging.WARNING,
        f"change {PRICE} of 'get_price' is followed: {WHY}; `agentguard changes undo {PRICE}` undoes it",
    )]  # fmt: skip


def test_in_a_store_that_no_command_can_open_the_log_names_the_method(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "agentguard")
    follow(ChangeLog(Ticking()), why="")

    assert [(record.levelno, record.message) for record in caplog.records] == [(
        logging.INFO,
        f"change {PRICE} of 'get_price' is followed: it has lasted, and nobody has reviewed it; "
        f"engine.reject('{PRICE}') undoes it",
    )]  # fmt: skip


def test_those_that_nobody_has_decided_come_first() -> None:
    store = Ticking()
    for state in STATES:
        store.append(CHANGES, change_event(state, "t", state, by="review" if state in DECISIONS else "engine"))

    assert [change.state for change in changes_in(store)] == [
        "open", "followed", "recovered", "mode", "fault", "adopted",
    ]  # fmt: skip


# --- What no engine wrote ---

HOSTILE: list[dict[str, Any]] = [
    {},
    {"change": PRICE},
    {"change": PRICE, "tool": "get_price"},
    {"change": PRICE, "tool": "get_price", "state": "gone"},
    {"change": PRICE, "tool": "get_price", "state": ["fault"]},
    {"change": PRICE, "tool": "get_price", "state": {"fault": 1}},
    {"change": PRICE, "tool": "get_price", "state": None},
    {"change": 7, "tool": "get_price", "state": "fault"},
    {"change": "", "tool": "get_price", "state": "fault"},
    {"change": PRICE, "tool": ["get_price"], "state": "fault"},
    {"change": PRICE, "tool": "", "state": "fault"},
    {"change": "a" * 1_001, "tool": "get_price", "state": "fault"},
    {"change": PRICE, "tool": "t" * 1_000_000, "state": "fault"},
    {"change": PRICE, "tool": "get_price", "state": "fault", "by": 1},
    {"change": PRICE, "tool": "get_price", "state": "fault", "what": {"a": 1}},
    {"change": PRICE, "tool": "get_price", "state": "fault", "traits": "missing price"},
    {"change": PRICE, "tool": "get_price", "state": "fault", "traits": [1, 2]},
    {"change": PRICE, "tool": "get_price", "state": "fault", "traits": {"a": "b"}},
    {"change": PRICE, "tool": "get_price", "state": "fault", "label": "1"},
    {"change": PRICE, "tool": "get_price", "state": "fault", "label": True},
    {"change": PRICE, "tool": "get_price", "state": "fault", "reviews": -1},
    {"change": PRICE, "tool": "get_price", "state": "fault", "reviews": [1]},
]


@pytest.mark.parametrize("event", HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_no_event_is_passed_over(event: dict[str, Any]) -> None:
    store = Ticking()
    log = ChangeLog(store)
    hearing = Hearing(log)
    store.append(CHANGES, event)
    open_(log)
    store.append(CHANGES, event)
    recovered(log)

    assert read_change_event(Record(1, 1.0, event)) is None
    assert hearing.states == ["open", "recovered"]
    assert [(change.id, change.state) for change in changes_in(store)] == [(PRICE, "recovered")]


def test_huge_texts_are_cut_to_what_a_person_reads() -> None:
    event = change_event(
        PRICE, "get_price", "open", what="w" * 1_000_000, traits=[Trait("lost", "t" * 10_000, "str")] * 1_000
    )
    read = read_change_event(Record(1, 1.0, json.loads(json.dumps(event))))

    assert read is not None
    assert len(read.what) == MAX_WORDS
    assert len(read.traits) <= MAX_TRAITS
    assert max(len(trait.path) for trait in read.traits) <= MAX_WORDS


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text() | st.sampled_from([PRICE, "get_price", *STATES, "review", "engine"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
EVENTS = st.fixed_dictionaries(
    {},
    optional={
        name: st.sampled_from(likely) | VALUES
        for name, likely in {
            "change": [PRICE, "ffffffffffff"], "tool": ["get_price"], "state": list(STATES), "by": ["review", "engine"],
            "what": [WORDS], "traits": [[["level", "price", "above"]]], "reviews": [0, 1, 2], "label": [1, 2],
        }.items()
    },
)  # fmt: skip


@given(events=st.lists(EVENTS, max_size=12), records=st.lists(st.dictionaries(st.text(max_size=6), VALUES), max_size=3))
def test_whatever_is_in_the_log_it_is_read_alike_by_everybody(events: list[Any], records: list[Any]) -> None:
    store = Ticking()
    early, applied = ChangeLog(store), list[Change]()
    early.apply = applied.append
    for event in events:
        store.append(CHANGES, event)
        early.flush()
    for event in records:
        store.append("audit", {**event, "change": PRICE})
    late = ChangeLog(store)
    late.flush()
    found = {change.id: change._replace(calls=0, blocked=0) for change in changes_in(store)}

    assert all(change.state in STATES for change in found.values())
    for log in (early, late):
        assert {id_: log.find(id_) for id_ in found} == found
    legible = [read_change_event(record) for record in MemoryStore.events(store, CHANGES)]
    assert set(found) == {event.id for event in legible if isinstance(event, ChangeEvent)}


def test_a_log_of_strangers_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from agentguard.verification import _changes as changes

    monkeypatch.setattr(changes, "MAX_KNOWN", 10)
    store = Ticking()
    log = ChangeLog(store)
    for number in range(100):
        store.append(CHANGES, change_event(f"{number:012x}", "get_price", "open", what=WORDS))
        log.flush()

    assert len(log.of("get_price")) == 10
    assert log.find(f"{99:012x}") is not None
    open_(log, f"{1:012x}")  # forgotten here, and on record as it is
    assert len(states(store, f"{1:012x}")) <= 2


def test_a_folder_is_read_on_by_a_log_of_another_process(tmp_path: Path) -> None:
    with DiskStore(tmp_path / "kept") as store:
        open_(ChangeLog(store))
        decide(store, PRICE[:4], "fault")
    with DiskStore(tmp_path / "kept") as store:
        log = ChangeLog(store)
        log.flush()
        assert [log.find(PRICE)] == changes_in(store)
        assert log.find(PRICE).reviewed  # type: ignore[union-attr]
