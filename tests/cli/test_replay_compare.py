"""`agentguard replay --compare`: whose verdict changes, and an exit code only where asked for."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentguard.cli import app
from agentguard.verification import VerificationResult, VerificationTier
from agentguard.verification.types import Verdict

from ..rows import over

runner = CliRunner()


class Scripted:
    """Takes one field of the result as its posterior; 9 stands for Ctrl-C."""

    def __init__(self, side: int) -> None:
        self.side = side

    def verify(self, tool: str, **fields: Any) -> VerificationResult:
        posterior = fields["result"][self.side]
        if posterior == 9:
            raise KeyboardInterrupt
        verdict: Verdict = "block" if posterior >= 0.5 else "flag" if posterior >= 0.2 else "accept"
        note = "see [red]here[/red]\x1b[2J"
        return VerificationResult(verdict, posterior, 0.15, {}, {}, VerificationTier.TIER_1, None, tool, None, note)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    sides = {"old": 0, "new": 1}
    monkeypatch.setattr("agentguard.cli._replay.build_engine", lambda profiles, mode: Scripted(sides[profiles]))


def log(*pairs: tuple[float, float], tool: str = "t", **fields: object) -> bytes:
    return b"".join(json.dumps({"tool": tool, "result": pair, **fields}).encode() + b"\n" for pair in pairs)


def replay(raw: bytes, *options: str, two: tuple[str, str] = ("old", "new")) -> Any:
    return runner.invoke(app, ["replay", "-", "--compare", *two, *options], input=raw)


@pytest.mark.usefixtures("scripted")
@pytest.mark.parametrize(
    ("pairs", "codes"),  # without --fail-on, and with flag, block, change
    [
        ([(0.1, 0.1), (0.9, 0.9)], (0, 0, 0, 0)),
        ([(0.1, 0.3)], (0, 1, 0, 1)),
        ([(0.1, 0.9)], (0, 2, 2, 2)),
        ([(0.3, 0.9), (0.1, 0.3)], (0, 2, 2, 2)),
        ([(0.9, 0.1)], (0, 0, 0, 1)),
        ([], (0, 0, 0, 0)),
    ],
)
def test_the_exit_code_is_the_worst_new_verdict_from_fail_on(
    pairs: list[tuple[float, float]], codes: tuple[int, ...]
) -> None:
    options = [[], ["--fail-on", "flag"], ["--fail-on", "block"], ["--fail-on", "change"]]

    assert tuple(replay(log(*pairs), *given).exit_code for given in options) == codes
    assert tuple(replay(log(*pairs), *given, "--json").exit_code for given in options) == codes


@pytest.mark.usefixtures("scripted")
def test_tables_show_verdicts_tools_labels_and_the_greatest_changes() -> None:
    raw = log((0.1, 0.9), (0.1, 0.1), tool="a", label="stale") + log((0.3, 0.1), tool="b", label="genuine")
    run = replay(raw + log((0.1, 0.1), tool="c"))

    lines = [line.split() for line in run.stdout.splitlines()]
    assert ["accept", "2", "0", "1"] in lines
    assert ["flag", "1", "0", "0"] in lines
    assert ["a", "2", "1", "1", "0", "1", "0", "+0.4000"] in lines
    assert ["b", "1", "1", "0", "1", "0", "0", "-0.2000"] in lines
    assert ["1", "without", "a", "change"] in lines
    assert ["stale", "2", "1", "1", "0", "1", "0"] in lines
    (first, second) = [line for line in lines if line[:1] in (["1."], ["2."])]
    assert (first[1:4], first[-1]) == (["accept", "→", "block"], "stdin:1")
    assert (second[1:4], second[-1]) == (["flag", "→", "accept"], "stdin:3")
    assert "4 calls: 2 with another verdict, 1 stricter, 1 looser" in run.stdout


@pytest.mark.usefixtures("scripted")
def test_json_is_all_that_is_written() -> None:
    run = replay(log((0.1, 0.9), (0.1, 0.1)) + b"\xff\n", "--json")

    data = json.loads(run.stdout)
    assert run.stderr == ""
    assert (data["calls"], data["changed"], data["stricter"], data["looser"], data["broken"]) == (2, 1, 1, 0, 1)
    assert data["interrupted"] is False
    assert (data["changes"][0]["line"], data["changes"][0]["after"]) == (1, "block")


@pytest.mark.usefixtures("scripted")
def test_ctrl_c_prints_what_was_compared_and_exits_with_130() -> None:
    run = replay(log((0.1, 0.9), (0.1, 9), (0.1, 0.9)), "--fail-on", "block")

    assert run.exit_code == 130
    assert "interrupted; compared so far:" in run.stdout
    assert "1 calls: 1 with another verdict" in run.stdout


@pytest.mark.usefixtures("scripted")
def test_text_from_outside_cannot_steer_the_terminal() -> None:
    run = replay(log((0.1, 0.9), tool="[bold]x[/bold]\x1b[31m\u2066y", label="[blink]\x9b31m"))

    assert not set(run.stdout) & set("\x1b\x9b\u2066")
    assert "[bold]x[/bold][31my" in run.stdout
    assert "see [red]here[/red][2J" in run.stdout


@pytest.mark.usefixtures("scripted")
def test_a_log_without_a_single_call_is_an_error_and_limit_stops() -> None:
    assert replay(b"what\n").exit_code == 3
    assert json.loads(replay(log(*[(0.1, 0.1)] * 5), "--limit", "2", "--json").stdout)["calls"] == 2


def test_folders_of_profiles_and_words_with_the_real_engine(tmp_path: Path) -> None:
    for name, fields in (("old", "[id]"), ("new", "[id, price]")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.yaml").write_text(f"name: t\nrequired_fields: {fields}\n")
    calls = b"".join(json.dumps({"tool": "t", "result": {"id": n}}).encode() + b"\n" for n in range(3))

    data = json.loads(replay(calls, "--json", two=(str(tmp_path / "old"), str(tmp_path / "new"))).stdout)
    same = json.loads(replay(calls, "--json", two=("none", "none")).stdout)

    assert data["matrix"]["accept"]["block"] == 3
    assert {change["signal"] for change in data["changes"]} == {"schema_mismatch"}
    assert (same["calls"], same["changed"]) == (3, 0)
    before_traces = ["replay", "--compare", str(tmp_path / "old"), str(tmp_path / "new"), "-"]
    assert "3 with another verdict" in runner.invoke(app, before_traces, input=calls).stdout


@over(
    ("options", "sentence"),
    [
        (["--fail-on", "change"], "--fail-on change is for --compare"),
        (["--compare", "none", "none", "--profiles", "shipped"], "leave out --profiles"),
        (["--compare", "none", "none", "--count"], "leave out --profiles and --count"),
        (["--compare", "none", "none", "--engine", "processes"], "leave out --engine"),
        (["--compare", "none", "absent"], "no such file or folder of profiles: absent"),
        (["--compare", "none"], "--compare"),
    ],
)
def test_contradictions_exit_with_3(options: list[str], sentence: str) -> None:
    run = runner.invoke(app, ["replay", "-", *options], input=b"")

    assert run.exit_code == 3
    assert run.stdout == ""
    assert sentence in run.stderr
