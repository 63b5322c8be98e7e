"""The ``Store`` protocol as tests: one class to subclass, in parts by kind of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from threading import Barrier
from typing import Any, ClassVar, Protocol

import pytest

from agentguard.errors import StoreError
from agentguard.stores import Delta, Record, Store
from agentguard.testing._corpus import NAMES, VALUES


class Clock:
    """A clock that stands still until it is set; begins in the middle of an hour."""

    def __init__(self) -> None:
        self.now: float = 500_000 * 3600.0 + 1800

    def __call__(self) -> float:
        """Seconds since the epoch."""
        return self.now


class Opener(Protocol):
    """Opens a store, and again the same one."""

    def __call__(self, **options: Any) -> Store:
        """A store at the test's own place; ``options`` are some of what ``StoreOpening.takes`` names."""


class StoreOpening:
    """The settings and fixtures by which a subclass opens its store."""

    survives: ClassVar[bool] = True
    """What is kept in a place is there for the store that is opened in it next, also while the first is open."""

    takes: ClassVar[frozenset[str]] = frozenset({"clock", "max_events", "max_names", "max_hours"})
    """The options that ``open`` understands; tests that need another are skipped."""

    def open(self, place: Any, **options: Any) -> Store:
        """Your store at a place that no other test uses.

        Args:
            place: what the fixture ``place`` returned.
            **options: of those in ``takes``: ``clock``, a function without arguments that returns seconds since the
                epoch; ``max_events``, ``max_names``, ``max_hours``, the store's bounds.
        """
        raise NotImplementedError("define open(self, place, **options) -> Store")

    @pytest.fixture
    def place(self, tmp_path: Path) -> Any:
        """The place of a test's store: a new folder, unless a subclass has another fixture of this name."""
        return tmp_path / "store"

    @pytest.fixture
    def opened(self, place: Any) -> Iterator[Opener]:
        """Opens stores in one place, and closes them when the test ends."""
        stores: list[Store] = []

        def opener(**options: Any) -> Store:
            missing = sorted(options.keys() - self.takes)
            if missing:
                pytest.skip(f"this store has no {', '.join(missing)}")
            if stores and not self.survives:
                pytest.skip("nothing of this store survives it")
            stores.append(self.open(place, **options))
            return stores[-1]

        yield opener
        for store in stores:
            store.close()

    @pytest.fixture
    def store(self, opened: Callable[..., Store]) -> Store:
        """A new store with the defaults of its kind."""
        return opened()

    @pytest.fixture
    def clock(self) -> Clock:
        """Stands still until it is set."""
        return Clock()


def in_threads(work: Callable[[int], None], threads: int = 8) -> None:
    """Do some work in several threads that begin together; the first error of one is raised."""
    together = Barrier(threads)

    def begin(number: int) -> None:
        together.wait(timeout=60)
        work(number)

    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(begin, number) for number in range(threads)]:
            done.result(timeout=60)


# --- events ---
# Events: added at the end, read in order, bounded.


def numbers(records: Iterator[Record]) -> list[int]:
    """The numbers in the events of a test, in their order."""
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


# --- claims ---
# Claims: granted to the first who asks.


