"""A store by its address."""

from __future__ import annotations

import os
import re
from typing import Final

from agentguard.errors import ConfigurationError

from .base import Store
from .memory import MemoryStore

__all__ = ["open_store"]

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")  # two letters and more: one is a drive of Windows
_SERVERS: Final = ("redis", "rediss", "unix")


def open_store(where: str | os.PathLike[str]) -> Store:
    """The store at an address.

    Args:
        where: a folder, as a path or as ``disk:PATH``; ``redis://…``, ``rediss://…`` or ``unix://…``; or ``memory:``.

    Raises:
        ConfigurationError: for another address, or where what the store needs is not installed.
        StoreError: where the store cannot be opened.

    >>> open_store("memory:").append("feedback", {"tool": "search_web"})
    1
    """
    if not isinstance(where, str):
        return _disk(where)
    found = _SCHEME.match(where)
    scheme = found[1].lower() if found else ""
    if scheme in _SERVERS and where.startswith("//", len(scheme) + 1):
        return _redis(where)
    if where.lower() == "memory:":
        return MemoryStore()
    if scheme == "disk":
        return _disk(where[len("disk:") :])
    # The address may hold a password: no message repeats more of it than its scheme.
    if scheme and not os.path.exists(where):
        raise ConfigurationError(
            f"no store has an address that begins with {scheme}: — give a folder, disk:PATH, redis://…, rediss://…, "
            "unix://… or memory:"
        )
    return _disk(where)


def _disk(folder: str | os.PathLike[str]) -> Store:
    if not os.fspath(folder):
        raise ConfigurationError("a store on disk needs a folder; give its path")
    from .disk import DiskStore

    return DiskStore(folder)


def _redis(url: str) -> Store:
    from .redis import RedisStore

    return RedisStore(url)
