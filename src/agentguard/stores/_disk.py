"""A store in a folder of the local disk: what was acknowledged survives the process, and many share it exactly.

The folder holds one SQLite file, ``cache.db``, whose tables diskcache lays, so that a ``diskcache.Cache`` can read it.
Rows are read and written by SQL of our own, since diskcache's interface has no ranges of keys, no order of writing, no
transaction that another process may not wait out, and no way to close every connection before a fork.

A row that anyone planted in the file must not become a program: keys are bytes, values bytes or integers, nothing is
ever pickled or unpickled, and whatever else stands in a row is left out and reported in the log.
"""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal, NamedTuple
from uuid import uuid4

from agentguard import _forks as forks
from agentguard.errors import ConfigurationError, StoreError
from agentguard.stores._base import (
    HOUR,
    Delta,
    Document,
    Event,
    Record,
    Standing,
    added,
    checked_age,
    checked_delta,
    checked_name,
    decode,
    encode,
)

try:
    from diskcache import DEFAULT_SETTINGS, Cache
except ImportError as error:
    raise ConfigurationError("DiskStore needs diskcache, which agentguard brings: pip install 'diskcache'") from error

_log = logging.getLogger(__name__)

# --- Keys: bytes whose order is the order of what they stand for ---
#
# A key is a letter for the kind of row, then names and numbers. A name is its UTF-8 (lone surrogates as they are) with
# a zero byte written as 00 FF, and ends in a zero byte; a number is eight bytes, big end first, the first of them never
# FF. So no name can be taken for the beginning of another, whatever characters it has.

# A claim has two rows: by its digest, to be found, and by its number, to be forgotten in turn.
EVENT, CLAIM, CLAIM_NUMBER, LAST, COUNTS, WORKER, DOCUMENT = b"e", b"c", b"i", b"l", b"n", b"w", b"d"
EPOCH: Final = b"p"
LEAST: Final = -(1 << 61)  # hours may lie before the epoch
MOST: Final = (1 << 61) - 1


def named(prefix: bytes, name: str) -> bytes:
    r"""The prefix and a name.

    >>> named(b"d", "a\0b")
    b'da\x00\xffb\x00'
    """
    return prefix + name.encode("utf-8", "surrogatepass").replace(b"\0", b"\0\xff") + b"\0"


def numbered(prefix: bytes, number: int) -> bytes:
    r"""The prefix and a number; numbers beyond ``LEAST`` and ``MOST``, which no clock reaches, are held to these.

    >>> numbered(b"h", 1)
    b'h \x00\x00\x00\x00\x00\x00\x01'
    """
    return prefix + (min(max(number, LEAST), MOST) - LEAST).to_bytes(8, "big")


def digest(prefix: bytes, text: str) -> bytes:
    """The prefix and 32 bytes for a text that is asked for again and never read back, of any length."""
    return prefix + blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest()


def after(prefix: bytes) -> bytes:
    """The first key beyond all that begin so."""
    return prefix + b"\xff"


def last_number(key: bytes) -> int:
    """The number at the end of a key.

    >>> last_number(numbered(b"h", -5))
    -5
    """
    return int.from_bytes(key[-8:], "big") + LEAST


def last_name(prefix: bytes, key: bytes) -> str:
    r"""The name at the end of a key.

    >>> last_name(b"d", named(b"d", "a\0b"))
    'a\x00b'
    """
    return key[len(prefix) : -1].replace(b"\0\xff", b"\0").decode("utf-8", "surrogatepass")


# --- The folder: private to one user, and of a known format before anything else opens it ---
#
# The format stands in the head of the file, where SQLite keeps two numbers for applications: which application the file
# belongs to, and the version of its format.

DATABASE: Final = "cache.db"  # as diskcache names it
APPLICATION: Final = 0x61674744
LAID_LAST: Final = "Settings_size_delete"  # by diskcache: where this trigger is, all is
FORMAT: int = 1

MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {}
"""From each older format to the next: a step that changes the rows, inside a transaction that it must not end."""


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