class ClaimsConformance(StoreOpening):
    """``claim``."""

    def test_a_claim_is_granted_once(self, store: Store) -> None:
        assert [store.claim("receipt", "c1") for _ in range(3)] == [True, False, False]

    def test_claims_of_other_keys_and_kinds_are_others(self, store: Store) -> None:
        pairs = [("receipt", "c1"), ("receipt", "c2"), ("session", "c1"), ("receiptc", "1"), ("", "receiptc1")]

        assert [store.claim(kind, key) for kind, key in pairs] == [True] * len(pairs)
        assert [store.claim(kind, key) for kind, key in pairs] == [False] * len(pairs)

    def test_of_eight_threads_one_is_granted_each_claim(self, store: Store) -> None:
        granted: list[str] = []

        def work(thread: int) -> None:
            # Each begins elsewhere, so that all are first somewhere.
            keys = [f"c{(thread * 5 + n) % 40}" for n in range(40)]
            granted.extend(key for key in keys if store.claim("receipt", key))

        in_threads(work)

        assert sorted(granted) == sorted(f"c{n}" for n in range(40))

    def test_the_newest_claims_are_remembered_up_to_the_bound(self, opened: Opener) -> None:
        store = opened(max_events=3)
        for n in range(5):
            assert store.claim("receipt", f"c{n}")

        assert [store.claim("receipt", f"c{n}") for n in (2, 3, 4)] == [False] * 3
        assert store.claim("receipt", "c0")
        assert not store.claim("receipt", "c4")
        assert store.claim("receipt", "c2")

    def test_the_bound_is_of_each_kind(self, opened: Opener) -> None:
        store = opened(max_events=2)
        assert store.claim("session", "s1")
        for n in range(5):
            assert store.claim("receipt", f"c{n}")

        assert not store.claim("session", "s1")

    def test_claims_are_no_events(self, store: Store) -> None:
        store.claim("receipt", "c1")
        store.append("receipt", {"n": 1})

        assert [record.event for record in store.events("receipt")] == [{"n": 1}]

    def test_claims_are_there_for_the_next(self, opened: Opener) -> None:
        first = opened()
        assert first.claim("receipt", "c1")
        beside = opened()
        assert not beside.claim("receipt", "c1")
        assert beside.claim("receipt", "c2")
        first.close()
        beside.close()

        last = opened()
        assert [last.claim("receipt", key) for key in ("c1", "c2", "c3")] == [False, False, True]


# --- counts ---
# Counts: deltas added up, each once, by hour.


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


# --- documents ---
# Documents: replaced as a whole, saved together or not at all.


