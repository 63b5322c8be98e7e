"""``agentguard replay --store`` and ``--calibration``: from what is known, and by what was found from labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentguard.cli import app
from agentguard.stores._disk import DiskStore
from agentguard.verification import VerificationEngine


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = app(["replay", *arguments, "--json"], standalone_mode=False)
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    rows = [
        {"tool": "get_city", "args": {"city": city}, "result": {"city": city, "size": n}, "latency_ms": 50 + n % 5}
        for n in range(80)
        for city in [["Oslo", "Riga", "Graz"][n % 3]]
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_a_log_is_learned_into_a_store(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, figures = run(capsys, str(log), "--store", str(tmp_path / "state"))
    assert (code, figures["calls"]) == (0, 80)
    with DiskStore(tmp_path / "state") as store, VerificationEngine(store=store) as engine:
        wrong = engine.verify("get_city", args={"city": "Oslo"}, result={"city": "Riga", "size": 3})
        assert wrong.signals["relation_mismatch"].fired
    fresh = VerificationEngine().verify("get_city", args={"city": "Oslo"}, result={"city": "Riga", "size": 3})
    assert not fresh.signals["structure_mismatch"].applicable


def test_a_calibration_is_in_force(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "calibration.yaml"
    path.write_text("version: 1\nall: {prior: 0.001}\n", encoding="utf-8")
    _, before = run(capsys, str(log))
    _, after = run(capsys, str(log), "--calibration", str(path))
    assert after["tools"][0]["mean_posterior"] < before["tools"][0]["mean_posterior"] / 20


@pytest.mark.parametrize("other", [["--count"], ["--engine", "processes"], ["--compare", "none", "none"]])
@pytest.mark.parametrize("option", ["--store", "--calibration"])
def test_not_with_what_does_not_judge_in_one_process(
    option: str, other: list[str], log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = run(capsys, str(log), option, str(tmp_path / "x"), *other)
    assert code == 3
    assert option in said["error"]
