"""MemoryStore is a store, for as long as it lives."""

from typing import Any, ClassVar

from agentguard.stores import MemoryStore
from agentguard.testing import StoreConformance


class TestMemoryStore(StoreConformance):
    survives: ClassVar[bool] = False

    def open(self, place: Any, **options: Any) -> MemoryStore:
        return MemoryStore(**options)


def test_an_engine_never_hands_over_what_would_not_outlive_it() -> None:
    assert MemoryStore().flush_seconds is None