class DocumentsConformance(StoreOpening):
    """``save``, ``load``, ``names``, ``forget`` and ``prune``."""

    def test_nothing_is_in_a_new_store(self, store: Store) -> None:
        assert store.load() == {}
        assert list(store.names()) == []
        assert store.load(["add"]) == {}

    def test_documents_come_back_as_they_were(self, store: Store) -> None:
        document = {"version": 1, "mean": 0.1, "tiny": 5e-324, "paths": {"a.b": [1, None, "x"]}, "most": 2**63 - 1}
        store.save({"add": document})

        assert store.load() == {"add": document}
        assert store.load(["add"]) == {"add": document}

    def test_a_document_takes_the_place_of_what_had_its_name(self, store: Store) -> None:
        store.save({"add": {"a": 1, "b": 2}})
        store.save({"add": {"a": 3}})

        assert store.load() == {"add": {"a": 3}}

    def test_those_saved_last_are_at_the_end(self, store: Store) -> None:
        store.save({"c": {}, "a": {}, "b": {}})
        store.save({"a": {"n": 2}})
        store.save({"d": {}, "c": {}})

        assert list(store.names()) == ["b", "a", "d", "c"]
        assert list(store.load()) == ["b", "a", "d", "c"]
        assert list(store.load(["c", "unknown", "a", "b"])) == ["b", "a", "c"]
        assert list(store.load(iter(["d"]))) == ["d"]
        assert store.load([]) == {}

    @pytest.mark.parametrize("bad", [[1], "text", None, {"x": object()}, {"x": {1, 2}}])
    def test_all_are_saved_or_none(self, store: Store, bad: Any) -> None:
        store.save({"a": {"n": 1}})
        with pytest.raises(StoreError):
            store.save({"a": {"n": 2}, "b": {"n": 2}, "bad": bad, "c": {"n": 2}})

        assert store.load() == {"a": {"n": 1}}

    def test_saved_together_they_are_seen_together(self, store: Store) -> None:
        """Readers see both of the same save, whoever saves meanwhile."""
        store.save({"left": {"n": 0}, "right": {"n": 0}})
        seen: list[tuple[int, int]] = []

        def work(thread: int) -> None:
            for n in range(1, 26):
                if thread < 4:
                    store.save({"left": {"n": n * 10 + thread}, "right": {"n": n * 10 + thread}})
                else:
                    documents = store.load()
                    seen.append((documents["left"]["n"], documents["right"]["n"]))

        in_threads(work)

        assert [pair for pair in seen if pair[0] != pair[1]] == []
        assert len(seen) == 100

    def test_beyond_the_bound_those_saved_longest_ago_are_gone(self, opened: Opener) -> None:
        store = opened(max_names=3)
        for name in "abcad":
            store.save({name: {}})

        assert list(store.names()) == ["c", "a", "d"]
        store.save({name: {} for name in "vwxyz"})
        assert list(store.names()) == ["x", "y", "z"]

    def test_a_large_document_comes_back(self, store: Store) -> None:
        document = {"values": [{"n": n, "value": n / 7} for n in range(30_000)], "text": "Ω" * 100_000}
        store.save({"large": document, "small": {"n": 1}})

        assert store.load() == {"large": document, "small": {"n": 1}}

    def test_a_kept_document_is_nobodys_to_change(self, store: Store) -> None:
        document: dict[str, Any] = {"fields": ["a"]}
        store.save({"add": document})
        document["fields"].append("b")
        store.load()["add"]["fields"].append("c")

        assert store.load() == {"add": {"fields": ["a"]}}

    def test_to_forget_a_name_removes_its_document_and_counts(self, opened: Opener, clock: Clock) -> None:
        store = opened(clock=clock)
        store.save({"add": {"n": 1}, "sub": {"n": 2}})
        first = store.merge(Delta("a", 1, {"add": {"calls": 1}, "sub": {"calls": 2}}))
        clock.now += 3600
        store.merge(Delta("a", 2, {"add": {"calls": 1}}))
        store.append("feedback", {"tool": "add"})
        store.forget(["add", "unknown"])

        assert store.load() == {"sub": {"n": 2}}
        assert list(store.names()) == ["sub"]
        assert store.counts() == {first: {"sub": {"calls": 2}}}
        assert [record.event for record in store.events("feedback")] == [{"tool": "add"}]

    def test_what_was_forgotten_is_not_counted_again(self, store: Store) -> None:
        store.merge(Delta("a", 1, {"add": {"calls": 1}}))
        store.forget(["add"])
        store.merge(Delta("a", 1, {"add": {"calls": 1}}))
        assert store.counts() == {}
        hour = store.merge(Delta("a", 2, {"add": {"calls": 5}}))

        assert store.counts() == {hour: {"add": {"calls": 5}}}

    def test_prune_removes_what_is_older_and_says_how_many(self, opened: Opener, clock: Clock) -> None:
        store = opened(clock=clock)
        start = clock.now

        def fill(name: str, sequence: int) -> None:
            store.append("feedback", {"name": name})
            store.claim("receipt", name)
            store.merge(Delta("a", sequence, {name: {"calls": 1}}))
            store.save({name: {"n": 1}})

        fill("old", 1)
        clock.now = start + 3 * 3600
        fill("new", 2)

        assert store.prune(4 * 3600) == 0
        assert store.prune(2 * 3600) == 4
        assert [record.event for record in store.events("feedback")] == [{"name": "new"}]
        assert list(store.names()) == ["new"]
        assert [list(names) for names in store.counts().values()] == [["new"]]
        assert store.claim("receipt", "old")
        assert not store.claim("receipt", "new")
        assert store.prune(2 * 3600) == 0

    def test_an_hour_is_pruned_when_all_of_it_is_older(self, opened: Opener, clock: Clock) -> None:
        store = opened(clock=clock)
        hour = store.merge(Delta("a", 1, {"add": {"calls": 1}, "sub": {"calls": 1}}))
        clock.now = (hour + 1) * 3600 + 100.0

        assert store.prune(101) == 0
        assert list(store.counts()) == [hour]
        assert store.prune(100) == 2
        assert store.counts() == {}

    def test_no_delta_is_added_again_after_pruning(self, opened: Opener, clock: Clock) -> None:
        store = opened(clock=clock)
        store.merge(Delta("a", 1, {"add": {"calls": 1}}))
        clock.now += 2 * 3600
        store.prune(10)
        store.merge(Delta("a", 1, {"add": {"calls": 1}}))

        assert store.counts() == {}

    @pytest.mark.parametrize("age", [-1.0, float("nan"), float("inf")])
    def test_an_age_that_is_none_is_refused(self, store: Store, age: float) -> None:
        store.append("feedback", {"n": 1})
        with pytest.raises(StoreError):
            store.prune(age)

        assert len(list(store.events("feedback"))) == 1

    def test_documents_are_there_for_the_next(self, opened: Opener) -> None:
        first = opened()
        first.save({"a": {"n": 1}, "b": {"n": 1}})
        beside = opened()
        beside.save({"a": {"n": 2}})
        assert first.load() == {"b": {"n": 1}, "a": {"n": 2}}
        first.close()
        beside.close()

        assert opened().load() == {"b": {"n": 1}, "a": {"n": 2}}


