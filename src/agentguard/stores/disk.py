"""A store in a folder of the local disk: what was acknowledged survives the process, and many share it exactly."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, Literal
from uuid import uuid4

from agentguard.errors import ConfigurationError, StoreError

from .base import Delta, Document, Event, Record, Standing
from .disk_access import Access
from .disk_keys import LEAST, MOST, after, digest, last_name, last_number, named, numbered
from .disk_rows import Row, Rows
from .encoding import added, checked_age, checked_delta, checked_name, decode, encode

__all__ = ["DiskStore"]

HOUR: Final = 3600
PAGE: Final = 1 << 20  # bytes of events that are read at once

# What a key begins with. A claim has two rows: by its digest, to be found, and by its number, to be forgotten in turn.
EVENT, CLAIM, CLAIM_NUMBER, LAST, COUNTS, WORKER, DOCUMENT = b"e", b"c", b"i", b"l", b"n", b"w", b"d"
EPOCH = b"p"


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
        found: dict[int, dict[str, dict[str, int]]] = {}
        with self._access.reading() as rows:
            hour = self._hour_from(rows, max(since, int(self._clock()) // HOUR - self._max_hours + 1))
            while hour is not None:
                prefix = numbered(COUNTS, hour)
                counted = dict(self._named(prefix, _chosen(rows, prefix, wanted), _is_counts))
                if counted:
                    found[hour] = counted
                hour = self._hour_from(rows, hour + 1)
        return found

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
        with self._access.reading() as rows, closing(rows.scan(low, high)) as found:
            for row in found:
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
        """What a row holds; None where there is no row, or none that a store wrote."""
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
