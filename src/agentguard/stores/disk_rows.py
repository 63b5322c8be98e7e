"""Rows in one SQLite file: ``diskcache`` without its pickles, its files beside the database, and its evictions.

diskcache turns what SQLite cannot hold into pickles, and runs those it finds. A row that anyone planted in the file
would be a program. ``PlainDisk`` knows bytes and integers; whatever else stands in a row is left out aloud.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from agentguard.errors import ConfigurationError, StoreError

from .disk_folder import DATABASE, FORMAT, private, recognise

try:
    from diskcache import DEFAULT_SETTINGS, Cache, Disk
    from diskcache.core import METADATA, MODE_RAW
except ImportError as error:
    raise ConfigurationError("DiskStore needs diskcache, which agentguard brings: pip install 'diskcache'") from error

__all__ = ["PlainDisk", "Row", "Rows"]

_log = logging.getLogger(__name__)

SETTINGS: Final = {
    **DEFAULT_SETTINGS,
    "cull_limit": 0,  # nothing goes but what the store removes by its own bounds
    "eviction_policy": "none",
    "sqlite_auto_vacuum": 2,  # incremental: prune gives the room back, and no write pays for it
    "sqlite_cache_size": 2_000,  # pages
    "sqlite_mmap_size": 0,  # a file that is cut off is an error; mapped, it kills the process
}
SYNCHRONOUS: Final = {"process": 1, "power": 2}  # NORMAL and FULL


TURN: Final = 0.005  # seconds that SQLite waits by itself, at small intervals, before it is asked anew

_left: Final[list[sqlite3.Connection]] = []


class RefusedRowError(StoreError):
    """A row that no store writes."""


def _identity(path: Path) -> tuple[int, int] | None:
    """The file itself, whatever its name; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class PlainDisk(Disk):  # type: ignore[misc]  # diskcache ships no types
    """Keys are bytes, values bytes or integers, all inside the database; nothing is ever pickled or unpickled."""

    def put(self, key: object) -> tuple[bytes, bool]:
        """The key as it is kept."""
        if type(key) is not bytes:
            raise RefusedRowError(f"keys are bytes, not {type(key).__name__}")
        return key, True

    def get(self, key: object, raw: object) -> bytes:
        """The key as it was put."""
        if type(key) is not bytes or raw != 1:
            raise RefusedRowError("its key is a pickle, or not bytes")
        return key

    def store(self, value: object, read: bool, key: object = None) -> tuple[int, int, None, bytes | int]:
        """Size, mode, file and value as they are kept."""
        if read or type(value) not in (bytes, int):
            raise RefusedRowError(f"values are bytes or integers, not {type(value).__name__}")
        return 0, MODE_RAW, None, value  # type: ignore[return-value]  # of the two types, as was just seen

    def fetch(self, mode: object, filename: object, value: object, read: bool) -> bytes | int:
        """The value as it was stored."""
        if mode != MODE_RAW or filename is not None or read or type(value) not in (bytes, int):
            raise RefusedRowError("its value is a pickle or a file, or neither bytes nor a number")
        return value  # type: ignore[return-value]  # of the two types, as was just seen

    def filename(self, key: object = None, value: object = None) -> tuple[str, str]:
        """No value has a file."""
        raise RefusedRowError("values are kept in the database, not in files")

    def remove(self, file_path: object) -> None:
        """No value has a file: a name that stands in a row is somebody else's."""


class Row(NamedTuple):
    """One row: its place in the order of writing, its key, when it was written, and its value."""

    rowid: int
    key: bytes
    at: float
    value: bytes | int


