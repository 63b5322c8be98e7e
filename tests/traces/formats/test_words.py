"""Words around the calls, and the tools there were, in every format; logs written by hand from their schemas."""

import io
import json
from pathlib import Path
from typing import Any

from agentguard.traces import BrokenLine, TraceRow, read_traces
from agentguard.traces._formats import Call, Offered, OfferedTool, Said, Skip, Skipped
from agentguard.traces._read import read_found

SEND = OfferedTool("send", "Sends a message.", ("to",))
SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}}}
FUNCTION = {"type": "function", "function": {"name": "send", "description": "Sends a message.", "parameters": SCHEMA}}
TEN = 1_790_848_800.0  # 2026-10-01 10:00:00 UTC


def found(records: list[Any], format: str = "auto") -> list[Any]:
    lines = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    return list(read_found(io.BytesIO(lines), format=format))


def said(records: list[Any], format: str = "auto") -> list[tuple[Any, ...]]:
    """Words with who said them, their session and their time, and calls, in their order."""
    return [
        (each.by, each.text, each.session_id, each.at) if isinstance(each, Said) else each.fields["tool"]
        for each in found(records, format)
        if isinstance(each, (Said, Call))
    ]


def tools(records: list[Any]) -> set[OfferedTool]:
    return {tool for each in found(records) if isinstance(each, Offered) for tool in each.tools}


CHAT = {
    "session_id": "s1",
    "tools": [FUNCTION],
    "messages": [
        {"role": "system", "content": "You write to people."},
        {"role": "user", "content": [{"type": "text", "text": "Write to Ada"}]},
        {
            "role": "assistant",
            "content": "I will.",
            "tool_calls": [{"id": "c1", "function": {"name": "send", "arguments": '{"to": "Ada"}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "sent"},
        {"role": "assistant", "content": "I have written to Ada."},
    ],
}
IN_ORDER = [
    ("system", "You write to people.", "s1", None),
    ("user", "Write to Ada", "s1", None),
    ("agent", "I will.", "s1", None),
    "send",
    ("agent", "I have written to Ada.", "s1", None),
]


def test_openai_messages() -> None:
    assert said([CHAT]) == IN_ORDER
    assert tools([CHAT]) == {SEND}


def test_items_of_the_responses_api() -> None:
    record = {
        "session_id": "s1",
        "instructions": "You write to people.",
        "tools": [{"type": "function", **FUNCTION["function"]}],  # type: ignore[dict-item]
        "input": [
            {"role": "user", "content": "Write to Ada"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I will."}]},
            {"type": "function_call", "call_id": "c1", "name": "send", "arguments": '{"to": "Ada"}'},
            {"type": "function_call_output", "call_id": "c1", "output": "sent"},
        ],
        "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": IN_ORDER[-1][1]}]}
        ],
    }
    assert said([record]) == IN_ORDER
    assert tools([record]) == {SEND}


def test_anthropic_messages() -> None:
    record = {
        "session_id": "s1",
        "system": [{"type": "text", "text": "You write to people."}],
        "tools": [{"name": "send", "description": "Sends a message.", "input_schema": SCHEMA}],
        "messages": [
            {"role": "user", "content": "Write to Ada"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "I have sent it."},
                    {"type": "text", "text": "I will."},
                    {"type": "tool_use", "id": "c1", "name": "send", "input": {"to": "Ada"}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "sent"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "I have written to Ada."}]},
        ],
    }
    assert said([record]) == IN_ORDER
    assert tools([record]) == {SEND}


def claude_line(kind: str, content: Any, uuid: str, second: int, **fields: Any) -> dict[str, Any]:
    stamp = f"2026-10-01T10:00:{second:02}.000Z"
    message = {"role": kind, "content": content}
    return {"type": kind, "sessionId": "s1", "uuid": uuid, "timestamp": stamp, "message": message, **fields}