# --- hostile ---
# Names and values that nobody expected: kept exactly or refused, never changed.


def same(one: Any, other: Any) -> bool:
    """Equal with equal types, however deep; NaN is equal to itself, and 0.0 not to -0.0."""
    left, right = [one], [other]
    while left:
        a, b = left.pop(), right.pop()
        if type(a) is not type(b):
            return False
        if isinstance(a, dict):
            if list(map(repr, a)) != list(map(repr, b)):
                return False
            left.extend(a.values())
            right.extend(b[key] for key in a)
        elif isinstance(a, list):
            if len(a) != len(b):
                return False
            left.extend(a)
            right.extend(b)
        elif a != b if not isinstance(a, float) else repr(a) != repr(b):
            return False
    return True


class HostileConformance(StoreOpening):
    """Any text is a name; what is no JSON is refused."""

    def test_any_text_is_a_name(self, opened: Opener) -> None:
        store = opened()
        for number, name in enumerate(NAMES):
            store.append(name, {"n": number})
            store.merge(Delta(name, 1, {name: {name: number + 1}}))
            store.save({name: {"n": number}})
        granted = [store.claim(kind, key) for kind in NAMES[:30] for key in NAMES]

        assert all(granted)
        assert not any(store.claim(name, name) for name in NAMES[:30])
        assert list(store.names()) == NAMES
        assert list(store.load().items()) == [(name, {"n": number}) for number, name in enumerate(NAMES)]
        assert _joined(store) == {name: {name: number + 1} for number, name in enumerate(NAMES)}
        for number, name in enumerate(NAMES):
            assert [record.event for record in store.events(name)] == [{"n": number}]
            assert store.load([name]) == {name: {"n": number}}
            assert [counted[name] for counted in store.counts([name]).values()] == [{name: number + 1}]

    def test_to_forget_a_name_is_to_forget_no_other(self, store: Store) -> None:
        for name in NAMES:
            store.merge(Delta(name, 1, {name: {"calls": 1}}))
        store.save({name: {} for name in NAMES})
        left = list(NAMES)
        for name in NAMES:
            store.forget([name])
            left.remove(name)
            assert list(store.names()) == left
            assert sorted(_joined(store)) == sorted(left)

    @pytest.mark.parametrize("name", [None, 1, b"a", ("a",)], ids=repr)
    def test_what_is_no_text_is_no_name(self, store: Store, name: Any) -> None:
        for call in (
            lambda: store.append(name, {"n": 1}),
            lambda: store.claim(name, "key"),
            lambda: store.claim("kind", name),
            lambda: store.merge(Delta(name, 1, {"add": {"calls": 1}})),
            lambda: store.merge(Delta("a", 1, {name: {"calls": 1}})),
            lambda: store.merge(Delta("a", 1, {"add": {name: 1}})),
            lambda: store.save({name: {"n": 1}}),
        ):
            with pytest.raises(StoreError):
                call()

        assert store.counts() == {}
        assert list(store.names()) == []

    @pytest.mark.parametrize("what", VALUES)
    def test_an_event_is_kept_exactly_or_refused(self, store: Store, what: str) -> None:
        value = VALUES[what]
        store.append("feedback", {"n": 1})
        try:
            store.append("feedback", value)
        except StoreError:
            kept = []
        else:
            kept = [value]
        store.append("feedback", {"n": 2})
        events = [record.event for record in store.events("feedback")]

        assert len(events) == 2 + len(kept)
        assert all(same(one, other) for one, other in zip(events, [{"n": 1}, *kept, {"n": 2}], strict=True))

    @pytest.mark.parametrize("what", VALUES)
    def test_a_document_is_kept_exactly_or_refused(self, store: Store, what: str) -> None:
        value = VALUES[what]
        store.save({"a": {"n": 1}})
        try:
            store.save({"hostile": value, "b": {"n": 2}})
        except StoreError:
            assert store.load() == {"a": {"n": 1}}
        else:
            documents = store.load()
            assert list(documents) == ["a", "hostile", "b"]
            assert same(documents["hostile"], value)

    @pytest.mark.parametrize("event", [None, 1, "text", [1], [("a", 1)]], ids=repr)
    def test_what_is_no_object_is_no_event(self, store: Store, event: Any) -> None:
        with pytest.raises(StoreError):
            store.append("feedback", event)

        assert list(store.events("feedback")) == []


