"""The protocol of a store: four kinds of memory, each with the one way of writing that is safe to share.

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

import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import orjson

from agentguard.errors import StoreError

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
    """The counts of one worker since its last delta; ``sequence`` is 1, 2, 3, … in the order of sending."""

    worker: str
    sequence: int
    counts: Counts


class Standing(NamedTuple):
    """The state by which a loss shows: another epoch, or a lower number than before.

    Attributes:
        epoch: made at random when the store was empty; as long as it holds what it was given, the same.
        last: the number of the newest event that there ever was, of each kind that was asked for; 0 where none was.
    """

    epoch: str
    last: Mapping[str, int]


class Store(Protocol):
    """A store of what must outlive a call. All methods may be called from several threads.

    Every method raises ``StoreError`` where the store cannot do what was asked; nothing of it is done then, or, where
    that cannot be known (a connection broke), the same call may be made again: ``merge``, ``save`` and ``claim`` with
    the same arguments do no more the second time, and an event appended twice is there twice.

    ``agentguard.testing.StoreConformance`` holds a store of your own to what is said here.
    """

    @property
    def flush_seconds(self) -> float | None:
        """Seconds between two flushes of what an engine learned; None: never, as it would not outlive the engine."""

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
        """The sums by hour since the epoch, name and field: of these names or of all, from an hour on.

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


HOUR: Final = 3600  # seconds


# --- Encoding: JSON exactly as it was given, or a refusal ---

DEEPEST: Final = 250
LONGEST: Final = 1 << 26  # bytes of JSON
COMPRESSED_FROM: Final = 1 << 10  # bytes: an event as a rule is shorter, a tool's learned state longer
LEAST_COUNT, MOST_COUNT = -(1 << 63), (1 << 63) - 1

# Dataclasses, dates and subclasses would come back as something else than they were.
_OPTIONS: Final = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS


def encode(what: str, value: object) -> bytes:
    """A JSON object as bytes: as text, or where that is long as a zlib stream of it.

    Args:
        what: names the value in messages.
        value: string keys, finite numbers, nested at most 250 deep; tuples are kept as lists, and
            the two halves of a surrogate pair as the character that they are.

    Raises:
        StoreError: for anything else, and for more than 64 MiB of JSON.

    >>> encode("an event", {"tool": "search_web"})
    b'{"tool":"search_web"}'
    >>> encode("an event", {"score": float("nan")})
    Traceback (most recent call last):
      ...
    agentguard.errors.StoreError: an event cannot be kept as JSON: Out of range float values are not JSON compliant...
    """
    try:
        if not isinstance(value, Mapping):
            raise StoreError(f"{what} must be a JSON object (a dict), not {type(value).__name__}")
        text = _text(value if type(value) is dict else dict(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"{what} cannot be kept as JSON: {error}; make it plain first") from error
    except StoreError:
        raise
    except Exception as error:  # of a foreign object, whose own code may fail at any question
        raise StoreError(f"{what} cannot be kept as JSON: {type(error).__name__}; make it plain first") from error
    if len(text) > LONGEST:
        raise StoreError(f"{what} has {len(text)} bytes of JSON, and at most {LONGEST} are kept; divide it")
    return text if len(text) < COMPRESSED_FROM else zlib.compress(text, 1)


def decode(data: bytes) -> Any:
    """The value of ``encode``; what was not written by it is refused.

    Raises:
        ValueError: where the bytes are no JSON, or more than is ever written.

    >>> decode(encode("a document", {"text": "agentguard " * 1000}))["text"] == "agentguard " * 1000
    True
    """
    try:
        if not data.startswith((b"{", b"[")):
            stream = zlib.decompressobj()
            data = stream.decompress(data, LONGEST)
            if not stream.eof:
                raise ValueError("a stream that is cut off, or expands beyond any length that is written")
        return json.loads(data)  # orjson would read integers beyond 64 bits as floats
    except (zlib.error, RecursionError) as error:
        raise ValueError(str(error)) from error


def checked_name(what: str, name: object) -> str:
    """Check a name (of a kind, a tool, a document, a worker, a claim): any text, and nothing else."""
    if not isinstance(name, str):
        raise StoreError(f"{what} must be text, not {type(name).__name__}")
    return name


def checked_age(seconds: float) -> None:
    """Check an age for pruning: a finite number of seconds, 0 or more."""
    if not 0 <= seconds < math.inf:
        raise StoreError(f"an age is a number of seconds, 0 or more, not {seconds!r}")


def checked_delta(delta: Delta) -> dict[str, Mapping[str, int]]:
    """The counts of a delta that can be merged, without the names that have none.

    Raises:
        StoreError: where the sequence number is none, a name is no text or a count no integer of 64 bits.
    """
    worker, sequence, counts = delta
    checked_name("the worker of a delta", worker)
    if type(sequence) is not int or not 1 <= sequence <= MOST_COUNT:
        raise StoreError(f"a worker numbers its deltas 1, 2, 3, …; {sequence!r} is no such number")
    for name, fields in counts.items():
        checked_name("a name in a delta", name)
        for field, count in fields.items():
            checked_name("a field in a delta", field)
            if type(count) is not int or not LEAST_COUNT <= count <= MOST_COUNT:
                raise StoreError(f"a delta counts {type(count).__name__} for {name!r}, not an integer of 64 bits")
    return {name: fields for name, fields in counts.items() if fields}


def added(name: str, known: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    """The sum by field.

    Raises:
        StoreError: where one would not fit into 64 bits.

    >>> added("search_web", {"calls": 2}, {"calls": 1, "empty": 1})
    {'calls': 3, 'empty': 1}
    """
    total = dict(known)
    for field, count in more.items():
        total[field] = total.get(field, 0) + count
        if not LEAST_COUNT <= total[field] <= MOST_COUNT:
            raise StoreError(f"the counts of {name!r} would pass 64 bits; nothing of this delta was added")
    return total


def _text(value: dict[str, Any]) -> bytes:
    try:
        text = orjson.dumps(value, option=_OPTIONS)
    except TypeError:  # too deep, no JSON at all, or what only the other encoder can write
        _check_keys_and_depth(value)
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
    if b"null" in text:  # which orjson writes for NaN and infinity too
        json.dumps(value, allow_nan=False)
    return text


def _check_keys_and_depth(value: object) -> None:
    level: list[object] = [value]
    for _ in range(DEEPEST):
        containers = [item for item in level if isinstance(item, dict | list | tuple)]
        if not containers:
            return
        if not all(isinstance(key, str) for item in containers if isinstance(item, dict) for key in item):
            raise TypeError("keys must be text")
        level = [child for item in containers for child in (item.values() if isinstance(item, dict) else item)]
    raise ValueError(f"it is nested more than {DEEPEST} deep")
