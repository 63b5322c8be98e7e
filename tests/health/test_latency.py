"""The latency engine beyond its document: other thresholds, and what is no time."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.health._judging import check_latency

from ..rows import over


def test_thresholds_are_arguments() -> None:
    """Deviation 0.5 of error 1 is 0.5; deviation 1 is in error."""
    assert check_latency(150.0, 100.0, warn=0.5, error=1.0)[1:3] == (0.5, "warn")
    assert check_latency(200.0, 100.0, warn=0.5, error=1.0)[1:3] == (1.0, "error")
    assert check_latency(100.0, 100.0, warn=0.0, error=0.0)[1:3] == (1.0, "error")


@over("now", [None, -1.0, math.nan, math.inf, True, "100", 10**400])
def test_what_is_no_time_is_not_judged(now: object) -> None:
    assert not check_latency(now, 100.0).applicable  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize("usual", [None, 0.0, math.nan])
def test_without_a_usual_time_nothing_is_judged(usual: float | None) -> None:
    assert not check_latency(100.0, usual).applicable


@given(st.floats(), st.floats())
def test_the_value_is_a_share(now: float, usual: float) -> None:
    assert 0.0 <= check_latency(now, usual).value <= 1.0
