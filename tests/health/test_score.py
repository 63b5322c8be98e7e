"""The health score beyond its document."""

from __future__ import annotations

import pytest

from agentguard.health import EngineResult, health_score_engine
from agentguard.health._judging import WEIGHTS

FIRST = EngineResult("first_token", 1.0, "error")


def test_a_metric_without_a_weight_is_not_counted() -> None:
    assert health_score_engine([FIRST]) == (None, "unknown")
    assert health_score_engine([EngineResult("latency", 0.5, "ok"), FIRST]).score == 0.5


def test_weights_are_an_argument() -> None:
    """(1 · 0.5 + 3 · 1) / 4."""
    results = [EngineResult("latency", 0.5, "ok"), FIRST]
    assert health_score_engine(results, weights={"latency": 1.0, "first_token": 3.0}).score == pytest.approx(0.875)


def test_the_weights_cannot_be_changed_for_everybody() -> None:
    with pytest.raises(TypeError):
        WEIGHTS["latency"] = 1.0  # type: ignore[index]  # on purpose
