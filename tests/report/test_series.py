"""Individuals charts: limits and alarms worked out by hand, and bounds that hold whatever comes."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.report._records import Limits
from agentguard.report._series import BASELINE, HELD, LATELY, POINTS, Series, _Rules, limits_of
from agentguard.verification.statistics import western_electric

LEVELS = [10.0, 11.0, 10.0, 9.0]  # neighbours differ by 1, always


def pushed(values: list[float], **how: bool) -> Series:
    series = Series()
    for x in values:
        series.push(x, **how)
    return series


def test_limits_are_median_and_median_range() -> None:
    limits = limits_of(LEVELS * 25)

    assert limits is not None
    assert limits.centre == 10.0
    assert limits.sigma == pytest.approx(1.0 / 0.9539)
    # Wheeler and Chambers: X-tilde plus and minus 3.145 times the median moving range.
    assert limits.upper == pytest.approx(10.0 + 3.145, abs=5e-4)
    assert limits.lower == pytest.approx(10.0 - 3.145, abs=5e-4)
    assert limits.values == 100


def test_a_few_bad_values_among_the_first_do_not_widen_the_limits() -> None:
    values = LEVELS * 25
    values[20] = values[60] = 1_000.0

    limits = limits_of(values)

    assert limits is not None
    assert limits.sigma == pytest.approx(1.0 / 0.9539)


def test_mean_ranges_stand_in_where_most_values_repeat() -> None:
    values = [5.0] * 8 + [6.0]  # ranges: seven of 0, one of 1

    limits = limits_of(values)

    assert limits is not None
    assert limits.sigma == pytest.approx((1.0 / 8.0) / 1.128)


@pytest.mark.parametrize("values", [[], [1.0, 2.0, 3.0], [4.0] * 50])
def test_no_limits_without_values_or_spread(values: list[float]) -> None:
    assert limits_of(values) is None
    assert pushed(values).chart("x", "", "log").limits is None


def test_a_value_beyond_is_marked_where_it_stands() -> None:
    chart = pushed([*LEVELS * 30, 20.0, *LEVELS]).chart("latency", "ms", "log")

    assert chart.beyond == 1
    assert [point.first for point in chart.points if 1 in point.rules] == [121]
    assert chart.values == 125


def test_a_shift_of_one_sigma_is_a_run() -> None:
    chart = pushed([*LEVELS * 25, *[10.5] * 8]).chart("latency", "ms", "log")

    assert chart.beyond == 0
    assert [point.first for point in chart.points if 4 in point.rules] == [108]  # the eighth on one side


def test_flagged_calls_are_held_against_limits_and_no_part_of_them() -> None:
    series = Series()
    for k in range(200):
        series.push(LEVELS[k % 4] if k % 2 else 50.0, usable=bool(k % 2))
    chart = series.chart("x", "", "signed log")

    assert chart.limits is not None
    assert chart.limits.values == 100
    assert chart.limits.centre in (9.0, 10.0, 11.0)
    assert chart.beyond == 100


def test_limits_stay_as_they_were_set() -> None:
    chart = pushed([*LEVELS * 25, *[30.0] * 300]).chart("x", "", "log")

    assert chart.limits is not None
    assert chart.limits.centre == 10.0
    assert chart.beyond == 300
    assert chart.lately == 30.0


def test_lately_is_told_only_of_values_after_the_limits() -> None:
    assert pushed(LEVELS * 25).chart("x", "", "log").lately is None
    assert pushed([*LEVELS * 25, *[12.0] * (LATELY - 1)]).chart("x", "", "log").lately is None
    assert pushed([*LEVELS * 25, *[12.0] * LATELY]).chart("x", "", "log").lately == 12.0


def test_the_guards_own_alarms_are_kept_when_points_are_merged() -> None:
    series = Series()
    for k in range(1_000):
        series.push(LEVELS[k % 4], alarm=k in (500, 700))
    chart = series.chart("latency", "ms", "log")

    assert chart.alarms == 2
    assert chart.first_alarm == 501
    assert sum(point.alarms for point in chart.points) == 2
    first = next(point for point in chart.points if point.alarms)
    assert first.first <= 501 < first.first + first.size


@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.booleans()), max_size=1_100),
)
def test_points_are_the_values_put_together(values: list[tuple[float, bool]]) -> None:
    series = Series()
    for x, usable in values:
        series.push(x, usable=usable)
    chart = series.chart("x", "", "log")

    assert len(chart.points) <= POINTS
    assert sum(point.size for point in chart.points) == len(values) == chart.values
    at = 0
    for point in chart.points:
        part = [x for x, _ in values[at : at + point.size]]
        assert point.first == at + 1
        assert (point.low, point.high) == (min(part), max(part))
        assert point.mean == pytest.approx(math.fsum(part) / len(part), rel=1e-9, abs=1e-6)
        assert point.low <= point.mean <= point.high
        at += point.size


@given(st.integers(0, 2**32), st.integers(0, 700), st.floats(0.0, 0.6))
def test_alarms_are_those_of_the_rules_on_every_value(seed: int, count: int, bad: float) -> None:
    rng = random.Random(seed)
    values = [(rng.gauss(0.0, 1.0), rng.random() >= bad) for _ in range(count)]
    series = Series()
    for x, usable in values:
        series.push(x, usable=usable)
    chart = series.chart("x", "", "log")

    settled = next(
        (k for k in range(1, count + 1) if k >= HELD or sum(fit for _, fit in values[:k]) >= BASELINE), count
    )
    first = [x for x, usable in values[:settled] if usable]
    numbers = [x for x, _ in values]
    if len(first) < 8:
        assert (chart.limits, chart.beyond, chart.runs) == (None, 0, 0)
        return
    sigma = median(abs(b - a) for a, b in pairwise(first)) / 0.9539
    rules = [{rule.number for rule in western_electric(numbers[max(k - 7, 0) : k + 1], median(first), sigma)}
             for k in range(count)]  # fmt: skip
    assert chart.beyond == sum(1 in held for held in rules)
    assert chart.runs == sum(bool(held) and 1 not in held for held in rules)
    for point in chart.points:
        part = rules[point.first - 1 : point.first - 1 + point.size]
        assert set(point.rules) == set().union(*part)


@given(st.lists(st.floats(-60.0, 60.0) | st.sampled_from([0.0, 10.0, 20.0, 30.0]), min_size=8, max_size=60))
def test_the_rules_of_a_long_series_are_those_of_its_latest_values(values: list[float]) -> None:
    limits = Limits(0.0, 10.0, 100)
    rules = _Rules(limits, values[:7])

    for k in range(7, len(values)):
        expected = western_electric(values[k - 7 : k + 1], limits.centre, limits.sigma)
        assert rules.push(values[k]) == sum(1 << (rule.number - 1) for rule in expected)
