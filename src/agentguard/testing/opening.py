"""How the conformance suite gets at the store that it tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any, ClassVar, Protocol

import pytest

from agentguard.stores import Store

__all__ = ["Clock", "Opener", "StoreOpening", "in_threads"]


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
    """What a subclass says of its store."""

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
        """Where a test's store is: a new folder, unless a subclass has another fixture of this name."""
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
