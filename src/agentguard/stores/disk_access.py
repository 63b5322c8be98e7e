"""Access to the rows of a folder: a thread at a time, in transactions, across forks; errors say what to do."""

from __future__ import annotations

import errno
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from agentguard import forks
from agentguard.errors import StoreError

from .disk_rows import Rows

__all__ = ["Access"]


_log = logging.getLogger(__name__)


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
            with self._rows.transact():
                yield self._rows

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        """What was written until now."""
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
        """Say in the log that a row is left out."""
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
        """That the store is open, and that its file is the one in the folder."""
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
