"""Closed, a store refuses everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentguard.errors import StoreError
from agentguard.stores import Delta, Store

from .opening import StoreOpening

__all__ = ["LifetimeConformance"]

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
