"""A run killed at any stage leaves its record, and goes on where it was."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentguard.errors import GateError
from agentguard.gate import evaluate, load_config, open_services
from agentguard.gate._run import STAGES
from agentguard.gate.records._base import mark_interrupted

SCRIPT = Path(__file__).with_name("stalling_run.py")
CONFIG = """\
use_case: help desk
doc_sources: [{type: local, path: docs}]
evaluation: {responses: answers.jsonl}
"""
ANSWERS = [
    {"prompt": "How long may I return a kettle?", "response": "A kettle may be returned within 30 days."},
    {"prompt": "Does a kettle have a warranty?", "response": "The warranty of a kettle is 5 years."},
]
DOCUMENT = "# Kettles\n\nA kettle may be returned within 30 days.\n\nThe warranty of a kettle is 2 years.\n"


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "kettles.md").write_text(DOCUMENT)
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in ANSWERS))
    config = tmp_path / ".llm-reliability.yaml"
    config.write_text(CONFIG)
    return config


@pytest.mark.parametrize("place", [0, 3, len(STAGES) - 1])
def test_a_killed_run_is_on_record_and_is_resumed(gate: Path, place: int) -> None:
    stage = STAGES[place].__name__
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), str(gate), stage], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "stalled\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    config = load_config(gate)

    with open_services(config) as services:
        (dead,) = services.records.runs()
        assert dead.status == "running"
        (marked,) = mark_interrupted(services.records)
        before = services.records.events(dead.run_id)
        run = evaluate(config, services, resume=dead.run_id)
        after = services.records.events(dead.run_id)

    assert marked.status == "interrupted"
    assert [event.kind for event in before] == ["started", *["stage"] * place, "interrupted"]
    assert after[: len(before)] == before
    rest = len(STAGES) - place
    assert [event.kind for event in after[len(before) :]] == ["resumed", *["stage"] * rest, "finished"]
    # 30 days as the document has it, 5 years in place of its 2: one claim of two is false.
    assert [verdict.label for verdict in run.state.verdicts] == ["supported", "unsupported"]
    assert (run.score.risk, run.decision) == (0.5, "block")


def test_a_run_that_is_still_alive_is_not_resumed(gate: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), str(gate), "verify_claims"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "stalled\n"
        config = load_config(gate)
        with open_services(config) as services:
            (running,) = services.records.runs()
            assert mark_interrupted(services.records) == []
            with pytest.raises(GateError, match=f"run {running.run_id} is still running"):
                evaluate(config, services, resume=running.run_id)
    finally:
        process.kill()
        process.communicate()