CLAUDE = [
    claude_line("user", "<note>", "u0", 0, isMeta=True),
    claude_line("user", "Write to Ada", "u1", 1),
    claude_line("assistant", [{"type": "text", "text": "I will."}], "u2", 2),
    claude_line("assistant", [{"type": "tool_use", "id": "c1", "name": "send", "input": {"to": "Ada"}}], "u3", 3),
    claude_line("assistant", [{"type": "text", "text": "A subagent"}], "u4", 4, isSidechain=True, agentId="a1"),
    claude_line("user", [{"type": "tool_result", "tool_use_id": "c1", "content": "sent"}], "u5", 5),
    claude_line("assistant", [{"type": "text", "text": "I have written to Ada."}], "u6", 6),
]


def test_a_transcript_of_claude_code() -> None:
    assert said(CLAUDE) == [
        ("system", "<note>", "s1", TEN),
        ("user", "Write to Ada", "s1", TEN + 1),
        ("agent", "I will.", "s1", TEN + 2),
        "send",
        ("agent", "I have written to Ada.", "s1", TEN + 6),
    ]
    assert [each.begun for each in found(CLAUDE) if isinstance(each, Call)] == [TEN + 3]


def test_an_error_that_claude_code_reports_in_the_agents_place_is_not_its_answer() -> None:
    error = claude_line("assistant", [{"type": "text", "text": "API Error: 529"}], "u7", 7, isApiErrorMessage=True)
    assert said([*CLAUDE, error]) == said(CLAUDE)


def test_a_subagents_calls_name_the_session_that_it_works_for() -> None:
    fields = {"isSidechain": True, "agentId": "a1"}
    use = [{"type": "tool_use", "id": "c1", "name": "send", "input": {}}]
    result = [{"type": "tool_result", "tool_use_id": "c1", "content": "sent"}]
    records = [claude_line("assistant", use, "u1", 1, **fields), claude_line("user", result, "u2", 2, **fields)]
    (call,) = (each for each in found(records) if isinstance(each, Call))
    assert (call.fields["session_id"], call.parent) == ("s1/a1", "s1")


def test_a_resumed_session_repeats_words_and_calls_and_both_are_known_for_it() -> None:
    resumed = [{**line, "sessionId": "s2"} for line in CLAUDE]
    second = found([*CLAUDE, *resumed])[len(found(CLAUDE)) :]
    assert {each.again for each in second if isinstance(each, Said)} == {True}
    (again,) = (each for each in second if isinstance(each, Skipped) and each.reason is Skip.repeated)
    assert again.call is not None
    assert (again.call.fields["session_id"], again.call.fields["tool"]) == ("s2", "send")


def test_a_rollout_of_codex() -> None:
    def item(second: int, **payload: Any) -> dict[str, Any]:
        return {"timestamp": f"2026-10-01T10:00:{second:02}Z", "type": "response_item", "payload": payload}

    def words(role: str, text: str) -> dict[str, Any]:
        kind = "output_text" if role == "assistant" else "input_text"
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}

    records = [
        {"timestamp": "2026-10-01T10:00:00Z", "type": "session_meta", "payload": {"id": "s1"}},
        item(0, **words("user", "<environment_context>…")),
        item(1, **words("user", "Write to Ada")),
        item(2, type="function_call", name="send", arguments="{}", call_id="c1"),
        item(3, type="function_call_output", call_id="c1", output="sent"),
        {"timestamp": "2026-10-01T10:00:04Z", "type": "event_msg", "payload": {"type": "agent_message"}},
        item(4, **words("assistant", "I have written to Ada.")),
    ]
    assert said(records) == [
        ("system", "<environment_context>…", "s1", TEN),
        ("user", "Write to Ada", "s1", TEN + 1),
        "send",
        ("agent", "I have written to Ada.", "s1", TEN + 4),
    ]


# Tracing tools: a call of the model that answers with a call of a tool, the tool, and a call of the model that answers.

ASKED = [{"role": "system", "content": "You write to people."}, {"role": "user", "content": "Write to Ada"}]
LATER = [*ASKED, {"role": "assistant", "content": "I will."}, {"role": "tool", "content": "sent"}]
FIRST = {"role": "assistant", "content": "I will."}
LAST = {"role": "assistant", "content": "I have written to Ada."}
TRACED = [
    ("system", "You write to people.", "s1", TEN),
    ("user", "Write to Ada", "s1", TEN),
    ("agent", "I will.", "s1", TEN + 1),
    "send",
    ("agent", "I have written to Ada.", "s1", TEN + 4),
]


