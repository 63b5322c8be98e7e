"""An SQLite file: private, of a known format, in transactions, for threads, processes and forks."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from agentguard import _forks as forks
from agentguard.errors import ConfigurationError, StoreError


@dataclass(frozen=True, slots=True)
class Format:
    """Format of a database file.

    Attributes:
        noun: What messages call it.
        application: The number in the head of the file, by which one kind is told from another.
        version: Of the schema; a file of another one is refused.
        schema: The statements that make it.
        survives: What a transaction that has ended has survived: the end of the ``process`` however it ends, or a
            failure of ``power`` too, for which every one waits for the disk.
    """

    noun: str
    application: int
    version: int
    schema: str
    survives: Literal["process", "power"]


class Database:
    """A file that any number of threads and processes may use at once, one of them writing.

    A file that is made has mode 0600, its folder, where it is made, 0700. It must lie on a local disk. It may be used
    on both sides of ``os.fork``.

    Args:
        path: Of the file.
        format: What it has inside.
        timeout: Seconds that a call waits while other processes write.

    Raises:
        StoreError: From every method, if the file cannot be used; the message says why.
        ConfigurationError: If this Python's SQLite has no FTS5 and the schema needs it.
    """

    def __init__(self, path: str | os.PathLike[str], format: Format, timeout: float = 30.0) -> None:
        self.path = Path(path).expanduser().absolute()
        self._format, self._timeout = format, timeout
        self._lock = forks.lock(forks.Rank.STORE)
        self._closed = False
        self._connection: sqlite3.Connection | None = None
        with _opening, self._told():
            self._make_private()
            self._connection = self._connect()
            forks.watch(self)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One view of all that is written now, however long it is looked at."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of what is done in it, or nothing."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    def close(self) -> None:
        """Close the file; what is called afterwards is refused."""
        with self._lock, self._told():
            self._closed = True
            self._disconnect()

    def forking(self) -> None:
        """Have no connection: the next call makes one, on either side."""
        if forks.has(self._lock):  # else a thread is writing, and has been for longer than a fork waits
            with suppress(sqlite3.Error):  # it is out of use either way
                self._disconnect()

    def forked(self) -> None:
        """Have no more to do with a connection that came from the other side, not even to close it."""
        if self._connection is not None:
            _left.append(self._connection)
            self._connection = None

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._lock, self._told():
            if self._closed:
                raise StoreError(f"the {self._format.noun} {self.path} is closed; open it again")
            if self._connection is None:
                self._connection = self._connect()
            connection = self._connection
            connection.execute(begin)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # the first error is the one to tell
                    connection.execute("ROLLBACK")
                raise

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=self._timeout, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute(f"PRAGMA synchronous = {'FULL' if self._format.survives == 'power' else 'NORMAL'}")
            self._recognise(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _recognise(self, connection: sqlite3.Connection) -> None:
        """Make a new file one of this format, or make sure that it is."""
        wanted = (self._format.application, self._format.version)
        if _head(connection) != wanted:
            connection.execute("BEGIN IMMEDIATE")  # the head may have been written since
            application, version = _head(connection)
            if (application, version) == (0, 0) and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                for statement in _statements(self._format.schema):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {self._format.application}")
                connection.execute(f"PRAGMA user_version = {self._format.version}")
            elif application != self._format.application:
                raise StoreError(f"{self.path} is no {self._format.noun} but the database of something else; move it")
            elif version != self._format.version:
                raise StoreError(
                    f"{self.path} is a {self._format.noun} of format {version}, and this agentguard knows format "
                    f"{self._format.version}; move it away, or use the version that wrote it"
                )
            connection.execute("COMMIT")
        # SQLite does not wait for others here, as it does everywhere else.
        until = time.monotonic() + self._timeout
        while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.01)

    def _make_private(self) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        status = self.path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise StoreError(f"{self.path} is no plain file, and the {self._format.noun} needs one; move it")
        if os.name == "posix" and stat.S_IMODE(status.st_mode) & 0o077 and status.st_uid == os.geteuid():
            self.path.chmod(0o600)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if "no such module: fts5" in str(error):
                raise ConfigurationError(
                    "the SQLite of this Python has no full-text search (FTS5): use another build of Python, or declare "
                    "elasticsearch"
                ) from error
            advice = next((said for word, said in _ADVICE.items() if word in str(error).lower()), _ADVICE[""])
            raise StoreError(f"the {self._format.noun} {self.path} cannot be used: {advice} ({error})") from error


def _head(connection: sqlite3.Connection) -> tuple[int, int]:
    application, version = (
        int(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("application_id", "user_version")
    )
    return application, version


def _statements(script: str) -> Iterator[str]:
    """``executescript`` would end the transaction."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


_ADVICE: Final = {
    "locked": "another process has been writing all the time; try again",
    "full": "the disk is full; free some room and try again",
    "no space": "the disk is full; free some room and try again",
    "read-only": "it may not be written; let this user write it, or use another folder",
    "readonly": "it may not be written; let this user write it, or use another folder",
    "permission": "it may not be written; let this user write it, or use another folder",
    "unable to open": "its folder may not be written, or is gone; let this user write it, or use another folder",
    "malformed": "it is damaged; move it away, and begin anew or with a copy",
    "not a database": "it is damaged, or something else; move it away, and begin anew or with a copy",
    "no such": "it is damaged; move it away, and begin anew or with a copy",
    "": "see to the disk and try again",
}

_left: Final[list[sqlite3.Connection]] = []

# SQLite forbids carrying a connection across a fork: no side has one while the process is copied, and none is made.
_opening = forks.lock(forks.Rank.OPENING)
