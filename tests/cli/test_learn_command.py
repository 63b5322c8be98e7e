"""`agentguard learn`: profiles from a log, reported, written whole or not at all."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentguard.cli import app
from agentguard.traces import TraceRow
from agentguard.verification import ToolCall, load_profiles

runner = CliRunner()


def line(tool: str, number: int, **more: Any) -> bytes:
    call = {
        "tool": tool,
        "args": {"id": f"A-{number}"},
        "result": {"id": f"A-{number}", **more},
        "latency_ms": 90 + number,
    }
    return json.dumps(call).encode() + b"\n"


def log(count: int = 100, tool: str = "orders", drops_at: int = 1_000) -> bytes:
    return b"".join(line(tool, n, **({"status": "open"} if n < drops_at else {})) for n in range(count))


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    file = tmp_path / "calls.jsonl"
    file.write_bytes(log(drops_at=80) + b"broken\n" + log(10, "rare"))
    return file


def learn(*arguments: str, raw: bytes | None = None) -> Any:
    return runner.invoke(app, ["learn", *arguments], input=raw)


def test_profiles_are_written_and_can_be_used(traces: Path, tmp_path: Path) -> None:
    run = learn(str(traces), "-o", str(tmp_path / "learned"))

    assert (run.exit_code, run.stderr) == (0, "")
    (profile,) = load_profiles(tmp_path / "learned")
    assert (profile.name, profile.required_fields) == ("orders", ("id",))
    assert profile.model_dump()["echoes"] == {"id": "id"}
    assert profile.expected_latency_ms[0] == pytest.approx(90 / 4, rel=0.1)
    replayed = runner.invoke(app, ["replay", str(traces), "--profiles", str(tmp_path / "learned"), "--json"])
    assert json.loads(replayed.stdout)["calls"] == 110


def test_the_report_tells_counts_what_was_left_out_and_what_the_profiles_did(traces: Path, tmp_path: Path) -> None:
    run = learn(str(traces), "-o", str(tmp_path / "learned"))

    lines = [row.split() for row in run.stdout.splitlines()]
    assert ["learned", "from", "77", "calls", "of", "2", "tools"] in lines
    assert "broken lines left out: 1" in run.stdout
    assert "required_fields: status 20 of 30" in run.stdout
    assert ["rare", "7", "answers", "to", "learn", "from,", "where", "20", "are", "necessary"] in lines
    (held_out,) = (row for row in lines if row[:2] == ["orders", "30"])
    assert (held_out[2], held_out[4]) == (held_out[3], held_out[5])  # what is left changes no verdict
    assert "of 30 held-out calls the profiles block 0 and flag 0 that would not be without them" in run.stdout
    assert f"1 profile written to {tmp_path / 'learned'}" in run.stdout


def test_what_held_and_is_too_thin_is_counted_and_written(tmp_path: Path) -> None:
    run = learn("-", "-o", str(tmp_path / "learned"), raw=log(50))

    lines = [row.split() for row in run.stdout.splitlines()]
    assert ["tool", "calls", "answers", "distinct", "declared", "too", "thin", "left", "out", "file"] in lines
    (counts,) = (row for row in lines if row[:4] == ["orders", "35", "35", "35"])
    assert counts[5:] == ["1", "0", "orders.yaml"]
    text = (tmp_path / "learned" / "orders.yaml").read_text()
    # 35 distinct answers to learn from and 15 more that are held out are the 40 that an echo takes.
    assert "\n  id: id  # came back in 35 of 35: at least 91.7% of all (95%)\n" in text
    assert "\n#   output_schema: properties.status.const: open  # 35 of 35: at least 91.7%\n" in text


def test_json_is_one_object_with_everything(traces: Path, tmp_path: Path) -> None:
    run = learn(str(traces), "-o", str(tmp_path / "learned"), "--keep-all", "--json")

    data = json.loads(run.stdout)
    (tool,) = data["tools"]
    kept = {".".join((one["field"], *one["path"])): one for one in tool["declarations"]}
    assert (data["calls"], data["broken"], data["interrupted"]) == (77, 1, False)
    assert (kept["required_fields.status"]["broken"], kept["required_fields.status"]["held_out"]) == (20, 30)
    assert tool["left_out"] == []
    assert data["held_out"]["calls"] == 30
    assert [(one["path"], one["value"]) for one in tool["too_thin"]] == [(["properties", "status", "const"], "open")]
    assert data["written"] == [str(tmp_path / "learned" / "orders.yaml")]
    assert "BROKEN by 20 of 30 held-out calls" in (tmp_path / "learned" / "orders.yaml").read_text()


def test_without_a_folder_nothing_is_written(traces: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())

    run = learn(str(traces))

    assert run.exit_code == 0
    assert "nothing written: no folder given (-o)" in run.stdout
    assert sorted(tmp_path.iterdir()) == before


def test_standard_input_is_read_as_often_as_needed(tmp_path: Path) -> None:
    raw = gzip.compress(log(60))

    data = json.loads(learn("-", "--keep-all", "--json", raw=raw).stdout)
    both = json.loads(learn("-", str(tmp_path), "--json", raw=raw).stdout)

    assert (data["calls"], data["held_out"]["calls"]) == (42, 18)
    assert "error" in both  # an empty folder holds no traces


def test_several_sources_are_one_log(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.jsonl").write_bytes(log(20, f"tool{number}") + log(20, "orders"))

    data = json.loads(learn(str(tmp_path / "0.jsonl"), str(tmp_path), "--holdout", "0", "--json").stdout)

    assert data["calls"] == 160
    assert [tool["tool"] for tool in data["tools"]] == ["orders", "tool0", "tool1", "tool2"]


def test_tool_and_min_calls_choose_what_is_learned(traces: Path) -> None:
    only = json.loads(learn(str(traces), "--tool", "rare", "--json").stdout)
    fewer = json.loads(learn(str(traces), "--min-calls", "71", "--json").stdout)

    assert (only["tools"], list(only["skipped"])) == ([], ["rare"])
    assert fewer["skipped"]["orders"] == "70 answers to learn from, where 71 are necessary"


def test_files_are_not_replaced_without_force(traces: Path, tmp_path: Path) -> None:
    folder = tmp_path / "learned"
    folder.mkdir()
    (folder / "orders.yaml").write_text("name: mine\n")

    refused = learn(str(traces), "-o", str(folder))
    as_json = learn(str(traces), "-o", str(folder), "--json")
    assert (refused.exit_code, as_json.exit_code) == (3, 3)
    assert "has orders.yaml already" in refused.stderr
    assert "has orders.yaml already" in json.loads(as_json.stdout)["error"]
    assert (folder / "orders.yaml").read_text() == "name: mine\n"

    assert learn(str(traces), "-o", str(folder), "--force").exit_code == 0
    assert load_profiles(folder)[0].name == "orders"


@pytest.mark.parametrize("calls", [0, 50, 110, 160, 280])
def test_ctrl_c_reports_what_was_read_and_writes_nothing(
    calls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [calls]

    def interrupted(source: str, **_: Any) -> Iterator[TraceRow]:
        for number in range(150):
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            yield TraceRow(source, number, ToolCall("orders", None, {"id": f"A-{number}"}, 90.0), None)

    monkeypatch.setattr("agentguard.cli._learn.read_traces", interrupted)
    (tmp_path / "calls.jsonl").write_bytes(b"")
    folder = tmp_path / "learned"

    run = learn(str(tmp_path / "calls.jsonl"), "-o", str(folder))
    left[0] = calls
    as_json = learn(str(tmp_path / "calls.jsonl"), "-o", str(folder), "--json")

    data = json.loads(as_json.stdout)
    assert (run.exit_code, as_json.exit_code) == (130, 130)
    assert "interrupted while" in run.stdout
    assert f"after {calls % 150:,} calls; nothing is written" in run.stdout
    assert (data["interrupted"], data["written"]) == (True, [])
    # Two readings of 150 calls: they are counted, then 105 of them learned and the others held against that.
    assert data["calls"] == max(min(calls - 150, 105), 0)
    assert not folder.exists()


def test_text_from_outside_cannot_steer_the_terminal() -> None:
    run = learn("-", raw=log(60, "[bold]x\x1b[31m\u2066"))

    assert not set(run.stdout) & set("\x1b\u2066")
    assert "[bold]x[31m" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["absent.jsonl"], "no such file or folder: absent.jsonl"),
        (["-", "-"], "standard input can be named once"),
        (["-", "-o", "{file}"], "is no folder"),
        (["-", "--holdout", "1"], "--holdout"),
        (["-", "--min-calls", "0"], "--min-calls"),
        ([], "Missing argument"),
    ],
)
def test_usage_and_data_errors_exit_with_3(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    (tmp_path / "file").write_text("")
    filled = [argument.replace("{file}", str(tmp_path / "file")) for argument in arguments]

    run = learn(*filled, raw=b"")
    as_json = learn(*filled, "--json", raw=b"")

    assert (run.exit_code, as_json.exit_code) == (3, 3)
    assert run.stdout == ""
    assert sentence in run.stderr
    assert sentence in json.loads(as_json.stdout)["error"]


def test_a_log_without_a_single_call_is_an_error(tmp_path: Path) -> None:
    run = learn("-", "-o", str(tmp_path / "learned"), raw=b"what\n")

    assert run.exit_code == 3
    assert "broken lines left out: 1" in run.stdout
    assert not (tmp_path / "learned").exists()
