r"""Traces: logs of tool calls, read from a file, a folder or standard input, one line at a time.

The common trace format is one JSON object a line::

    {"source": "shop", "session_id": "s1", "call_index": 0, "tool": "get_price", "args": {"sku": "A1"},
     "result": "{\"price\": 7.5}", "is_error": false, "latency_ms": 120.5, "label": "genuine", "meta": {}}

``tool`` and ``result`` are required. ``execution_time_ms`` is read like ``latency_ms`` (milliseconds, null where
unknown), and ``call_id`` names the call. ``is_error`` is the framework's own flag and counts where it is ``true``.
Other keys are ignored: a log may carry more than a guard reads. The engine judges the ``ToolCall`` alone; ``label`` is
kept apart from it, and ``source``, ``call_index`` and ``meta`` are not read.

Lines without a ``tool`` may say what was asked and answered around the calls, and which tools there were; whoever reads
calls passes over them::

    {"session_id": "s1", "question": "Send Ada the prices."}
    {"session_id": "s1", "answer": "I have sent them to Ada."}
    {"session_id": "s1", "tools": [{"name": "send_email", "description": "Sends an e-mail.", "parameters": {…}}]}

Files of other formats (``_formats/``) are recognised by their first records, and their calls become lines of this one:
whatever reads lines reads them. What they hold beside calls is counted in a ``Reading``.

Memory is constant: one line is held at a time, and of a line at most ``MAX_LINE_BYTES``. Compressed input and Parquet
are recognised by their first bytes, whatever the name. A line that cannot be used is reported in its place and is
never fatal; an unreadable source, or one without data for too long, raises.
"""

from __future__ import annotations

import difflib
import io
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeAlias

import orjson

from agentguard._limits import LIMITS
from agentguard._line_files import DAMAGED, DAMAGED_SAID, PIECE, Damaged, lines_of, unpacked
from agentguard.errors import ConfigurationError, DataError
from agentguard.traces._documents import Fault, elements, is_document
from agentguard.traces._formats import (
    FORMATS,
    Call,
    Found,
    Offered,
    Reader,
    Record,
    Said,
    Skip,
    Skipped,
    recognised,
    tools_in,
)
from agentguard.traces._formats._calls import Speaker
from agentguard.verification._canonical import plain
from agentguard.verification.types import ToolCall

if TYPE_CHECKING:
    from os import PathLike

    from _typeshed import WriteableBuffer


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


# --- Files of a path ---


def find_files(source: str | PathLike[str], wanted: Callable[[str], bool], absent: str) -> tuple[Path, ...]:
    """Find files as ``find_traces`` does, by any test of their names.

    Args:
        source: the path of a file or a folder.
        wanted: tests a file's name in lower case.
        absent: message on a folder without such a file, with a place for its path.

    Raises:
        DataError: as ``find_traces``.
    """
    path = Path(source)

    def refuse(error: OSError) -> None:
        raise error

    try:
        if not path.is_dir():
            path.stat()
            return (path,)
        files = []
        for folder, folders, names in os.walk(path, onerror=refuse):
            folders[:] = [name for name in folders if not name.startswith(".")]
            files += [Path(folder, name) for name in names if not name.startswith(".") and wanted(name.lower())]
    except FileNotFoundError:
        raise DataError(f"no such file or folder: {path}") from None
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {reason_of(error)}") from None
    if not files:
        raise DataError(absent.format(path))
    return tuple(sorted(files))


def reason_of(error: Exception) -> str:
    """Say why something could not be read or written, in the system's words."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


# --- Parquet: each row as the line of JSON that a trace would have; reading needs the extra agentguard[parquet] ---
#
# Columns are named like the fields of a trace, and only those are read, a row group's batch at a time. ``args`` may be
# a column of structs or maps, or of JSON text; ``result`` may have any type. A column of structs has null where a row
# lacks a field, so results with different fields are exact only as text. Decimals, times and bytes become the text
# that stands for them everywhere in agentguard, and NaN becomes null.

COLUMNS = (
    "tool", "args", "result", "latency_ms", "execution_time_ms", "session_id", "call_id", "is_error", "label",
)  # fmt: skip
"""The fields of a trace that are read of it, in the order in which a row's JSON has them."""

