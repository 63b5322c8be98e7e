"""Exports of other programs, written by hand from their published schemas, give the calls that are in them."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agentguard.traces import BrokenLine, Reading, TraceRow, read_traces
from agentguard.traces._formats import FORMATS, Skip
from agentguard.traces._read import format_of
from agentguard.verification.types import ToolCall

from ...rows import over

EXPORTS = Path(__file__).parent / "exports"
RUN = "3f1d2c00-0000-4000-8000-0000000000"
TRACE = "5b8efff798038103d269b633813fc60c"

# Tool, args, result, milliseconds, session, id, is_error; by hand from the files.
EXPECTED: dict[str, tuple[str, list[ToolCall], dict[Skip, int]]] = {
    "otlp.jsonl": (
        "otlp",
        [
            ToolCall("get_price", {"sku": "A1"}, '{"price": 7.5}', 120.5, "conv_1", "call_1"),
            ToolCall("get_price", {"sku": "B2"}, "no answer in 1 ms", 1.0, TRACE, "call_2", is_error=True),
            ToolCall("get_price", {"sku": "C3"}, '{"price": 3}', 40.0, TRACE, "call_3"),
        ],
        {Skip.no_call: 1, Skip.no_content: 1},
    ),
    "openinference-otlp.json": (
        "otlp",
        [ToolCall("get_weather", {"city": "Oslo"}, "4 degrees", 250.0, "chat-7", "call_w")],
        {Skip.no_call: 1},
    ),
    "openinference.jsonl": (
        "openinference",
        [
            ToolCall("get_weather", {"city": "Oslo"}, "4 degrees", 250.0, "chat-7"),
            ToolCall("get_weather", "Atlantis", "city is unknown", 10.0, "7f2", is_error=True),
        ],
        {Skip.no_call: 1},
    ),
    "langsmith.json": (
        "langsmith",
        [
            ToolCall("search", {"query": "oslo"}, "3 hits", 250.0, "thread-1", RUN + "02"),
            ToolCall("book", {"hotel": "Plaza", "nights": 2}, '[{"id": 4}]', 5.0, RUN + "01", "call_b"),
            ToolCall("book", {"hotel": "Grand"}, "ValueError('full')", 1.0, RUN + "01", RUN + "04", is_error=True),
        ],
        {Skip.no_call: 1, Skip.no_result: 1},
    ),
    "langfuse.json": (
        "langfuse",
        [
            ToolCall("lookup", {"id": 7}, {"name": "Ada"}, 30.0, "s-9", "obs-1"),
            ToolCall("lookup", {"id": 8}, "no such row", 500.0, "tr-1", "obs-3", is_error=True),
            ToolCall("lookup", {"id": 9}, '"Bob"', 1.0, "tr-2", "obs-4"),
        ],
        {Skip.no_call: 2},
    ),
    "langfuse-trace.json": ("langfuse", [ToolCall("lookup", {"id": 1}, "Cleo", 2.0, "s-10", "obs-6")], {}),
    "openai.jsonl": (
        "openai",
        [
            ToolCall("get_price", {"sku": "B2"}, "8", None, "openai.jsonl:1", "call_b"),
            ToolCall("get_price", {"sku": "A1"}, '{"price": 7.5}', None, "openai.jsonl:1", "call_a"),
            ToolCall("get_price", {"sku": "C3"}, "3", None, "c-5", "call_c"),
            ToolCall("get_price", {"sku": "D4"}, "4", None, "openai.jsonl:4"),
        ],
        {Skip.no_call: 1, Skip.no_result: 1},
    ),
    "anthropic.json": (
        "anthropic",
        [
            ToolCall("read_file", {"path": "b.txt"}, "no such file", None, "anthropic.json:1", "toolu_2", True),
            ToolCall("list_files", {"path": "."}, ["a.txt", "2 bytes"], None, "anthropic.json:1", "toolu_1"),
        ],
        {},
    ),
    "claude-code.jsonl": (
        "claude-code",
        [
            ToolCall("Bash", {"command": "false"}, "Exit code 1", None, "se-1", "toolu_b", is_error=True),
            ToolCall("Glob", {"pattern": "*.md"}, "notes.md", 12.0, "se-1", "toolu_g"),
            ToolCall("Read", {"file_path": "/w/notes.md"}, "buy oats", None, "se-1/ag1", "toolu_s"),
        ],
        {Skip.no_call: 2, Skip.no_result: 1},
    ),
    "codex.jsonl": (
        "codex",
        [
            ToolCall("exec_command", {"cmd": "ls"}, "a.txt\n", 1500.0, "th-1", "call_1"),
            ToolCall("apply_patch", "*** Begin Patch", "Success", None, "th-1", "call_2"),
            ToolCall("local_shell", {"type": "exec", "command": ["pwd"]}, "denied", None, "th-1", "call_3", True),
        ],
        {Skip.no_call: 5},
    ),
}  # fmt: skip


def read(source: Any, **options: Any) -> tuple[list[ToolCall], list[str], dict[Skip, int]]:
    reading = Reading()
    rows = list(read_traces(source, reading=reading, **options))
    calls = [row.call for row in rows if isinstance(row, TraceRow)]
    return calls, [row.reason for row in rows if isinstance(row, BrokenLine)], dict(reading.skipped)


def written(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_there_is_an_export_of_every_format() -> None:
    assert {path.name for path in EXPORTS.iterdir()} == EXPECTED.keys()
    assert {format for format, _, _ in EXPECTED.values()} == FORMATS.keys()


@over("name", EXPECTED)
def test_an_export_gives_its_calls(name: str) -> None:
    format, calls, skipped = EXPECTED[name]

    assert read(EXPORTS / name) == (calls, [], skipped)
    assert read(EXPORTS / name, format=format) == (calls, [], skipped)


@over("name", EXPECTED)
def test_an_export_is_recognised_as_itself_and_as_no_other(name: str) -> None:
    text = (EXPORTS / name).read_text()
    values = [json.loads(line) for line in text.splitlines()] if name.endswith(".jsonl") else json.loads(text)
    values = values if isinstance(values, list) else [values]

    assert format_of(EXPORTS / name) == EXPECTED[name][0]
    found = Counter(format.name for value in values for format in FORMATS.values() if format.recognises(value))
    assert found.keys() == {EXPECTED[name][0]}


def test_records_may_be_lines_or_an_array_or_an_array_over_many_lines(tmp_path: Path) -> None:
    runs = json.loads((EXPORTS / "langsmith.json").read_text())
    written(tmp_path / "lines.jsonl", *runs)
    written(tmp_path / "line.jsonl", {"runs": runs})
    written(tmp_path / "array.json", runs)
    (tmp_path / "page.json").write_text(json.dumps({"runs": runs}, indent=1))

    for name in ("lines.jsonl", "array.json", "page.json", "line.jsonl"):
        assert read(tmp_path / name)[0] == EXPECTED["langsmith.json"][1], name


def test_the_place_of_a_call_is_the_line_where_it_is_complete() -> None:
    rows = list(read_traces(EXPORTS / "codex.jsonl"))
    (row, *_) = read_traces(EXPORTS / "langsmith.json")

    assert [row.line for row in rows] == [6, 8, 10]
    assert '"search"' in (EXPORTS / "langsmith.json").read_text().splitlines()[row.line + 1]


def test_a_folder_of_several_formats_is_read_each_in_its_own(tmp_path: Path) -> None:
    for name in ("codex.jsonl", "langfuse.json", "otlp.jsonl"):
        (tmp_path / name).write_bytes((EXPORTS / name).read_bytes())
    written(tmp_path / "own.jsonl", {"tool": "add", "result": 3})
    reading = Reading()

    calls = [row.call for row in read_traces(tmp_path, reading=reading) if isinstance(row, TraceRow)]

    codex, langfuse, otlp = (EXPECTED[name][1] for name in ("codex.jsonl", "langfuse.json", "otlp.jsonl"))
    assert calls == [*codex, *langfuse, *otlp, ToolCall("add", None, 3)]
    assert reading.as_dict()["formats"] == ["codex", "langfuse", "otlp"]


# --- Calls and results that are not as they should be ---


def message(identity: str | None, name: str, args: Any) -> dict[str, Any]:
    call = {"type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
    return {"role": "assistant", "tool_calls": [call if identity is None else {**call, "id": identity}]}


def answer(identity: str | None, content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "tool", "content": content, **({} if identity is None else {"tool_call_id": identity}), **fields}


def test_calls_without_an_id_are_joined_in_order_by_name(tmp_path: Path) -> None:
    talk = [
        message(None, "a", 1), message(None, "b", 2), message(None, "a", 3),
        answer(None, "first", name="a"), answer(None, "second", name="a"), answer(None, "other", name="b"),
    ]  # fmt: skip

    calls, _, _ = read(written(tmp_path / "talk.jsonl", {"messages": talk}))

    assert [(call.tool, call.args, call.result) for call in calls] == [
        ("a", "1", "first"), ("a", "3", "second"), ("b", "2", "other"),
    ]  # fmt: skip


def test_one_id_for_two_calls_of_a_conversation_is_two_calls(tmp_path: Path) -> None:
    talk = [message("x", "a", {"n": 1}), message("x", "a", {"n": 2}), answer("x", "one"), answer("x", "two")]

    calls, _, _ = read(written(tmp_path / "talk.jsonl", {"messages": talk}))

    assert [(call.args, call.result) for call in calls] == [({"n": 1}, "one"), ({"n": 2}, "two")]


def test_the_same_id_in_another_conversation_is_another_call(tmp_path: Path) -> None:
    talks = [{"messages": [message("call_1", "a", {"n": n}), answer("call_1", f"result {n}")]} for n in range(3)]

    calls, _, skipped = read(written(tmp_path / "talks.jsonl", *talks))

    assert [call.result for call in calls] == ["result 0", "result 1", "result 2"]
    assert {call.session_id for call in calls} == {f"talks.jsonl:{line}" for line in (1, 2, 3)}
    assert skipped == {}


def test_requests_that_repeat_the_conversation_so_far_give_each_call_once(tmp_path: Path) -> None:
    talk: list[Any] = []
    requests = []
    for n in range(4):
        talk += [message(f"call_{n}", "a", {"n": n}), answer(f"call_{n}", f"result {n}")]
        requests.append({"messages": list(talk)})

    calls, _, skipped = read(written(tmp_path / "requests.jsonl", *requests))

    assert [call.result for call in calls] == [f"result {n}" for n in range(4)]
    assert skipped == {Skip.repeated: 1 + 2 + 3}


def test_a_later_trace_that_repeats_an_earlier_one_gives_its_calls_once(tmp_path: Path) -> None:
    (first, *_) = [json.loads(line) for line in (EXPORTS / "otlp.jsonl").read_text().splitlines()]
    executed = first["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    parts = [
        {"type": "tool_call", "id": "call_1", "name": "get_price", "arguments": {"sku": "A1"}},
        {"type": "tool_call_response", "id": "call_1", "response": {"price": 7.5}},
    ]
    said = {"stringValue": json.dumps([{"role": "assistant", "parts": parts}])}
    chat = {**executed, "traceId": "another", "attributes": [{"key": "gen_ai.input.messages", "value": said}]}

    calls, _, skipped = read(written(tmp_path / "spans.jsonl", executed, chat))

    assert calls == EXPECTED["otlp.jsonl"][1][:1]
    assert skipped == {}


def test_what_has_no_id_is_counted_each_for_itself(tmp_path: Path) -> None:
    blocks = [{"type": "tool_use", "name": "a", "input": {}}] * 2
    line = {"type": "assistant", "sessionId": "s", "uuid": "u", "message": {"role": "assistant", "content": blocks}}
    attributes = {"openinference.span.kind": "TOOL", "input.value": "1", "output.value": "2"}
    row = {"name": "a", "context": {"trace_id": "t"}, "attributes": attributes}

    assert read(written(tmp_path / "session.jsonl", line))[2] == {Skip.no_result: 2}
    assert [call.result for call in read(written(tmp_path / "rows.jsonl", row, row))[0]] == ["2", "2"]


def test_a_result_may_come_before_its_call_and_may_have_none(tmp_path: Path) -> None:
    talk = [answer("x", "early"), message("x", "a", {}), answer("y", "whose?")]

    calls, _, skipped = read(written(tmp_path / "talk.jsonl", {"messages": talk}))

    assert [(call.tool, call.result) for call in calls] == [("a", "early")]
    assert skipped == {Skip.no_origin: 1}


def test_a_file_of_messages_is_one_conversation(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "Go"}, message("x", "a", {}), answer("x", "gone")]
    lines, array = written(tmp_path / "lines.jsonl", *talk), tmp_path / "array.json"
    array.write_text(json.dumps(talk, indent=2))

    assert [call.result for call in read(array)[0]] == ["gone"]
    (tmp_path / "array.json").unlink()
    calls, _, skipped = read(lines)
    assert [call.result for call in calls] == ["gone"]
    assert skipped == {Skip.no_call: 1}


def test_an_array_of_conversations_keeps_them_apart(tmp_path: Path) -> None:
    talks = [[message("x", "a", {"n": n}), answer("x", f"result {n}")] for n in range(2)]
    path = tmp_path / "talks.json"
    path.write_text(json.dumps(talks, indent=1))

    assert [call.result for call in read(path)[0]] == ["result 0", "result 1"]


def test_a_call_without_a_name_is_a_broken_line_with_its_place(tmp_path: Path) -> None:
    talk = [{"role": "assistant", "tool_calls": [{"id": "x", "function": {}}]}, answer("x", 1)]

    calls, broken, _ = read(written(tmp_path / "talk.jsonl", {"messages": talk}))

    assert (calls, broken) == ([], ["field 'tool' must be a name, not null"])


def test_a_line_that_is_no_json_spoils_no_other(tmp_path: Path) -> None:
    lines = (EXPORTS / "claude-code.jsonl").read_text().splitlines()
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join([*lines[:4], '{"type": "user", "mess', *lines[4:]]))

    calls, broken, _ = read(path)

    assert calls == EXPECTED["claude-code.jsonl"][1]
    assert broken == ["not JSON (character 18)"]


def test_a_session_that_was_resumed_in_a_second_file_gives_each_call_once(tmp_path: Path) -> None:
    text = (EXPORTS / "claude-code.jsonl").read_text()
    (tmp_path / "a.jsonl").write_text(text)
    (tmp_path / "b.jsonl").write_text(text)

    calls, _, skipped = read(tmp_path)

    assert calls == EXPECTED["claude-code.jsonl"][1]
    assert skipped[Skip.repeated] == 3


def test_calls_that_wait_too_long_are_given_up_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentguard.traces._formats._calls.Joining.__init__.__defaults__", (2, 10_000))
    talk = [message(f"c{n}", "a", {}) for n in range(5)] + [answer("c4", "kept"), answer("c0", "given up")]

    calls, _, skipped = read(written(tmp_path / "talk.jsonl", {"messages": talk}))

    assert [call.result for call in calls] == ["kept"]
    assert skipped == {Skip.no_result: 4, Skip.no_origin: 1}


def test_a_long_result_that_waits_is_given_up_for_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentguard.traces._formats._calls.Joining.__init__.__defaults__", (100, 1_000))
    talk = [answer("x", "r" * 2_000), message("x", "a", {}), message("y", "a", {}), answer("y", "kept")]

    calls, _, skipped = read(written(tmp_path / "talk.jsonl", {"messages": talk}))

    assert [call.result for call in calls] == ["kept"]
    assert skipped == {Skip.no_origin: 1, Skip.no_result: 1}


def test_a_log_that_lists_its_newest_calls_first_says_so(tmp_path: Path) -> None:
    def run(second: int) -> dict[str, Any]:
        begun = f"2026-10-01T10:00:{second:02}Z"
        return {
            "id": str(second),
            "name": "a",
            "run_type": "tool",
            "start_time": begun,
            "inputs": {},
            "outputs": {"output": "x"},
        }

    def newest_first(*seconds: int) -> bool:
        reading = Reading()
        list(read_traces(written(tmp_path / "runs.jsonl", *map(run, seconds)), reading=reading))
        return reading.newest_first

    assert newest_first(*reversed(range(12)))
    assert not newest_first(*range(12))
    assert not newest_first(*reversed(range(5)))  # too few to tell


def test_a_row_of_the_common_format_is_never_taken_for_another(tmp_path: Path) -> None:
    row = {"tool": "add", "result": 3, "messages": [{"role": "user", "content": "x"}], "run_type": "tool", "inputs": {}}

    assert read(written(tmp_path / "own.jsonl", row))[0] == [ToolCall("add", None, 3)]


def test_a_nested_trace_of_langsmith_is_walked(tmp_path: Path) -> None:
    child = {"id": "2", "run_type": "tool", "name": "a", "inputs": {"n": 1}, "outputs": {"output": 2}, "trace_id": "t"}
    trace = {"id": "1", "run_type": "chain", "name": "run", "inputs": {}, "trace_id": "t", "child_runs": [child]}

    calls, _, skipped = read(written(tmp_path / "trace.jsonl", trace))

    assert calls == [ToolCall("a", {"n": 1}, 2, None, "t", "2")]
    assert skipped == {Skip.no_call: 1}


def test_columns_of_parquet_give_the_calls_of_the_same_rows(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [json.loads(line) for line in (EXPORTS / "openinference.jsonl").read_text().splitlines()]
    columns = sorted({name for row in rows for name in row if name not in ("context", "attributes", "events", "id")})
    flat = [{**row, **{f"context.{key}": value for key, value in row.get("context", {}).items()}} for row in rows[:2]]
    parquet.write_table(
        pyarrow.Table.from_pylist([{name: row.get(name) for name in columns} for row in flat]),
        tmp_path / "spans.parquet",
    )

    calls, _, skipped = read(tmp_path / "spans.parquet")

    assert calls == EXPECTED["openinference.jsonl"][1][:1]
    assert skipped == {Skip.no_call: 1}
