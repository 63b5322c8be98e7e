"""Logs of calls in every form they are read in: lines of JSON, gzip, rows of Parquet. Never an error for a line."""

from __future__ import annotations

import gzip
import io
import json
from typing import Any

from agentguard.errors import DataError
from agentguard.traces import BrokenLine, TraceRow, read_traces
from agentguard.traces._formats import FORMATS, Call, Said
from agentguard.traces._read import line_of, read_found, row_of
from agentguard.traces._turns import Sessions
from fuzz import grammar
from fuzz.harness import Harness, written
from fuzz.source import Source
from fuzz.trial import Trial, encodable, require

__all__ = ["HARNESSES"]

FIELDS = ("tool", "result", "args", "session_id", "call_id", "latency_ms", "execution_time_ms", "label", "meta")
ENDS = (b"\n", b"\r\n", b"\r", b"\n\n", b"\0\n", b" \t\n")


def _line(source: Source) -> bytes:
    row: dict[str, Any] = {"tool": "t", "result": 1}
    for _ in range(source.integer(0, 4)):
        row[source.choice(FIELDS)] = grammar.value(source, 3)
    kind = source.integer(0, 7)
    if kind == 0:
        return grammar.bytes_of(source, grammar.text(source))
    if kind == 1:
        return grammar.bytes_of(source, grammar.json_text(source))
    try:
        made = json.dumps(row, ensure_ascii=bool(source.integer(0, 1)))
    except (RecursionError, ValueError):
        made = '{"tool": "t", "result": ' + "[" * 9_000
    return grammar.bytes_of(source, made)


def _log(source: Source) -> bytes:
    given = source.verbatim()
    if given is not None:
        return given
    lines = [_line(source) for _ in range(source.integer(0, 5))]
    data = source.choice((b"", b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f", b"PAR1")) + source.choice(ENDS).join(lines)
    if source.chance(3):
        data = gzip.compress(data, 1, mtime=0)
        if source.integer(0, 2) and data:
            at = source.integer(0, len(data) - 1)
            data = data[:at] + source.raw(source.integer(0, 3)) + data[at + source.integer(0, 9) :]
    return data


def _read(data: bytes, limit: int) -> list[TraceRow | BrokenLine]:
    return list(read_traces(io.BytesIO(data), max_line_bytes=limit))


def _traces(trial: Trial) -> None:
    data = _log(trial.source)
    limit = trial.source.choice((64 * 2**20, 1, 20, 200))
    rows = trial.call(_read, data, limit, of=data)
    lines = 0
    for row in rows:
        require(row.line >= lines, "lines are not in their order")
        lines = row.line
        if isinstance(row, BrokenLine):
            require(encodable(str(row)) and len(row.reason) < 500, "the reason cannot be printed")
        else:
            require(0 < len(row.call.tool) <= 1_000, "a name without bounds")
            require(row.label is None or isinstance(row.label, str), "a label that is no text")
    if trial.source.chance(4) or data[:4] == b"PAR1":
        path = written("log.jsonl", data)
        try:
            from_file: Any = trial.call(lambda: list(read_traces(path)), of=data, allowed=DataError)
        finally:
            path.unlink()
        if isinstance(from_file, DataError):
            require(data[:4] == b"PAR1", f"a file of lines is refused: {from_file}")


NAMES = (
    "type", "role", "content", "messages", "tool_calls", "function", "name", "arguments", "id", "call_id", "output",
    "tool_call_id", "message", "payload", "run_type", "inputs", "outputs", "trace_id", "traceId", "spanId",
    "attributes", "key", "value", "stringValue", "resourceSpans", "scopeSpans", "spans", "data", "runs", "observations",
    "sessionId", "startTime", "endTime", "startTimeUnixNano", "context", "span_kind", "input", "metadata", "level",
    "duration", "answer", "question", "tools", "text", "parts", "generations", "session_id", "timestamp", "uuid",
)  # fmt: skip
WORDS = (
    "tool", "tool_use", "tool_result", "function_call", "function_call_output", "TOOL", "SPAN", "assistant", "user",
    "response_item", "gen_ai.operation.name", "execute_tool", "gen_ai.input.messages", "x", "{}", "[", "1" * 30,
    "llm", "GENERATION", "message", "text", "output_text", "gen_ai.output.messages", "llm.output_messages", "ai",
)  # fmt: skip


def _record(source: Source, depth: int) -> Any:
    kind = source.integer(0, 5)
    if kind == 0 or depth == 0:
        return source.choice(WORDS)
    if kind == 1:
        return grammar.value(source, 2)
    if kind == 2:
        return [_record(source, depth - 1) for _ in range(source.integer(0, 3))]
    return {source.choice(NAMES): _record(source, depth - 1) for _ in range(source.integer(0, 5))}


def _exports(trial: Trial) -> None:
    """Records of other programs, as lines or as a document, read in a format of theirs or another."""
    source = trial.source
    records = [_record(source, 5) for _ in range(source.integer(0, 4))]
    try:
        made = source.choice((
            "\n".join(map(json.dumps, records)), json.dumps(records), json.dumps(records, indent=1),
            json.dumps({"data": records}, indent=1),
        ))  # fmt: skip
    except (RecursionError, ValueError, TypeError):
        return
    data, format = made.encode(), source.choice(("auto", "agentguard", *FORMATS))
    rows = trial.call(lambda: list(read_traces(io.BytesIO(data), format=format)), of=data)
    for row in rows:
        require(row.line >= 1, "a place before the first line")
        require(isinstance(row, TraceRow) or encodable(str(row)), "the reason cannot be printed")
    found = trial.call(lambda: list(read_found(io.BytesIO(data), format=format)), of=data)
    calls = [row_of(one) if isinstance(one, Call) else one for one in found if isinstance(one, Call | BrokenLine)]
    require(len(calls) == len(rows), "what is said around calls changes which calls there are")
    sessions = Sessions(most_held=source.integer(0, 2_000))
    turns = [
        turn
        for one in found
        if not isinstance(one, BrokenLine)
        for turn in trial.call(list, sessions.push(one), again=False)
    ]
    said = {one.text for one in found if isinstance(one, Said) and one.by == "agent"}
    for turn in [*turns, *trial.call(list, sessions.end(), again=False)]:
        require(any(text in turn.answer for text in said), "an answer that nobody gave")


def _parquet(trial: Trial) -> None:
    """Rows as a reader of Parquet hands them over."""
    source = trial.source
    row = {"tool": grammar.name(source), "args": grammar.text(source, most=4), "result": grammar.value(source)}
    for _ in range(source.integer(0, 3)):
        row[source.choice(FIELDS)] = grammar.value(source, 2)
    line = trial.call(line_of, row)
    require(b"\n" not in line, "a row of more than one line")
    (read,) = list(read_traces(io.BytesIO(line)))
    require(isinstance(read, TraceRow | BrokenLine), "not read")


HARNESSES = (
    Harness("traces", "read_traces: lines of JSON, gzip, damaged and disguised files", _traces),
    Harness("exports", "read_traces, turns: records of other programs, in their format and in others", _exports),
    Harness("parquet", "rows of Parquet as lines of a trace", _parquet),
)
