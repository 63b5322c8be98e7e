"""Events: added at the end, read in order, bounded."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest

from agentguard.errors import StoreError
from agentguard.stores import Record, Store

from .opening import Clock, Opener, StoreOpening, in_threads

__all__ = ["EventsConformance"]


def numbers(records: Iterator[Record]) -> list[int]:
    """What the events of a test hold, in their order."""
    return [record.event["n"] for record in records]


class EventsConformance(StoreOpening):
    """``append``, ``extend``, ``events`` and ``standing``."""

    def test_several_events_are_kept_in_their_order_or_not_at_all(self, store: Store) -> None:
        assert store.extend("feedback", []) == 0
        assert store.append("feedback", {"n": 1}) == 1
        assert store.extend("feedback", [{"n": n} for n in range(2, 300)]) == 299
        with pytest.raises(StoreError):
            store.extend("feedback", [{"n": 300}, {"n": float("nan")}])
        assert store.append("feedback", {"n": 300}) == 300

        assert numbers(store.events("feedback")) == list(range(1, 301))

    def test_a_store_says_how_far_its_events_go(self, store: Store) -> None:
        assert dict(store.standing(["feedback", "audit"]).last) == {"feedback": 0, "audit": 0}
        for n in range(3):
            store.append("feedback", {"n": n})
        standing = store.standing(["audit", "feedback"])

        assert dict(standing.last) == {"feedback": 3, "audit": 0}
        store.prune(0.0)
        assert store.standing(["feedback"]).last["feedback"] == 3

    def test_an_epoch_lasts(self, store: Store) -> None:
        epoch = store.standing([]).epoch
        store.append("feedback", {"n": 1})
        store.prune(0.0)

        assert epoch
        assert store.standing(["feedback"]).epoch == epoch

    def test_an_epoch_is_the_same_for_all_who_open_the_store(self, opened: Opener) -> None:
        first = opened()
        epoch = first.standing([]).epoch

        assert opened().standing([]).epoch == epoch

    def test_events_are_numbered_from_one_in_each_kind(self, store: Store) -> None:
        assert [store.append("feedback", {"n": n}) for n in range(3)] == [1, 2, 3]
        assert store.append("audit", {"n": 0}) == 1

    def test_events_come_back_oldest_first_as_they_were(self, store: Store) -> None:
        events = [{"n": n, "tool": "search_web", "score": 0.1, "session": None, "seen": [True, {}]} for n in range(5)]
        for event in events:
            store.append("feedback", event)

        records = list(store.events("feedback"))
        assert [record.event for record in records] == events
        assert [record.sequence for record in records] == [1, 2, 3, 4, 5]

    def test_events_of_another_kind_are_not_among_them(self, store: Store) -> None:
        store.append("feedback", {"n": 1})

        assert list(store.events("audit")) == []

    def test_events_beyond_a_sequence_number(self, store: Store) -> None:
        for n in range(1, 6):
            store.append("feedback", {"n": n})

        assert numbers(store.events("feedback", after=3)) == [4, 5]
        assert numbers(store.events("feedback", after=0)) == [1, 2, 3, 4, 5]
        assert numbers(store.events("feedback", after=-7)) == [1, 2, 3, 4, 5]
        assert numbers(store.events("feedback", after=5)) == []
        assert numbers(store.events("feedback", after=1 << 80)) == []

    def test_an_event_says_when_it_was_kept(self, opened: Opener, clock: Clock) -> None:
        store = opened(clock=clock)
        kept_at = clock.now
        store.append("feedback", {"n": 1})
        clock.now += 0.25
        store.append("feedback", {"n": 2})

        assert [record.at for record in store.events("feedback")] == [kept_at, kept_at + 0.25]

    def test_what_is_appended_while_events_are_read_is_not_among_them(self, store: Store) -> None:
        for n in range(3):
            store.append("feedback", {"n": n})
        reading = store.events("feedback")
        store.append("feedback", {"n": 3})
        first = next(reading)
        store.append("feedback", {"n": 4})

        assert [first.event["n"], *numbers(reading)] == [0, 1, 2]

    def test_many_events_are_read_in_order_however_slowly(self, store: Store) -> None:
        text = "x" * 3000
        for n in range(1200):
            store.append("feedback", {"n": n, "text": text})
        reading = store.events("feedback", after=100)

        assert numbers(islice(reading, 500)) == list(range(100, 600))
        store.append("feedback", {"n": -1})
        assert numbers(reading) == list(range(600, 1200))

    def test_a_long_event_comes_back(self, store: Store) -> None:
        event = {"text": "Ωx" * 1_000_000}
        store.append("feedback", event)

        assert [record.event for record in store.events("feedback")] == [event]

    def test_the_newest_are_kept_up_to_the_bound(self, opened: Opener) -> None:
        store = opened(max_events=3)
        for n in range(5):
            store.append("feedback", {"n": n})
        store.append("audit", {"n": 0})

        assert numbers(store.events("feedback")) == [2, 3, 4]
        assert numbers(store.events("audit")) == [0]
        assert numbers(store.events("feedback", after=1)) == [2, 3, 4]

    def test_no_number_is_given_twice(self, opened: Opener, clock: Clock) -> None:
        store = opened(clock=clock)
        store.append("feedback", {"n": 1})
        store.append("feedback", {"n": 2})
        clock.now += 100
        store.prune(10)

        assert list(store.events("feedback")) == []
        assert store.append("feedback", {"n": 3}) == 3
        assert numbers(store.events("feedback", after=2)) == [3]

    def test_a_kept_event_is_nobodys_to_change(self, store: Store) -> None:
        event = {"n": 1, "fields": ["a"]}
        store.append("feedback", event)
        event["fields"].append("b")  # type: ignore[attr-defined]  # of the list, which mypy knows as an object
        for record in store.events("feedback"):
            record.event["fields"].append("c")

        assert [record.event for record in store.events("feedback")] == [{"n": 1, "fields": ["a"]}]

    def test_threads_lose_no_event(self, store: Store) -> None:
        def work(thread: int) -> None:
            for n in range(25):
                store.append("feedback", {"thread": thread, "n": n})

        in_threads(work)
        records = list(store.events("feedback"))

        assert [record.sequence for record in records] == list(range(1, 201))
        for thread in range(8):
            assert [record.event["n"] for record in records if record.event["thread"] == thread] == list(range(25))

    def test_events_are_there_for_the_next(self, opened: Opener) -> None:
        first = opened()
        first.append("feedback", {"n": 1})
        beside = opened()
        beside.append("feedback", {"n": 2})
        first.append("feedback", {"n": 3})
        first.close()
        beside.close()

        assert numbers(opened().events("feedback")) == [1, 2, 3]