def recognise(database: Path, timeout: float, settings: Collection[str]) -> bool:
    """Make the file a store of the present format: a new one, or an older one by the steps of ``MIGRATIONS``.

    Args:
        database: the file, which is there.
        timeout: seconds to wait for another process that writes.
        settings: the names that diskcache may find set; it hands other ones on to SQLite as they stand in the file.

    Returns:
        Whether it has all its tables.

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
        laid = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (LAID_LAST,)).fetchone()
        return laid is not None
    finally:
        connection.close()  # which undoes what was not committed


def lay(folder: Path) -> None:
    """Let diskcache lay the tables of a new store; those that are there already stay."""
    with ExitStack() as stack:
        path = str(folder)
        if os.path.expandvars(path) != path:  # which diskcache would do to a folder named $HOME, say
            link = Path(stack.enter_context(TemporaryDirectory())) / "store"
            link.symlink_to(folder)
            path = str(link)
        Cache(path, **SETTINGS).close()


def _migrate(connection: sqlite3.Connection, database: Path, version: int) -> None:
    for step in range(version, FORMAT):
        if step not in MIGRATIONS:
            raise StoreError(f"{database} is a store of format {version}, which nothing leads from; use another folder")
        MIGRATIONS[step](connection)
        _log.info("%s: from format %d to %d", database, step, step + 1)


def _check_settings(connection: sqlite3.Connection, database: Path, settings: Collection[str]) -> None:
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


# --- Rows ---

SETTINGS: Final = {
    **DEFAULT_SETTINGS,
    "cull_limit": 0,  # nothing goes but what the store removes by its own bounds
    "eviction_policy": "none",
    "sqlite_auto_vacuum": 2,  # incremental: prune gives the room back, and no write pays for it
    "sqlite_cache_size": 2_000,  # pages
    "sqlite_mmap_size": 0,  # a file that is cut off is an error; mapped, it kills the process
}
KNOWN: Final = SETTINGS.keys() | {"count", "hits", "misses", "size"}  # the latter ones are counted by diskcache
SYNCHRONOUS: Final = {"process": 1, "power": 2}  # NORMAL and FULL
AS_IT_IS: Final = 1  # how diskcache marks a key and a value that are neither a pickle nor a file
TURN: Final = 0.005  # seconds that SQLite waits by itself, at small intervals, before it is asked anew

_left: Final[list[sqlite3.Connection]] = []  # connections of another process


def _identity(path: Path) -> tuple[int, int] | None:
    """The file itself, whatever its name; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class RefusedRowError(StoreError):
    """A row that no store writes."""


class Row(NamedTuple):
    """One row: its place in the order of writing, its key, when it was written, and its value."""

    rowid: int
    key: bytes
    at: float
    value: bytes | int