def otlp(number: int, begin: int, end: int, attributes: dict[str, Any]) -> dict[str, Any]:
    pairs = [
        {"key": key, "value": {"stringValue": value if isinstance(value, str) else json.dumps(value)}}
        for key, value in attributes.items()
    ]
    return {
        "traceId": "s1", "spanId": str(number), "name": "span", "attributes": pairs,
        "startTimeUnixNano": str(int(TEN + begin) * 10**9), "endTimeUnixNano": str(int(TEN + end) * 10**9),
    }  # fmt: skip


def parts(messages: list[dict[str, str]]) -> list[dict[str, Any]]:
    return [{"role": each["role"], "parts": [{"type": "text", "content": each["content"]}]} for each in messages]


def test_spans_of_the_conventions_for_generative_ai() -> None:
    execute = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "send", "gen_ai.tool.call.result": "sent"}
    records = [
        otlp(1, 0, 1, {
            "gen_ai.system_instructions": [{"type": "text", "content": "You write to people."}],
            "gen_ai.input.messages": parts(ASKED[1:]),
            "gen_ai.output.messages": parts([FIRST]),
            "gen_ai.tool.definitions": [FUNCTION["function"]],
        }),
        otlp(2, 1, 2, execute),
        otlp(3, 3, 4, {
            "gen_ai.input.messages": parts(LATER[1:]),
            "gen_ai.output.messages": parts([LAST]),
        }),
    ]  # fmt: skip
    assert said(records) == TRACED
    assert said([*records, records[2]]) == TRACED  # an exporter that sends a span twice
    assert tools(records) == {SEND}


def test_spans_of_openinference_flat_and_as_rows() -> None:
    def flat(prefix: str, messages: list[dict[str, str]]) -> dict[str, str]:
        return {
            f"{prefix}.{n}.message.{key}": value for n, message in enumerate(messages) for key, value in message.items()
        }

    model = {"openinference.span.kind": "LLM", "llm.tools.0.tool.json_schema": json.dumps(FUNCTION)}
    tool = {"openinference.span.kind": "TOOL", "tool.name": "send", "output.value": "sent"}
    records = [
        otlp(1, 0, 1, {**model, **flat("llm.input_messages", ASKED), **flat("llm.output_messages", [FIRST])}),
        otlp(2, 1, 2, tool),
        otlp(3, 3, 4, {**model, **flat("llm.input_messages", LATER), **flat("llm.output_messages", [LAST])}),
    ]
    assert said(records) == TRACED
    assert tools(records) == {SEND}

    def row(number: int, begin: int, end: int, attributes: dict[str, Any]) -> dict[str, Any]:
        times = {"start_time": f"2026-10-01T10:00:0{begin}Z", "end_time": f"2026-10-01T10:00:0{end}Z"}
        return {"name": "s", "context": {"trace_id": "s1", "span_id": str(number)}, **times, "attributes": attributes}

    def nested(messages: list[dict[str, str]]) -> list[dict[str, Any]]:
        return [{"message": message} for message in messages]

    rows = [
        row(1, 0, 1, {"llm": {"input_messages": nested(ASKED), "output_messages": nested([FIRST])}}),
        row(2, 1, 2, tool),
        row(3, 3, 4, {"llm": {"input_messages": nested(LATER), "output_messages": nested([LAST])}}),
    ]
    assert said(rows) == TRACED


