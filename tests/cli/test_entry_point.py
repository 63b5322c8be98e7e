"""The program as a whole: version, help, exit codes of the real process, the demo's command."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from agentguard.cli import SUMMARIES, app

from ..rows import over

runner = CliRunner()
PROGRAM = Path(sys.executable).with_name("agentguard")


def run_program(*arguments: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [PROGRAM, *arguments], input=stdin, capture_output=True, check=False, env={**os.environ, **environment}
    )


def test_version() -> None:
    run = runner.invoke(app, ["--version"])

    assert (run.exit_code, run.stdout) == (0, f"agentguard {version('agentguard')}\n")


def test_help_names_the_commands() -> None:
    run = runner.invoke(app, ["--help"])

    assert run.exit_code == 0
    assert all(command in run.stdout for command in ("demo", "verify", "replay", "profiles"))


def test_the_summaries_are_the_first_paragraphs_of_the_commands_own_help() -> None:
    commands: Any = typer.main.get_group(app).commands

    assert {name: " ".join(command.help.split("\n\n")[0].split()) for name, command in commands.items()} == SUMMARIES
    assert [command.name for command in commands.values()] == list(SUMMARIES)


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_no_command_is_loaded_for_the_version_and_the_help(option: str) -> None:
    code = f"""
import sys
import typer
print("rich of typer" if "rich" in sys.modules else "", file=sys.stderr)
from agentguard.cli import app
try:
    app(["{option}"])
finally:
    print(*sys.modules, file=sys.stderr)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    loaded = run.stderr.split()

    assert run.returncode == 0
    assert [name for name in loaded if name.startswith("agentguard.cli.")] == ["agentguard.cli._exits"]
    assert "agentguard.traces" not in loaded
    # The help is drawn with it; older typers load it by themselves.
    assert ("rich" in loaded) == (option == "--help" or run.stderr.startswith("rich of typer"))


def test_no_command_is_a_usage_error_that_shows_the_help() -> None:
    run = runner.invoke(app, [])

    assert run.exit_code == 3
    assert "Usage:" in run.stdout


def test_an_unknown_command_is_a_usage_error() -> None:
    run = runner.invoke(app, ["guess"])
    as_json = runner.invoke(app, ["guess", "--json"])

    assert (run.exit_code, as_json.exit_code) == (3, 3)
    assert run.stderr.startswith("error: No such command 'guess'")
    assert "No such command 'guess'" in json.loads(as_json.stdout)["error"]


def test_a_file_named_like_the_option_does_not_switch_to_json() -> None:
    run = runner.invoke(app, ["verify", "--", "--json"])

    assert (run.exit_code, run.stdout) == (3, "")
    assert run.stderr == "error: no such file: --json\n"


@over(
    ("arguments", "stdin", "code"),
    [
        (["verify", "-", "--mode", "reference"], b'{"tool": "t", "result": {}, "latency_ms": 300}', 0),
        # 0.1 ms for a call over a network: score 1 - 0.1/2 = .95, ratio 1 + 2.5 * .95 = 3.375,
        # odds .15/.85 * 3.375 = .5956, P = .3733: a flag.
        (
            ["replay", "-", "--mode", "reference", "--fail-on", "flag"],
            b'{"tool": "t", "result": 1, "latency_ms": 0.1}',
            1,
        ),
        (["verify", "-"], b"not a call", 3),
    ],
)
def test_exit_codes_of_the_process(arguments: list[str], stdin: bytes, code: int) -> None:
    run = run_program(*arguments, stdin=stdin)

    assert run.returncode == code, run.stderr
    assert b"Traceback" not in run.stderr


def test_a_blocked_call_ends_the_process_with_2(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text("name: t\nforbidden_fields: [mock]\n")

    run = run_program("verify", "-", "--profiles", str(tmp_path), stdin=b'{"tool": "t", "result": {"mock": 1}}')

    assert run.returncode == 2, run.stdout


def test_a_reader_that_goes_away_is_no_verdict() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as closed:
        run = subprocess.run([PROGRAM, "profiles", "list"], stdout=closed, stderr=subprocess.PIPE, check=False)

    assert run.returncode == 141
    assert run.stderr == b""


def test_a_terminal_that_is_not_utf8_gets_a_verdict_too() -> None:
    call = json.dumps({"tool": "prix_à_Zürich_東京", "result": "é"}, ensure_ascii=False).encode()

    run = run_program("verify", "-", stdin=call, PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")

    assert run.returncode == 0, run.stderr
    assert rb"prix_\xe0_Z\xfcrich_\u6771\u4eac" in run.stdout


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the demo is asked for; the real one has tests of its own and takes seconds."""
    seen: list[dict[str, Any]] = []

    def run_demo(console: Console, **options: Any) -> None:
        console.print("[bold]printed[/bold]")
        seen.append(options)

    module = ModuleType("agentguard.demo")
    monkeypatch.setattr(module, "run_demo", run_demo, raising=False)
    monkeypatch.setitem(sys.modules, "agentguard.demo", module)
    return seen


@pytest.mark.parametrize("as_json", [False, True])
def test_the_demo_is_given_its_options_and_does_all_the_printing(asked: list[dict[str, Any]], as_json: bool) -> None:
    run = runner.invoke(app, ["demo", "--calls", "50", "--seed", "3", *(["--json"] if as_json else [])])

    assert (run.exit_code, run.stdout, run.stderr) == (0, "[bold]printed[/bold]\n", "")
    assert asked == [{"calls": 50, "seed": 3, "as_json": as_json}]


def test_the_demo_really_runs_and_writes_json_alone_to_stdout() -> None:
    run = runner.invoke(app, ["demo", "--calls", "12", "--json"])

    assert run.exit_code == 0
    assert json.loads(run.stdout)["planned_calls"] == 12


def test_the_demo_refuses_a_number_of_calls_below_one(asked: list[dict[str, Any]]) -> None:
    assert runner.invoke(app, ["demo", "--calls", "0"]).exit_code == 3
    assert asked == []