class Rows:
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
        self._synchronous = SYNCHRONOUS[survives]
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._seen: set[int] = set()
        if not recognise(self._path, timeout, KNOWN):
            lay(folder)

    @property
    def connection(self) -> sqlite3.Connection:
        """The open connection; a new one where there is none."""
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=self._wait, isolation_level=None, check_same_thread=False)
        try:
            self._file = _identity(self._path)
            connection.text_factory = lambda text: text.decode("utf-8", "replace")
            connection.execute("PRAGMA trusted_schema = OFF")
            for pragma, value in (
                ("journal_mode", SETTINGS["sqlite_journal_mode"]),
                ("cache_size", SETTINGS["sqlite_cache_size"]),
                ("mmap_size", SETTINGS["sqlite_mmap_size"]),
                ("synchronous", self._synchronous),
                ("busy_timeout", round(1_000 * TURN)),
            ):
                connection.execute(f"PRAGMA {pragma} = {value}").fetchall()
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of what is done in it, or nothing."""
        connection = self.connection
        self._patiently("BEGIN IMMEDIATE")
        try:
            self.check_format()
            yield
            connection.execute("COMMIT")
        except BaseException:
            self._undo(connection)
            raise

    def _patiently(self, statement: str) -> sqlite3.Cursor:
        """Wait for other processes. SQLite asks the more rarely the longer it waits, and the newest comer wins."""
        deadline = time.monotonic() + self._wait
        while True:
            try:
                return self.connection.execute(statement)
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
        version = self._patiently("PRAGMA user_version").fetchone()[0]
        if version != FORMAT:
            raise StoreError(f"{self._path} was brought to format {version} while it was open; open it again")

    def row(self, key: bytes) -> Row | None:
        """The row of this key."""
        with closing(self.scan(key, key + b"\0")) as rows:
            return next(rows, None)

    def has(self, key: bytes) -> bool:
        """There is a row of this key, whatever is in it."""
        return self.first_key(key, key + b"\0") is not None

    def first_key(self, low: bytes, high: bytes) -> bytes | None:
        """The first key from one to before another."""
        select = "SELECT key FROM Cache WHERE key >= ? AND key < ? ORDER BY key LIMIT 1"
        row: tuple[bytes] | None = self.connection.execute(select, (low, high)).fetchone()
        return None if row is None else row[0]

    def scan(self, low: bytes, high: bytes) -> Generator[Row]:
        """The rows from one key to before another, by key."""
        select = (
            "SELECT rowid, key, raw, store_time, mode, filename, value FROM Cache"
            " WHERE key >= ? AND key < ? ORDER BY key"
        )
        with closing(self.connection.execute(select, (low, high))) as cursor:
            for rowid, key, raw, at, mode, filename, value in cursor:
                if type(key) is not bytes or raw != AS_IT_IS:
                    self.refuse(rowid, "its key is a pickle, or not bytes")
                elif type(at) is not float:
                    self.refuse(rowid, "its time is no number")
                elif mode != AS_IT_IS or filename is not None or type(value) not in (bytes, int):
                    self.refuse(rowid, "its value is a pickle or a file, or neither bytes nor a number")
                else:
                    yield Row(rowid, key, at, value)

    def keys(self, low: bytes, high: bytes) -> list[bytes]:
        """The keys from one to before another, in the order in which they were put."""
        rows = self.connection.execute("SELECT key FROM Cache WHERE key >= ? AND key < ? ORDER BY rowid", (low, high))
        return [key for (key,) in rows if type(key) is bytes]

    def number_of(self, low: bytes, high: bytes) -> int:
        """Count the rows from one key to before another."""
        return int(
            self.connection.execute("SELECT COUNT(*) FROM Cache WHERE key >= ? AND key < ?", (low, high)).fetchone()[0]
        )

    def put(self, key: bytes, value: bytes | int, at: float) -> None:
        """Write a row, the last of all in the order of writing."""
        if type(key) is not bytes or type(value) not in (bytes, int):
            raise RefusedRowError(f"a row holds bytes or an integer under bytes, not {type(value).__name__}")
        self.remove(key)
        self.connection.execute(
            "INSERT INTO Cache (key, raw, store_time, access_time, mode, value) VALUES (?, ?, ?, ?, ?, ?)",
            (key, AS_IT_IS, float(at), float(at), AS_IT_IS, value),
        )

    def remove(self, key: bytes) -> int:
        """Remove the row of this key; how many there were."""
        return self.connection.execute("DELETE FROM Cache WHERE key = ?", (key,)).rowcount

    def remove_range(self, low: bytes, high: bytes, before: float | None = None) -> int:
        """Remove rows from one key to before another, all or those written before a time; how many there were."""
        delete = "DELETE FROM Cache WHERE key >= ? AND key < ?"
        if before is None:
            return self.connection.execute(delete, (low, high)).rowcount
        return self.connection.execute(f"{delete} AND store_time < ?", (low, high, before)).rowcount

    def remove_oldest(self, low: bytes, high: bytes, more_than: int) -> None:
        """Of the rows from one key to before another, keep so many, those written last."""
        excess = self.number_of(low, high) - more_than
        if excess > 0:
            self.connection.execute(
                "DELETE FROM Cache WHERE rowid IN"
                " (SELECT rowid FROM Cache WHERE key >= ? AND key < ? ORDER BY rowid LIMIT ?)",
                (low, high, excess),
            )

    def give_back_room(self) -> None:
        """Give pages that are no longer needed back to the file system."""
        # As a script, which goes on to the end: a statement without columns is not taken further than its first step.
        self.connection.executescript("PRAGMA incremental_vacuum")

    def refuse(self, rowid: int, reason: str) -> None:
        """Log, once, that a row is left out."""
        if rowid not in self._seen and len(self._seen) < 1_000:
            self._seen.add(rowid)
            _log.error("%s: row %d was not written by a store and is left out: %s", self._path, rowid, reason)


# --- Access: a thread at a time, in transactions, across forks; errors say what to do ---


class Access:
    """The rows of one folder, for the threads of one process.

    Args:
        folder: absolute.
        timeout: seconds that a call waits while other processes write.
        survives: ``"process"`` or ``"power"``.

    Raises:
        StoreError: from every method, where the folder cannot be used.
    """

    def __init__(self, folder: Path, timeout: float, survives: str) -> None:
        self._folder, self._timeout, self._survives = folder, timeout, survives
        self._lock = forks.lock(forks.Rank.STORE)
        self._open = True
        with _opening, self._told():
            self._rows = Rows(folder, timeout, survives)
            forks.watch(self)

    @contextmanager
    def writing(self) -> Iterator[Rows]:
        """One transaction: all of what is done in it, or nothing."""
        with self._lock, self._told():
            self._make_sure()
            with self._rows.transaction():
                yield self._rows

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        """The rows as they stand now."""
        with self._lock, self._told():
            self._make_sure()
            self._rows.check_format()
            yield self._rows

    def close(self) -> None:
        """Close the file; what is called afterwards is refused."""
        with self._lock, self._told():
            self._open = False
            self._rows.close()

    def refuse(self, rowid: int, reason: str) -> None:
        """Log that a row is left out."""
        self._rows.refuse(rowid, reason)

    def forking(self) -> None:
        """Have no file open: the next call opens it again, on either side."""
        if forks.has(self._lock):  # else a thread is writing, and has been for longer than a fork waits
            with suppress(sqlite3.Error):  # it is out of use either way
                self._rows.close()

    def forked(self) -> None:
        """Leave alone what came from the other side."""
        self._rows.leave()

    def _make_sure(self) -> None:
        """Make sure that the store is open, and that its file is the one in the folder."""
        if not self._open:
            raise StoreError("the store is closed; open a new one")
        if self._rows.is_gone():
            _log.error("%s: the store was removed or replaced while it was open; it is opened anew", self._folder)
            self._rows.close()
            self._rows = Rows(self._folder, self._timeout, self._survives)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            raise StoreError(f"{self._folder}: {_ADVICE[_reason(error)]} ({error})") from error


def _reason(error: Exception) -> str:
    """SQLite's own messages hold no path, which could contain any word."""
    if isinstance(error, OSError):
        return _ERRNO.get(error.errno, "")
    text = str(error)
    return next((word for word in _ADVICE if word in text), "")


