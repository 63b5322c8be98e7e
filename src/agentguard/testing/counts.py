"""Counts: deltas added up, each once, by hour."""

from __future__ import annotations

from typing import Any

import pytest

from agentguard.errors import StoreError
from agentguard.stores import Delta, Store

from .opening import Clock, Opener, StoreOpening, in_threads

__all__ = ["CountsConformance"]

HOUR = 3600


def total(store: Store, name: str, field: str) -> int:
    """The sum of one field over all hours."""
    return sum(names.get(name, {}).get(field, 0) for names in store.counts().values())


class CountsConformance(StoreOpening):
    """``merge`` and ``counts``."""

    def test_nothing_is_counted_in_a_new_store(self, store: Store) -> None:
        assert store.counts() == {}
        assert store.counts(["search_web"]) == {}

    def test_deltas_add_up_by_name_and_field(self, store: Store) -> None:
        store.merge(Delta("a", 1, {"search_web": {"calls": 3, "empty": 1}, "add": {"calls": 1}}))
        store.merge(Delta("b", 1, {"search_web": {"calls": 4, "late": 2}}))
        store.merge(Delta("a", 2, {"search_web": {"calls": -1}}))

        assert total(store, "search_web", "calls") == 6
        assert total(store, "search_web", "empty") == 1
        assert total(store, "search_web", "late") == 2
        assert total(store, "add", "calls") == 1

    def test_counts_are_of_the_hour_and_merge_says_which(self, opened: Opener, clock: Clock) -> None:
        store = opened(clock=clock)
        hour = int(clock.now) // HOUR
        delta = {"add": {"calls": 2}}
        assert store.merge(Delta("a", 1, delta)) == hour
        clock.now = (hour + 1) * HOUR - 0.5
        assert store.merge(Delta("a", 2, delta)) == hour
        clock.now = (hour + 1) * HOUR
        assert store.merge(Delta("a", 3, delta)) == hour + 1

        assert store.counts() == {hour: {"add": {"calls": 4}}, hour + 1: {"add": {"calls": 2}}}
        assert list(store.counts()) == [hour, hour + 1]

    def test_a_delta_sent_again_is_not_added_again(self, opened: Opener, clock: Clock) -> None:
        store = opened(clock=clock)
        first = store.merge(Delta("a", 1, {"add": {"calls": 5}}))
        clock.now += 2 * HOUR
        again = store.merge(Delta("a", 1, {"add": {"calls": 5}}))

        assert again == first
        assert store.counts() == {first: {"add": {"calls": 5}}}

    def test_a_delta_with_a_lower_number_comes_too_late(self, store: Store) -> None:
        store.merge(Delta("a", 7, {"add": {"calls": 1}}))
        store.merge(Delta("a", 6, {"add": {"calls": 10}}))
        store.merge(Delta("b", 6, {"add": {"calls": 100}}))
        store.merge(Delta("a", 8, {"add": {"calls": 1000}}))

        assert total(store, "add", "calls") == 1101

    def test_an_empty_delta_is_a_delta(self, store: Store) -> None:
        store.merge(Delta("a", 1, {}))
        store.merge(Delta("a", 2, {"add": {}}))
        assert store.counts() == {}
        store.merge(Delta("a", 2, {"add": {"calls": 1}}))

        assert store.counts() == {}

    def test_counts_of_some_names_and_from_an_hour_on(self, opened: Opener, clock: Clock) -> None:
        store = opened(clock=clock)
        hour = int(clock.now) // HOUR
        for later in range(3):
            clock.now = (hour + later) * HOUR + 60.0
            store.merge(Delta("a", later + 1, {"add": {"calls": later + 1}, f"only{later}": {"calls": 1}}))

        assert store.counts(["add", "unknown"], since=hour + 1) == {
            hour + 1: {"add": {"calls": 2}},
            hour + 2: {"add": {"calls": 3}},
        }
        assert store.counts(["only1"]) == {hour + 1: {"only1": {"calls": 1}}}
        assert store.counts(name for name in ["only0", "only2"]) == {
            hour: {"only0": {"calls": 1}},
            hour + 2: {"only2": {"calls": 1}},
        }
        assert store.counts([]) == {}
        assert list(store.counts(since=hour + 2)) == [hour + 2]
        assert store.counts(since=hour + 3) == {}
        assert len(store.counts(since=-5)) == 3

    def test_hours_beyond_the_bound_are_gone(self, opened: Opener, clock: Clock) -> None:
        store = opened(clock=clock, max_hours=3)
        hour = int(clock.now) // HOUR
        for later in range(3):
            clock.now = (hour + later) * HOUR + 60.0
            store.merge(Delta("a", later + 1, {"add": {"calls": 1}}))
        assert list(store.counts()) == [hour, hour + 1, hour + 2]
        clock.now += HOUR
        assert list(store.counts()) == [hour + 1, hour + 2]
        assert list(store.counts(["add"], since=hour)) == [hour + 1, hour + 2]
        store.merge(Delta("a", 4, {"add": {"calls": 1}}))

        assert list(store.counts()) == [hour + 1, hour + 2, hour + 3]

    def test_in_an_hour_the_names_longest_untouched_go_first(self, opened: Opener, clock: Clock) -> None:
        store = opened(clock=clock, max_names=3)
        hour = int(clock.now) // HOUR
        for sequence, name in enumerate(["a", "b", "c", "a", "d"], 1):
            clock.now += 1
            store.merge(Delta("w", sequence, {name: {"calls": 1}}))

        assert store.counts() == {hour: {"a": {"calls": 2}, "c": {"calls": 1}, "d": {"calls": 1}}}

    def test_sums_are_exact_to_64_bits(self, store: Store) -> None:
        store.merge(Delta("a", 1, {"add": {"most": 2**63 - 3, "least": -(2**63) + 2}}))
        store.merge(Delta("a", 2, {"add": {"most": 2, "least": -2}}))

        assert total(store, "add", "most") == 2**63 - 1
        assert total(store, "add", "least") == -(2**63)

    @pytest.mark.parametrize("more", [{"calls": 1}, {"fewer": -1}])
    def test_a_delta_beyond_64_bits_is_refused_as_a_whole(self, store: Store, more: dict[str, int]) -> None:
        store.merge(Delta("a", 1, {"add": {"calls": 2**63 - 1, "fewer": -(2**63)}}))
        before = store.counts()
        with pytest.raises(StoreError):
            store.merge(Delta("a", 2, {"aaa": {"x": 1}, "add": {"x": 1, **more}, "zzz": {"x": 1}}))
        assert store.counts() == before
        store.merge(Delta("a", 2, {"other": {"calls": 1}}))

        assert total(store, "other", "calls") == 1

    @pytest.mark.parametrize("count", [2**63, -(2**63) - 1, 10**30, 1.5, 1.0, "1", None, True, float("nan")])
    def test_what_is_no_integer_of_64_bits_is_refused(self, store: Store, count: Any) -> None:
        with pytest.raises(StoreError):
            store.merge(Delta("a", 1, {"add": {"calls": 1}, "sub": {"calls": count}}))

        assert store.counts() == {}

    @pytest.mark.parametrize("sequence", [0, -1, 1.0, "1", None, True])
    def test_sequence_numbers_are_counted_from_one(self, store: Store, sequence: Any) -> None:
        with pytest.raises(StoreError):
            store.merge(Delta("a", sequence, {"add": {"calls": 1}}))

        assert store.counts() == {}

    def test_threads_add_up_exactly(self, store: Store) -> None:
        def work(thread: int) -> None:
            for sequence in range(1, 26):
                delta = Delta(f"worker {thread}", sequence, {"add": {"calls": 1, f"of {thread}": sequence}})
                store.merge(delta)
                store.merge(delta)

        in_threads(work)

        assert total(store, "add", "calls") == 200
        assert [total(store, "add", f"of {thread}") for thread in range(8)] == [325] * 8

    def test_of_threads_that_send_the_same_delta_one_is_counted(self, store: Store) -> None:
        def work(thread: int) -> None:
            for sequence in range(1, 26):
                store.merge(Delta("one", sequence, {"add": {"calls": 1}}))

        in_threads(work)

        # A thread that is ahead makes those behind it come too late; each number counts once or, overtaken, never.
        assert total(store, "add", "calls") <= 25
        store.merge(Delta("one", 25, {"add": {"calls": 1000}}))
        assert 1 <= total(store, "add", "calls") <= 25

    def test_counts_are_nobodys_to_change(self, store: Store) -> None:
        fields = {"calls": 1}
        hour = store.merge(Delta("a", 1, {"add": fields}))
        fields["calls"] = 7
        store.counts()[hour]["add"]["calls"] = 9

        assert store.counts() == {hour: {"add": {"calls": 1}}}

    def test_counts_are_there_for_the_next(self, opened: Opener) -> None:
        first = opened()
        first.merge(Delta("a", 1, {"add": {"calls": 1}}))
        beside = opened()
        beside.merge(Delta("b", 1, {"add": {"calls": 10}}))
        first.merge(Delta("a", 2, {"add": {"calls": 100}}))
        first.close()
        beside.close()

        last = opened()
        last.merge(Delta("a", 2, {"add": {"calls": 1000}}))
        assert total(last, "add", "calls") == 111
