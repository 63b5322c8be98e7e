"""The section on fuzzing: the figures of the long search as they are on record, and what it found tried again."""

import json
from pathlib import Path
from subprocess import CompletedProcess

import fuzzing
import pytest
from rich.console import Console

LISTED = """judging            the engine
  verify           a call
reading            what models say
  json_repair      JSON mended
"""
ACCOUNT = {"inputs": 30, "failures": {}, "slowest_ms_per_kib": 1.25, "slowest_bytes": 7}


def target(name: str, inputs: int, tried: dict[str, int], *findings: dict[str, str]) -> dict[str, object]:
    return {
        "target": name, "engine": "guided", "inputs": inputs, "seconds": 600.0, "edges": 4_321, "kept": 99,
        "tried": tried, "findings": list(findings), "slowest_ms_per_kib": 1.0, "slowest_bytes": 3,
    }  # fmt: skip


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What was asked of the fuzzer; an input that is the byte ff still breaks something."""
    asked: list[tuple[str, ...]] = []

    def fuzz(*arguments: str) -> CompletedProcess[str]:
        asked.append(arguments)
        if arguments == ("--list",):
            return CompletedProcess(arguments, 0, LISTED, "")
        if "--replay" in arguments:
            return CompletedProcess(arguments, int(Path(arguments[-1]).read_bytes() == b"\xff"), "", "")
        return CompletedProcess(arguments, 0, json.dumps({**ACCOUNT, "target": arguments[0]}), "")

    monkeypatch.setattr(fuzzing, "_fuzz", fuzz)
    return asked


def section(tmp_path: Path, campaign: object = None) -> tuple[str, list[str]]:
    record = tmp_path / "campaign.json"
    if campaign is not None:
        record.write_text(json.dumps(campaign), "utf-8")
    made = fuzzing.section(Console(quiet=True), 3.0, record)
    return "\n".join(made.text), [line.goal.outcome(line.figure) for line in made.lines]


@pytest.mark.usefixtures("ran")
def test_without_a_long_search_its_goals_are_not_measured(tmp_path: Path) -> None:
    text, outcomes = section(tmp_path)

    assert outcomes == ["not measured", "not measured", "reached"]
    assert "**Not measured**: there is no long search on record; `make fuzz` makes one." in text
    assert "| `judging` | `verify` | a call | – | 30 | 1.2 | 7 |" in text


@pytest.mark.usefixtures("ran")
def test_the_figures_are_those_on_record(tmp_path: Path) -> None:
    on = {"Python": "CPython 3.12.1", "engine": "atheris 9.9"}
    targets = [target("judging", 9_000_000, {"verify": 9_000_000}), target("reading", 1_200_000, {"json_repair": 5})]

    text, outcomes = section(tmp_path, {"on": on, "targets": targets})

    assert outcomes == ["reached", "reached", "reached"]
    assert "| inputs | the last long search | 2 | 10,200,000 | ≥ 10,000,000 | reached |" in text
    assert "| promises broken, of 0 that were | the last long search | 2 | 0 | ≤ 0 | reached |" in text
    assert "CPython 3.12.1, atheris 9.9" in text
    assert "| `judging` | the engine | 9,000,000 | 600 | 15,000 | 4,321 | 99 | 0 |" in text
    assert "| `reading` | `json_repair` | JSON mended | 5 | 30 | 1.2 | 7 |" in text


def test_what_was_found_is_tried_again(tmp_path: Path, ran: list[tuple[str, ...]]) -> None:
    mended = {"broke": "ValueError at x.py:f:1", "harness": "verify", "data": "00"}
    broken = {"broke": "KeyError at y.py:g:2", "harness": "json_repair", "data": "ff"}
    unknown = {"broke": "the process ended with code 1", "harness": "verify", "data": ""}
    targets = [target("judging", 1, {"verify": 1}, mended, unknown), target("reading", 1, {}, broken)]

    text, outcomes = section(tmp_path, {"on": {"Python": "", "engine": ""}, "targets": targets})

    assert [asked[0] for asked in ran if "--replay" in asked] == ["verify", "json_repair"]
    assert "| promises broken, of 3 that were | the last long search | 1 | 2 | ≤ 0 |" in text
    assert outcomes[1].startswith("missed")
