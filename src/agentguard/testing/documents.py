"""Documents: replaced as a whole, saved together or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from agentguard.errors import StoreError
from agentguard.stores import Delta, Store

from .opening import Clock, Opener, StoreOpening, in_threads

__all__ = ["DocumentsConformance"]


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
                    found = store.load()
                    seen.append((found["left"]["n"], found["right"]["n"]))

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
