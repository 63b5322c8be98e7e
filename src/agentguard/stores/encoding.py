"""What a store accepts, and the bytes it is kept as: JSON exactly as it was handed over, or a refusal."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from typing import Any, Final

import orjson

from agentguard.errors import StoreError

from .base import Delta

__all__ = ["added", "checked_age", "checked_delta", "checked_name", "decode", "encode"]

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
        value: string keys, finite numbers, nested at most 250 deep; tuples are kept as lists.

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
    """Any text is a name (of a kind, a tool, a document, a worker, a claim), and nothing else."""
    if not isinstance(name, str):
        raise StoreError(f"{what} must be text, not {type(name).__name__}")
    return name


def checked_age(seconds: float) -> None:
    """What may be pruned: older than a finite number of seconds, 0 or more."""
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
