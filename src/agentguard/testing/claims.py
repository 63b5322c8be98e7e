"""Claims: granted to the first who asks."""

from __future__ import annotations

from agentguard.stores import Store

from .opening import Opener, StoreOpening, in_threads

__all__ = ["ClaimsConformance"]


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
