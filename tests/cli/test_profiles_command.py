"""`agentguard profiles`: what is shipped or in a folder, shown and checked."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentguard.cli import app
from agentguard.verification import load_profiles

runner = CliRunner()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "weather.yaml").write_text(
        "name: get_weather\naliases: [weather_*]\ndescription: The [bold]weather[/bold].\n"
        "expected_latency_ms: [100, 5000]\nrequired_fields: [temperature]\n"
    )
    (tmp_path / "calc.yml").write_text("name: calculate\nhas_network_io: false\n")
    return tmp_path


def test_list_names_the_profiles_of_a_folder(folder: Path) -> None:
    run = runner.invoke(app, ["profiles", "list", "--profiles", str(folder)])

    assert run.exit_code == 0
    lines = run.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["tool", "calculate", "get_weather", "2"]
    assert lines[2].split() == ["get_weather", "100-5000", "temperature", "The", "[bold]weather[/bold]."]


def test_list_names_the_shipped_profiles_without_a_folder() -> None:
    run = runner.invoke(app, ["profiles", "list", "--json"])

    listed = [profile["name"] for profile in json.loads(run.stdout)["profiles"]]
    assert listed == [profile.name for profile in load_profiles()]
    assert len(listed) >= 15


@pytest.mark.parametrize("name", ["get_weather", "weather_in_oslo"])
def test_show_finds_a_profile_as_the_engine_would(folder: Path, name: str) -> None:
    run = runner.invoke(app, ["profiles", "show", name, "--profiles", str(folder)])
    data = json.loads(runner.invoke(app, ["profiles", "show", name, "--profiles", str(folder), "--json"]).stdout)

    assert run.exit_code == 0
    assert ["name", "get_weather"] in [line.split() for line in run.stdout.splitlines()]
    assert (data["name"], data["expected_latency_ms"], data["on_error"]) == ("get_weather", [100, 5000], "open")


def test_show_names_what_is_near_an_unknown_tool(folder: Path) -> None:
    run = runner.invoke(app, ["profiles", "show", "get_wether", "--profiles", str(folder)])
    far = runner.invoke(app, ["profiles", "show", "\x1bzzz", "--profiles", str(folder)])

    assert (run.exit_code, far.exit_code) == (3, 3)
    assert run.stderr == "error: no profile for a tool named 'get_wether'; near it: get_weather\n"
    assert far.stderr == "error: no profile for a tool named 'zzz'; 'agentguard profiles list' shows what there is\n"


def test_check_counts_profiles_without_problems(folder: Path) -> None:
    run = runner.invoke(app, ["profiles", "check", str(folder)])

    assert (run.exit_code, run.stdout) == (0, "2 profiles, no problems\n")
    as_json = runner.invoke(app, ["profiles", "check", str(folder), "--json"])
    assert json.loads(as_json.stdout) == {"profiles": 2, "problems": []}


def test_check_tells_all_problems_of_all_files_with_their_lines(folder: Path) -> None:
    (folder / "bad.yaml").write_text("name: bad\ncolour: red\nresponse_patterns: ['(']\n")
    (folder / "torn.yaml").write_text("name: [torn\n")

    run = runner.invoke(app, ["profiles", "check", str(folder)])
    as_json = runner.invoke(app, ["profiles", "check", str(folder), "--json"])

    assert (run.exit_code, as_json.exit_code) == (3, 3)
    assert run.stdout == ""
    first, *rest = run.stderr.splitlines()
    assert first == "error: 2 profiles have 3 problems:"
    assert [Path(line.split(": ")[0].strip()).name for line in rest] == ["bad.yaml:2", "bad.yaml:3", "torn.yaml:2"]
    problems = json.loads(as_json.stdout)["problems"]
    assert [(Path(problem["source"]).name, problem["line"]) for problem in problems] == [
        ("bad.yaml", 2),
        ("bad.yaml", 3),
        ("torn.yaml", 2),
    ]


@pytest.mark.parametrize("command", [["check"], ["check", "absent"], ["list", "--profiles", "absent"], ["show"], ["x"]])
def test_errors_exit_with_3(command: list[str]) -> None:
    run = runner.invoke(app, ["profiles", *command])
    as_json = runner.invoke(app, ["profiles", *command, "--json"])

    assert (run.exit_code, as_json.exit_code) == (3, 3)
    assert run.stderr.startswith("error: ")
    assert list(json.loads(as_json.stdout)) == ["error"]


def test_without_a_command_help_is_shown() -> None:
    run = runner.invoke(app, ["profiles"])

    assert run.exit_code == 3
    assert "check" in run.stdout
