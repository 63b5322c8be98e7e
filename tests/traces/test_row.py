"""One line of a trace becomes a call, or a reason that quotes nothing of it."""

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from agentguard.traces._read import FIELDS, BrokenLine, TraceRow, parse_line
from agentguard.verification import ToolCall

from ..rows import over

SECRET = "hunter2-do-not-repeat"


def parse(**fields: object) -> TraceRow | BrokenLine:
    return parse_line(json.dumps(fields).encode(), "calls.jsonl", 7)


def reason(raw: bytes) -> str:
    line = parse_line(raw, "calls.jsonl", 7)
    assert isinstance(line, BrokenLine)
    assert (line.source, line.line) == ("calls.jsonl", 7)
    return line.reason


def test_a_full_row_becomes_a_call_and_keeps_its_label_apart() -> None:
    row = parse(
        source="shop", session_id="s1", call_index=3, tool="get_price", args={"sku": "A1"}, result='{"price": 7.5}',
        is_error=False, latency_ms=120.5, label="swapped", meta={"run": 1},
    )  # fmt: skip

    expected = ToolCall("get_price", {"sku": "A1"}, '{"price": 7.5}', 120.5, "s1", None)
    assert row == TraceRow("calls.jsonl", 7, expected, "swapped")


def test_only_tool_and_result_are_necessary() -> None:
    assert parse(tool="t", result=None) == TraceRow("calls.jsonl", 7, ToolCall("t"), None)


def test_names_of_a_tool_call_are_read_too() -> None:
    row = parse(tool="t", result=1, execution_time_ms=12, call_id="c9", session_id=4)

    assert isinstance(row, TraceRow)
    assert row.call == ToolCall("t", None, 1, 12.0, "4", "c9")


@over("flag", [True, False, None, "yes", 1])
def test_the_frameworks_own_flag_is_read(flag: object) -> None:
    row = parse(tool="t", result={"detail": "gone"}, is_error=flag)

    assert isinstance(row, TraceRow)
    assert row.call.is_error is (flag is True)


def test_latency_ms_stands_before_execution_time_ms_unless_it_is_null() -> None:
    both = parse(tool="t", result=1, latency_ms=5, execution_time_ms=9)
    null = parse(tool="t", result=1, latency_ms=None, execution_time_ms=9)

    assert isinstance(both, TraceRow)
    assert isinstance(null, TraceRow)
    assert (both.call.execution_time_ms, null.call.execution_time_ms) == (5.0, 9.0)


def test_what_python_loggers_write_beyond_json_is_read() -> None:
    row = parse_line(b'{"tool": "t", "result": {"a": NaN, "b": "\\ud800"}, "latency_ms": Infinity}', "f", 1)

    assert isinstance(row, TraceRow)
    assert math.isnan(row.call.result["a"])
    assert row.call.result["b"] == "\ud800"
    assert row.call.execution_time_ms == math.inf


@over(("raw", "expected"), [
        (b"{", "not JSON (character 2)"),
        (b'{"tool": "t", "result": 1} x', "not JSON (character 28)"),
        (b'{"tool": "\xff", "result": 1}', "not UTF-8 text (byte 11)"),
        (b"[1]", "must be a JSON object, not an array"),
        (b"null", "must be a JSON object, not null"),
        (b'"text"', "must be a JSON object, not text"),
        (b"7.5", "must be a JSON object, not a number"),
        (b'{"result": 1}', "field 'tool' is missing"),
        (b'{"tool": 5, "result": 1}', "field 'tool' must be a name, not a number"),
        (b'{"tool": "", "result": 1}', "field 'tool' must be a name, not empty text"),
        (b'{"tool": "t"}', "field 'result' is missing"),
        (b'{"tool": "t", "result": 1, "latency_ms": true}',
         "field 'latency_ms' must be a number of milliseconds or null, not a boolean"),
        (b'{"tool": "t", "result": 1, "execution_time_ms": "9"}',
         "field 'execution_time_ms' must be a number of milliseconds or null, not text"),
        (b'{"tool": "t", "result": NaN, "latency_ms": 1' + b"0" * 400 + b"}",
         "field 'latency_ms' is too large for a number of milliseconds"),
        (b'{"tool": "t", "result": 1, "session_id": {}}',
         "field 'session_id' must be text, an integer or null, not an object"),
        (b'{"tool": "t", "result": 1, "call_id": 1.5}',
         "field 'call_id' must be text, an integer or null, not a number"),
        (b'{"tool": "t", "result": 1, "label": []}', "field 'label' must be text, an integer or null, not an array"),
        (b'{"tool": "' + b"t" * 1001 + b'", "result": 1}', "field 'tool' has more than 1,000 characters"),
        (b'{"tool": "t", "result": 1, "session_id": "' + b"s" * 1001 + b'"}',
         "field 'session_id' has more than 1,000 characters"),
        (b"[" * 100_000, "not usable JSON: nested too deeply"),
        (b'{"tool": "t", "result": NaN, "args": 1' + b"0" * 5000 + b"}",
         "not usable JSON: a number has too many digits"),
    ])  # fmt: skip
def test_reasons(raw: bytes, expected: str) -> None:
    assert reason(raw) == expected


@over(
    "raw",
    [
        f"{SECRET}".encode(),
        f'{{"{SECRET}": 1}}'.encode(),
        f'{{"tool": ["{SECRET}"], "result": 1}}'.encode(),
        f'{{"tool": "t", "result": 1, "latency_ms": "{SECRET}"}}'.encode(),
        f'{{"tool": "t", "result": 1, "session_id": ["{SECRET}"]}}'.encode(),
        f'{{"tool": "t", "result": "{SECRET}'.encode(),
        f'{{"tool": "t", "result": "{SECRET}'.encode() + b"\xff",
    ],
)
def test_a_reason_never_quotes_the_line(raw: bytes) -> None:
    assert SECRET not in reason(raw)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(FIELDS)), json_values))
def test_any_json_object_gives_a_row_or_a_reason(data: dict[str, object]) -> None:
    line = parse_line(json.dumps(data).encode(), "f", 1)

    if isinstance(line, TraceRow):
        assert line.call.tool == data["tool"]
        assert type(line.call.result) is type(data["result"])
        assert line.call.execution_time_ms is None or isinstance(line.call.execution_time_ms, float)
    else:
        assert line.reason


@given(st.binary())
def test_any_bytes_give_a_row_or_a_reason(raw: bytes) -> None:
    assert isinstance(parse_line(raw, "f", 1), (TraceRow, BrokenLine))
