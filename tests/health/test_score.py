"""The health score, by its document: weights .25, .25, .30, .20, renormalised by those that are there."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.health import EngineResult
from agentguard.health._judging import WEIGHTS, label_of, score_of

from ..rows import over


def result(metric: str, value: float, *, applicable: bool = True) -> EngineResult:
    return EngineResult(metric, value, "ok", applicable, "")


ALL = [result("latency", 0.5), result("token_rate", 0.2), result("fingerprint", 0.4), result("structure", 1.0)]


def test_all_metrics() -> None:
    """0.25 · 0.5 + 0.25 · 0.2 + 0.3 · 0.4 + 0.2 · 1 = 0.125 + 0.05 + 0.12 + 0.2."""
    assert score_of(ALL) == pytest.approx(0.495)


def test_a_missing_metric_is_left_out() -> None:
    """Without structure: (0.125 + 0.05 + 0.12) / 0.8; of the fingerprint alone: its own value."""
    assert score_of(ALL[:3]) == pytest.approx(0.36875)
    assert score_of([result("latency", 0.9, applicable=False), result("fingerprint", 0.4)]) == pytest.approx(0.4)


def test_without_metrics_there_is_no_score() -> None:
    assert score_of([]) is None
    assert score_of([result("latency", 0.9, applicable=False), result("first_token", 1.0)]) is None


def test_weights_are_an_argument() -> None:
    """(1 · 0.5 + 3 · 1) / 4."""
    found = score_of([*ALL[:1], result("first_token", 1.0)], {"latency": 1.0, "first_token": 3.0})
    assert found == pytest.approx(0.875)


def test_the_weights_cannot_be_changed_for_everybody() -> None:
    with pytest.raises(TypeError):
        WEIGHTS["latency"] = 1.0  # type: ignore[index]  # on purpose


@over(
    ("score", "label"),
    [
        (0.0, "stable"),
        (0.25, "stable"),
        (math.nextafter(0.25, 1), "minor_variation"),
        (0.5, "minor_variation"),
        (math.nextafter(0.5, 1), "degraded"),
        (0.75, "degraded"),
        (math.nextafter(0.75, 1), "unstable"),
        (1.0, "unstable"),
        (None, "unknown"),
    ],
)
def test_labels_at_their_limits(score: float | None, label: str) -> None:
    assert label_of(score) == label


def test_limits_are_arguments() -> None:
    assert label_of(0.3, stable=0.1, minor=0.2, degraded=0.3) == "degraded"


@given(st.lists(st.tuples(st.sampled_from([*WEIGHTS, "own"]), st.floats(0, 1), st.booleans())))
def test_the_score_is_a_share(results: list[tuple[str, float, bool]]) -> None:
    score = score_of([result(metric, value, applicable=applicable) for metric, value, applicable in results])

    assert score is None or 0.0 <= score <= 1.0
