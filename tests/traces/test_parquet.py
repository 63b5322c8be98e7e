"""Parquet files give the calls that the same rows as JSON lines give."""

import json
import math
import tracemalloc
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError, DataError
from agentguard.traces import BrokenLine, TraceRow, find_traces
from agentguard.traces._read import is_parquet, line_of, parquet_lines, parse, read_lines

from ..rows import over


def write(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pyarrow.parquet.write_table(pyarrow.table(columns), path, **options)
    return path


def calls(path: Path) -> list[tuple[Any, ...]]:
    return [(row.line, *row.call, row.label) for row in parse(read_lines(path)) if isinstance(row, TraceRow)]


def test_columns_are_the_fields_of_a_trace(tmp_path: Path) -> None:
    file = write(
        tmp_path / "calls.parquet",
        {
            "tool": ["add", "sub"], "args": ['{"a": 1}', "[2]"], "result": ['{"sum": 1}', "3"],
            "latency_ms": [12.5, None], "session_id": ["s", None], "call_id": ["c1", "c2"], "label": ["genuine", None],
                "is_error": [True, None],
            "something_else": [1, 2],
        },
    )  # fmt: skip

    assert calls(file) == [
        (1, "add", {"a": 1}, '{"sum": 1}', 12.5, "s", "c1", True, "genuine"),
        (2, "sub", [2], "3", None, None, "c2", False, None),
    ]


def test_args_and_results_may_be_structs_lists_or_maps(tmp_path: Path) -> None:
    table = {
        "tool": ["t", "t"],
        "args": pyarrow.array([[("city", "Rome")], [("k", "v"), ("l", "w")]], pyarrow.map_("string", "string")),
        "result": [{"rows": [{"id": 1}]}, {"rows": []}],
    }

    found = calls(write(tmp_path / "calls.parquet", table))

    assert [call[2] for call in found] == [{"city": "Rome"}, {"k": "v", "l": "w"}]
    assert [call[3] for call in found] == [{"rows": [{"id": 1}]}, {"rows": []}]


def test_what_json_has_not_gets_the_text_that_stands_for_it() -> None:
    row = {"tool": "t", "args": "not json {", "result": [Decimal("1.5"), b"ok", datetime(2025, 1, 2), math.nan]}

    data = json.loads(line_of(row))

    assert data["args"] == "not json {"
    assert data["result"][:3] == ["1.5", "ok", "2025-01-02T00:00:00"]


@over("text", ["", " ", "{", "[1", "{'a': 1}", "NaN", "7", '"x"'])
def test_args_that_are_not_json_of_an_object_or_list_stay_text(text: str) -> None:
    assert json.loads(line_of({"tool": "t", "args": text, "result": 1}))["args"] == text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
rows = st.lists(
    st.fixed_dictionaries(
        {
            "tool": st.text(min_size=1, max_size=6),
            "args": st.dictionaries(st.text(max_size=5), json_values, max_size=3),
            "result": st.text(max_size=20) | json_values.map(json.dumps),
            "latency_ms": st.none() | st.floats(0, 1e6),
            "session_id": st.none() | st.text(max_size=5),
        }
    ),
    min_size=1,
    max_size=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows, st.integers(1, 5))
def test_a_log_with_args_as_text_is_the_same_call_for_call(
    tmp_path: Path, log: list[dict[str, Any]], group: int
) -> None:
    lines = tmp_path / "calls.jsonl"
    lines.write_bytes(b"\n".join(json.dumps(row).encode() for row in log))
    columns = {name: [row[name] for row in log] for name in log[0]}
    columns["args"] = [json.dumps(args) for args in columns["args"]]
    columns["latency_ms"] = pyarrow.array(columns["latency_ms"], pyarrow.float64())
    columns["session_id"] = pyarrow.array(columns["session_id"], pyarrow.string())
    file = write(tmp_path / "calls.parquet", columns, row_group_size=group)

    assert calls(file) == calls(lines)
    assert [call[0] for call in calls(file)] == list(range(1, len(log) + 1))


def test_all_bytes_of_the_file_are_told(tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet", {"tool": ["t"] * 50, "result": ["x" * 100] * 50}, row_group_size=7)
    told: list[int] = []

    assert len(list(parquet_lines(file, told.append))) == 50
    assert sum(told) == file.stat().st_size
    assert len(told) == 8


def test_a_folder_may_hold_both_kinds_and_is_read_by_path(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text('{"tool": "b", "result": 1}\n')
    (tmp_path / "sub").mkdir()
    write(tmp_path / "a.parquet", {"tool": ["a"], "result": [1]})
    write(tmp_path / "sub" / "c.parquet", {"tool": ["c"], "result": [1]})
    write(tmp_path / ".hidden.parquet", {"tool": ["no"], "result": [1]})

    assert [file.name for file in find_traces(tmp_path)] == ["a.parquet", "b.jsonl", "c.parquet"]
    assert [call[1] for call in calls(tmp_path)] == ["a", "b", "c"]


def test_parquet_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    renamed = write(tmp_path / "calls.bin", {"tool": ["t"], "result": [1]})

    assert is_parquet(renamed)
    assert [call[1] for call in calls(renamed)] == ["t"]
    assert not is_parquet(tmp_path / "absent")


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"tool": ["t"], "output": [1]}, "has no column 'result'; of a trace's columns it has tool"),
        ({"name": ["t"]}, "has no column 'tool' and no column 'result'; of a trace's columns it has none"),
    ],
)
def test_columns_that_are_missing_are_named(tmp_path: Path, columns: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        list(parquet_lines(write(tmp_path / "a.parquet", columns)))


@pytest.mark.parametrize("cut", [4, 30, -1, -8, -60])
def test_damaged_files_give_one_error(tmp_path: Path, cut: int) -> None:
    file = write(tmp_path / "a.parquet", {"tool": ["t"] * 9, "result": ["x"] * 9})
    file.write_bytes(file.read_bytes()[:cut])

    with pytest.raises(DataError, match=r"cannot read .*a\.parquet"):
        list(read_lines(file))


def test_without_pyarrow_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "a.parquet", {"tool": ["t"], "result": [1]})
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)

    with pytest.raises(ConfigurationError, match=r"pip install 'agentguard\[parquet\]'"):
        list(read_lines(file))


def test_a_text_that_a_file_holds_once_is_not_held_once_a_row(tmp_path: Path) -> None:
    text = "a" * 2**18
    file = write(tmp_path / "calls.parquet", {"tool": ["t"] * 400, "result": [text] * 400}, compression="zstd")
    assert file.stat().st_size < 2_000
    next(parquet_lines(file))  # what is imported for it is none of its memory
    before, most_packed, rows = pyarrow.total_allocated_bytes(), 0, 0

    tracemalloc.start()
    try:
        for _, _, raw in parquet_lines(file):
            rows += raw.count(text.encode())
            most_packed = max(most_packed, pyarrow.total_allocated_bytes() - before)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert rows == 400
    assert peak < 64 * len(text)  # a slice, and the lines of two rows, for each of which orjson takes 16 times its size
    assert most_packed < 160 * len(text)


def test_a_row_longer_than_a_line_may_be_is_a_broken_line(tmp_path: Path) -> None:
    file = write(tmp_path / "calls.parquet", {"tool": ["t", "t"], "result": ["a" * 100, "b"]})

    first, second = read_lines(file, max_line_bytes=100)

    assert first == BrokenLine(str(file), 1, "longer than 100 bytes")
    assert second == (str(file), 2, b'{"tool":"t","result":"b"}')
