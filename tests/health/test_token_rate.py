"""The token rate engine beyond its document: other thresholds, and what is no rate."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.health._judging import check_rate, rate_of

from ..rows import over


def test_the_rate() -> None:
    """50 tokens in 2,000 ms: 50 / 2000 * 1000."""
    assert rate_of(50, 2000.0) == 25.0


@over(
    ("tokens", "latency_ms"),
    [(None, 10.0), (5, None), (5, 0.0), (-1, 10.0), (5, math.nan), (10**400, 1.0), (1e308, 1e-9)],
)
def test_there_is_no_rate_without_both_figures(tokens: float | None, latency_ms: float | None) -> None:
    assert rate_of(tokens, latency_ms) is None


@pytest.mark.parametrize(("rate", "status"), [(76.0, "ok"), (75.0, "warn"), (51.0, "warn"), (50.0, "error")])
def test_a_threshold_belongs_to_the_worse_side(rate: float, status: str) -> None:
    """In quarters, which are exact: 0.25 warns and 0.5 is in error."""
    assert check_rate(rate, 100.0, warn=0.25, error=0.5).status == status


@pytest.mark.parametrize(("rate", "usual"), [(None, 10.0), (math.nan, 10.0), (5.0, None), (5.0, 0.0)])
def test_a_missing_rate_is_not_judged(rate: float | None, usual: float | None) -> None:
    assert not check_rate(rate, usual).applicable


@given(st.floats(), st.floats())
def test_the_value_is_a_share(rate: float, usual: float) -> None:
    assert 0.0 <= check_rate(rate, usual).value <= 1.0
