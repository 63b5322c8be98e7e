"""Whatever the records, no reader fails, and every call of a conversation is found once."""

import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.traces import BrokenLine, Reading, TraceRow, read_traces
from agentguard.traces._formats import FORMATS, Call, Record, Skip

EXPORTS = Path(__file__).parent / "exports"
ENDS = {"jsonl": lambda text: [json.loads(line) for line in text.splitlines()], "json": lambda text: [json.loads(text)]}
SAMPLES = {path.name: ENDS[path.suffix[1:]](path.read_text()) for path in sorted(EXPORTS.iterdir())}

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from([2**64, -1, "\ud800", '{"a": 1}', "[", "TOOL", "tool", "1" * 30, "9" * 19, 1e308])
)  # fmt: skip


def words(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | set().union(*map(words, value.values()))
    return set().union(*map(words, value)) if isinstance(value, list) else {value} if isinstance(value, str) else set()


WORDS = sorted(set().union(*(words(sample) for sample in SAMPLES.values())))
VALUES = st.recursive(
    SCALARS | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6),
    max_leaves=15,
)


def damaged(value: Any, chance: random.Random, replacements: list[Any]) -> Any:
    """The value with some of what is in it left out or replaced."""
    if chance.random() < 0.06:
        return chance.choice(replacements)
    if isinstance(value, dict):
        return {key: damaged(inner, chance, replacements) for key, inner in value.items() if chance.random() > 0.03}
    return [damaged(inner, chance, replacements) for inner in value] if isinstance(value, list) else value


def read(data: bytes, format: str) -> list[TraceRow | BrokenLine]:
    return list(read_traces(io.BytesIO(data), format=format))


@pytest.mark.parametrize("name", FORMATS)
@given(st.lists(VALUES, max_size=5))
def test_no_records_make_a_reader_fail(name: str, records: list[Any]) -> None:
    format = FORMATS[name]
    reader = format.reader()

    for record in records:
        assert format.recognises(record) in (True, False)
    found = [one for n, record in enumerate(records, 1) for one in reader.push(Record("f", n, 0, record))]

    assert all(one.line <= len(records) for one in [*found, *reader.end()])
    assert all(isinstance(row, (TraceRow, BrokenLine)) for row in read(lines(records), name))


@pytest.mark.parametrize("sample", SAMPLES)
@given(st.integers(0, 2**32), st.lists(VALUES, min_size=1, max_size=3))
def test_no_damage_to_an_export_makes_its_reader_fail(sample: str, seed: int, other: list[Any]) -> None:
    chance = random.Random(seed)
    for format in ("auto", *FORMATS):
        read(lines([damaged(record, chance, other) for record in SAMPLES[sample]]), format)


