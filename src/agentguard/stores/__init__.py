"""Where what must outlive a call, a process or a machine is kept."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentguard.stores.base import Counts, Delta, Document, Event, Record, Standing, Store
from agentguard.stores.memory import MemoryStore
from agentguard.stores.opening import open_store

if TYPE_CHECKING:
    from agentguard.stores.disk import DiskStore
    from agentguard.stores.redis import RedisStore

__all__ = [
    "Counts",
    "Delta",
    "DiskStore",
    "Document",
    "Event",
    "MemoryStore",
    "Record",
    "RedisStore",
    "Standing",
    "Store",
    "open_store",
]

# Each of these loads the library of its backend, which only those need who use it.
_BACKENDS = {"DiskStore": "disk", "RedisStore": "redis"}


def __getattr__(name: str) -> Any:
    if name not in _BACKENDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_BACKENDS[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
