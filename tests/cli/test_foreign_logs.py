"""Logs of other programs on the command line: recognised, judged, and what was left out of them said."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentguard.cli import app

runner = CliRunner()


def run_record(n: int, **fields: object) -> dict[str, Any]:
    begun, ended = f"2026-10-01T10:{n // 60:02}:{n % 60:02}.000Z", f"2026-10-01T10:{n // 60:02}:{n % 60:02}.040Z"
    return {
        "id": f"run-{n}", "run_type": "tool", "name": "get_price", "start_time": begun, "end_time": ended,
        "inputs": {"sku": f"A{n}"}, "outputs": {"output": json.dumps({"sku": f"A{n}", "price": n % 7})},
        "trace_id": f"trace-{n // 5}", **fields,
    }  # fmt: skip


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Sixty calls, a chain, a call without a result, and a line that is no JSON."""
    records = [run_record(n) for n in range(60)]
    records += [run_record(60, run_type="chain"), run_record(61, outputs=None, end_time=None)]
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records) + '{"id": \n')
    return path


LEFT_OUT = "Left out: 1 record without a tool call, 1 tool call without a result."
READ = {
    "formats": ["langsmith"],
    "skipped": {"no_call": 1, "no_result": 1},
    "newest_first": False,
}


def command(*arguments: object) -> Any:
    return runner.invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize(
    "options", [[], ["--count"], ["--compare", "none", "none"], ["--engine", "processes", "--workers", "1"]]
)
def test_replay_says_what_it_left_out(export: Path, options: list[str]) -> None:
    text, data = command("replay", export, *options), command("replay", export, *options, "--json")

    assert (text.exit_code, data.exit_code) == (0, 0)
    assert "Read as runs of LangSmith (langsmith)." in text.output
    assert LEFT_OUT in text.output
    found = json.loads(data.output)
    assert (found["calls"], found["broken"], found["read"]) == (60, 1, READ)


def test_learn_says_what_it_left_out(export: Path) -> None:
    text, data = command("learn", export), command("learn", export, "--json")

    assert LEFT_OUT in text.output
    found = json.loads(data.output)
    assert (found["calls"], found["broken"], found["read"]) == (42, 1, READ)
    assert [tool["tool"] for tool in found["tools"]] == ["get_price"]


def test_a_report_of_an_export_takes_one_command_and_notes_what_is_not_in_it(export: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"

    text, data = command("report", export, "-o", page), command("report", export, "-o", page, "--json")

    assert text.exit_code == 0
    assert LEFT_OUT in text.output
    assert LEFT_OUT in page.read_text()
    assert "runs of LangSmith" in page.read_text()
    found = json.loads(data.output)
    assert (found["calls"], found["broken"], found["read"]) == (60, 1, READ)


def test_standard_input_and_gzip_are_recognised_too(export: Path, tmp_path: Path) -> None:
    packed = tmp_path / "runs.json.gz"
    packed.write_bytes(gzip.compress(json.dumps([run_record(n) for n in range(3)], indent=1).encode()))

    piped = runner.invoke(app, ["replay", "-", "--json"], input=export.read_bytes())

    assert json.loads(piped.output)["read"] == READ
    assert json.loads(command("replay", packed, "--json").output)["calls"] == 3


def test_a_format_that_is_named_is_not_recognised_but_taken(export: Path) -> None:
    found = json.loads(command("replay", export, "--format", "langfuse", "--json").output)

    assert (found["calls"], found["read"]["skipped"]) == (0, {"no_call": 62})


@pytest.mark.parametrize("name", ["replay", "learn", "report", "convert"])
def test_a_format_that_is_unknown_is_refused_with_the_nearest(name: str, export: Path, tmp_path: Path) -> None:
    output = ["-o", tmp_path / "out"] if name in ("report", "convert") else []

    result = command(name, export, "--format", "langsmit", *output)

    assert result.exit_code == 3
    assert "there is no format 'langsmit'; did you mean langsmith? Known are auto, agentguard, otlp" in result.output


def test_the_help_lists_the_formats() -> None:
    names = (
        "agentguard",
        "otlp",
        "openinference",
        "langsmith",
        "langfuse",
        "openai",
        "anthropic",
        "claude-code",
        "codex",
    )
    text = " ".join(command("replay", "--help").output.replace("│", " ").split())

    assert all(name in text for name in names)


def test_an_export_without_a_call_that_can_be_judged_ends_with_3(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(run_record(1, run_type="llm")) + "\n")

    replayed, reported = command("replay", path), command("report", path, "-o", tmp_path / "page.html")
    learned, converted = command("learn", path), command("convert", path, "-o", tmp_path / "calls.jsonl")

    assert [one.exit_code for one in (replayed, reported, learned, converted)] == [3, 3, 3, 3]
    assert "holds a call; it has 1 record without a tool call" in reported.output


def test_a_document_that_no_format_knows_is_one_broken_line(tmp_path: Path) -> None:
    path = tmp_path / "numbers.json"
    path.write_text(json.dumps([{"a": n} for n in range(9)], indent=2))

    found = json.loads(command("replay", path, "--json").output)

    assert found["broken"] == 1
    assert found["first_broken"][0]["reason"].startswith("a JSON document in no format that is recognised")


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_of_calls_in_the_common_format_is_read(indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "calls.json"
    path.write_text(json.dumps([{"tool": "add", "result": n} for n in range(3)], indent=indent))

    assert json.loads(command("replay", path, "--json").output)["calls"] == 3


def test_convert_writes_the_calls_in_the_common_format_for_its_owner_only(export: Path, tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl.gz"

    result = command("convert", export, "-o", path, "--json")

    found = json.loads(result.output)
    assert (found["calls"], found["broken"], found["read"]) == (60, 1, READ)
    assert found["first_broken"][0]["line"] == 63
    assert path.stat().st_mode & 0o777 == 0o600
    first, *_ = gzip.decompress(path.read_bytes()).splitlines()
    assert json.loads(first) == {
        "tool": "get_price", "args": {"sku": "A0"}, "result": '{"sku": "A0", "price": 0}', "latency_ms": 40.0,
        "session_id": "trace-0", "call_id": "run-0",
    }  # fmt: skip
    of_converted, of_export = (json.loads(command("replay", one, "--json").output) for one in (path, export))
    verdicts = ("calls", "accept", "flag", "block", "labels")
    assert [of_converted[name] for name in verdicts] == [of_export[name] for name in verdicts]


def test_calibrate_says_that_a_log_of_calls_holds_no_labels(export: Path) -> None:
    result = command("calibrate", "--labels", export)

    assert result.exit_code == 3
    assert "it is a log of calls (runs of LangSmith)" in " ".join(result.output.split())


def test_a_format_is_no_option_of_spark() -> None:
    result = command("replay", "absent.jsonl", "--format", "otlp", "--engine", "spark")

    assert result.exit_code == 3
    assert "--format is for --engine local and processes" in " ".join(result.output.split())