BATCH_ROWS = 64  # few: of a text that a file holds once each row has a copy when it is read
SLICE_BYTES = 2**20  # of a batch, that are made into Python's objects at once
_MAGIC = b"PAR1"
_JSON_BRACKETS = ("{", "[")


def is_parquet(path: str | PathLike[str]) -> bool:
    """A file that begins as Parquet does, whatever its name; False for what cannot be read."""
    try:
        with Path(path).open("rb") as stream:
            return stream.read(4) == _MAGIC
    except (OSError, ValueError):
        return False


def parquet_lines(
    path: Path, on_read: Callable[[int], None] | None = None, *, whole: bool = False
) -> Iterator[tuple[str, int, bytes]]:
    """The rows of a file as places and lines of JSON; rows count from 1.

    Args:
        path: the file.
        on_read: told of the file's bytes, in shares by row group as they are read.
        whole: give all columns, not only those of a trace.

    Raises:
        DataError: where the file cannot be read, or has no column ``tool`` or ``result``.
        ConfigurationError: where pyarrow is not installed.
    """
    try:
        import pyarrow.parquet
    except ImportError:
        raise ConfigurationError("reading Parquet needs pyarrow: pip install 'agentguard[parquet]'") from None
    reported = number = 0  # bytes of the file that on_read was told of; rows
    try:
        with path.open("rb") as stream, pyarrow.parquet.ParquetFile(stream) as file:
            size = os.fstat(stream.fileno()).st_size
            columns = None if whole else wanted_columns(file.schema_arrow.names, str(path))
            for group in range(file.num_row_groups):
                for batch in file.iter_batches(BATCH_ROWS, row_groups=[group], columns=columns):
                    for row in _rows(batch):
                        number += 1
                        yield str(path), number, line_of(row)
                if on_read is not None:
                    share = size * (group + 1) // file.num_row_groups
                    on_read(share - reported)
                    reported = share
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or 'it is damaged Parquet'}") from None
    except pyarrow.ArrowException as error:
        raise DataError(f"cannot read {path} as Parquet: {type(error).__name__}; write the file again") from None


