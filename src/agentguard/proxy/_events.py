"""Server-sent events as bytes: taken from a stream, and written again with another message in them.

A client of HTTP is to get what the server sent, byte for byte, comments and unknown fields too, unless a message in it
is changed. Readers of events, which give back fields, lose the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from agentguard.proxy._messages import LONGEST

_END: Final = re.compile(rb"(?:\r\n|\r(?!\n)|\n)(?:\r\n|\r|\n)")
_LINE: Final = re.compile(rb"\r\n|\r|\n")


class Event(NamedTuple):
    """An event of a stream, or a piece of one that is too long.

    Attributes:
        raw: the bytes, with the blank line after them.
        data: the message in it; b"" where there is none.
        id: its id, by which a stream is gone on with; None where it has none.
        retry: milliseconds to wait before that; None where it does not say.
        whole: False for a piece.
    """

    raw: bytes
    data: bytes = b""
    id: str | None = None
    retry: int | None = None
    whole: bool = True


class Events:
    r"""Takes events from the chunks of a stream.

    >>> events = Events()
    >>> [event.data for event in events.feed(b'id: 7\ndata: {"a"')], [each.data for each in events.feed(b': 1}\n\n')]
    ([], [b'{"a": 1}'])
    """

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._buffer = bytearray()
        self._seen = 0
        self._broken = False

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events that end in this chunk."""
        self._buffer += chunk
        while match := _END.search(self._buffer, max(self._seen - 3, 0)):
            raw = bytes(self._buffer[: match.end()])
            del self._buffer[: match.end()]
            self._seen = 0
            yield Event(raw, whole=False) if self._broken else read_event(raw)
            self._broken = False
        self._seen = len(self._buffer)
        if self._seen > self._longest:
            # All but its last bytes, which may be the beginning of its end.
            piece = bytes(self._buffer[:-3])
            del self._buffer[:-3]
            self._seen, self._broken = 0, True
            yield Event(piece, whole=False)

    def rest(self) -> bytes:
        """The bytes after the last event; no reader takes them for one."""
        return bytes(self._buffer)


def read_event(raw: bytes) -> Event:
    r"""Read one event.

    >>> read_event(b": hello\nevent: message\nid: 7\ndata: {}\n\n")
    Event(raw=b': hello\nevent: message\nid: 7\ndata: {}\n\n', data=b'{}', id='7', retry=None, whole=True)
    """
    data, id_, retry = [], None, None
    for line in _LINE.split(raw):
        name, _, value = line.partition(b":")
        value = value[1:] if value.startswith(b" ") else value
        if name.removeprefix(b"\xef\xbb\xbf") == b"data":
            data.append(value)
        elif name == b"id" and b"\0" not in value:
            id_ = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit():
            retry = int(value[:9])
    return Event(raw, b"\n".join(data), id_, retry)


def with_data(event: Event, data: bytes) -> bytes:
    r"""The event with another message of one line in it; all else as it was.

    >>> with_data(read_event(b"id: 7\ndata: {\ndata: }\n\n"), b"[]")
    b'id: 7\ndata: []\n\n'
    """
    lines = [line for line in _LINE.split(event.raw) if line]
    first = next((place for place, line in enumerate(lines) if _is_data(line)), len(lines))
    kept = [line for line in lines if not _is_data(line)]
    return b"\n".join([*kept[:first], b"data: " + data, *kept[first:], b"", b""])


def _is_data(line: bytes) -> bool:
    return line.partition(b":")[0].removeprefix(b"\xef\xbb\xbf") == b"data"