class Rows(Cache):  # type: ignore[misc]  # diskcache ships no types
    """One connection, for one thread at a time; errors are SQLite's own, but for rows that are refused.

    Args:
        folder: absolute; made where it is not there.
        timeout: seconds to wait for other writers.
        survives: ``"process"`` or ``"power"``.
    """

    def __init__(self, folder: Path, timeout: float, survives: str) -> None:
        private(folder)
        self._path = folder / DATABASE
        self._wait = timeout
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._seen: set[int] = set()
        self._pragmas = {**SETTINGS, "sqlite_synchronous": SYNCHRONOUS[survives]}
        recognise(self._path, timeout, SETTINGS | METADATA)
        try:
            # diskcache puts environment variables into the folder it is given; nothing of it uses the folder here.
            super().__init__(folder.anchor, timeout=timeout, disk=PlainDisk, **self._pragmas)
        except BaseException:
            self.close()
            raise
        self._directory = str(folder)

    @property
    def _con(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=self._wait, isolation_level=None, check_same_thread=False)
        try:
            self._file = _identity(self._path)
            connection.text_factory = lambda text: text.decode("utf-8", "replace")
            connection.execute("PRAGMA trusted_schema = OFF")
            for name, value in self._pragmas.items():
                if name.startswith("sqlite_"):
                    connection.execute(f"PRAGMA {name[7:]} = {value}").fetchall()
            connection.execute(f"PRAGMA busy_timeout = {round(1_000 * TURN)}")
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def _sql_retry(self) -> Callable[..., sqlite3.Cursor]:
        return lambda *words: self._patiently(lambda: self._con.execute(*words))

    @contextmanager
    def _transact(self, retry: bool = False, filename: object = None) -> Iterator[tuple[Any, Any]]:
        connection = self._con
        self._patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
        try:
            self.check_format()
            yield connection.execute, self.disk.remove
            connection.execute("COMMIT")
        except BaseException:
            self._undo(connection)
            raise

    def _patiently(self, begin: Callable[[], sqlite3.Cursor]) -> sqlite3.Cursor:
        """Wait for other processes. SQLite asks the more rarely the longer it waits, and the newest comer wins."""
        deadline = time.monotonic() + self._wait
        while True:
            try:
                return begin()
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() >= deadline:
                    raise
            time.sleep(TURN / 5)

    def is_gone(self) -> bool:
        """The file that is open is no more the one that lies in the folder: somebody has removed or replaced it."""
        return self._connection is not None and _identity(self._path) != self._file

    def _undo(self, connection: sqlite3.Connection) -> None:
        try:
            if connection.in_transaction:  # a commit that failed, as on a full disk, may leave it open
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            self.close()

    def close(self) -> None:
        """End the connection; the next use makes a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def leave(self) -> None:
        """Have no more to do with the connection, not even to close it: it is another process's."""
        if self._connection is not None:
            _left.append(self._connection)
            self._connection = None

    def check_format(self) -> None:
        """Another process may have brought the file to a newer format since it was opened."""
        version = self._patiently(lambda: self._con.execute("PRAGMA user_version")).fetchone()[0]
        if version != FORMAT:
            raise StoreError(f"{self._path} was brought to format {version} while it was open; open it again")

    def row(self, key: bytes) -> Row | None:
        """The row of this key."""
        with closing(self.scan(key, key + b"\0")) as found:
            return next(found, None)

    def has(self, key: bytes) -> bool:
        """There is a row of this key, whatever is in it."""
        return self.first_key(key, key + b"\0") is not None

    def first_key(self, low: bytes, high: bytes) -> bytes | None:
        """The first key from one to before another."""
        select = "SELECT key FROM Cache WHERE key >= ? AND key < ? ORDER BY key LIMIT 1"
        found: tuple[bytes] | None = self._con.execute(select, (low, high)).fetchone()
        return None if found is None else found[0]

    def scan(self, low: bytes, high: bytes) -> Generator[Row]:
        """The rows from one key to before another, by key."""
        select = (
            "SELECT rowid, key, raw, store_time, mode, filename, value FROM Cache"
            " WHERE key >= ? AND key < ? ORDER BY key"
        )
        with closing(self._con.execute(select, (low, high))) as cursor:
            for rowid, key, raw, at, mode, filename, value in cursor:
                try:
                    if type(at) is not float:
                        raise RefusedRowError("its time is no number")
                    row = Row(rowid, self.disk.get(key, raw), at, self.disk.fetch(mode, filename, value, False))
                except RefusedRowError as reason:
                    self.refuse(rowid, str(reason))
                else:
                    yield row

    def keys(self, low: bytes, high: bytes) -> list[bytes]:
        """The keys from one to before another, in the order in which they were put."""
        found = self._con.execute("SELECT key FROM Cache WHERE key >= ? AND key < ? ORDER BY rowid", (low, high))
        return [key for (key,) in found if type(key) is bytes]

    def number_of(self, low: bytes, high: bytes) -> int:
        """How many rows there are from one key to before another."""
        return int(
            self._con.execute("SELECT COUNT(*) FROM Cache WHERE key >= ? AND key < ?", (low, high)).fetchone()[0]
        )

    def put(self, key: bytes, value: bytes | int, at: float) -> None:
        """Write a row, the last of all in the order of writing."""
        size, mode, filename, kept = self.disk.store(value, False)
        stored_key, raw = self.disk.put(key)
        self.remove(key)
        self._row_insert(stored_key, raw, float(at), (None, None, size, mode, filename, kept))

    def remove(self, key: bytes) -> int:
        """Remove the row of this key; how many there were."""
        return self._con.execute("DELETE FROM Cache WHERE key = ?", (key,)).rowcount

    def remove_range(self, low: bytes, high: bytes, before: float | None = None) -> int:
        """Remove rows from one key to before another, all or those written before a time; how many there were."""
        delete = "DELETE FROM Cache WHERE key >= ? AND key < ?"
        if before is None:
            return self._con.execute(delete, (low, high)).rowcount
        return self._con.execute(f"{delete} AND store_time < ?", (low, high, before)).rowcount

    def remove_oldest(self, low: bytes, high: bytes, more_than: int) -> None:
        """Of the rows from one key to before another, keep so many, those written last."""
        excess = self.number_of(low, high) - more_than
        if excess > 0:
            self._con.execute(
                "DELETE FROM Cache WHERE rowid IN"
                " (SELECT rowid FROM Cache WHERE key >= ? AND key < ? ORDER BY rowid LIMIT ?)",
                (low, high, excess),
            )

    def give_back_room(self) -> None:
        """Give pages that are no longer needed back to the file system."""
        # As a script, which goes on to the end: a statement without columns is not taken further than its first step.
        self._con.executescript("PRAGMA incremental_vacuum")

    def refuse(self, rowid: int, reason: str) -> None:
        """Say, once, that a row is left out."""
        if rowid not in self._seen and len(self._seen) < 1_000:
            self._seen.add(rowid)
            _log.error("%s: row %d was not written by a store and is left out: %s", self._path, rowid, reason)
