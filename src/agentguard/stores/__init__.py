"""Stores of what must outlive a call, a process or a machine: in memory, on disk, on a Redis server."""

from __future__ import annotations

import os
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentguard.errors import ConfigurationError
from agentguard.stores._base import Counts, Delta, Document, Event, Record, Standing, Store
from agentguard.stores._memory import MemoryStore

if TYPE_CHECKING:
    from agentguard.stores._disk import DiskStore
    from agentguard.stores._redis import RedisStore

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
_BACKENDS = {"DiskStore": "_disk", "RedisStore": "_redis"}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")  # two letters and more: one is a drive of Windows
_SERVERS = ("redis", "rediss", "unix")


def __getattr__(name: str) -> Any:
    if name not in _BACKENDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_BACKENDS[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)


def open_store(where: str | os.PathLike[str]) -> Store:
    """Open the store at an address.

    Args:
        where: a folder, as a path or as ``disk:PATH``; ``redis://…``, ``rediss://…`` or ``unix://…``; or ``memory:``.

    Raises:
        ConfigurationError: for another address, or where what the store needs is not installed.
        StoreError: where the store cannot be opened.

    >>> open_store("memory:").append("feedback", {"tool": "search_web"})
    1
    """
    if not isinstance(where, str):
        return _open_disk(where)
    match = _SCHEME.match(where)
    scheme = match[1].lower() if match else ""
    if scheme in _SERVERS and where.startswith("//", len(scheme) + 1):
        from agentguard.stores._redis import RedisStore

        return RedisStore(where)
    if where.lower() == "memory:":
        return MemoryStore()
    if scheme == "disk":
        return _open_disk(where[len("disk:") :])
    # The address may hold a password: no message repeats more of it than its scheme.
    if scheme and not os.path.exists(where):
        raise ConfigurationError(
            f"no store has an address that begins with {scheme}: — give a folder, disk:PATH, redis://…, rediss://…, "
            "unix://… or memory:"
        )
    return _open_disk(where)


def _open_disk(folder: str | os.PathLike[str]) -> Store:
    if not os.fspath(folder):
        raise ConfigurationError("a store on disk needs a folder; give its path")
    from agentguard.stores._disk import DiskStore

    return DiskStore(folder)
