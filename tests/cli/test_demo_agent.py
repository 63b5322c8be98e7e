"""``agentguard demo --agent``: what it is asked for, and what is said where it cannot be."""

import json
import sys
from types import ModuleType
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from agentguard.cli import app
from agentguard.integrations._extras import needs

runner = CliRunner()
MODULE = "agentguard.integrations._demo"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the agent's demo is asked for; the real one has tests of its own."""
    seen: list[dict[str, Any]] = []

    def run_agent_demo(console: Console, **options: Any) -> None:
        console.print("[bold]printed[/bold]")
        seen.append(options)

    module = ModuleType(MODULE)
    monkeypatch.setattr(module, "run_agent_demo", run_agent_demo, raising=False)
    monkeypatch.setitem(sys.modules, MODULE, module)
    return seen


@pytest.mark.parametrize("as_json", [False, True])
def test_it_is_given_its_options_and_does_all_the_printing(asked: list[dict[str, Any]], as_json: bool) -> None:
    run = runner.invoke(app, ["demo", "--agent", "--seed", "3", *(["--json"] if as_json else [])])

    assert (run.exit_code, run.stdout, run.stderr) == (0, "[bold]printed[/bold]\n", "")
    assert asked == [{"seed": 3, "as_json": as_json}]


def test_a_number_of_calls_is_refused(asked: list[dict[str, Any]]) -> None:
    run = runner.invoke(app, ["demo", "--agent", "--calls", "600"])

    assert (run.exit_code, run.stdout) == (3, "")
    assert run.stderr.startswith("error: --calls has no meaning with --agent")
    assert asked == []


@pytest.mark.parametrize("as_json", [False, True])
def test_a_missing_framework_is_an_error_that_names_the_extra(monkeypatch: pytest.MonkeyPatch, as_json: bool) -> None:
    def missing(name: str) -> ModuleType:
        assert name == MODULE
        raise needs("langchain", ModuleNotFoundError("No module named 'langchain'", name="langchain"))

    monkeypatch.setattr("agentguard.cli._demo.import_module", missing)

    run = runner.invoke(app, ["demo", "--agent", *(["--json"] if as_json else [])])

    assert run.exit_code == 3
    said = json.loads(run.stdout)["error"] if as_json else run.stderr
    assert "pip install 'agentguard[langchain]'" in said
    assert "Traceback" not in run.stderr


def test_it_really_runs_and_writes_json_alone_to_stdout() -> None:
    run = runner.invoke(app, ["demo", "--agent", "--json"])

    assert (run.exit_code, run.stderr) == (0, "")
    report = json.loads(run.stdout)
    assert report["sentence"].startswith("Of 2 wrong results")
    assert len(report["calls"]) >= 5