_ADVICE: Final = {
    "locked": "another process has been writing all the time; call again, or give the store a longer timeout",
    "full": "the disk is full; nothing of this call was kept, so free some room and call again",
    "readonly": "the folder cannot be written; let this user write to it, or use another one",
    "unable to open": "the folder cannot be written, or is gone; let this user write to it, or use another one",
    "malformed": "the database is damaged; move the folder away, and start with an empty one or a copy",
    "not a database": "the database is damaged; move the folder away, and start with an empty one or a copy",
    "decode": "the database is damaged; move the folder away, and start with an empty one or a copy",
    "": "the folder cannot be read or written; nothing of this call was kept, so see to the disk and call again",
}
_ERRNO: Final = {
    errno.EACCES: "readonly",
    errno.EPERM: "readonly",
    errno.EROFS: "readonly",
    errno.ENOSPC: "full",
    getattr(errno, "EDQUOT", errno.ENOSPC): "full",
}


# SQLite forbids carrying a connection across a fork: closing the file on one side would remove what the other side
# goes on writing to. So no side has one open while the process is copied, and none is made meanwhile.
_opening = forks.lock(forks.Rank.OPENING)


# --- The store ---

PAGE: Final = 1 << 20  # bytes of events that are read at once


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_counts(value: object) -> bool:
    return isinstance(value, dict) and value != {} and all(type(count) is int for count in value.values())


