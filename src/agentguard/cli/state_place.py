"""Where the command line keeps what was learned, and how that is opened."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentguard.errors import ConfigurationError, DataError
from agentguard.stores import Store, open_store

from .options import STORE_VARIABLE
from .output import printable

__all__ = ["default_store", "opened", "shown"]

_SERVER = re.compile(r"(rediss?|unix)://", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_MEMORY = "memory:"


def default_store() -> str:
    """The folder of the command line: ``$XDG_STATE_HOME/agentguard``, or ``~/.local/state/agentguard``."""
    home = os.environ.get("XDG_STATE_HOME", "")
    base = Path(home) if os.path.isabs(home) else Path("~/.local/state").expanduser()
    return str(base / "agentguard")


def shown(where: str) -> str:
    """An address as it may be shown: a server's without user, password and settings.

    >>> shown("redis://guard:secret@cache.example:6379/2?x=y"), shown("/var/lib/agentguard")
    ('redis://cache.example:6379/2', '/var/lib/agentguard')
    """
    scheme, separator, rest = where.partition("://")
    if not separator:
        return printable(where)
    # A password may hold any of /, ? and # where it was not escaped: nothing before the last @ is shown.
    return printable(f"{scheme}://{re.split('[?#]', rest.rpartition('@')[2])[0]}")


@contextmanager
def opened(where: str | None, *, create: bool = False) -> Iterator[Store]:
    """The store at an address, or the command line's own; closed in the end.

    Args:
        where: as for ``open_store``.
        create: make a folder's store where there is none.

    Raises:
        ConfigurationError: for an address that is none, or one that outlives no command.
        DataError: where there is no store and none is to be made.
        StoreError: where the store cannot be opened.
    """
    place = where or default_store()
    if place.lower() == _MEMORY:
        raise ConfigurationError("a store in memory ends with this command; name a folder or a server")
    if not create and _SERVER.match(place) is None:
        _require(place)
    store = open_store(place)
    try:
        yield store
    finally:
        store.close()


def _require(place: str) -> None:
    """A folder without a store is left as it is: opening would make one."""
    from agentguard.stores._disk import DATABASE

    folder = place[len("disk:") :] if place.lower().startswith("disk:") else place
    if folder == place and _SCHEME.match(place) and not os.path.exists(place):
        return  # no address of a store, but maybe one with a password: what opens it says so, and quotes nothing
    try:
        found = (Path(folder).expanduser() / DATABASE).exists()
    except (OSError, ValueError, RuntimeError) as error:
        raise DataError(f"cannot look for a store at {printable(folder)}: {error}") from None
    if not found:
        raise DataError(
            f"there is no store at {printable(folder)}; --store or {STORE_VARIABLE} names another, and "
            "'agentguard verify --store' or 'agentguard state import' makes one"
        )