def lines(records: list[Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


# --- Conversations ---


@st.composite
def conversations(draw: st.DrawFn) -> tuple[list[tuple[str, str, str]], list[list[tuple[str, int]]]]:
    """Calls (id, tool, result), and turns: each some calls at once, then their results in any order."""
    calls: list[tuple[str, str, str]] = []
    turns: list[list[tuple[str, int]]] = []
    for _ in range(draw(st.integers(1, 4))):
        number = draw(st.integers(0, 3))
        at = range(len(calls), len(calls) + number)
        calls += [(f"id-{n}", draw(st.sampled_from(["a", "b"])), draw(st.text(max_size=5))) for n in at]
        turns += [[("call", n) for n in at], [("result", n) for n in draw(st.permutations(list(at)))]]
    return calls, turns


def openai(calls: list[tuple[str, str, str]], turn: list[tuple[str, int]]) -> list[Any]:
    if turn and turn[0][0] == "call":
        functions = [(calls[n][0], {"name": calls[n][1], "arguments": json.dumps({"n": n})}) for _, n in turn]
        return [
            {"role": "assistant", "tool_calls": [{"id": i, "type": "function", "function": f} for i, f in functions]}
        ]
    return [{"role": "tool", "tool_call_id": calls[n][0], "content": calls[n][2]} for _, n in turn]


def responses(calls: list[tuple[str, str, str]], turn: list[tuple[str, int]]) -> list[Any]:
    if turn and turn[0][0] == "call":
        return [
            {"type": "function_call", "call_id": calls[n][0], "name": calls[n][1], "arguments": json.dumps({"n": n})}
            for _, n in turn
        ]
    return [{"type": "function_call_output", "call_id": calls[n][0], "output": calls[n][2]} for _, n in turn]


def anthropic(calls: list[tuple[str, str, str]], turn: list[tuple[str, int]]) -> list[Any]:
    if turn and turn[0][0] == "call":
        blocks = [{"type": "tool_use", "id": calls[n][0], "name": calls[n][1], "input": {"n": n}} for _, n in turn]
        return [{"role": "assistant", "content": blocks}]
    return [{
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": calls[n][0], "content": calls[n][2]} for _, n in turn],
    }]  # fmt: skip


def claude_code(calls: list[tuple[str, str, str]], turn: list[tuple[str, int]]) -> list[Any]:
    return [{"type": one["role"], "message": one, "sessionId": "s", "uuid": "u"} for one in anthropic(calls, turn)]


def codex(calls: list[tuple[str, str, str]], turn: list[tuple[str, int]]) -> list[Any]:
    return [{"type": "response_item", "payload": item} for item in responses(calls, turn)]


def otlp(calls: list[tuple[str, str, str]], turn: list[tuple[str, int]]) -> list[Any]:
    parts = [
        {"type": "tool_call", "id": calls[n][0], "name": calls[n][1], "arguments": {"n": n}} if kind == "call"
        else {"type": "tool_call_response", "id": calls[n][0], "response": calls[n][2]}
        for kind, n in turn
    ]  # fmt: skip
    attribute = {"key": "gen_ai.input.messages", "value": {"stringValue": json.dumps([{"role": "x", "parts": parts}])}}
    return [{"traceId": "t", "spanId": "s", "startTimeUnixNano": "1", "attributes": [attribute]}]


@pytest.mark.parametrize(
    ("write", "format"),
    [
        (openai, "openai"), (responses, "openai"), (anthropic, "anthropic"), (claude_code, "claude-code"),
        (codex, "codex"), (otlp, "otlp"),
    ],
)  # fmt: skip
@given(conversations())
def test_every_call_of_a_conversation_is_found_once(write: Any, format: str, talk: Any) -> None:
    calls, turns = talk
    records = [record for turn in turns for record in write(calls, turn)]
    reading = Reading()

    rows = list(read_traces(io.BytesIO(lines(records)), format=format, reading=reading))

    found = [(row.call.call_id, row.call.tool, row.call.result) for row in rows if isinstance(row, TraceRow)]
    assert sorted(found) == sorted(calls)
    assert {row.call.args["n"] for row in rows if isinstance(row, TraceRow)} == set(range(len(calls)))
    assert reading.skipped.keys() <= {Skip.no_call}


def test_a_long_line_of_a_foreign_log_is_a_broken_line() -> None:
    talk = [{"role": "user", "content": "Go"}, {"role": "user", "content": "x" * 1_000}]

    rows = list(read_traces(io.BytesIO(lines(talk)), max_line_bytes=500))

    assert rows == [BrokenLine("stream", 2, "longer than 500 bytes")]


def test_what_is_kept_of_a_million_calls_without_results_is_bounded() -> None:
    reader = FORMATS["codex"].reader()
    item = {"type": "response_item", "payload": {"type": "function_call", "name": "a", "arguments": "x" * 100_000}}
    waiting = given_up = 0

    for n in range(2_000):
        item["payload"]["call_id"] = f"c{n}"  # type: ignore[index]
        waiting += 1
        given_up += sum(not isinstance(one, Call) for one in reader.push(Record("f", n + 1, 0, item)))

    assert (waiting - given_up) * 100_000 <= 64 * 2**20
    assert given_up + len(list(reader.end())) == 2_000
