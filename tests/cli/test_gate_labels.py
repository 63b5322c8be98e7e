"""`agentguard gate label` and `calibrate`: what a person says of claims, and the risks that follow."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from agentguard.cli import app
from agentguard.cli._exits import Exit
from agentguard.gate import load_config

CONFIG = """\
use_case: shop of lamps
doc_sources: [{type: local, path: docs}]
evaluation: {responses: answers.jsonl}
"""
DOCUMENT = "# Returns\n\nLamps can be returned within 30 days.\n\nExpress shipping costs 7 euros.\n"
ANSWERS = {
    "How long may I return a lamp?": "Lamps can be returned within 30 days.",
    "What does express shipping cost?": "Express shipping costs 9 euros.",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A gate that has run once: one claim is supported, and one is not."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "returns.md").write_text(DOCUMENT)
    (tmp_path / ".llm-reliability.yaml").write_text(CONFIG)
    lines = (json.dumps({"prompt": prompt, "response": answer}) for prompt, answer in ANSWERS.items())
    (tmp_path / "answers.jsonl").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    assert gate("ingest").exit_code == Exit.ACCEPT
    assert gate("run").exit_code == 1  # half of the claims are unsupported: block
    return tmp_path


def gate(*words: str) -> Result:
    return CliRunner().invoke(app, ["gate", *words], env={"COLUMNS": "200"})


def test_what_is_to_be_labelled_is_listed_labelled_and_then_gone(home: Path) -> None:
    listed = json.loads(gate("label", "--json").stdout)["to_label"]

    assert sorted((each["claim_id"], each["label"]) for each in listed) == [
        ("p1.c1", "supported"), ("p2.c1", "unsupported"),
    ]  # fmt: skip
    assert "2 claims of this run are labelled" in gate("label", "p1.c1=true", "p2.c1=FALSE").stdout
    assert json.loads(gate("label", "--json").stdout)["to_label"] == []


def test_the_risks_that_are_shown_are_taken_by_the_configuration(home: Path) -> None:
    gate("label", "p1.c1=true", "p2.c1=true")

    verdicts = {row["verdict"]: row for row in json.loads(gate("calibrate", "--json").stdout)["verdicts"]}
    shown = gate("calibrate").stdout.splitlines()

    assert verdicts["unsupported"]["risk"] == pytest.approx(4 / 5)
    assert verdicts["unsupported"]["wrong"] == 0
    line = next(each for each in shown if each.startswith("risk_tolerance:"))
    assert yaml.safe_load(line)["risk_tolerance"]["label_risks"]["unsupported"] == 0.8
    (home / ".llm-reliability.yaml").write_text(f"{CONFIG}{line}\n")
    assert load_config(home / ".llm-reliability.yaml").risk_tolerance.label_risks.unsupported == 0.8
    assert json.loads(gate("run", "--json").stdout)["score"] == pytest.approx(0.4)


def test_without_labels_it_is_said_what_to_do(home: Path) -> None:
    assert "nothing is labelled yet: 'agentguard gate label' lists claims" in gate("calibrate").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["p1.c1"], "'p1.c1' is no label: write CLAIM=true or CLAIM=false"),
        (["p1.c1=maybe"], "is no label"),
        (["p1.c1=true", "p1.c1=false"], "is labelled twice"),
        (["p7.c1=true"], "has no claim 'p7.c1'"),
        (["p1.c1=true", "--run", "nowhere"], "there is no run 'nowhere'"),
    ],
)
def test_what_is_no_label_is_refused(home: Path, words: list[str], message: str) -> None:
    run = gate("label", *words)

    assert run.exit_code == Exit.ERROR
    assert message in run.stderr
