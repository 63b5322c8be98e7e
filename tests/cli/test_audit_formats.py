"""`agentguard audit` of logs that others write: its first lines say what is wrong and why, its last one the rest."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentguard.cli import app

ASKED = "Commit the fix, run the tests, and push the branch"
CALLS = {  # command and output, by the name of the call
    "c1": ("git commit -am 'Fix the parser'", "[main 1a2b3c4] Fix the parser\n 1 file changed"),
    "c2": ("pytest -q", "3 failed, 45 passed"),
    "c3": ("git status", "On branch main\nnothing to commit, working tree clean"),
}
ANSWER = "I committed the fix. All tests pass. The run took 650 seconds. I pushed the branch."
TEN = 1_790_848_800  # 2026-10-01 10:00:00 UTC
TOOL = {
    "name": "Bash",
    "description": "Run a command.",
    "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
}


def claude_code() -> list[Any]:
    """The lines of a session under ~/.claude/projects."""

    def line(kind: str, content: Any, second: int) -> dict[str, Any]:
        return {
            "parentUuid": f"u-{second - 1}" if second else None, "isSidechain": False, "userType": "external",
            "cwd": "/w", "sessionId": "s1", "version": "2.1.0", "type": kind, "uuid": f"u-{second}",
            "message": {"role": kind, "content": content}, "timestamp": f"2026-10-01T10:00:{second:02}.000Z",
        }  # fmt: skip

    lines = [line("user", ASKED, 0)]
    for name, (command, output) in CALLS.items():
        use = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command}}
        result = {"type": "tool_result", "tool_use_id": name, "content": output, "is_error": False}
        lines += [line("assistant", [use], len(lines)), line("user", [result], len(lines) + 1)]
    return [*lines, line("assistant", [{"type": "text", "text": ANSWER}], len(lines))]


def openai() -> list[Any]:
    """A request with all messages of a conversation."""
    messages: list[Any] = [{"role": "user", "content": ASKED}]
    for name, (command, output) in CALLS.items():
        function = {"name": "Bash", "arguments": json.dumps({"command": command})}
        call = {"id": name, "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": name, "content": output})
    messages.append({"role": "assistant", "content": ANSWER})
    return [{"session_id": "s1", "tools": [{"type": "function", "function": TOOL}], "messages": messages}]


def opentelemetry() -> list[Any]:
    """A batch of spans by the semantic conventions for generative AI, as the exporter of OTLP writes it."""

    def span(number: int, name: str, attributes: dict[str, Any]) -> dict[str, Any]:
        texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in attributes.items()}
        return {
            "traceId": "5b8efff798038103d269b633813fc60c", "spanId": f"{number:016x}", "name": name, "kind": 1,
            "startTimeUnixNano": f"{TEN + number}000000000", "endTimeUnixNano": f"{TEN + number}500000000",
            "attributes": [{"key": key, "value": {"stringValue": text}} for key, text in texts.items()], "status": {},
        }  # fmt: skip

    def words(role: str, text: str) -> dict[str, Any]:
        return {"role": role, "parts": [{"type": "text", "content": text}]}

    spans = [
        span(number, "execute_tool Bash", {
            "gen_ai.operation.name": "execute_tool", "gen_ai.conversation.id": "s1", "gen_ai.tool.name": "Bash",
            "gen_ai.tool.call.id": name, "gen_ai.tool.call.arguments": {"command": command},
            "gen_ai.tool.call.result": output,
        })
        for number, (name, (command, output)) in enumerate(CALLS.items(), 1)
    ]  # fmt: skip
    spans.append(
        span(4, "chat", {
            "gen_ai.operation.name": "chat", "gen_ai.conversation.id": "s1", "gen_ai.tool.definitions": [TOOL],
            "gen_ai.input.messages": [words("user", ASKED)], "gen_ai.output.messages": [words("assistant", ANSWER)],
        })
    )  # fmt: skip
    scope = {"scope": {"name": "agent"}, "spans": spans}
    return [{"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scope]}]}]


@pytest.mark.parametrize("exported", [claude_code, openai, opentelemetry])
def test_the_first_lines_say_what_is_wrong_and_why_and_the_last_the_rest(
    exported: Callable[[], list[Any]], tmp_path: Path
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in exported()))
    result = CliRunner().invoke(app, ["audit", str(path)])
    assert result.exit_code == 1, result.output
    lines = [line.strip() for line in result.output.splitlines()]
    assert lines[0] == (
        "3 statements do not hold: 1 value that no result supports, 1 claim that the calls contradict, "
        "1 claim of work that no call did"
    )
    assert lines[1] == "value: “650 seconds”"
    assert "the answer says '650 seconds'" in lines[2]
    assert lines[4] == "contradicted: “All tests pass”"
    assert "3 failed" in lines[5]
    assert lines[7].startswith("Bash, ")
    assert lines[7].endswith(", returned: 3 failed, 45 passed")
    assert lines[8] == "never called: “I pushed the branch”"
    assert "git push" in lines[9]
    for line in (lines[3], lines[6], lines[10]):
        assert line.startswith(f"answer at {path}:")
        assert line.endswith("session s1")
    assert lines[11] == ""
    assert lines[-1] == (
        "in 1 answer: 0 claims could not be checked, 1 claim and 0 values are supported; claims are read in English"
    )
