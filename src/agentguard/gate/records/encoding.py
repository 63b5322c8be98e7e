"""Events and summaries as JSON and back, the same for all that keeps them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from typing import Any, Final, get_args

from agentguard.errors import DataError, StoreError

from .base import Event, RunStatus, RunSummary

__all__ = ["decode_body", "decode_summary", "encode_body", "encode_summary"]

DEEPEST: Final = 200

_FIELDS: Final = {field.name for field in fields(RunSummary)}
_NEEDED: Final = {field.name for field in fields(RunSummary) if field.default is MISSING}
_NUMBERS: Final = ("started", "ended", "risk")


def encode_body(event: Event) -> str:
    r"""The body of an event as JSON in plain ASCII, so that half of a surrogate pair survives in it too.

    Raises:
        DataError: where it is no JSON object, or the event's time or kind are none.

    >>> encode_body(Event("failed", 1.0, {"error": "half: \ud83d"}))
    '{"error":"half: \\ud83d"}'
    """
    if not isinstance(event.kind, str) or not _is_finite(event.at):
        raise DataError("an event has a kind, which is text, and a time, which is a finite number of seconds")
    what = f"the body of the event {event.kind!r}"
    if not isinstance(event.body, Mapping):
        raise DataError(f"{what} must be a JSON object (a dict), not {type(event.body).__name__}")
    body = dict(event.body)
    _check_keys_and_depth(what, body)
    try:
        return json.dumps(body, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"{what} cannot be kept as JSON: {error}") from None


def decode_body(text: str) -> dict[str, Any]:
    """The body that ``encode_body`` gave.

    Raises:
        StoreError: where it did not.
    """
    value = _read("an event", text)
    if not isinstance(value, dict):
        raise StoreError("the records are damaged: the body of an event is no JSON object")
    return value


def encode_summary(summary: RunSummary) -> str:
    """A summary as a JSON object in plain ASCII.

    Raises:
        DataError: where one of its numbers is not finite, or a field is no JSON.
    """
    try:
        return json.dumps(asdict(summary), allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise DataError(f"the summary of run {summary.run_id!r} cannot be kept as JSON: {error}") from None


def decode_summary(text: str) -> RunSummary:
    """The summary that ``encode_summary`` gave; fields that only a later version knows are left out.

    Raises:
        StoreError: where it did not.
    """
    value = _read("a summary", text)
    if (
        not isinstance(value, dict)
        or not value.keys() >= _NEEDED
        or value["status"] not in get_args(RunStatus)
        or not all(value.get(name) is None or _is_finite(value[name]) for name in _NUMBERS)
    ):
        raise StoreError("the records are damaged: what should be the summary of a run is none")
    return RunSummary(**{name: found for name, found in value.items() if name in _FIELDS})


def _read(what: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"the records are damaged: {what} is no JSON ({error})") from None


def _check_keys_and_depth(what: str, value: object) -> None:
    level: list[object] = [value]
    for _ in range(DEEPEST):
        containers = [item for item in level if isinstance(item, dict | list | tuple)]
        if not containers:
            return
        if not all(isinstance(key, str) for item in containers if isinstance(item, dict) for key in item):
            raise DataError(f"{what} cannot be kept as JSON: a key is no text")
        level = [child for item in containers for child in (item.values() if isinstance(item, dict) else item)]
    raise DataError(f"{what} cannot be kept as JSON: it is nested more than {DEEPEST} deep, or within itself")


def _is_finite(number: object) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)
