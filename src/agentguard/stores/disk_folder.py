"""The folder of a DiskStore: its own, private to one user, and a store of a known format before anything else opens it.

The format stands in the head of the database file, where SQLite keeps two numbers for applications: which application
the file belongs to, and the version of its format.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from agentguard.errors import StoreError

__all__ = ["DATABASE", "FORMAT", "MIGRATIONS", "private", "recognise"]

DATABASE: Final = "cache.db"  # as diskcache names it
APPLICATION: Final = 0x61674744
FORMAT: int = 1

MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {}
"""From each older format to the next: a step that changes the rows, inside a transaction that it must not end."""

_log = logging.getLogger(__name__)


def private(folder: Path) -> None:
    """Make the folder, or make sure that it is this user's own; nobody else may look into it afterwards.

    An existing folder is tightened where it is a store or empty. Any other one is left alone and refused: it has
    another purpose, and others may need to read what lies there.

    Raises:
        StoreError: where it belongs to another user, is no folder, or holds something else.
        OSError: where it cannot be made.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _make_private(folder, folder.stat(), 0o700, only_where=_is_a_store_or_empty)
    for name in (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm"):
        path = folder / name
        try:
            status = path.lstat()
        except FileNotFoundError:  # SQLite removes the two others with the last connection, and gives new ones its mode
            continue
        if not stat.S_ISREG(status.st_mode):
            raise StoreError(f"{path} is no plain file, and a store writes to nothing else; remove it")
        _make_private(path, status, 0o600)
    # Only a file that is new may be opened by other means than SQLite's: to close it again gives up the locks that the
    # process has on it, those of a store that is open already.
    with suppress(FileExistsError):
        os.close(os.open(folder / DATABASE, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def recognise(database: Path, timeout: float, settings: Mapping[str, object]) -> None:
    """Make the file a store of the present format: a new one, or an older one by the steps of ``MIGRATIONS``.

    Args:
        database: the file, which is there.
        timeout: seconds to wait for another process that writes.
        settings: what diskcache may find set; it hands other names on to SQLite as they stand in the file.

    Raises:
        StoreError: where the file is of a newer format, or something else's.
        sqlite3.Error: where it cannot be read or written.
    """
    connection = sqlite3.connect(database, timeout=timeout, isolation_level=None)
    try:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # is for empty files only
        connection.execute("BEGIN IMMEDIATE")
        application, version = (_number(connection, pragma) for pragma in ("application_id", "user_version"))
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables and not application:
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
        elif application != APPLICATION:
            raise StoreError(f"{database} is the database of something else; give the store a folder of its own")
        elif version > FORMAT:
            raise StoreError(
                f"{database} is a store of format {version}, written by a newer agentguard; this one knows formats up "
                f"to {FORMAT}: upgrade it, or use another folder"
            )
        else:
            _migrate(connection, database, version)
        if "Settings" in tables:
            _check_settings(connection, database, settings)
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
    finally:
        connection.close()  # which undoes what was not committed


def _migrate(connection: sqlite3.Connection, database: Path, version: int) -> None:
    for step in range(version, FORMAT):
        if step not in MIGRATIONS:
            raise StoreError(f"{database} is a store of format {version}, which nothing leads from; use another folder")
        MIGRATIONS[step](connection)
        _log.info("%s: from format %d to %d", database, step, step + 1)


def _check_settings(connection: sqlite3.Connection, database: Path, settings: Mapping[str, object]) -> None:
    for name, kind in connection.execute("SELECT key, typeof(value) FROM Settings"):
        if name not in settings or kind not in ("integer", "text"):
            raise StoreError(f"{database} has settings that no store writes; do not use it, or find out who did")


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _is_a_store_or_empty(folder: Path) -> bool:
    names = {path.name for path in folder.iterdir()}
    return not names or DATABASE in names


def _make_private(
    path: Path, status: os.stat_result, mode: int, only_where: Callable[[Path], bool] = lambda path: True
) -> None:
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        raise StoreError(
            f"{path} belongs to user {status.st_uid}, and a store's files must belong to who uses it "
            f"(user {os.geteuid()}): chown them, or use another folder"
        )
    if not only_where(path):
        raise StoreError(f"{path} holds other files; a store needs a folder of its own")
    if os.name == "posix" and stat.S_IMODE(status.st_mode) & ~mode:
        path.chmod(mode)
        _log.warning("%s was open to other users; it is no more", path)
