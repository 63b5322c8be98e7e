r"""One line of a trace: JSON in, a ``ToolCall`` or the reason why it is none out.

The common trace format is one JSON object a line::

    {"source": "shop", "session_id": "s1", "call_index": 0, "tool": "get_price", "args": {"sku": "A1"},
     "result": "{\"price\": 7.5}", "is_error": false, "latency_ms": 120.5, "label": "genuine", "meta": {}}

``tool`` and ``result`` are necessary, everything else may be left out. ``execution_time_ms`` is read like
``latency_ms`` (milliseconds, null where unknown), and ``call_id`` names the call. ``is_error`` is the framework's own
flag, and counts where it is ``true``. Keys that are not named here are left alone: a log may carry more than a guard
reads. What the engine judges is the ``ToolCall`` alone; ``label`` is kept apart from it, and ``source``,
``call_index`` and ``meta`` are not read at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from agentguard.errors import DataError
from agentguard.verification.types import ToolCall

__all__ = ["FIELDS", "BrokenLine", "TraceRow", "parse_call", "parse_json", "parse_line"]

FIELDS = frozenset(
    {"source", "session_id", "call_index", "tool", "args", "result", "is_error", "latency_ms", "label", "meta"}
    | {"execution_time_ms", "call_id"}
)
MAX_NAME_LENGTH = 1_000
"""Characters of a tool's name, a session's, a call's or a label: they are kept, so they must be bounded."""

_KINDS = {dict: "an object", list: "an array", str: "text", bool: "a boolean", type(None): "null"}


class TraceRow(NamedTuple):
    """A call, and where it stands: ``source`` is the file, ``line`` counts from 1."""

    source: str
    line: int
    call: ToolCall
    label: str | None


class BrokenLine(NamedTuple):
    """A line that holds no call. ``reason`` says why in words of its own: it never quotes the line."""

    source: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.reason}"


def parse_line(raw: bytes, source: str, line: int) -> TraceRow | BrokenLine:
    """Read one line of a trace. Never raises, whatever the bytes.

    >>> parse_line(b'{"tool": "add", "args": [1, 2], "result": 3}', "calls.jsonl", 1).call.result
    3
    >>> print(parse_line(b'{"tool": "add"}', "calls.jsonl", 2))
    calls.jsonl:2: field 'result' is missing
    """
    try:
        call, label = parse_call(parse_json(raw))
    except DataError as error:
        return BrokenLine(source, line, str(error))
    return TraceRow(source, line, call, label)


def parse_json(raw: bytes) -> Any:
    """Read JSON as loggers really write it: ``NaN``, ``Infinity`` and lone surrogates are taken as they are.

    Raises:
        DataError: with the reason, which quotes nothing of the text.
    """
    try:
        return orjson.loads(raw)
    except ValueError:
        pass  # orjson is strict; what it refuses gets a second reading by the standard library, which is slower
    try:
        return json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 text (byte {error.start + 1})") from None
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON (character {error.pos + 1})") from None
    except RecursionError:
        raise DataError("not usable JSON: nested too deeply") from None
    except ValueError:
        raise DataError("not usable JSON: a number has too many digits") from None


def parse_call(data: Any) -> tuple[ToolCall, str | None]:
    """The call in a row and, kept apart from it, the row's label.

    Raises:
        DataError: with the first thing that is wrong.
    """
    if not isinstance(data, dict):
        raise DataError(f"must be a JSON object, not {_kind(data)}")
    if "tool" not in data:
        raise DataError("field 'tool' is missing")
    tool = data["tool"]
    if not isinstance(tool, str) or not tool:
        raise DataError(f"field 'tool' must be a name, not {_kind(tool) if tool != '' else 'empty text'}")
    if len(tool) > MAX_NAME_LENGTH:
        raise DataError(f"field 'tool' has more than {MAX_NAME_LENGTH:,} characters")
    if "result" not in data:
        raise DataError("field 'result' is missing")
    call = ToolCall(
        tool,
        data.get("args"),
        data["result"],
        _milliseconds(data, "latency_ms", "execution_time_ms"),
        _name(data, "session_id"),
        _name(data, "call_id"),
        data.get("is_error") is True,
    )
    return call, _name(data, "label")


def _milliseconds(data: Mapping[str, Any], *fields: str) -> float | None:
    for field in fields:
        value = data.get(field)
        if value is None:
            continue
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise DataError(f"field '{field}' must be a number of milliseconds or null, not {_kind(value)}")
        try:
            return float(value)
        except OverflowError:
            raise DataError(f"field '{field}' is too large for a number of milliseconds") from None
    return None


def _name(data: Mapping[str, Any], field: str) -> str | None:
    value = data.get(field)
    if value is None or (isinstance(value, str) and len(value) <= MAX_NAME_LENGTH):
        return value
    if isinstance(value, int) and value.bit_length() <= 128:
        return str(value)
    if isinstance(value, str):
        raise DataError(f"field '{field}' has more than {MAX_NAME_LENGTH:,} characters")
    raise DataError(f"field '{field}' must be text, an integer or null, not {_kind(value)}")


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "a number")