def test_runs_of_langsmith() -> None:
    def run(number: int, kind: str, begin: int, end: int, inputs: Any, outputs: Any, **fields: Any) -> dict[str, Any]:
        times = {"start_time": f"2026-10-01T10:00:0{begin}Z", "end_time": f"2026-10-01T10:00:0{end}Z"}
        run = {"id": str(number), "name": "send", "run_type": kind, "inputs": inputs, "outputs": outputs}
        return {**run, **times, "trace_id": "s1", **fields}

    def langchain(kind: str, text: str) -> dict[str, Any]:
        return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", kind], "kwargs": {"content": text}}

    asked = [[langchain("SystemMessage", ASKED[0]["content"]), langchain("HumanMessage", ASKED[1]["content"])]]
    extra = {"invocation_params": {"tools": [FUNCTION]}}
    generations = [[{"text": "I will.", "message": langchain("AIMessage", "I will.")}]]
    records = [
        run(1, "llm", 0, 1, {"messages": asked}, {"generations": generations}, extra=extra),
        run(2, "tool", 1, 2, {"to": "Ada"}, {"output": "sent"}),
        run(
            3,
            "llm",
            3,
            4,
            {"messages": LATER},
            {"choices": [{"message": LAST}]},
        ),
    ]
    assert said(records) == TRACED
    assert tools(records) == {SEND}


def test_observations_of_langfuse() -> None:
    def seen(number: int, kind: str, begin: int, end: int, given: Any, output: Any) -> dict[str, Any]:
        times = {"startTime": f"2026-10-01T10:00:0{begin}Z", "endTime": f"2026-10-01T10:00:0{end}Z"}
        return {
            "id": str(number),
            "traceId": "s1",
            "type": kind,
            "name": "send",
            "input": given,
            "output": output,
            **times,
        }

    records = [
        seen(1, "GENERATION", 0, 1, {"messages": ASKED, "tools": [FUNCTION]}, FIRST),
        seen(2, "TOOL", 1, 2, {"to": "Ada"}, "sent"),
        seen(3, "GENERATION", 3, 4, json.dumps(LATER), "I have written to Ada."),
    ]
    assert said(records) == TRACED
    assert tools(records) == {SEND}


def test_the_common_format_has_lines_with_words_which_readers_of_calls_pass_over(tmp_path: Path) -> None:
    records = [
        {"session_id": "s1", "question": "Write to Ada"},
        {"session_id": "s1", "tool": "send", "result": "sent", "answer": "of a call"},
        {"session_id": "s1", "answer": "I have written to Ada."},
        {"tools": [FUNCTION]},
        {"answer": 7},
        {"session_id": [], "answer": "of no session"},
    ]
    assert said(records, "agentguard") == [
        ("user", "Write to Ada", "s1", None), "send", ("agent", "I have written to Ada.", "s1", None)
    ]  # fmt: skip
    assert tools(records) == {SEND}
    file = tmp_path / "calls.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    rows = list(read_traces(file))
    assert [type(row) for row in rows] == [TraceRow, BrokenLine, BrokenLine]
    assert isinstance(rows[1], BrokenLine)
    assert rows[1].line == 5


def test_a_log_of_requests_repeats_words_and_calls_which_are_marked() -> None:
    unnamed = {key: value for key, value in CHAT.items() if key != "session_id"}
    longer = {**unnamed, "messages": [*CHAT["messages"], {"role": "user", "content": "And Bob?"}]}
    words = [each for each in found([unnamed, longer]) if isinstance(each, Said)]
    assert [each.again for each in words] == [False] * 4 + [True] * 4 + [False]
    (repeated,) = (each for each in found([unnamed, longer]) if isinstance(each, Skipped))
    assert repeated.call is not None
    assert repeated.call.fields["tool"] == "send"


def test_a_call_without_a_result_was_made() -> None:
    records = [{"messages": CHAT["messages"][:3]}]
    (skipped,) = (each for each in found(records) if isinstance(each, Skipped))
    assert skipped.reason is Skip.no_result
    assert skipped.call is not None
    assert skipped.call.fields == {**skipped.call.fields, "tool": "send", "args": {"to": "Ada"}, "result": None}


def test_a_call_without_content_was_made() -> None:
    span = otlp(1, 0, 1, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "send"})
    (skipped,) = found([span])
    assert skipped.reason is Skip.no_content
    assert (skipped.call.fields["tool"], skipped.call.fields["session_id"]) == ("send", "s1")
