"""`agentguard verify`: one call judged and explained; the exit code is the verdict."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentguard.cli import app
from agentguard.errors import AgentGuardError

from ..rows import over

runner = CliRunner()

# The published document's quick start, whose posterior it gives as 0.127; to four digits 0.1271.
QUICK_START = {
    "tool": "get_weather",
    "args": {"city": "London"},
    "result": {"temperature": 18, "humidity": 65},
    "execution_time_ms": 350.0,
}
WEATHER = "name: get_weather\nexpected_latency_ms: [100, 5000]\nrequired_fields: [temperature, humidity]\n"


@pytest.fixture
def profiles(tmp_path: Path) -> str:
    folder = tmp_path / "profiles"
    folder.mkdir()
    (folder / "weather.yaml").write_text(WEATHER)
    return str(folder)


def verify(call: Any, *options: str) -> Any:
    text = call if isinstance(call, (str, bytes)) else json.dumps(call)
    return runner.invoke(app, ["verify", "-", *options], input=text)


def test_the_documents_example_is_accepted(profiles: str) -> None:
    run = verify(QUICK_START, "--profiles", profiles, "--mode", "reference", "--json")

    data = json.loads(run.stdout)
    assert run.exit_code == 0
    assert (data["verdict"], round(data["posterior"], 4), data["tier_reached"]) == ("accept", 0.1271, 1)


def test_a_flagged_call_exits_with_1(profiles: str) -> None:
    # 30 ms where 100 is the minimum: score sqrt(1 - 30/100) = .83666, so the ratio of 3.5 counts 1 + 2.5 * .83666 =
    # 3.09165; the schema is silent (divided by 1.2). Odds .15/.85 * 3.09165 / 1.2 = .45466, P = .3126.
    run = verify({**QUICK_START, "execution_time_ms": 30}, "--profiles", profiles, "--mode", "reference", "--json")

    data = json.loads(run.stdout)
    assert run.exit_code == 1
    assert (data["verdict"], round(data["posterior"], 4)) == ("flag", 0.3126)


def test_a_blocked_call_exits_with_2(profiles: str) -> None:
    # One of two required fields missing: score 1/2, so the ratio of 12 counts 1 + 11/2 = 6.5; latency is silent
    # (divided by 1.01). Odds .15/.85 * 6.5 / 1.01 = 1.13570, P = .5318.
    run = verify(
        {**QUICK_START, "result": {"temperature": 18}}, "--profiles", profiles, "--mode", "reference", "--json"
    )

    data = json.loads(run.stdout)
    assert run.exit_code == 2
    assert (data["verdict"], round(data["posterior"], 4)) == ("block", 0.5318)


def test_a_call_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "call.json"
    file.write_text(json.dumps(QUICK_START, indent=2), encoding="utf-8-sig")

    run = runner.invoke(app, ["verify", str(file)])

    assert run.exit_code == 0
    assert "verdict on get_weather: accept" in run.stdout


@pytest.mark.parametrize("mode", ["calibrated", "reference"])
def test_the_printed_sum_can_be_redone_by_hand(profiles: str, mode: str) -> None:
    run = verify({**QUICK_START, "result": {"temperature": 18}}, "--profiles", profiles, "--mode", mode)

    rows = [line.split() for line in run.stdout.splitlines()]
    sums = [row for row in rows if len(row) >= 3 and re.fullmatch(r"[+-]\d+\.\d{4}", row[-1])]
    assert (sums[0][0], sums[-1][0]) == ("prior", "total")
    running = 0.0
    for row in sums[:-1]:
        running += float(row[-2])
        assert float(row[-1]) == pytest.approx(running, abs=6e-4)  # a dozen rounded figures
    assert float(sums[-1][-1]) == pytest.approx(running, abs=6e-4)
    assert float(sums[0][-1]) == pytest.approx(math.log(0.15 / 0.85), abs=6e-5)
    said = re.search(r"P\(fabricated\) = 1 / \(1 \+ e\^\((-?[\d.]+)\)\) = ([\d.]+)", run.stdout)
    assert said is not None
    assert 1 / (1 + math.exp(float(said[1]))) == pytest.approx(float(said[2]), abs=1e-4)
    assert -float(said[1]) == pytest.approx(float(sums[-1][-1]))


@pytest.mark.parametrize("mode", ["calibrated", "reference"])
def test_json_holds_the_same_sum_and_every_signal(profiles: str, mode: str) -> None:
    run = verify(
        {**QUICK_START, "call_id": "c1", "result": {"temperature": 18}},
        "--profiles",
        profiles,
        "--mode",
        mode,
        "--json",
    )

    data = json.loads(run.stdout)
    assert run.stderr == ""
    parts = data["log_odds"]
    total = parts["prior"] + sum(parts["contributions"].values()) + parts["remainder"]
    assert parts["remainder"] == pytest.approx(0, abs=1e-9)
    assert data["posterior"] == pytest.approx(1 / (1 + math.exp(-total)))
    assert data["call_id"] == "c1"
    schema = next(signal for signal in data["signals"] if signal["name"] == "schema_mismatch")
    assert (schema["applicable"], schema["fired"], schema["tier"]) == (True, True, 0)
    assert schema["contribution"] == parts["contributions"]["schema_mismatch"] > 0
    assert {signal["name"] for signal in data["signals"]} >= {"schema_mismatch", "pattern_mismatch", "latency_anomaly"}


def test_latency_ms_is_execution_time_ms(profiles: str) -> None:
    by_trace_name = {**QUICK_START, "latency_ms": 30}
    del by_trace_name["execution_time_ms"]

    run = verify(by_trace_name, "--profiles", profiles, "--mode", "reference", "--json")

    assert round(json.loads(run.stdout)["posterior"], 4) == 0.3126


def test_a_result_that_is_not_json_is_fine(tmp_path: Path) -> None:
    run = verify({"tool": "read_file", "result": "Dear all,\nnothing here is {JSON."}, "--json")

    assert run.exit_code == 0
    assert json.loads(run.stdout)["verdict"] == "accept"


def test_history_is_learned_before_the_call_is_judged(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    rows = [
        {
            "tool": "stock",
            "args": {"ticker": "NVDA"},
            "result": {"price": 650 + n % 7, "currency": "USD"},
            "latency_ms": 250,
        }
        for n in range(50)
    ]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows) + "broken\n")
    call = {
        "tool": "stock",
        "args": {"ticker": "NVDA"},
        "result": {"price": 50.0, "currency": "USD"},
        "latency_ms": 250,
    }

    cold = json.loads(verify(call, "--mode", "reference", "--json").stdout)
    warm_run = verify(call, "--mode", "reference", "--json", "--history", str(log))
    warm = json.loads(warm_run.stdout)

    fired = {signal["name"] for signal in warm["signals"] if signal["fired"]}
    # The document's own example: 50 calls near 650, then 50.
    assert "historical_inconsistency" in fired
    assert warm["posterior"] > cold["posterior"]
    assert (warm["history"]["calls"], warm["history"]["broken"]) == (50, 1)
    assert "history" not in cold
    text = verify(call, "--mode", "reference", "--history", str(log)).stdout
    assert "learned from 50 calls, 1 broken lines left out" in text


@over(
    ("call", "sentence"),
    [
        ("{nonsense", "the call on standard input: not JSON (character 2)"),
        ("", "the call on standard input: not JSON (character 1)"),
        ("[1, 2]", "the call on standard input: must be a JSON object, not an array"),
        (b"\xff\xfe", "the call on standard input: not UTF-8 text (byte 1)"),
        ('{"result": 1}', "the call on standard input: field 'tool' is missing"),
        ('{"tool": "t"}', "the call on standard input: field 'result' is missing"),
        (
            '{"tool": "t", "result": 1, "latncy_ms": 3}',
            "the call on standard input: unknown field 'latncy_ms'; known are",
        ),
        (
            '{"tool": "t", "result": 1, "latency_ms": "3"}',
            "field 'latency_ms' must be a number of milliseconds or null",
        ),
    ],
)
def test_a_call_that_cannot_be_read_gets_one_sentence(call: str | bytes, sentence: str) -> None:
    run = verify(call)
    as_json = verify(call, "--json")

    assert (run.exit_code, as_json.exit_code) == (3, 3)
    assert run.stdout == ""
    assert run.stderr.startswith("error: ")
    assert sentence in run.stderr
    assert len(run.stderr.splitlines()) == 1
    assert as_json.stderr == ""
    assert sentence in json.loads(as_json.stdout)["error"]


@over(
    ("arguments", "sentence"),
    [
        (["absent.json"], "error: no such file: absent.json"),
        (["."], "error: cannot read .: Is a directory"),
        (["a\0b"], "error: cannot read ab: embedded null byte"),
        (["-", "--history", "-"], "cannot both be read from standard input"),
        (["-", "--history", "absent.jsonl"], "error: no such file or folder: absent.jsonl"),
        (["-", "--profiles", "absent"], "error: no such file or folder of profiles: absent"),
        (["-", "--mode", "guess"], "'guess' is not one of 'calibrated', 'reference'"),
    ],
)
def test_what_cannot_be_used_is_an_error(arguments: list[str], sentence: str) -> None:
    run = runner.invoke(app, ["verify", *arguments], input='{"tool": "t", "result": 1}')

    assert run.exit_code == 3
    assert sentence in run.stderr
    assert "Traceback" not in run.stderr


def test_a_call_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentguard.cli._verify.MAX_LINE_BYTES", 30)

    run = verify({"tool": "t", "result": "x" * 30})

    assert run.exit_code == 3
    assert "longer than 30 bytes, too long for a call" in run.stderr


def test_text_from_outside_cannot_steer_the_terminal() -> None:
    tool = "get[bold red]price[/]\x1b]0;owned\x07\x1b[2J\u202egnorw"

    run = verify({"tool": tool, "args": {"[link=http://x]a": 1}, "result": "[/nonsense]\x1b[31m"})

    assert run.exit_code == 0
    assert not set(run.stdout) & set("\x1b\x07\u202e")
    assert "verdict on get[bold red]price[/]]0;owned[2Jgnorw: accept" in run.stdout


def test_an_error_message_cannot_steer_the_terminal() -> None:
    run = runner.invoke(app, ["verify", "\x1b[31m[bold]\nabsent"])

    assert run.stderr == "error: no such file: [31m[bold] absent\n"


def test_a_bug_of_ours_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("agentguard.cli._verify.build_engine", broken)

    run = verify(QUICK_START)
    as_json = verify(QUICK_START, "--json")

    assert (run.exit_code, as_json.exit_code) == (3, 3)
    assert "internal error (ZeroDivisionError); please report it" in run.stderr
    assert json.loads(as_json.stdout) == {"error": "internal error (ZeroDivisionError); please report it"}


def test_every_error_of_the_tree_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*_: object) -> None:
        raise AgentGuardError("what is wrong,\nand where")

    monkeypatch.setattr("agentguard.cli._verify.build_engine", refusing)

    run = verify(QUICK_START)

    assert (run.exit_code, run.stderr) == (3, "error: what is wrong, and where\n")