def _rows(batch: Any) -> Iterator[Mapping[str, Any]]:
    step = max(SLICE_BYTES * len(batch) // max(batch.nbytes, 1), 1)
    for begin in range(0, len(batch), step):
        yield from batch.slice(begin, step).to_pylist(maps_as_pydicts="lossy")


def wanted_columns(names: Sequence[str], source: str) -> list[str]:
    """Choose the columns of a table to read; raises ``DataError`` where ``tool`` or ``result`` is not among them."""
    missing = [name for name in ("tool", "result") if name not in names]
    if missing:
        near = f"; of a trace's columns it has {', '.join(sorted(FIELDS & set(names))) or 'none'}"
        raise DataError(f"{source} has no column {' and no column '.join(map(repr, missing))}{near}")
    return [name for name in COLUMNS if name in names]


def line_of(row: Mapping[str, Any]) -> bytes:
    """A row as a line of a trace.

    >>> line_of({"tool": "add", "args": "[1, 2]", "result": "3", "latency_ms": None})
    b'{"tool":"add","args":[1,2],"result":"3","latency_ms":null}'
    """
    args = row.get("args")
    if isinstance(args, str) and args.lstrip().startswith(_JSON_BRACKETS):
        with suppress(ValueError):  # text that only looks like JSON is an argument as it stands
            row = {**row, "args": orjson.loads(args)}
    try:
        return orjson.dumps(row)
    except (TypeError, ValueError, RecursionError):
        return orjson.dumps(plain(dict(row)))


# --- Lines and calls ---

Line: TypeAlias = "tuple[str, int, bytes] | BrokenLine"
"""Source, number (from 1) and bytes of a line, not yet parsed; plain, for it is what other processes are sent."""

STDIN = "-"
MAX_LINE_BYTES = LIMITS.line_bytes
"""A longer line (64 MiB, its line feed not counted) is a broken line; it is passed over in pieces."""

SUFFIXES = (".jsonl", ".jsonl.gz", ".ndjson", ".json", ".json.gz", ".parquet")
NO_TRACES = "no traces in the folder {}: it has no *.jsonl, *.jsonl.gz, *.json, *.ndjson or *.parquet file"

AUTO = "auto"
OWN = "agentguard"
"""The name of the common trace format."""

UNKNOWN = "a JSON document in no format that is recognised: it is not read; --format names one"

NEWEST_FIRST = "It lists its newest calls first, and the guard learns in this order: sort it by start time."
_ENOUGH = 10  # calls with a time, before anything is said of their order

_LOOKED_AT = 20  # records from which a format is recognised
_LOOKED_AT_BYTES = 2**20


class Reading:
    """Counts what was read of a log beside its calls; filled while it is read.

    Attributes:
        formats: number of files by the format in which each was read.
        skipped: what holds no call that could be judged, by kind.
    """

    def __init__(self) -> None:
        self.formats: Counter[str] = Counter()
        self.skipped: Counter[Skip] = Counter()
        self._timed = self._backwards = 0  # calls of which it is known when they began; before the one before them
        self._begun: float | None = None  # when the last one did

    def push(self, found: Found) -> None:
        """Count what was found in a foreign format."""
        if isinstance(found, Skipped):
            self.skipped[found.reason] += 1
        elif isinstance(found, Call) and found.begun is not None:
            self._timed += 1
            self._backwards += self._begun is not None and found.begun < self._begun
            self._begun = found.begun

    @property
    def newest_first(self) -> bool:
        """Whether the log runs backwards, as lists of an API do; parallel calls are out of order here and there."""
        return self._timed >= _ENOUGH and 2 * self._backwards > self._timed

    def as_dict(self) -> dict[str, Any]:
        """Foreign formats and what was skipped as plain data, ready for JSON."""
        return {
            "formats": sorted(self.formats.keys() - {OWN}),
            "skipped": {kind.value: self.skipped[kind] for kind in Skip if self.skipped[kind]},
            "newest_first": self.newest_first,
        }

    def remarks(self) -> list[str]:
        """What there is to say of how a log was read, a sentence each."""
        titles = ", ".join(f"{FORMATS[name].title} ({name})" for name in sorted(self.formats.keys() - {OWN}))
        words = self.words()
        return [
            *([f"Read as {titles}."] if titles else []),
            *([f"Left out: {words}."] if words else []),
            *([NEWEST_FIRST] if self.newest_first else []),
        ]

    def words(self) -> str:
        """What was skipped in words; empty where nothing was.

        >>> reading = Reading()
        >>> reading.skipped.update([Skip.no_call, Skip.no_call, Skip.no_result])
        >>> reading.words()
        '2 records without a tool call, 1 tool call without a result'
        """
        return ", ".join(kind.counted(self.skipped[kind]) for kind in Skip if self.skipped[kind])


def check_format(name: str) -> str:
    """The name of a format, of the common one, or ``"auto"``.

    Raises:
        ConfigurationError: for any other.
    """
    known = (AUTO, OWN, *FORMATS)
    if name in known:
        return name
    near = difflib.get_close_matches(name.lower(), known, n=1)
    hint = f"; did you mean {near[0]}?" if near else "."
    raise ConfigurationError(f"there is no format {name[:60]!r}{hint} Known are {', '.join(known)}.")


def find_traces(source: str | PathLike[str]) -> tuple[Path, ...]:
    """Find the files of a trace: the file itself, or a folder's ``.jsonl``, ``.json``, ``.ndjson`` and ``.parquet``.

    Sorted by path; the first two may also end with ``.gz``. Sub-folders are searched too (links to folders are not
    followed); names that begin with a dot are left out.

    Raises:
        DataError: where there is no such path, no such file in the folder, or no permission.
    """
    return find_files(source, lambda name: name.endswith(SUFFIXES), NO_TRACES)


def read_traces(
    source: str | PathLike[str] | BinaryIO,
    *,
    format: str = AUTO,
    on_read: Callable[[int], None] | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
    reading: Reading | None = None,
) -> Iterator[TraceRow | BrokenLine]:
    """Read calls in recorded order, lazily.

    Args:
        source: a file, a folder, ``"-"`` for standard input, or an open binary stream.
        format: the name of a format; ``"auto"`` recognises that of each file, ``"agentguard"`` is the common one.
        on_read: told how many bytes were just taken from the source (as stored: compressed), for progress bars.
        max_line_bytes: the longest line to be read.
        reading: where to count what a file of another format holds beside calls.

    Yields:
        A ``TraceRow`` for each line that holds a call, a ``BrokenLine`` for each that does not. Blank lines are
        passed over. Damaged compressed data ends its file with one ``BrokenLine``. Of other formats: a ``TraceRow``
        for each call with its result, a ``BrokenLine`` for what is no JSON, or no call that can be judged.

    Raises:
        ConfigurationError: for a format that is unknown.
        DataError: at once where there is nothing to read; while reading where a file cannot be opened or read, where
            it has more than ``LIMITS.blank_bytes`` without data, and where it unpacks to hundreds of times its size.
    """
    return parse(read_lines(source, format=format, on_read=on_read, max_line_bytes=max_line_bytes, reading=reading))


def parse(lines: Iterable[Line]) -> Iterator[TraceRow | BrokenLine]:
    """Parse lines into calls.

    >>> [row.call.result for row in parse([("calls.jsonl", 1, b'{"tool": "add", "result": 3}')])]
    [3]
    """
    for line in lines:
        yield line if isinstance(line, BrokenLine) else parse_line(line[2], line[0], line[1])


def read_lines(
    source: str | PathLike[str] | BinaryIO,
    *,
    format: str = AUTO,
    on_read: Callable[[int], None] | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
    reading: Reading | None = None,
) -> Iterator[Line]:
    """Read a log as ``read_traces`` does, but leave its lines to be parsed.

    Rows of Parquet, and calls of other formats, become lines of JSON in the common format.
    """
    log = _Log(check_format(format), max_line_bytes, Reading() if reading is None else reading)
    return log.lines(log.files(source, on_read))


def read_found(
    source: str | PathLike[str] | BinaryIO,
    *,
    format: str = AUTO,
    on_read: Callable[[int], None] | None = None,
    reading: Reading | None = None,
) -> Iterator[Found | BrokenLine]:
    """Read a log as ``read_traces`` does: its calls, not yet parsed, and what was said around them."""
    log = _Log(check_format(format), MAX_LINE_BYTES, Reading() if reading is None else reading)
    return log.found(log.files(source, on_read))


def row_of(call: Call) -> TraceRow | BrokenLine:
    """Parse a call that ``read_found`` has found."""
    try:
        parsed, label = call.parsed or parse_call(call.fields)
    except DataError as error:
        return BrokenLine(call.source, call.line, str(error))
    return TraceRow(call.source, call.line, parsed, label)


def format_of(file: Path) -> str:
    """The format of a file that is recognised by its first records; the common one where none is.

    Raises:
        DataError: where it cannot be read.
    """
    log = _Log(AUTO, MAX_LINE_BYTES, Reading())
    raws = log.of_file(file, None)
    return log.recognise(raws)[0]


class _Raw(NamedTuple):
    """Bytes of a line, or of a record of a document: ``document`` is None, or as ``Element.root``."""

    source: str
    line: int
    document: int | None
    raw: bytes


class _Log:
    """Reads the files of a log, each in its format; a format's reader goes on from file to file."""

    def __init__(self, format: str, limit: int, reading: Reading) -> None:
        self._format, self._limit, self._reading = format, limit, reading
        self._readers: dict[str, Reader] = {}

    def files(
        self, source: str | PathLike[str] | BinaryIO, on_read: Callable[[int], None] | None
    ) -> Iterable[Iterator[_Raw | BrokenLine]]:
        """The lines or records of each file of a log."""
        if not isinstance(source, (str, os.PathLike)):
            return [self.of_stream(source, "stream", on_read)]
        if source == STDIN:
            return [self.of_stream(sys.stdin.buffer, "stdin", on_read)]
        files = find_traces(source)
        return (self.of_file(file, on_read) for file in files)

    def lines(self, files: Iterable[Iterator[_Raw | BrokenLine]]) -> Iterator[Line]:
        """The lines of all files that hold calls, in the common format."""
        for one in self._each(files):
            if isinstance(one, BrokenLine):
                yield one
            elif isinstance(one, _Raw):
                if not is_said(one.raw):
                    yield one.source, one.line, one.raw
            elif isinstance(one, Call):
                raw = line_of(one.fields)
                too_long = len(raw) > self._limit
                yield too_long_line(one.source, one.line, self._limit) if too_long else (one.source, one.line, raw)

    def found(self, files: Iterable[Iterator[_Raw | BrokenLine]]) -> Iterator[Found | BrokenLine]:
        """The calls of all files, and what was said around them."""
        for one in self._each(files):
            if isinstance(one, _Raw):
                yield from _own(one)
            else:
                yield one

    def _each(self, files: Iterable[Iterator[_Raw | BrokenLine]]) -> Iterator[_Raw | Found | BrokenLine]:
        """What all files hold: lines of the common format, and what is found in others."""
        for raws in files:
            format, raws = self.recognise(raws)
            self._reading.formats[format] += 1
            if format == OWN:
                yield from raws
            else:
                yield from self._foreign(self._readers.setdefault(format, FORMATS[format].reader()), raws)
        for reader in self._readers.values():
            yield from self._counted(reader.end())

    def recognise(self, raws: Iterator[_Raw | BrokenLine]) -> tuple[str, Iterator[_Raw | BrokenLine]]:
        """The format of a file, and all that it holds: no more is read than what tells."""
        if self._format != AUTO:
            return self._format, raws
        looked_at: list[_Raw | BrokenLine] = []
        size = 0
        for raw in raws:
            looked_at.append(raw)
            name = None if isinstance(raw, BrokenLine) else _name_of_format(raw.raw)
            if name is not None:
                return name, chain(looked_at, raws)
            size += 0 if isinstance(raw, BrokenLine) else len(raw.raw)
            if len(looked_at) >= _LOOKED_AT or size >= _LOOKED_AT_BYTES:
                break
        for raw in looked_at:
            if not isinstance(raw, BrokenLine) and raw.document is not None:  # one message for all of its records
                return OWN, iter([BrokenLine(raw.source, raw.line, UNKNOWN)])
        return OWN, chain(looked_at, raws)

    def of_file(self, file: Path, on_read: Callable[[int], None] | None) -> Iterator[_Raw | BrokenLine]:
        """The lines or records of a file."""
        if is_parquet(file):
            yield from self._of_parquet(file, on_read)
            return
        try:
            stream = file.open("rb", buffering=0)
        except OSError as error:
            raise DataError(f"cannot read {file}: {reason_of(error)}") from None
        with stream:
            yield from self.of_stream(stream, str(file), on_read)

    def of_stream(
        self, stream: BinaryIO | io.FileIO, source: str, on_read: Callable[[int], None] | None
    ) -> Iterator[_Raw | BrokenLine]:
        """The lines of a stream, or the records of the documents in it."""
        try:
            plain = unpacked(io.BufferedReader(CountedStream(stream, on_read), PIECE))
            if is_document(plain.peek(PIECE)):
                for one in elements(plain, source, self._limit):
                    if isinstance(one, Fault):
                        yield BrokenLine(source, one.line, one.reason)
                    elif one.raw is None:
                        yield too_long_line(source, one.line, self._limit)
                    else:
                        yield _Raw(source, one.line, one.root, one.raw)
                return
            for number, raw in lines_of(plain, source, self._limit):
                yield too_long_line(source, number, self._limit) if raw is None else _Raw(source, number, None, raw)
        except Damaged as damaged:
            yield BrokenLine(source, damaged.line, DAMAGED_SAID)
        except DAMAGED:
            yield BrokenLine(source, 1, DAMAGED_SAID)
        except OSError as error:
            raise DataError(f"cannot read {source}: {reason_of(error)}") from None

    def _of_parquet(self, file: Path, on_read: Callable[[int], None] | None) -> Iterator[_Raw | BrokenLine]:
        foreign = self._format not in (AUTO, OWN)
        if self._format == AUTO:
            first = islice(parquet_lines(file, whole=True), _LOOKED_AT)
            names = (name for name in (_name_of_format(raw) for _, _, raw in first) if name is not None)
            foreign = next(names, OWN) != OWN
        for source, number, raw in parquet_lines(file, on_read, whole=foreign):
            is_long = len(raw) > self._limit
            yield too_long_line(source, number, self._limit) if is_long else _Raw(source, number, None, raw)

    def _foreign(self, reader: Reader, raws: Iterable[_Raw | BrokenLine]) -> Iterator[Found | BrokenLine]:
        for raw in raws:
            if isinstance(raw, BrokenLine):
                yield raw
                continue
            try:
                value = parse_json(raw.raw)
            except DataError as error:
                yield BrokenLine(raw.source, raw.line, str(error))
                continue
            if isinstance(value, list) and raw.document is None:
                for element in value:
                    yield from self._counted(reader.push(Record(raw.source, raw.line, raw.line, element)))
            else:
                yield from self._counted(reader.push(Record(raw.source, raw.line, raw.document or 0, value)))

    def _counted(self, found: Iterable[Found]) -> Iterator[Found]:
        for one in found:
            self._reading.push(one)
            yield one


# --- Words in the common format ---


_SAID: Mapping[str, Speaker] = {"question": "user", "answer": "agent"}


def is_said(raw: bytes) -> bool:
    """Whether a line of the common format holds words or tools, and no call."""
    if not (b'"answer"' in raw or b'"question"' in raw or b'"tools"' in raw):  # of every line this is asked
        return False
    try:
        value = parse_json(raw)
    except DataError:
        return False
    return isinstance(value, dict) and _says(value)


def _says(value: Mapping[str, Any]) -> bool:
    if "tool" in value or "result" in value:
        return False
    try:
        _name(value, "session_id")
    except DataError:
        return False
    return any(isinstance(value.get(name), str) for name in _SAID) or isinstance(value.get("tools"), list)


def _own(raw: _Raw) -> Iterator[Found | BrokenLine]:
    """The call in a line of the common format, or what was said."""
    try:
        value = parse_json(raw.raw)
        if not isinstance(value, dict) or not _says(value):
            yield Call(raw.source, raw.line, value, parsed=parse_call(value))
            return
        session = _name(value, "session_id")
    except DataError as error:
        yield BrokenLine(raw.source, raw.line, str(error))
        return
    if tools := tools_in(value.get("tools")):
        yield Offered(raw.source, raw.line, session, tools)
    for name, speaker in _SAID.items():
        text = value.get(name)
        if isinstance(text, str) and text:
            yield Said(raw.source, raw.line, speaker, text, session)


def _name_of_format(raw: bytes) -> str | None:
    """The format of a record; None where none knows it."""
    try:
        value = parse_json(raw)
    except DataError:
        return None
    if isinstance(value, dict) and "tool" in value and "result" in value:
        return OWN
    values = value[:_LOOKED_AT] if isinstance(value, list) else [value]
    formats = (format for format in map(recognised, (value, *values)) if format is not None)
    return next((format.name for format in formats), None)


def too_long_line(source: str, number: int, limit: int = MAX_LINE_BYTES) -> BrokenLine:
    """The broken line in place of one with more bytes than are read."""
    return BrokenLine(source, number, f"longer than {limit:,} bytes")


class CountedStream(io.RawIOBase):
    """A raw stream over anything that has ``read``; tells ``on_read`` how many bytes were read from it."""

    def __init__(self, stream: IO[bytes] | io.FileIO, on_read: Callable[[int], None] | None) -> None:
        # ``read`` of a buffered pipe waits until all it was asked for is there; ``read1`` hands over what has come.
        self._read: Callable[[int], bytes | None] = getattr(stream, "read1", stream.read)
        self._on_read = on_read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        data = self._read(len(view)) or b""
        view[: len(data)] = data
        if self._on_read is not None and data:
            self._on_read(len(data))
        return len(data)
