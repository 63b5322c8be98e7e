"""A store that lives as long as the process; several engines may share one."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import RLock
from typing import NamedTuple
from uuid import uuid4

from agentguard import _forks as forks
from agentguard.errors import StoreError
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


class _Kept(NamedTuple):
    """Encoded, so that it is what it was, whatever its owner does to it afterwards."""

    at: float
    data: bytes


class MemoryStore:
    """Everything in memory: the default of an engine, which keeps feedback and audit records and nothing else here.

    Args:
        max_events: the newest of each kind that are kept; claims of a kind likewise, and workers that sent deltas.
        max_names: documents, and names of counts in each hour; the ones longest untouched go first.
        max_hours: of counts.
        clock: seconds since the epoch.

    >>> store = MemoryStore()
    >>> store.append("feedback", {"tool": "search_web"})
    1
    >>> [record.event for record in store.events("feedback")]
    [{'tool': 'search_web'}]
    """

    flush_seconds: float | None = None
    is_near: bool = True

    def __init__(
        self,
        *,
        max_events: int = 100_000,
        max_names: int = 10_000,
        max_hours: int = 168,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._max_events, self._max_names, self._max_hours, self._clock = max_events, max_names, max_hours, clock
        self._lock = forks.lock(forks.Rank.STORE)
        self._open = True
        self._epoch = uuid4().hex
        self._events: dict[str, deque[tuple[int, _Kept]]] = {}
        self._last: dict[str, int] = {}
        self._claims: dict[str, OrderedDict[str, float]] = {}
        self._sequences: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self._hours: dict[int, OrderedDict[str, dict[str, int]]] = {}
        self._documents: OrderedDict[str, _Kept] = OrderedDict()

    def standing(self, kinds: Iterable[str], /) -> Standing:
        with self._used():
            return Standing(self._epoch, {kind: self._last.get(kind, 0) for kind in kinds})

    def append(self, kind: str, event: Event, /) -> int:
        return self.extend(kind, (event,))

    def extend(self, kind: str, events: Sequence[Event], /) -> int:
        checked_name("the kind of an event", kind)
        encoded = [encode("an event", event) for event in events]
        with self._used():
            records = self._events.setdefault(kind, deque(maxlen=self._max_events))
            before, now = self._last.get(kind, 0), self._clock()
            records.extend((number, _Kept(now, data)) for number, data in enumerate(encoded, before + 1))
            self._last[kind] = before + len(encoded)
            return self._last[kind] if encoded else 0

    def events(self, kind: str, /, after: int = 0) -> Iterator[Record]:
        with self._used():
            records = [item for item in self._events.get(kind, ()) if item[0] > after]
        return (Record(sequence, kept.at, decode(kept.data)) for sequence, kept in records)

    def claim(self, kind: str, key: str, /) -> bool:
        checked_name("the kind of a claim", kind)
        checked_name("the key of a claim", key)
        with self._used():
            claims = self._claims.setdefault(kind, OrderedDict())
            if key in claims:
                return False
            claims[key] = self._clock()
            if len(claims) > self._max_events:
                claims.popitem(last=False)
            return True

    def merge(self, delta: Delta, /) -> int:
        counts = checked_delta(delta)
        with self._used():
            hour = int(self._clock()) // HOUR
            last, counted_in = self._sequences.get(delta.worker, (0, hour))
            if delta.sequence <= last:
                return counted_in
            known: Mapping[str, Mapping[str, int]] = self._hours.get(hour, {})
            sums = {name: added(name, known.get(name, {}), fields) for name, fields in counts.items()}
            self._sequences[delta.worker] = (delta.sequence, hour)
            self._sequences.move_to_end(delta.worker)
            if len(self._sequences) > self._max_events:
                self._sequences.popitem(last=False)
            self._put(hour, sums)
            return hour

    def counts(self, names: Iterable[str] | None = None, /, since: int = 0) -> dict[int, dict[str, dict[str, int]]]:
        wanted = None if names is None else set(names)
        with self._used():
            oldest = max(since, int(self._clock()) // HOUR - self._max_hours + 1)
            by_hour = {
                hour: {name: dict(fields) for name, fields in counted.items() if wanted is None or name in wanted}
                for hour, counted in sorted(self._hours.items())
                if hour >= oldest
            }
        return {hour: counted for hour, counted in by_hour.items() if counted}

    def save(self, documents: Mapping[str, Document], /) -> None:
        encoded = {
            checked_name("the name of a document", name): encode(f"the document {name!r}", document)
            for name, document in documents.items()
        }
        with self._used():
            now = self._clock()
            for name, data in encoded.items():
                self._documents[name] = _Kept(now, data)
                self._documents.move_to_end(name)
            while len(self._documents) > self._max_names:
                self._documents.popitem(last=False)

    def load(self, names: Iterable[str] | None = None, /) -> dict[str, Document]:
        wanted = None if names is None else set(names)
        with self._used():
            documents = [
                (name, kept.data) for name, kept in self._documents.items() if wanted is None or name in wanted
            ]
        return {name: decode(data) for name, data in documents}

    def names(self) -> Sequence[str]:
        with self._used():
            return tuple(self._documents)

    def forget(self, names: Iterable[str], /) -> None:
        with self._used():
            for name in names:
                self._documents.pop(name, None)
                for counted in self._hours.values():
                    counted.pop(name, None)

    def prune(self, max_age: float, /) -> int:
        checked_age(max_age)
        with self._used():
            oldest, removed = self._clock() - max_age, 0
            for records in self._events.values():
                while records and records[0][1].at < oldest:
                    records.popleft()
                    removed += 1
            for claims in self._claims.values():
                for key in [key for key, at in claims.items() if at < oldest]:
                    del claims[key]
                    removed += 1
            for hour in [hour for hour in self._hours if (hour + 1) * HOUR <= oldest]:
                removed += len(self._hours.pop(hour))
            for name in [name for name, kept in self._documents.items() if kept.at < oldest]:
                del self._documents[name]
                removed += 1
            return removed

    def close(self) -> None:
        self._open = False

    def __enter__(self) -> MemoryStore:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _put(self, hour: int, sums: Mapping[str, dict[str, int]]) -> None:
        names = self._hours.setdefault(hour, OrderedDict())
        for name, fields in sums.items():
            names[name] = fields
            names.move_to_end(name)
        while len(names) > self._max_names:
            names.popitem(last=False)
        for old in [old for old in self._hours if old <= hour - self._max_hours]:
            del self._hours[old]

    def _used(self) -> RLock:
        if not self._open:
            raise StoreError("the store is closed; open a new one")
        return self._lock
