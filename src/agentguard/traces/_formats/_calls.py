"""Tool calls found in foreign records, and what was said around them: what a format yields, and how a call is joined.

In most formats a call and its result are two records, in either order, any number of others between them. ``Joining``
keeps what waits for its other half, in bounded memory: what has waited longest is given up, and counted.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from enum import Enum
from hashlib import blake2b
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

import orjson
from pydantic import TypeAdapter, ValidationError

from agentguard._limits import LIMITS
from agentguard.verification._canonical import args_key
from agentguard.verification.types import ToolCall

MAX_WAITING: Final = 10_000
"""Calls that wait for their results, a judgement: an agent has some dozens under way, a busy exporter some hundreds."""

MAX_WAITING_BYTES: Final = LIMITS.line_bytes
MAX_DONE: Final = 100_000  # calls remembered, so that one that is recorded again is not judged again

_TIME: Final = TypeAdapter(datetime)
_BRACKETS: Final = ("{", "[")


class Record(NamedTuple):
    """One JSON value of a file.

    Attributes:
        source: the file.
        line: the number of its first line.
        root: the number of the line or document whose array it is an element of; 0 where it stands alone.
        value: as JSON has it.
    """

    source: str
    line: int
    root: int
    value: Any


class Skip(str, Enum):
    """Kinds of what a format leaves out.

    >>> Skip.no_result.counted(1), Skip.no_call.counted(1200)
    ('1 tool call without a result', '1,200 records without a tool call')
    """

    no_call = "no_call"
    no_result = "no_result"
    no_content = "no_content"
    no_origin = "no_origin"
    repeated = "repeated"

    def counted(self, number: int) -> str:
        """A number of them in words."""
        noun, rest = _WORDS[self.value]
        return f"{number:,} {noun}{'' if number == 1 else 's'} {rest}"


_WORDS: Final = {
    "no_call": ("record", "without a tool call"),
    "no_result": ("tool call", "without a result"),
    "no_content": ("tool call", "whose content was not recorded"),
    "no_origin": ("result", "without a tool call"),
    "repeated": ("tool call", "recorded before"),
}


class Call(NamedTuple):
    """A tool call with its result.

    Attributes:
        source: the file.
        line: where the call was complete.
        fields: named as in the common trace format.
        begun: seconds since the epoch at which it began; None where that is not known.
        parent: the session for which the call's own works, that of the agent which set a subagent to work.
        parsed: the call as it is judged, and its label, where ``fields`` were parsed already.
    """

    source: str
    line: int
    fields: Mapping[str, Any]
    begun: float | None = None
    parent: str | None = None
    parsed: tuple[ToolCall, str | None] | None = None


class Skipped(NamedTuple):
    """A record, or a half of a call, that is not judged.

    Attributes:
        source, line: as of a call.
        reason: why it is not.
        call: what is known of the call, where one was made all the same: it has no result or no content, or was
            recorded before.
    """

    source: str
    line: int
    reason: Skip
    call: Call | None = None


Speaker = Literal["agent", "user", "system"]


class Said(NamedTuple):
    """Words of an agent, of its user, or of whoever set it up.

    Attributes:
        source, line: as of a call.
        by: who said it.
        text: the words; never empty.
        session_id: as of a call.
        at: seconds since the epoch; None where that is not known.
        again: they were recorded before, in the same conversation up to them.
        summary: it stands for an earlier part of the session.
    """

    source: str
    line: int
    by: Speaker
    text: str
    session_id: str | None
    at: float | None = None
    again: bool = False
    summary: bool = False


class OfferedTool(NamedTuple):
    """A tool that an agent may call, by what it says of itself."""

    name: str
    description: str
    arguments: tuple[str, ...]


class Offered(NamedTuple):
    """The tools that an agent of a session may call."""

    source: str
    line: int
    session_id: str | None
    tools: tuple[OfferedTool, ...]


Found: TypeAlias = "Call | Skipped | Said | Offered"


class Reader(Protocol):
    """Takes the records of one log, file after file, and finds the calls in them, and what was said around them."""

    def push(self, record: Record) -> Iterable[Found]:
        """Find what is complete with this record."""

    def end(self) -> Iterable[Found]:
        """Give up what still waits; the log has no more records."""


class Format(NamedTuple):
    """A format of traces.

    Attributes:
        name: what ``--format`` calls it.
        title: where it comes from.
        recognises: tells whether a JSON value is a record of it.
        reader: makes a reader.
    """

    name: str
    title: str
    recognises: Callable[[Any], bool]
    reader: Callable[[], Reader]


class _Half(NamedTuple):
    """What is known of a call that is not complete, and about how many bytes that takes.

    ``again``: the call was complete before.
    """

    record: Record
    fields: dict[str, Any]
    size: int
    again: bool


class Joining:
    """Joins calls with their results by a key; a call is complete with ``args`` and ``result``.

    Fields may come in any order and number of parts; of a field that comes twice the first is kept.

    >>> joining = Joining()
    >>> joining.add("c1", Record("log", 1, 1, None), tool="add", args={"a": 1})
    []
    >>> (call,) = joining.add("c1", Record("log", 2, 2, None), result="1")
    >>> call.line, call.fields
    (2, {'tool': 'add', 'args': {'a': 1}, 'result': '1'})
    >>> (repeated,) = joining.add("c1", Record("log", 3, 3, None), result="1")
    >>> repeated.reason
    <Skip.repeated: 'repeated'>
    """

    def __init__(self, most: int = MAX_WAITING, most_bytes: int = MAX_WAITING_BYTES) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._waiting: OrderedDict[Hashable, _Half] = OrderedDict()
        self._bytes = 0
        self.done = Remembered()

    def add(self, key: Hashable, record: Record, **fields: Any) -> list[Found]:
        """Take parts of a call; the call where it is complete, and what was given up for want of room."""
        fields = {name: value for name, value in fields.items() if value is not None or name in _ALWAYS}
        again = self.done.has(key)
        place = ("again", key) if again else key
        half = self._waiting.pop(place, None)
        if half is not None:
            self._bytes -= half.size
            fields = {**fields, **half.fields}
        if "args" in fields and "result" in fields:
            call = call_of(record, **fields)
            if again:
                return [_skipped(record, Skip.repeated, call)]
            self.done.add(key)
            return [call]
        if again and "result" in fields:
            return [_skipped(record, Skip.repeated)]
        half = _Half(record._replace(value=None), fields, sum(map(_size, fields.values())), again)
        self._waiting[place] = half
        self._bytes += half.size
        return list(self._given_up(self._most, self._most_bytes))

    def waits(self, key: Hashable) -> bool:
        """Whether a call waits for more of it."""
        return key in self._waiting

    def end(self) -> Iterator[Found]:
        """Give up all that waits."""
        yield from self._given_up(0, 0)

    def _given_up(self, most: int, most_bytes: int) -> Iterator[Found]:
        while self._waiting and (len(self._waiting) > most or self._bytes > most_bytes):
            _, half = self._waiting.popitem(last=False)
            self._bytes -= half.size
            if half.again:
                continue
            if "tool" not in half.fields and "args" not in half.fields:
                yield _skipped(half.record, Skip.no_origin)
            else:
                reason = Skip.no_result if "args" in half.fields else Skip.no_content
                yield _skipped(half.record, reason, call_of(half.record, **half.fields))


class Remembered:
    """Keys that were met, the newest 100,000 of them, each as 16 bytes.

    >>> met = Remembered()
    >>> met.add("c1"), met.add("c1")
    (True, False)
    """

    def __init__(self) -> None:
        self._digests: OrderedDict[bytes, None] = OrderedDict()

    def has(self, key: Hashable) -> bool:
        """Whether a key was met."""
        return _digest(key) in self._digests

    def add(self, key: Hashable) -> bool:
        """Remember a key; whether it is new."""
        digest = _digest(key)
        if digest in self._digests:
            return False
        self._digests[digest] = None
        if len(self._digests) > MAX_DONE:
            self._digests.popitem(last=False)
        return True


def _digest(key: Hashable) -> bytes:
    return blake2b(repr(key).encode("utf-8", "backslashreplace"), digest_size=16).digest()


def _skipped(record: Record, reason: Skip, call: Call | None = None) -> Skipped:
    return Skipped(record.source, record.line, reason, call)


def no_call(record: Record) -> list[Found]:
    """The record, counted as one without a tool call."""
    return [_skipped(record, Skip.no_call)]


_ORDER: Final = ("tool", "args", "result", "is_error", "latency_ms", "session_id", "call_id")
_OTHER_SIZE: Final = 2_000  # bytes, of what is too deep or too odd to be measured
_ALWAYS: Final = ("tool", "args", "result")


def call_of(record: Record, *, begun: float | None = None, parent: str | None = None, **fields: Any) -> Call:
    """A call that is complete with this record; fields that are None are left out, but for tool, args and result."""
    known = {name: fields.get(name) for name in _ORDER if name in _ALWAYS or fields.get(name) is not None}
    return Call(record.source, record.line, known, begun, parent)


def content_key(call: Call) -> bytes:
    """A key of what a call is: its id, tool, arguments and result, the last read where it is JSON."""
    id_tool_args = [call.fields.get(name) for name in ("call_id", "tool", "args")]
    return args_key([*id_tool_args, decoded(call.fields["result"])])


def _size(value: Any) -> int:
    if value is None or isinstance(value, (bool, int, float)):
        return 8
    if isinstance(value, str):
        return len(value)
    try:
        return len(orjson.dumps(value))
    except (TypeError, ValueError, RecursionError):
        return _OTHER_SIZE


# --- Values as many formats have them ---


def at(value: Any, *path: str) -> Any:
    """The value under keys of nested objects; None where there is none.

    >>> at({"extra": {"metadata": {"thread_id": "t1"}}}, "extra", "metadata", "thread_id")
    't1'
    """
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_at(value: Any, *path: str) -> str | None:
    """The text under keys of nested objects, numbers as text; None where there is none or an empty one."""
    text = at(value, *path)
    if isinstance(text, int) and not isinstance(text, bool):
        return str(text)
    return text if isinstance(text, str) and text else None


def decoded(value: Any) -> Any:
    """The object or array in a JSON text; any other value as it is.

    >>> decoded('{"a": 1}'), decoded("a"), decoded("{a}"), decoded("1")
    ({'a': 1}, 'a', '{a}', '1')
    """
    if isinstance(value, str) and value.lstrip().startswith(_BRACKETS):
        try:
            return orjson.loads(value)
        except ValueError:
            return value
    return value


def content_of(value: Any) -> Any:
    """The value in a message's content: the text of text blocks, one block without its list.

    Other blocks stay as they are, without the ids that are new each time.

    >>> content_of([{"type": "text", "text": "18 degrees"}]), content_of("18 degrees")
    ('18 degrees', '18 degrees')
    """
    if not isinstance(value, list):
        return value
    blocks = [_block_value(block) for block in value]
    return blocks[0] if len(blocks) == 1 else blocks


def _block_value(block: Any) -> Any:
    if not isinstance(block, dict):
        return block
    text = block.get("text")
    if isinstance(text, str) and block.get("type") in ("text", "input_text", "output_text"):
        return text
    return {key: value for key, value in block.items() if key != "id"}


def tool_message(value: Any) -> Mapping[str, Any] | None:
    """LangChain's message of a tool, in any of the ways in which it is written; None for any other value.

    >>> message = {"content": "4 degrees", "tool_call_id": "c1"}
    >>> tool_message({"type": "tool", "data": message}) == tool_message({"lc": 1, "kwargs": message}) == message
    True
    """
    value = decoded(value)
    for wrapping in ("kwargs", "data"):
        inner = at(value, wrapping)
        if isinstance(inner, dict) and ("lc" in value or value.get("type") == "tool"):
            value = inner
    return value if isinstance(value, dict) and "content" in value and "tool_call_id" in value else None


def is_list_of(value: Any, test: Callable[[Any], bool]) -> bool:
    """Whether a value is an array, not empty, whose first elements (at most 20) all pass a test."""
    return isinstance(value, list) and bool(value) and all(map(test, value[:20]))


def milliseconds(begin: Any, end: Any) -> float | None:
    """The time between two moments, as ISO 8601 texts or seconds since the epoch; None where unknown or negative.

    >>> milliseconds("2026-01-02T03:04:05.5Z", "2026-01-02T03:04:05.750000+00:00")
    250.0
    """
    first, last = seconds(begin), seconds(end)
    if first is None or last is None or last < first:
        return None
    return round((last - first) * 1e3, 3)


def seconds(moment: Any) -> float | None:
    """A moment as seconds since the epoch, UTC where it names no zone; None where it is none.

    >>> seconds("1970-01-01T00:01:00"), seconds("soon")
    (60.0, None)
    """
    if moment is None or isinstance(moment, bool):
        return None
    try:
        time = _TIME.validate_python(moment)
        return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp()
    except (ValidationError, ValueError, OverflowError):
        return None


def first_text(*candidates: str | None) -> str | None:
    """The first text there is."""
    return next((text for text in candidates if text), None)


def values_of(value: Any) -> Sequence[Any]:
    """The elements of an array; of anything else none."""
    return value if isinstance(value, list) else ()
