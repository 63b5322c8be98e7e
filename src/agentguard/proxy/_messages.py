"""JSON-RPC messages as bytes: lines taken from a stream, and a message read as its receiver would read it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import orjson

#: Bytes of a message that is read. A longer one is passed on in pieces, unread, so that memory is bounded.
LONGEST: Final = 1 << 26

_NUMBER: Final = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")


class Line(NamedTuple):
    """A line of a stream with its end, or a piece of one.

    Attributes:
        data: the bytes.
        whole: False for a piece of a line that is longer than ``LONGEST``.
    """

    data: bytes
    whole: bool = True


class Lines:
    r"""Takes lines from the chunks of a stream, and pieces from a line that is too long.

    >>> lines = Lines(longest=8)
    >>> [line.data for line in lines.feed(b'{"a":')], [line.data for line in lines.feed(b'1}\n{}\n{"')]
    ([], [b'{"a":1}\n', b'{}\n'])
    >>> lines.rest()
    Line(data=b'{"', whole=True)
    """

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0
        self._broken = False  # the line that is being read is passed on in pieces

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """The lines that end in this chunk."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._put(chunk[start : end + 1])
            yield self._taken()
            self._broken = False
            start = end + 1
        if start < len(chunk):
            self._put(chunk[start:])
        if self._size > self._longest or (self._broken and self._parts):
            self._broken = True
            yield self._taken()

    def rest(self) -> Line | None:
        """The end of a stream that does not end with a line's."""
        return self._taken() if self._parts else None

    def _put(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)

    def _taken(self) -> Line:
        line = Line(b"".join(self._parts), not self._broken and self._size <= self._longest + 1)
        self._parts.clear()
        self._size = 0
        return line


def read_message(data: bytes) -> Any:
    """Read a message; a lenient reader takes what a strict one refuses, since a client may be lenient too.

    NaN, lone surrogates, integers of any length, a byte order mark, UTF-16 and bytes that are no UTF-8 are read. What
    is read is judged, and never sent: what is sent is read by ``json`` alone, which keeps integers as they are.

    Raises:
        ValueError: for what is no JSON, or is nested too deeply.

    >>> read_message(b'{"id": 1, "result": NaN}')
    {'id': 1, 'result': nan}
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return read_exactly(data)


def read_exactly(data: bytes) -> Any:
    """Read a message for it to be written again: integers of any length stay what they are.

    Raises:
        ValueError: for what is no JSON, or is nested too deeply.
    """
    try:
        return json.loads(data.decode(json.detect_encoding(data), "replace"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def write_message(message: Any) -> bytes:
    """Write a message on one line, in ASCII.

    Raises:
        ValueError: for a number that JSON does not have.
    """
    return json.dumps(message, allow_nan=False, separators=(",", ":")).encode("ascii")


def is_answer(message: Any) -> bool:
    """Some client may take a message for the answer to a request."""
    return isinstance(message, dict) and ("result" in message or "error" in message)


def is_response(message: dict[str, Any]) -> bool:
    """A message is an answer as JSON-RPC 2.0 and MCP have it, to which every client would close its request.

    >>> is_response({"jsonrpc": "2.0", "id": 1, "result": {}}), is_response({"id": 1, "result": {}})
    (True, False)
    """
    if message.get("jsonrpc") != "2.0" or type(message.get("id")) not in (int, str):
        return False
    if message.keys() == {"jsonrpc", "id", "result"}:
        return isinstance(message["result"], dict)
    error = message.get("error")
    return (
        message.keys() == {"jsonrpc", "id", "error"}
        and isinstance(error, dict)
        and type(error.get("code")) is int
        and isinstance(error.get("message"), str)
    )


def is_request(message: dict[str, Any]) -> bool:
    """A message is a request or a notification as JSON-RPC 2.0 and MCP have it, and so no answer to any client.

    >>> is_request({"jsonrpc": "2.0", "method": "ping", "id": 1}), is_request({"method": "ping", "result": {}})
    (True, False)
    """
    return (
        message.get("jsonrpc") == "2.0"
        and isinstance(message.get("method"), str)
        and message.keys() <= {"jsonrpc", "id", "method", "params"}
        and type(message.get("id", 0)) in (int, str)
        and isinstance(message.get("params"), (dict, list, type(None)))
    )


def key_of(id_: Any) -> Any:
    """The key by which an answer finds its request; as clients compare ids, so that no answer slips past its judge.

    Some clients turn an answer's id into a number before they look for its request.

    >>> key_of("7") == key_of(7) == key_of(7.0), key_of("a") == key_of("b"), key_of(True) == key_of(1)
    (True, False, False)
    """
    if isinstance(id_, str):
        text = id_.strip()
        if not text:
            return 0.0
        if _NUMBER.fullmatch(text):
            try:
                return float(int(text, 0)) if text.lstrip("+-")[:2].lower() in ("0x", "0o", "0b") else float(text)
            except (ValueError, OverflowError):
                return id_
        return id_
    if isinstance(id_, (int, float)) and not isinstance(id_, bool):
        try:
            return float(id_)
        except OverflowError:
            return str(id_)
    return repr(id_)
