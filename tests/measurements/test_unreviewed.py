"""The default engine with nobody reviewing: what was only reported stands apart, and sums are the programs' own."""

import json

import pytest
from document import renewed
from unreviewed import section as unreviewed
from unreviewed.run import everyday, single, stream, trials
from unreviewed.section import ALL, CHOSEN, ONLY_REPORTED


def honest(name, flagged, blocked=0.0):
    return {"name": name, "flagged": flagged, "blocked": blocked}


def faulty(held):
    return dict.fromkeys(("stuck", "mock", "tenant", "truncated", "nulls", "emptied"), (0.0, held))


def test_every_third_everyday_tool_is_only_reported():
    tools = [honest("a", 0.0), honest("b", 0.2), honest("c", 0.6, 0.3), honest("d", 0.4)]
    found = everyday(tools, {"a": faulty(1.0), "b": faulty(0.5), "c": {**faulty(0.0), "stuck": None}})

    assert found["everyday flagged"] == {ALL: pytest.approx(0.3), CHOSEN: pytest.approx(0.2), ONLY_REPORTED: 0.6}
    assert found["everyday over 10%"] == {ALL: 3, CHOSEN: 2, ONLY_REPORTED: 1}
    assert found["everyday blocked"][ONLY_REPORTED] == 0.3
    assert found["everyday mock"] == {ALL: 0.5, CHOSEN: 0.75, ONLY_REPORTED: 0.0}
    assert found["everyday stuck"][ONLY_REPORTED] is None


def test_sources_that_are_only_reported_stand_apart():
    found = stream(
        {
            "taubench_traces/calls": {"flagged": 0.1, "blocked": 0.02},
            "apibank/calls": {"flagged": 0.3, "blocked": 0.0},
            "mcp_recorded/time": {"flagged": 0.5, "blocked": 0.04},
        }
    )

    assert found["stream flagged"] == {ALL: pytest.approx(0.3), CHOSEN: 0.2, ONLY_REPORTED: 0.5}
    assert found["stream flagged worst"] == {ALL: 0.5, CHOSEN: 0.3, ONLY_REPORTED: 0.5}


def test_single_faults_are_weighted_by_calls_and_kinds_count_alike():
    report = {
        "apibank/calls": {"genuine": {"n": 9}, "scaled": {"n": 30, "low": 1.0}, "mixed": {"n": 5, "low": 0.2}},
        "mcp_recorded/time": {"genuine": {"n": 9}, "scaled": {"n": 10, "low": 0.0}},
        "all": {"macro": {"low": 0.9}},
    }

    assert single(report)["single macro"] == {ALL: pytest.approx((0.75 + 0.2) / 2), CHOSEN: 0.6, ONLY_REPORTED: 0.0}


def test_two_runs_are_one_by_trials():
    chosen = {"dates": {"trials": 3, "flagged": 0.2, "worst": 0.4}}
    reported = {
        "dates": {"trials": 1, "flagged": 0.6, "worst": 0.6},
        "slower": {"trials": 2, "flagged": 0.1, "worst": 0.1},
    }
    found = trials(chosen, reported, ("dates", "slower", "faster"), ("flagged", "worst"))

    assert found["dates flagged"] == {CHOSEN: 0.2, ONLY_REPORTED: 0.6, ALL: pytest.approx(0.3)}
    assert found["dates worst"][ALL] == 0.6
    assert found["slower flagged"] == {CHOSEN: None, ONLY_REPORTED: 0.1, ALL: pytest.approx(0.1)}
    assert ALL not in found["faster flagged"]


def test_the_section_holds_every_goal_of_the_record(monkeypatch, tmp_path):
    record = {
        "figures": {
            "single macro": {ALL: 0.6, CHOSEN: 0.7, ONLY_REPORTED: 0.58},
            "everyday over 10%": {ALL: 2},
            "null retried": {ALL: 1.0},
            "empty retried": {ALL: 0.9},
        },
        "curve": [{"label": "default", "flagged": {CHOSEN: 0.05, ONLY_REPORTED: 0.07}, "held": {CHOSEN: 0.9}}],
    }
    monkeypatch.setattr(unreviewed, "FIGURES", tmp_path / "figures.json")
    unreviewed.FIGURES.write_text(json.dumps(record))
    section = unreviewed.section()
    text = "\n\n".join(section.text)

    assert len(section.lines) == len(unreviewed.GOALS) + 1
    assert "| single faults in a stream, mean over kinds | 0.700 | 0.580 | 0.600 | ≥ 0.620 | missed by 0.020 |" in text
    assert "single faults, sources that were only reported | – | 0.580 | 0.580 | ≥ 0.580 | reached |" in text
    assert "| … tools of which more than 10% are not | – | – | 2 | ≤ 0 | missed by 2 |" in text
    assert "| … retried, the worst kind but dropped and scaled | – | – | 0.900 | ≥ 1.000 | missed by 0.100 |" in text
    assert "| default | 5.0% | 0.900 | 7.0% | – |" in text
    goals = "Goals of the default engine: 0 of 0 reached, 0 missed, 0 not measured."
    said = f"1 of {len(section.lines)} reached, 3 missed, {len(section.lines) - 4} not measured"
    assert said in renewed(f"{goals}\n\n## The default, with nobody reviewing\n", [section])


def test_without_a_record_nothing_is_said_to_be_measured(monkeypatch, tmp_path):
    monkeypatch.setattr(unreviewed, "FIGURES", tmp_path / "figures.json")

    assert unreviewed.section().text[1] == "Not measured: `python benchmarks/unreviewed/run.py`."
