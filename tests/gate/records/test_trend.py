"""The risk over time."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.gate._history import trend
from agentguard.gate.records._base import RunSummary

RUN = RunSummary("r", "finished", 0.0, "help", "1f", "m", "rules", "h:1", decision="deploy", risk=0.0, total_claims=50)


def runs(*risks: float, claims: int = 50) -> list[RunSummary]:
    return [
        replace(RUN, run_id=f"r{n:02d}", started=float(n), risk=risk, total_claims=claims)
        for n, risk in enumerate(risks)
    ]


def test_a_steady_rise_is_told() -> None:
    found = trend(reversed(runs(0.02, 0.05, 0.08, 0.11, 0.14, 0.17)))

    assert [point.run_id for point in found.points] == ["r00", "r01", "r02", "r03", "r04", "r05"]
    assert found.direction == "rising"
    assert found.slope == pytest.approx(0.03)
    assert found.p_value == pytest.approx(2 / math.factorial(6))  # of 720 orders one rises always, and one falls
    assert found.mean == pytest.approx(0.095)
    assert found.explanation == "over 6 runs the risk rises by 0.030 a run (p = 0.003)"


def test_a_fall_is_told() -> None:
    found = trend(runs(0.5, 0.4, 0.3, 0.2, 0.1))

    assert found.direction == "falling"
    assert found.slope == pytest.approx(-0.1)
    assert "falls by 0.100 a run" in found.explanation


def test_up_and_down_is_steady() -> None:
    found = trend(runs(0.10, 0.12, 0.09, 0.11, 0.10, 0.12))

    assert found.direction == "steady"
    assert found.p_value is not None
    assert found.p_value > 0.3


def test_one_wild_run_turns_no_slope() -> None:
    assert trend(runs(0.1, 0.1, 0.9, 0.1, 0.1)).slope == 0.0


def test_few_runs_have_no_direction() -> None:
    assert trend([]).explanation == "no run is finished yet"
    one = trend(runs(0.1))
    assert (one.slope, one.p_value, one.direction) == (None, None, "unknown")
    assert trend(runs(0.1, 0.2, 0.3, 0.4)).direction == "unknown"
    assert trend(runs(0.1, 0.2)).slope == pytest.approx(0.1)


def test_only_finished_runs_with_claims_count() -> None:
    others = [
        replace(RUN, status="running", risk=None, decision=None, total_claims=None),
        replace(RUN, status="failed", risk=None, decision=None, total_claims=None),
        replace(RUN, total_claims=0, decision="warn"),
    ]

    assert trend(others).points == ()


def test_limits_are_those_of_a_proportion() -> None:
    # Seven runs alternate by so little that only chance widens: mean 0.1, error sqrt(0.1 × 0.9 / 100) = 0.03.
    found = trend(runs(*[0.09, 0.11] * 4, claims=100))

    assert found.points[0].low == pytest.approx(0.01)
    assert found.points[0].high == pytest.approx(0.19)
    assert not any(point.is_outside for point in found.points)


def test_a_run_out_of_the_range_is_named() -> None:
    found = trend(runs(0.10, 0.11, 0.09, 0.10, 0.11, 0.10, 0.09, 0.10, 0.11, 0.10, 0.10, 0.50, claims=200))

    assert [point.run_id for point in found.points if point.is_outside] == ["r11"]
    assert found.explanation.endswith("out of the range of chance: r11")


def test_runs_that_vary_more_than_their_claims_explain_widen_the_range() -> None:
    # 10,000 claims a run make an error of 0.003, but runs lie 0.1 apart: scores differ by 33.3 each time.
    found = trend(runs(*[0.05, 0.15] * 4, claims=10_000))
    error = math.sqrt(0.1 * 0.9 / 10_000)
    wider = (0.1 / error) / 1.128

    assert found.points[0].high == pytest.approx(0.1 + 3 * error * wider)
    assert not any(point.is_outside for point in found.points)


def test_no_risk_at_all_is_no_alarm() -> None:
    found = trend(runs(*[0.0] * 9))

    assert [(point.low, point.high, point.is_outside) for point in found.points] == [(0.0, 0.0, False)] * 9
    assert found.direction == "steady"


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 500)), max_size=25))
def test_any_history_has_a_trend(history: list[tuple[float, int]]) -> None:
    summaries = [
        replace(RUN, run_id=f"r{n:02d}", started=float(n), risk=risk, total_claims=claims)
        for n, (risk, claims) in enumerate(history)
    ]
    found = trend(summaries)

    assert len(found.points) == len(history)
    for point in found.points:
        if point.low is not None and point.high is not None:
            assert 0 <= point.low <= point.high <= 1
    assert found.p_value is None or 0 <= found.p_value <= 1
