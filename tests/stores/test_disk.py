"""DiskStore is a store."""

from pathlib import Path
from typing import Any

from agentguard.stores import DiskStore
from agentguard.testing import StoreConformance


class TestDiskStore(StoreConformance):
    def open(self, place: Path, **options: Any) -> DiskStore:
        return DiskStore(place, **options)