def _is_mark(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(number) is int for number in value)


class DiskStore:
    """Events, claims, counts and documents in one SQLite file, which every process of this machine may open.

    Each call that writes is one transaction, which is committed before the call returns. Values are JSON; a pickle, or
    anything else that no store writes, is left out, and reported in the log.

    The folder is made with mode 0700, its files with 0600. A folder that is there must belong to the user and be a
    store or empty; others lose access to it. It must be on a local disk: network file systems do not lock as SQLite
    needs it. A store may be used on both sides of ``os.fork``.

    Args:
        folder: of its own.
        flush_seconds: how often an engine hands over what it learned.
        max_events: the newest of each kind that are kept; claims of a kind likewise, and workers that sent deltas.
        max_age: seconds after which events, claims, counts and documents are removed, as ``prune`` does, on opening
            and about once an hour; None: only bounds remove anything.
        max_names: documents, and names of counts in each hour; the ones longest untouched go first.
        max_hours: of counts.
        clock: seconds since the epoch.
        timeout: seconds that a call waits while other processes write.
        survives: what a call that returned has survived: the end of the ``"process"`` however it ends, or a failure of
            ``"power"`` too, for which every write waits for the disk (a few milliseconds).

    Raises:
        StoreError: where the folder cannot be used; the message says why.
        ConfigurationError: where diskcache is not installed, or ``survives`` is something else.
    """

    is_near: bool = True

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        flush_seconds: float | None = 1.0,
        max_events: int = 100_000,
        max_age: float | None = None,
        max_names: int = 10_000,
        max_hours: int = 168,
        clock: Callable[[], float] = time.time,
        timeout: float = 5.0,
        survives: Literal["process", "power"] = "process",
    ) -> None:
        if survives not in ("process", "power"):
            raise ConfigurationError(f"survives must be 'process' or 'power', not {survives!r}")
        self.flush_seconds = flush_seconds
        self.folder: Path = Path(folder).expanduser().absolute()
        self._max_events, self._max_names, self._max_hours = max_events, max_names, max_hours
        self._max_age, self._clock, self._pruned = max_age, clock, clock()
        self._access = Access(self.folder, timeout, survives)
        if max_age is not None:
            self.prune(max_age)

    def standing(self, kinds: Iterable[str], /) -> Standing:
        wanted = [checked_name("the kind of an event", kind) for kind in kinds]
        with self._access.reading() as rows:
            epoch = rows.row(EPOCH)
            last = {kind: self._last(rows, named(LAST + EVENT, kind)) for kind in wanted}
        if epoch is None:
            with self._writing() as rows:
                epoch = rows.row(EPOCH)
                if epoch is None:
                    rows.put(EPOCH, uuid4().hex.encode(), self._clock())
                    epoch = rows.row(EPOCH)
        value = None if epoch is None else epoch.value
        return Standing(value.decode("ascii", "replace") if isinstance(value, bytes) else "", last)

    def append(self, kind: str, event: Event, /) -> int:
        return self.extend(kind, (event,))

    def extend(self, kind: str, events: Sequence[Event], /) -> int:
        kind_key = named(EVENT, checked_name("the kind of an event", kind))
        encoded = [encode("an event", event) for event in events]
        if not encoded:
            return 0
        with self._writing() as rows:
            now, last = self._clock(), named(LAST + EVENT, kind)
            before = self._last(rows, last)
            sequence = before + len(encoded)
            for number, data in enumerate(encoded, before + 1):
                rows.put(numbered(kind_key, number), data, now)
            rows.put(last, sequence, now)
            rows.remove_range(numbered(kind_key, 0), numbered(kind_key, sequence - self._max_events + 1))
            return sequence

    def events(self, kind: str, /, after: int = 0) -> Iterator[Record]:
        kind_key = named(EVENT, checked_name("the kind of an event", kind))
        with self._access.reading() as rows:
            newest = self._last(rows, named(LAST + EVENT, kind))
        return self._paged(kind_key, numbered(kind_key, max(after, 0) + 1), numbered(kind_key, newest + 1))

    def claim(self, kind: str, key: str, /) -> bool:
        claim = digest(named(CLAIM, checked_name("the kind of a claim", kind)), checked_name("the key of a claim", key))
        numbers = named(CLAIM_NUMBER, kind)
        with self._writing() as rows:
            if rows.has(claim):
                return False
            now = self._clock()
            number = self._next(rows, named(LAST + CLAIM, kind), now)
            rows.put(claim, number, now)
            rows.put(numbered(numbers, number), claim, now)
            beyond = numbered(numbers, 0), numbered(numbers, number - self._max_events + 1)
            for row in list(rows.scan(*beyond)):
                if isinstance(row.value, bytes) and row.value.startswith(CLAIM):
                    rows.remove(row.value)
            rows.remove_range(*beyond)
            return True

    def merge(self, delta: Delta, /) -> int:
        counts = checked_delta(delta)
        worker_key = named(WORKER, delta.worker)
        with self._writing() as rows:
            now = self._clock()
            hour = int(now) // HOUR
            mark = self._value(rows.row(worker_key), _is_mark)
            if mark is not None and delta.sequence <= mark[0]:
                return int(mark[1])
            prefix, is_new = numbered(COUNTS, hour), False
            for name, fields in counts.items():
                key = named(prefix, name)
                known = self._value(rows.row(key), _is_counts)
                rows.put(key, encode("counts", added(name, known or {}, fields)), now)
                is_new = is_new or known is None
            if is_new:
                rows.remove_oldest(prefix, after(prefix), self._max_names)
                rows.remove_range(numbered(COUNTS, LEAST), numbered(COUNTS, hour - self._max_hours + 1))
            rows.put(worker_key, b"[%d,%d]" % (delta.sequence, hour), now)
            if mark is None:
                rows.remove_oldest(WORKER, after(WORKER), self._max_events)
            return hour

    def counts(self, names: Iterable[str] | None = None, /, since: int = 0) -> dict[int, dict[str, dict[str, int]]]:
        wanted = None if names is None else list(dict.fromkeys(names))
        by_hour: dict[int, dict[str, dict[str, int]]] = {}
        with self._access.reading() as rows:
            hour = self._hour_from(rows, max(since, int(self._clock()) // HOUR - self._max_hours + 1))
            while hour is not None:
                prefix = numbered(COUNTS, hour)
                counted = dict(self._named(prefix, _chosen(rows, prefix, wanted), _is_counts))
                if counted:
                    by_hour[hour] = counted
                hour = self._hour_from(rows, hour + 1)
        return by_hour

    def save(self, documents: Mapping[str, Document], /) -> None:
        encoded = {
            named(DOCUMENT, checked_name("the name of a document", name)): encode(f"the document {name!r}", document)
            for name, document in documents.items()
        }
        with self._writing() as rows:
            now = self._clock()
            for key, data in encoded.items():
                rows.put(key, data, now)
            rows.remove_oldest(DOCUMENT, after(DOCUMENT), self._max_names)

    def load(self, names: Iterable[str] | None = None, /) -> dict[str, Document]:
        wanted = None if names is None else set(names)
        with self._access.reading() as rows:
            return dict(self._named(DOCUMENT, sorted(_chosen(rows, DOCUMENT, wanted)), _is_object))

    def names(self) -> Sequence[str]:
        with self._access.reading() as rows:
            return [last_name(DOCUMENT, key) for key in rows.keys(DOCUMENT, after(DOCUMENT))]

    def forget(self, names: Iterable[str], /) -> None:
        forgotten = [checked_name("a name", name) for name in names]
        with self._writing() as rows:
            for name in forgotten:
                rows.remove(named(DOCUMENT, name))
            hour = self._hour_from(rows, LEAST)
            while hour is not None:
                for name in forgotten:
                    rows.remove(named(numbered(COUNTS, hour), name))
                hour = self._hour_from(rows, hour + 1)

    def prune(self, max_age: float, /) -> int:
        checked_age(max_age)
        with self._access.writing() as rows:
            removed = self._prune(rows, max_age)
        with self._access.reading() as rows:
            rows.give_back_room()
        return removed

    def close(self) -> None:
        self._access.close()

    def __enter__(self) -> DiskStore:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @contextmanager
    def _writing(self) -> Iterator[Rows]:
        with self._access.writing() as rows:
            if self._max_age is not None and self._clock() - self._pruned > HOUR:
                self._prune(rows, self._max_age)
            yield rows

    def _prune(self, rows: Rows, max_age: float) -> int:
        self._pruned = self._clock()
        oldest = self._pruned - max_age
        removed = rows.remove_range(EVENT, after(EVENT), oldest) + rows.remove_range(CLAIM, after(CLAIM), oldest)
        rows.remove_range(CLAIM_NUMBER, after(CLAIM_NUMBER), oldest)
        removed += rows.remove_range(numbered(COUNTS, LEAST), numbered(COUNTS, int(oldest // HOUR)))
        return removed + rows.remove_range(DOCUMENT, after(DOCUMENT), oldest)

    def _next(self, rows: Rows, key: bytes, now: float) -> int:
        number = self._last(rows, key) + 1
        rows.put(key, number, now)
        return number

    def _last(self, rows: Rows, key: bytes) -> int:
        if not rows.has(key):
            return 0
        row = rows.row(key)
        if row is None or not isinstance(row.value, int) or not 0 <= row.value < MOST:
            raise StoreError(f"{self.folder}: a number of the store is damaged; move the folder away, or use a copy")
        return row.value

    def _paged(self, kind_key: bytes, low: bytes, high: bytes) -> Iterator[Record]:
        """A page at a time: whoever reads on slowly keeps no other thread waiting, nor the file from being tidied."""
        while page := self._page(low, high):
            low = page[-1].key + b"\0"
            for row in page:
                event = self._value(row, _is_object)
                if event is not None and len(row.key) == len(kind_key) + 8:
                    yield Record(last_number(row.key), row.at, event)

    def _page(self, low: bytes, high: bytes) -> list[Row]:
        page, size = [], 0
        with self._access.reading() as rows, closing(rows.scan(low, high)) as scanned:
            for row in scanned:
                page.append(row)
                size += len(row.key) + (len(row.value) if isinstance(row.value, bytes) else 0)
                if size > PAGE:
                    break
        return page

    def _hour_from(self, rows: Rows, hour: int) -> int | None:
        """The first hour with counts from this one on."""
        key = rows.first_key(numbered(COUNTS, hour), numbered(COUNTS, MOST))
        return None if key is None else last_number(key[:9].ljust(9, b"\xff"))

    def _named(self, prefix: bytes, rows: Iterable[Row], fits: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
        for row in rows:
            value = self._value(row, fits)
            if value is not None:
                yield last_name(prefix, row.key), value

    def _value(self, row: Row | None, fits: Callable[[Any], bool]) -> Any:
        """Decode a row; None where there is no row, or none that a store wrote."""
        if row is None:
            return None
        try:
            if isinstance(row.value, int):
                raise ValueError("a number where JSON was written")
            value = decode(row.value)
            if not fits(value):
                raise ValueError("JSON of another form than was written")
        except ValueError as error:
            self._access.refuse(row.rowid, str(error))
            return None
        return value


def _chosen(rows: Rows, prefix: bytes, names: Iterable[str] | None) -> Iterator[Row]:
    if names is None:
        yield from rows.scan(prefix, after(prefix))
    else:
        for name in names:
            row = rows.row(named(prefix, checked_name("a name", name)))
            if row is not None:
                yield row
