"""``agentguard calibrate``: figures printed, files written, and nothing written on too little."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from agentguard.cli import app
from agentguard.stores import MemoryStore
from agentguard.verification._calibration import load_calibration

runner = CliRunner()


def rows(genuine: int = 400, fabricated: int = 30) -> list[dict[str, Any]]:
    """Calls with one signal, which fires in 7 of 10 fabricated and 1 of 100 genuine calls and is taken for less."""
    rng, found = random.Random(8), []
    for k in range(genuine + fabricated):
        wrong = k < fabricated
        fired = rng.random() < (0.7 if wrong else 0.01)
        nats = 2.0 if fired else -0.1
        posterior = 0.3 if fired else 0.12
        found.append(
            {
                "tool": "search", "confidence_score": posterior, "was_hallucination": wrong, "call_id": f"c{k}",
                "prior": 0.15, "nats": {"echo_mismatch": nats}, "verdict": "flag" if fired else "accept",
            }
        )  # fmt: skip
    return found


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()) + "nonsense\n")
    return path


def run(*options: object) -> Any:
    return runner.invoke(app, ["calibrate", *map(str, options)])


def test_it_prints_what_the_labels_say(labels: Path) -> None:
    found = run("--labels", labels)

    assert found.exit_code == 0
    assert "430 labels, 30 of fabricated calls" in found.stdout
    for said in ("expected calibration error", "AUROC", "block_at", "accept_below", "echo_mismatch", "after the fit"):
        assert said in found.stdout
    assert "broken lines left out: 1" in found.stdout
    assert ":431: not JSON (character 1)" in found.stdout.replace("\n", "")


def test_it_writes_what_an_engine_takes_and_a_picture(labels: Path, tmp_path: Path) -> None:
    output, picture = tmp_path / "calibration.yaml", tmp_path / "reliability.svg"

    found = run("--labels", labels, "-o", output, "--picture", picture, "--json")

    assert found.exit_code == 0
    data = json.loads(found.stdout)
    assert data["written"] == str(output)
    calibration = load_calibration(output)
    assert json.loads(json.dumps(data["calibration"]["all"])) == {
        name: dict(value) if name == "likelihood_ratios" else value for name, value in calibration.everywhere.items()
    }
    assert calibration.everywhere["likelihood_ratios"]["echo_mismatch"] > 16.0
    assert data["after"]["error"] < data["before"]["error"]
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")  # noqa: S314 - our own text


def test_a_second_calibration_goes_on_from_the_first(labels: Path, tmp_path: Path) -> None:
    first = tmp_path / "first.yaml"
    assert run("--labels", labels, "-o", first).exit_code == 0
    ratio = load_calibration(first).everywhere["likelihood_ratios"]["echo_mismatch"]

    data = json.loads(run("--labels", labels, "--in-force", first, "--json").stdout)

    assert data["in_force"]["ratios"]["echo_mismatch"] == ratio
    assert data["in_force"]["block_at"] == load_calibration(first).everywhere["block_at"]


def test_too_few_labels_write_nothing_and_leave_what_is_there(tmp_path: Path) -> None:
    labels, output = tmp_path / "labels.jsonl", tmp_path / "calibration.yaml"
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows(20, 3)))
    output.write_text("version: 1\n")

    found = run("--labels", labels, "-o", output)

    assert found.exit_code == 0
    assert "a fit takes 30 labels with 5 of each kind" in found.stdout
    assert "1.00% takes 299 that weigh alike" in found.stdout.replace("\n", " ")
    assert "nothing is to be changed" in found.stdout
    assert output.read_text() == "version: 1\n"
    assert json.loads(run("--labels", labels, "-o", output, "--json").stdout)["written"] is None


def test_wishes_are_heard(tmp_path: Path) -> None:
    labels = tmp_path / "few.jsonl"
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows(20, 3)))
    data = json.loads(
        run(
            "--labels", labels, "--max-false-block-rate", 0.05, "--confidence", 0.9, "--least-block-at", 0.4, "--json"
        ).stdout
    )

    assert data["wish"] == {"false_block_rate": 0.05, "false_flag_rate": 0.05, "confidence": 0.9, "least_block_at": 0.4}


def test_labels_come_from_a_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store = MemoryStore()
    for row in rows():
        store.append("feedback", row)
    monkeypatch.setattr("agentguard.stores.open_store", lambda where: store)
    output = tmp_path / "calibration.yaml"

    found = run("--store", "redis://:secret@host/0", "-o", output)

    assert found.exit_code == 0
    assert "430 labels" in found.stdout
    assert "secret" not in found.stdout
    assert load_calibration(output).made_from["feedback_until"] == 430


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "give either --labels FILE or --store"),
        (["--labels", "x", "--store", "y"], "give either --labels FILE or --store"),
        (["--labels", "missing.jsonl"], "cannot read the labels in missing.jsonl"),
        (["--store", "missing"], "there is no store at missing"),
        (["--store", "disk:missing"], "there is no store at missing"),
        (["--store", "memory:"], "there is no label in the store's feedback"),
        (["--labels", "x", "--in-force", "missing.yaml"], "no calibration file at missing.yaml"),
        (["--labels", "x", "--confidence", "95"], "confidence must be a number in (0, 1)"),
        (["--labels", "x", "--max-false-flag-rate", "0.001"], "false_flag_rate (0.001) must not be below"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(
    options: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    found = run(*options)

    assert found.exit_code == 3
    assert said in found.stderr.replace("\n", " ")
    assert not list(tmp_path.iterdir())


def test_a_file_without_a_single_label_names_its_first_broken_line(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text("what\nis this\n")

    found = run("--labels", path, "--json")

    assert found.exit_code == 3
    assert json.loads(found.stdout)["error"].endswith("2 broken lines, first " + f"{path}:1: not JSON (character 1)")


def test_labels_come_from_standard_input() -> None:
    found = runner.invoke(
        app, ["calibrate", "--labels", "-", "--json"], input="".join(json.dumps(r) + "\n" for r in rows(20, 3))
    )

    assert json.loads(found.stdout)["labels"] == 23


def test_names_of_tools_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    row = {"tool": "[red]x\x1b[2J\u202e", "confidence_score": 0.1, "was_hallucination": False}
    path.write_text(json.dumps(row) + "\n")

    found = run("--labels", path)

    assert "[red]x[2J" in found.stdout
    assert "\x1b" not in found.stdout
