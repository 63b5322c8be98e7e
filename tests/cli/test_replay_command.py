"""`agentguard replay`: a log judged, counted, and turned into an exit code only where asked for."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from agentguard._limits import LIMITS
from agentguard.cli import app
from agentguard.verification import VerificationResult, VerificationTier
from agentguard.verification.types import Verdict

runner = CliRunner()


class Scripted:
    """An engine whose posterior is the result; 9 stands for Ctrl-C."""

    def verify(self, tool: str, **fields: Any) -> VerificationResult:
        posterior = fields["result"]
        if posterior == 9:
            raise KeyboardInterrupt
        verdict: Verdict = "block" if posterior >= 0.5 else "flag" if posterior >= 0.2 else "accept"
        note = "see [red]here[/red]\x1b[2J"
        return VerificationResult(verdict, posterior, 0.15, {}, {}, VerificationTier.TIER_1, None, tool, None, note)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentguard.cli._replay.build_engine", lambda profiles, mode, *more: Scripted())


def log(*posteriors: float, tool: str = "t", **fields: object) -> bytes:
    return b"".join(json.dumps({"tool": tool, "result": p, **fields}).encode() + b"\n" for p in posteriors)


def replay(raw: bytes, *options: str) -> Any:
    return runner.invoke(app, ["replay", "-", *options], input=raw)


@pytest.mark.usefixtures("scripted")
@pytest.mark.parametrize(
    ("posteriors", "fail_on", "code"),
    [
        ([0.1], None, 0),
        ([0.3, 0.9], None, 0),
        ([0.1], "flag", 0),
        ([0.1, 0.3], "flag", 1),
        ([0.3, 0.9, 0.1], "flag", 2),
        ([0.3], "block", 0),
        ([0.9], "block", 2),
        ([], "flag", 0),
    ],
)
def test_the_exit_code_is_the_worst_verdict_from_fail_on(
    posteriors: list[float], fail_on: str | None, code: int
) -> None:
    options = [] if fail_on is None else ["--fail-on", fail_on]

    assert replay(log(*posteriors), *options).exit_code == code
    assert replay(log(*posteriors), *options, "--json").exit_code == code


@pytest.mark.usefixtures("scripted")
def test_a_log_without_a_single_call_is_an_error_that_names_the_lines() -> None:
    run = replay(b"what\nis this\n")

    assert run.exit_code == 3
    assert "broken lines left out: 2" in run.stdout
    assert "stdin:1: not JSON (character 1)" in run.stdout
    assert "stdin:2: not JSON (character 1)" in run.stdout


@pytest.mark.usefixtures("scripted")
def test_broken_lines_are_counted_and_named_and_never_fatal() -> None:
    run = replay(log(0.1) + b"{\n" * 25 + log(0.1) + b"[]")

    assert run.exit_code == 0
    assert "broken lines left out: 26" in run.stdout
    assert "stdin:2: not JSON (character 2)" in run.stdout
    assert "stdin:21: not JSON (character 2)" in run.stdout
    assert "stdin:22:" not in run.stdout
    assert "and 6 more" in run.stdout
    assert "2 calls: 2 accepted, 0 flagged, 0 blocked" in run.stdout


@pytest.mark.usefixtures("scripted")
def test_tables_show_tools_labels_and_the_worst_offenders() -> None:
    run = replay(log(0.1, 0.3, tool="a", label="genuine") + log(0.9, 0.7, tool="b", label="stale"))

    lines = [line.split() for line in run.stdout.splitlines()]
    assert ["b", "2", "0", "0", "2", "0.8000", "0.9000"] in lines
    assert ["a", "2", "1", "1", "0", "0.2000", "0.3000"] in lines
    assert ["genuine", "2", "1", "1", "0"] in lines
    assert ["stale", "2", "0", "0", "2"] in lines
    places = [line for line in lines if line[:1] and line[0] in ("1.", "2.", "3.")]
    assert [(line[1], line[-1]) for line in places] == [("block", "stdin:3"), ("block", "stdin:4"), ("flag", "stdin:2")]


@pytest.mark.usefixtures("scripted")
def test_labels_are_not_shown_where_all_are_genuine() -> None:
    assert "label" not in replay(log(0.1, label="genuine")).stdout


@pytest.mark.usefixtures("scripted")
def test_text_from_outside_cannot_steer_the_terminal() -> None:
    run = replay(log(0.9, tool="[bold]x[/bold]\x1b[31m\u2066y", label="[blink]\x9b31m"))

    assert not set(run.stdout) & set("\x1b\x9b\u2066")
    assert "[bold]x[/bold][31my" in run.stdout
    assert "[blink]31m" in run.stdout
    assert "see [red]here[/red][2J" in run.stdout


@pytest.mark.usefixtures("scripted")
def test_ctrl_c_prints_what_was_counted_and_exits_with_130() -> None:
    run = replay(log(0.9, 0.1, 9, 0.9), "--fail-on", "block")
    data = json.loads(replay(log(0.9, 0.1, 9, 0.9), "--json").stdout)

    assert run.exit_code == 130
    assert "interrupted; counted so far:" in run.stdout
    assert "2 calls: 1 accepted, 0 flagged, 1 blocked" in run.stdout
    assert (data["interrupted"], data["calls"], data["block"]) == (True, 2, 1)


@pytest.mark.usefixtures("scripted")
def test_limit_stops_after_so_many_calls() -> None:
    data = json.loads(replay(log(0.1) + b"broken\n" + log(0.1, 0.1, 0.1), "--limit", "2", "--json").stdout)

    assert (data["calls"], data["broken"]) == (2, 1)


@pytest.mark.usefixtures("scripted")
def test_json_is_all_that_is_written() -> None:
    run = replay(log(0.1, 0.3, 0.9, label="stale") + b"\xff\n", "--json")

    data = json.loads(run.stdout)
    assert run.stderr == ""
    assert (data["calls"], data["accept"], data["flag"], data["block"], data["broken"]) == (3, 1, 1, 1, 1)
    assert data["interrupted"] is False
    assert [offender["line"] for offender in data["offenders"]] == [3, 2]
    assert data["first_broken"] == [{"source": "stdin", "line": 4, "reason": "not UTF-8 text (byte 1)"}]
    assert data["labels"]["stale"] == {"calls": 3, "accept": 1, "flag": 1, "block": 1}


def test_a_folder_and_profiles_with_the_real_engine(tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "t.yaml").write_text("name: t\nrequired_fields: [id, price]\n")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.jsonl.gz").write_bytes(
        gzip.compress(json.dumps({"tool": "t", "result": {"id": 1, "price": 2}}).encode())
    )
    (tmp_path / "logs" / "b.jsonl").write_text(json.dumps({"tool": "t", "result": '{"mock": true}'}))

    options = ["--profiles", str(tmp_path / "profiles"), "--mode", "reference", "--fail-on", "block", "--json"]
    run = runner.invoke(app, ["replay", str(tmp_path / "logs"), *options])

    data = json.loads(run.stdout)
    assert run.exit_code == 2
    (offender,) = data["offenders"]
    assert (Path(offender["source"]).name, offender["line"], offender["tool"]) == ("b.jsonl", 1, "t")
    assert "schema_mismatch" in offender["explanation"]


def test_the_shipped_profiles_have_a_word_of_their_own() -> None:
    # A search answer without results breaks what the shipped profile of Tavily declares.
    bad = json.dumps({"tool": "tavily_search", "result": {"answer": 42}}).encode()

    without = json.loads(replay(bad, "--json").stdout)
    shipped = json.loads(replay(bad, "--profiles", "shipped", "--json").stdout)

    assert shipped["tools"][0]["max_posterior"] > without["tools"][0]["max_posterior"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["absent.jsonl"], "no such file or folder: absent.jsonl"),
        (["{empty}"], "it has no *.jsonl, *.jsonl.gz, *.json, *.ndjson or *.parquet file"),
        (["-", "--profiles", "absent"], "no such file or folder of profiles: absent"),
        (["-", "--fail-on", "accept"], "'accept' is not one of 'flag', 'block'"),
        (["-", "--limit", "0"], "--limit"),
        (["-", "--limit", "many"], "--limit"),
        (["-", "--unknown"], "No such option: --unknown"),
        (["-", "another"], "unexpected extra argument"),
        ([], "Missing argument"),
    ],
)
def test_usage_and_data_errors_exit_with_3(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    filled = [str(tmp_path) if argument == "{empty}" else argument for argument in arguments]

    run = runner.invoke(app, ["replay", *filled], input=b"")
    as_json = runner.invoke(app, ["replay", *filled, "--json"], input=b"")

    assert (run.exit_code, as_json.exit_code) == (3, 3)
    assert run.stdout == ""
    assert run.stderr.startswith("error: ")
    assert sentence in run.stderr
    assert sentence in json.loads(as_json.stdout)["error"]


@pytest.mark.parametrize(
    "command",
    [
        ["replay"], ["replay", "--count"], ["replay", "--engine", "processes", "--workers", "1"], ["learn"],
        ["report", "-o", "-"], ["calibrate", "--labels"], ["profiles", "check", "profiles", "--log"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_log_of_nothing_but_blank_lines_is_refused_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    file = tmp_path / "calls.jsonl.gz"
    file.write_bytes(gzip.compress(b"\n" * (2**21 + 2**19)))
    monkeypatch.setattr("agentguard._line_files.LIMITS", LIMITS._replace(blank_bytes=2**21))
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "add.yaml").write_text("name: add\n")
    monkeypatch.chdir(tmp_path)

    result = runner.invoke(app, [*command, str(file)])

    assert result.exit_code == 3
    said = "more than 67,108,864 bytes without data: the file is not read beyond"
    assert re.search(rf"^error: {re.escape(str(file))}:\d{{7}}: {said}$", result.stderr, re.MULTILINE)


@pytest.mark.parametrize(
    "command", [["replay"], ["learn"], ["report", "-o", "-"], ["calibrate", "--labels"]], ids=" ".join
)
def test_a_log_that_unpacks_to_hundreds_of_times_its_size_is_refused_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """Beyond what is unpacked whatever its size, here 1 MiB."""
    file = tmp_path / "calls.jsonl.gz"
    file.write_bytes(gzip.compress(b"a" * 2**22))
    monkeypatch.setattr("agentguard._line_files.ALWAYS_UNPACKED", 2**20)
    monkeypatch.chdir(tmp_path)

    result = runner.invoke(app, [*command, str(file)])

    assert result.exit_code == 3
    said = r"it unpacks to more than 256 times its size, 1,\d{3},\d{3} bytes so far: the file is not read beyond"
    assert re.search(rf"^error: {re.escape(str(file))}:1: {said}", result.stderr, re.MULTILINE)


def test_broken_profiles_are_told_all_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: a\nmin_length: 3\nresponse_patterns: ['(']\n")

    run = replay(b"", "--profiles", str(tmp_path))
    data = json.loads(replay(b"", "--profiles", str(tmp_path), "--json").stdout)

    assert run.exit_code == 3
    assert "a.yaml:2: min_length: unknown field" in run.stderr
    assert "a.yaml:3: response_patterns" in run.stderr
    assert [problem["line"] for problem in data["problems"]] == [2, 3]


lines = st.lists(
    st.binary(max_size=60)
    | st.builds(
        lambda tool, result: json.dumps({"tool": tool, "result": result}).encode(),
        st.text(min_size=1, max_size=5),
        st.text(max_size=20) | st.lists(st.integers(), max_size=3),
    ),
    max_size=5,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines, st.booleans())
def test_any_bytes_give_a_report(tmp_path: Path, pieces: list[bytes], compressed: bool) -> None:
    file = tmp_path / "log.jsonl"
    raw = b"\n".join(pieces)
    assume(compressed or not raw.startswith(b"PAR1"))  # as Parquet it is one file, and has no lines
    file.write_bytes(gzip.compress(raw) if compressed else raw)

    text = runner.invoke(app, ["replay", str(file)])
    data = json.loads(runner.invoke(app, ["replay", str(file), "--json"]).stdout)

    assert text.exit_code == (3 if data["broken"] and not data["calls"] else 0)
    assert text.stderr == ""
    assert f"{data['calls']:,} calls: {data['accept']:,} accepted" in text.stdout
    assert "\x1b" not in text.stdout