def _joined(store: Store) -> dict[str, dict[str, int]]:
    """Counts of all hours, of tests that may run across the end of one."""
    return {name: fields for names in store.counts().values() for name, fields in names.items()}


# --- lifetime ---
# Closed, a store refuses everything.


CALLS: dict[str, Callable[[Store], Any]] = {
    "standing": lambda store: store.standing(["feedback"]),
    "append": lambda store: store.append("feedback", {"n": 1}),
    "extend": lambda store: store.extend("feedback", [{"n": 1}]),
    "events": lambda store: list(store.events("feedback")),
    "claim": lambda store: store.claim("receipt", "c1"),
    "merge": lambda store: store.merge(Delta("a", 1, {"add": {"calls": 1}})),
    "counts": lambda store: store.counts(),
    "save": lambda store: store.save({"add": {"n": 1}}),
    "load": lambda store: store.load(),
    "names": lambda store: store.names(),
    "forget": lambda store: store.forget(["add"]),
    "prune": lambda store: store.prune(1.0),
}


class LifetimeConformance(StoreOpening):
    """``close``, ``flush_seconds`` and ``is_near``."""

    @pytest.mark.parametrize("call", CALLS)
    def test_a_closed_store_refuses(self, store: Store, call: str) -> None:
        CALLS[call](store)
        store.close()

        with pytest.raises(StoreError, match="closed"):
            CALLS[call](store)

    def test_a_store_may_be_closed_twice(self, store: Store) -> None:
        store.close()
        store.close()

    def test_a_store_says_whether_it_is_near(self, store: Store) -> None:
        assert store.is_near in (True, False)

    def test_flush_seconds_is_a_time_or_none(self, store: Store) -> None:
        seconds = store.flush_seconds

        assert seconds is None or seconds > 0


# --- conformance ---
# All that the ``Store`` protocol says, as one test class to subclass.


class StoreConformance(
    EventsConformance,
    ClaimsConformance,
    CountsConformance,
    DocumentsConformance,
    HostileConformance,
    LifetimeConformance,
):
    """Holds a store to the ``Store`` protocol: subclass it in a file of tests, and say how yours is opened.

    ::

        from agentguard.testing import StoreConformance


        class TestMyStore(StoreConformance):
            def open(self, place, **options):
                return MyStore(place, **options)

    ``place`` is a folder of the test's own; a fixture ``place`` of your class gives something else, as the address of a
    server. Tests open the same place twice to see what is there for the next. ``survives = False`` says that nothing
    is, and ``takes`` which options your store has; what cannot be tested then is skipped, and says so.
    """
