"""How far a store is behind, looked at from time to time."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from agentguard.errors import StoreError
from agentguard.stores import MemoryStore
from agentguard.stores._base import Record
from agentguard.telemetry._engines import Lag, StoreLag
from agentguard.verification import VerificationEngine


class Flaky(MemoryStore):
    """Can be made to fail. Its engine writes behind, but in so many seconds that here only ``flush`` does it."""

    flush_seconds = 3_600.0
    broken = False

    def extend(self, kind: str, events: Sequence[Mapping[str, Any]], /) -> int:
        self._check()
        return super().extend(kind, events)

    def events(self, kind: str, /, after: int = 0) -> Iterator[Record]:
        self._check()
        return super().events(kind, after)

    def save(self, documents: Mapping[str, Any], /) -> None:
        self._check()
        super().save(documents)

    def _check(self) -> None:
        if self.broken:
            raise StoreError("the store is gone")


class Clock:
    """Goes when it is told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lag(clock: Clock) -> StoreLag:
    return StoreLag(clock)


def blocked(engine: VerificationEngine) -> None:
    engine.register_tool_profile("weather", required_fields=["degrees"], has_network_io=False)
    engine.verify("weather", result={}, call_id="c1")


def test_it_grows_while_nothing_reaches_the_store(lag: StoreLag, clock: Clock) -> None:
    with VerificationEngine(store=Flaky()) as engine:
        lag.watch(engine)
        clock.now += 5
        assert lag.read() == Lag(5.0, 0, 0)

        engine.flush()
        clock.now += 5
        assert lag.read() == Lag(0.0, 0, 0)  # it has reached the store since the last look

        clock.now += 5
        assert lag.read() == Lag(5.0, 0, 0)


def test_a_store_that_fails_shows_and_so_does_its_end(lag: StoreLag, clock: Clock) -> None:
    store = Flaky()
    engine = VerificationEngine(store=store)
    lag.watch(engine)
    engine.flush()
    lag.read()
    store.broken = True
    blocked(engine)
    with pytest.raises(StoreError):
        engine.flush()
    clock.now += 60

    assert lag.read() == Lag(60.0, 1, 0)

    store.broken = False
    engine.flush()
    assert lag.read() == Lag(0.0, 0, 0)
    engine.close()


def test_an_engine_that_met_a_broken_store_says_so(lag: StoreLag) -> None:
    store = Flaky()
    store.broken = True
    engine = VerificationEngine(store=store)
    lag.watch(engine)

    assert lag.read() == Lag(0.0, 0, 1)
    store.broken = False
    engine.close()


@pytest.mark.parametrize("store", [None, MemoryStore()])
def test_nothing_is_said_where_nothing_is_written_behind(lag: StoreLag, store: MemoryStore | None) -> None:
    engine = VerificationEngine(store=store)
    lag.watch(engine)

    assert lag.read() is None


def test_a_closed_engine_does_not_fall_behind(lag: StoreLag, clock: Clock) -> None:
    engine = VerificationEngine(store=Flaky())
    lag.watch(engine)
    engine.close()
    clock.now += 1_000

    assert lag.read() is None


def test_several_engines_are_the_worst_of_them(lag: StoreLag, clock: Clock) -> None:
    with VerificationEngine(store=Flaky()) as first, VerificationEngine(store=Flaky()) as second:
        lag.watch(first)
        clock.now += 10
        lag.watch(second)
        first.flush()
        clock.now += 10

        assert lag.read() == Lag(10.0, 0, 0)


def test_no_engine_is_kept_alive(lag: StoreLag) -> None:
    engine = VerificationEngine(store=Flaky())
    lag.watch(engine)
    engine.close()
    del engine
    gc.collect()

    assert not lag._seen
