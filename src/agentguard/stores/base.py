"""What the guard asks of a store: four kinds of memory, each with the one way of writing that is safe to share.

========== ====================================== ==========================================================
what       written by                             when it is kept
========== ====================================== ==========================================================
events     ``append``, ``extend``: added at the  before these return
           end
claims     ``claim``: true to the first who asks  before ``claim`` returns
counts     ``merge``: deltas are added up, each    before ``merge`` returns
           one once, whoever sends it how often
documents  ``save``: all of them or none          before ``save`` returns
========== ====================================== ==========================================================

Nothing is read, changed and written back by a caller: several processes, and where the store is a server several
machines, use one store without losing anything of each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

__all__ = ["Counts", "Delta", "Document", "Event", "Record", "Standing", "Store"]

Event = Mapping[str, Any]
"""A JSON object. A store gives back what it was given, or refuses it: NaN, say, which JSON does not have."""

Document = Mapping[str, Any]
"""A JSON object, replaced as a whole."""

Counts = Mapping[str, Mapping[str, int]]
"""By name (a tool's, as a rule) and field; integers, so that sums are exact in any order."""


class Record(NamedTuple):
    """An event with its place among those of its kind (1, 2, 3, …) and when it was kept, in seconds since the epoch."""

    sequence: int
    at: float
    event: Event


class Delta(NamedTuple):
    """What one worker has counted since its last delta; ``sequence`` is 1, 2, 3, … in the order of sending."""

    worker: str
    sequence: int
    counts: Counts


class Standing(NamedTuple):
    """What tells that a store has lost something: another epoch, or a lower number than there was.

    Attributes:
        epoch: made at random when the store was empty; as long as it holds what it was given, the same.
        last: the number of the newest event that there ever was, of each kind that was asked for; 0 where none was.
    """

    epoch: str
    last: Mapping[str, int]


class Store(Protocol):
    """Where what must outlive a call is kept. All methods may be called from several threads.

    Every method raises ``StoreError`` where the store cannot do what was asked; nothing of it is done then, or, where
    that cannot be known (a connection broke), the same call may be made again: ``merge``, ``save`` and ``claim`` with
    the same arguments do no more the second time, and an event appended twice is there twice.

    ``agentguard.testing.StoreConformance`` holds a store of your own to what is said here.
    """

    @property
    def flush_seconds(self) -> float | None:
        """How often an engine should hand over what it learned; None: never, for it would not outlive the engine."""

    @property
    def is_near(self) -> bool:
        """A call takes a fraction of a millisecond, as with a file of this machine: a judged call may wait for it."""

    def standing(self, kinds: Iterable[str], /) -> Standing:
        """Which epoch this is, and how far the events of these kinds go."""

    def append(self, kind: str, event: Event, /) -> int:
        """Keep one event; its sequence number. Of each kind the newest are kept, up to the store's bound.

        The first is 1. A number is never given twice, also where everything older is gone.
        """

    def extend(self, kind: str, events: Sequence[Event], /) -> int:
        """Keep several events in their order, all of them or none; the sequence number of the last, 0 of none."""

    def events(self, kind: str, /, after: int = 0) -> Iterator[Record]:
        """The events of a kind beyond a sequence number, oldest first, as they were when this was called.

        None that was appended later is among them; one that is removed while they are read may be missing.
        """

    def claim(self, kind: str, key: str, /) -> bool:
        """True to the first who asks for this key of this kind, and to nobody after.

        Of each kind the newest claims are remembered, up to the store's bound on events.
        """

    def merge(self, delta: Delta, /) -> int:
        """Add a delta to the counts of the hour; the hour (of ``counts``) in which it is counted.

        A delta with the number of an earlier one of the same worker, or a lower one, is not added again. Sums are
        kept from -2**63 to 2**63 - 1: a delta that would lead beyond is refused, all of it.
        """

    def counts(self, names: Iterable[str] | None = None, /, since: int = 0) -> dict[int, dict[str, dict[str, int]]]:
        """What was added up, by hour since the epoch, name and field: of these names or of all, from an hour on.

        Names without counts and hours without names are left out. Hours beyond the store's bound are gone.
        """

    def save(self, documents: Mapping[str, Document], /) -> None:
        """Put each document in the place of what had its name; all of them or none.

        Beyond the store's bound on names, the documents saved longest ago are gone.
        """

    def load(self, names: Iterable[str] | None = None, /) -> dict[str, Document]:
        """The documents of these names (those that are there) or all, those saved last at the end."""

    def names(self) -> Sequence[str]:
        """The names of all documents, those saved last at the end."""

    def forget(self, names: Iterable[str], /) -> None:
        """Remove the documents of these names, and the counts under them. Events stay: they are what happened."""

    def prune(self, max_age: float, /) -> int:
        """Remove what is older than so many seconds: events, claims, documents, and counts by name of whole hours.

        How many of these there were. What workers have sent stays known: no delta is added a second time after it.
        An age below 0, or not finite, is refused.
        """

    def close(self) -> None:
        """Release files and connections; a closed store refuses everything but ``close``."""
