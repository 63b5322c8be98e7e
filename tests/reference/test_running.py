import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.verification.statistics import RunningStats

VALUES = st.floats(min_value=-1e6, max_value=1e6)


def pushed(values, keep=100):
    stats = RunningStats(keep)
    for x in values:
        stats.push(x)
    return stats


def close(value):
    return pytest.approx(value, rel=1e-9, abs=1e-3)


@given(st.lists(VALUES, min_size=2, max_size=300))
def test_equals_the_two_pass_formulas(values):
    stats = pushed(values)

    assert stats.n == len(values)
    assert stats.mean == pytest.approx(statistics.fmean(values), rel=1e-9, abs=1e-6)
    assert stats.variance == close(statistics.variance(values))
    assert stats.std == math.sqrt(stats.variance)


@given(st.lists(VALUES, max_size=300), st.integers(min_value=0, max_value=400))
def test_remembers_the_last_hundred_in_order(values, count):
    stats = pushed(values)

    assert stats.recent() == tuple(values[-100:])
    assert stats.recent(count) == tuple(values[-min(count, 100) :] if count else ())


def test_the_buffer_goes_round():
    assert pushed(range(250)).recent() == tuple(range(150, 250))
    assert pushed(range(250)).recent(3) == (247, 248, 249)


def test_a_large_offset_costs_no_precision():
    """Variance 30 of 4, 7, 13, 16, also far from zero, where the sum of squares would lose every digit."""
    assert pushed([1e9 + x for x in (4, 7, 13, 16)]).variance == pytest.approx(30.0, rel=1e-9)


def test_too_few_values_have_no_spread():
    assert (RunningStats().mean, RunningStats().variance, RunningStats().z(3.0)) == (0.0, 0.0, None)
    assert (pushed([3.0]).variance, pushed([3.0]).z(4.0)) == (0.0, None)


def test_rounding_noise_is_no_spread():
    noisy = pushed([0.3, 0.1 + 0.2] * 10)

    assert noisy.std > 0.0
    assert noisy.spread == 0.0
    assert noisy.z(0.4) is None


def test_z_is_in_standard_deviations():
    """Mean 5, variance 32/7: 5 + 2 * sqrt(32/7) lies at 2."""
    assert pushed([2, 4, 4, 4, 5, 5, 7, 9]).z(5 + 2 * math.sqrt(32 / 7)) == pytest.approx(2.0)


def test_nothing_is_kept_where_nothing_is_asked_for():
    stats = pushed([1.0, 3.0], keep=0)

    assert (stats.mean, stats.recent(), stats.recent(5)) == (2.0, (), ())


@given(st.lists(st.floats(min_value=-1e150, max_value=1e150), max_size=50))
def test_squares_of_the_largest_fields_stay_finite(values):
    stats = pushed(values)

    assert math.isfinite(stats.mean)
    assert math.isfinite(stats.variance)
    assert stats.variance >= 0.0
