"""The output that docs/calibration.md shows is that of the command on the labels that it makes."""

from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from typer.testing import CliRunner

from agentguard.cli import app

DOCUMENT = Path(__file__).parents[2] / "docs" / "calibration.md"


def fences(language: str) -> list[str]:
    tokens = MarkdownIt().parse(DOCUMENT.read_text(encoding="utf-8"))
    return [token.content for token in tokens if token.type == "fence" and token.info.strip() == language]


def test_the_output_shown_is_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (makes_labels,) = (code for code in fences("python") if 'open("labels.jsonl", "w"' in code)
    (shown,) = fences("text")
    command, _, output = shown.partition("\n")

    exec(makes_labels, {"__name__": "__main__"})
    run = CliRunner().invoke(app, command.removeprefix("$ agentguard ").split())

    assert [line.rstrip() for line in run.stdout.splitlines()] == output.splitlines()
