"""A model of entailment as the judge of claims of action: the tiny one, whose answers are sums of its words."""

import json
import math
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentguard.cli import app
from agentguard.content.actions import Call, Judge, check
from agentguard.errors import ConfigurationError
from agentguard.gate.models import claim_judge

from .test_entailment import make

CLAIM = "I updated the onboarding notes."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make(tmp_path / "tiny")


@pytest.fixture
def judge(folder: Path) -> Judge:
    return claim_judge(folder)


def calls(result: str) -> list[Call]:
    return [Call("run_code", {"code": "notes.write(text)"}, result)]


def test_opinions_are_the_probabilities_of_the_model(judge: Judge) -> None:
    one, two = judge("same", ["other", "not"])
    total = math.exp(2) + math.exp(1) + 1
    assert one == pytest.approx((math.exp(2) / total, 1 / total))
    total = math.exp(2) + math.exp(3) + 1
    assert two == pytest.approx((math.exp(2) / total, math.exp(3) / total))


def test_claims_are_decided_by_the_model(judge: Judge) -> None:
    assert check(CLAIM, calls("ok"), judge=judge) == check(CLAIM, calls("ok"))
    assert check(CLAIM, calls("same same same"), judge=judge).label == "supported"
    assert check(CLAIM, calls("not not"), judge=judge).label == "unsupported"


def test_a_part_that_shows_a_claim_counts_before_one_that_denies_it(judge: Judge) -> None:
    unknown = "unknown " * 900
    ((entailed, contradicted),) = judge(f"not not {unknown} same same same", ["unknown"])
    assert (entailed > 0.9, contradicted < 0.1) == (True, True)
    ((entailed, contradicted),) = judge(f"not not {unknown} other", ["unknown"])
    assert (entailed < 0.1, contradicted > 0.9) == (True, True)


def test_a_claim_that_is_too_long_is_left_open_beside_others(judge: Judge) -> None:
    long, short = judge("same", ["same " * 5_000, "same"])
    assert long == (0, 0)
    assert short.entailed > 0.9


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"there is no folder .*: export the model"):
        claim_judge(str(tmp_path / "none"))


# --- agentguard audit --judge ---


@pytest.fixture
def log(tmp_path: Path) -> str:
    records = [
        {"session_id": "s1", "tool": "run_code", "args": {"code": "notes.write(text)"}, "result": "not not"},
        {"session_id": "s1", "answer": CLAIM},
    ]
    path = tmp_path / "agent.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def test_audit_asks_the_model_in_a_folder(log: str, folder: Path) -> None:
    without = CliRunner().invoke(app, ["audit", log, "--json"])
    done = CliRunner().invoke(app, ["audit", log, "--json", "--judge", str(folder)])
    assert (without.exit_code, done.exit_code) == (0, 1), done.output
    assert json.loads(without.stdout)["claims"]["not_checkable"] == 1
    assert json.loads(done.stdout)["claims"]["contradicted"] == 1
    assert "The judge says that the calls contradict it" in done.stdout


@pytest.mark.parametrize("library", ["onnxruntime", "tokenizers"])
def test_audit_says_what_installs_a_missing_library(
    log: str, folder: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    done = CliRunner().invoke(app, ["audit", log, "--judge", str(folder)])
    said = done.stderr.replace("\n", " ")
    assert done.exit_code == 3
    assert f"--judge {folder}: judge (onnx) needs libraries that are not installed" in said
    assert "pip install 'agentguard[onnx]'" in said
