"""`agentguard hook`: the hooks installed, looked at and removed from the command line."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentguard.cli import app
from agentguard.cli._exits import Exit
from agentguard.hooks._record import Record, Suspect

runner = CliRunner()
SETTINGS = '{\n    "model": "opus",\n    "hooks": {}\n}\n'


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project to be in, and a home without anything in it."""
    for name in ("AGENTGUARD_STORE", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "project"
    (folder / ".claude").mkdir(parents=True)
    (folder / ".claude/settings.local.json").write_text(SETTINGS)
    monkeypatch.chdir(folder)
    return folder


def test_installed_it_is_seen_and_removed_it_is_gone(project: Path) -> None:
    installed = runner.invoke(app, ["hook", "install"])
    assert installed.exit_code == Exit.ACCEPT
    assert "observing" in installed.output
    status = runner.invoke(app, ["hook", "status"]).output
    assert str(project) in status.replace("\n", "")
    assert "no helper runs" in status
    assert "0 accept, 0 flag, 0 block, 0 unjudged" in status

    removed = runner.invoke(app, ["hook", "remove"])
    assert "the hooks are out of" in removed.output
    assert (project / ".claude/settings.local.json").read_text() == SETTINGS
    assert "no hooks are installed" in runner.invoke(app, ["hook", "status"]).output
    assert "no hooks are in" in runner.invoke(app, ["hook", "remove"]).output


def test_status_as_json_has_the_policy_and_the_suspects(tmp_path: Path) -> None:
    runner.invoke(app, ["hook", "install", "--user", "--enforce", "--on-guard-error", "closed", "--store", "kept"])
    (folder,) = (tmp_path / "state/agentguard-hooks").iterdir()
    record = Record(folder)
    record.count("block")
    record.suspect(Suspect(0.0, "s1", "mcp__shop__price", "t1", "block", 0.91, "price is missing"))
    record.save()

    (status,) = json.loads(runner.invoke(app, ["hook", "status", "--json"]).output)["installed"]

    assert status["file"] == str((tmp_path / "home/.claude/settings.json").resolve())
    assert status["settings"]["enforce"] is True
    assert status["settings"]["store"] == str((tmp_path / "project/kept").resolve())
    assert (status["helper"], status["problems"], status["counts"]["block"]) == (None, [], 1)
    assert status["last"][0]["hazard"] == "price is missing"
    assert "mcp__shop__price" in runner.invoke(app, ["hook", "status"], env={"COLUMNS": "200"}).output


def test_codex_is_told_apart_and_has_to_trust(project: Path) -> None:
    result = runner.invoke(app, ["hook", "install", "--agent", "codex"])
    assert "/hooks" in result.output
    assert set(json.loads((project / ".codex/hooks.json").read_bytes())["hooks"]) == {"PostToolUse", "Stop"}
    assert (project / ".claude/settings.local.json").read_text() == SETTINGS


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["install", "--profiles", "nowhere"], "nowhere"),
        (["install", "--on-guard-error", "closed"], "--enforce"),
        (["install", "--store", "redis://u:secret@h/0"], "holds a password"),
        (["install", "--store", "memory:"], "ends with the helper"),
        (["install", "--idle", "0"], "idle_seconds"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_written(project: Path, words: list[str], message: str) -> None:
    result = runner.invoke(app, ["hook", *words])
    assert result.exit_code == Exit.ERROR
    assert message in result.output.replace("\n", " ")
    assert "secret" not in result.output
    assert (project / ".claude/settings.local.json").read_text() == SETTINGS


def test_settings_that_are_no_json_are_named_and_left_alone(project: Path) -> None:
    file = project / ".claude/settings.local.json"
    file.write_text("{\n  // mine\n}")
    for command in ("install", "remove", "status"):
        result = runner.invoke(app, ["hook", command, "--json"])
        assert result.exit_code == Exit.ERROR
        assert f"{file.resolve()} is not JSON (line 2, column 3" in json.loads(result.output)["error"]
    assert file.read_text() == "{\n  // mine\n}"
