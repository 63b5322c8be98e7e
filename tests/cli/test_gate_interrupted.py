"""A run of the gate whose process is ended in the middle: it is on record, and it can be taken up again."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentguard.cli import app
from agentguard.cli._exits import Exit
from agentguard.gate import load_config
from agentguard.gate.records import open_records

EXAMPLE = Path(__file__).parents[2] / "examples" / "gate"
WORKER = Path(__file__).with_name("gate_worker.py")
runner = CliRunner()

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are sent")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLE, tmp_path / "example", ignore=shutil.ignore_patterns(".llm-reliability"))
    return tmp_path / "example" / ".llm-reliability.yaml"


def ended_by(number: int, config: Path) -> tuple[int, str]:
    """The exit code of a run that gets a signal while it verifies, and what it said."""
    with subprocess.Popen(
        [sys.executable, str(WORKER), str(config)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "verifying\n"
            process.send_signal(number)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    return process.returncode, said


def gate(config: Path, *words: str) -> Any:
    done = runner.invoke(app, ["gate", *words, "--config", str(config), "--json"])
    return done.exit_code, json.loads(done.stdout)


def trail(config: Path, run_id: str) -> list[str]:
    records = open_records(load_config(config))
    try:
        return [str(event.body.get("name", event.kind)) for event in records.events(run_id)]
    finally:
        records.close()


def test_it_goes_on_after_the_last_stage_that_was_done(config: Path) -> None:
    code, said = ended_by(signal.SIGINT, config)

    done = ["generate_prompts", "run_model", "extract_claims", "retrieve_evidence"]
    _, history = gate(config, "history")
    [run] = history["runs"]
    assert run["status"] == "interrupted"
    assert trail(config, run["run_id"]) == ["started", *done, "interrupted"]
    assert code == Exit.INTERRUPTED
    assert f"run {run['run_id']} is on record as interrupted" in said

    code, resumed = gate(config, "run", "--resume", "latest")

    assert (code, resumed["decision"], resumed["run_id"]) == (Exit.FLAG, "block", run["run_id"])
    after = ["resumed", "verify_claims", "score_risk", "finished"]
    assert trail(config, run["run_id"]) == ["started", *done, "interrupted", *after]
    assert [one["status"] for one in gate(config, "history")[1]["runs"]] == ["finished"]


def test_a_run_beside_it_is_a_new_one(config: Path) -> None:
    assert ended_by(signal.SIGKILL, config)[0] == -signal.SIGKILL

    code, told = gate(config, "run")

    assert (code, told["decision"]) == (Exit.FLAG, "block")
    assert [one["status"] for one in gate(config, "history")[1]["runs"]] == ["finished", "interrupted"]
