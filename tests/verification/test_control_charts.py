"""The control charts against the definitions and the run lengths in the literature."""

import random
from collections import deque
from statistics import fmean

import pytest

from agentguard.verification.statistics import RUN_RULES, EwmaChart, western_electric


def numbers(series, mean=0.0, std=1.0):
    return [rule.number for rule in western_electric(series, mean, std)]


# The definitions are those of the Western Electric "Statistical Quality Control Handbook" (1956), tests for
# instability; the series are made for them, in standard deviations from the mean, newest last.
ALONE = [
    ([0.4, -0.7, 3.1], [1]),  # one point beyond 3
    ([0.4, -0.7, -3.1], [1]),
    ([-0.5, 2.1, 0.3, 2.4], [2]),  # 2 of 3 beyond 2, the odd point between them
    ([-0.5, 2.1, 2.4], [2]),
    ([2.1, 2.4, -0.3], [2]),  # the odd point last
    ([0.5, -2.1, -2.4], [2]),
    ([-0.2, 1.1, 1.2, -0.4, 1.3, 1.4], [3]),  # 4 of 5 beyond 1
    ([1.1, 1.2, 1.3, 1.4], [3]),
    ([-1.1, -1.2, 0.3, -1.3, -1.4], [3]),
    ([0.1, 0.4, 0.2, 0.9, 0.3, 0.1, 0.6, 0.2], [4]),  # 8 in a row on one side
    ([-0.1, -0.4, -0.2, -0.9, -0.3, -0.1, -0.6, -0.2], [4]),
]
JUST_NOT = [
    [0.4, -0.7, 3.0],  # on the line is not beyond it
    [3.1, 0.4],  # the point beyond 3 is not the newest
    [2.1, -0.3, 0.5, 2.4],  # 2 of 4
    [-2.1, 0.3, 2.4],  # not on the same side
    [2.0, 0.3, 2.4],
    [1.1, 1.2, -0.4, 0.3, 1.3, 1.4],  # 3 of the last 5
    [1.1, 1.2, -0.4, 1.0, 1.3],
    [1.1, -1.2, 1.3, 1.4, -0.1],
    [0.4, 0.2, 0.9, 0.3, 0.1, 0.6, 0.2],  # 7 points
    [0.1, 0.4, 0.2, 0.0, 0.3, 0.1, 0.6, 0.2],  # one on the mean
    [0.1, 0.4, 0.2, -0.1, 0.3, 0.1, 0.6, 0.2],
    [],
]


@pytest.mark.parametrize(("series", "expected"), ALONE)
def test_each_rule_alone(series, expected):
    assert numbers(series) == expected


@pytest.mark.parametrize("series", JUST_NOT)
def test_just_no_rule(series):
    assert numbers(series) == []


def test_all_four_at_once():
    assert numbers([0.5, 0.5, 0.5, 1.5, 1.5, 1.5, 2.5, 3.5]) == [1, 2, 3, 4]


def test_older_points_do_not_count():
    assert numbers([9.0, 9.0, 9.0, -0.1, 0.4, 0.2, -0.9, 0.3, -0.1, 0.6, -0.2]) == []


@pytest.mark.parametrize(("series", "expected"), ALONE)
def test_mean_and_scale_are_taken_out(series, expected):
    assert numbers([500 + 20 * x for x in series], mean=500.0, std=20.0) == expected


def test_without_spread_there_are_no_zones():
    assert numbers([5.0] * 8, mean=0.0, std=0.0) == []


def test_weights_are_the_documents():
    assert {rule.number: rule.weight for rule in RUN_RULES} == {1: 0.40, 2: 0.25, 3: 0.20, 4: 0.15}


def test_run_length_of_the_four_rules():
    """91.75 points on average: Champ & Woodall, Technometrics 29 (1987), for rules 1-4 together on N(0, 1).

    The spread of a run length is about its mean, so that of the mean over 4,000 runs is about 1.6%.
    """
    normal = random.Random(1956).gauss
    lengths = []
    for _ in range(4_000):
        points = deque(maxlen=8)
        length = 0
        while True:
            length += 1
            points.append(normal(0.0, 1.0))
            if western_electric(list(points), 0.0, 1.0):
                break
        lengths.append(length)

    assert fmean(lengths) == pytest.approx(91.75, rel=0.03)


def test_run_length_of_the_moving_average():
    """About 500 points at weight 0.2 and width 2.962: J. M. Lucas, M. S. Saccucci, Technometrics 32 (1990).

    Theirs has constant limits, ours start narrow, which costs a percent or two; the mean over 4,000 runs is good to
    1.6%.
    """
    normal = random.Random(1959).gauss
    lengths = []
    for _ in range(4_000):
        chart = EwmaChart(0.0, 1.0, weight=0.2, width=2.962)
        while not chart.push(normal(0.0, 1.0)):
            pass
        lengths.append(chart.n)

    assert fmean(lengths) == pytest.approx(500.0, rel=0.06)


def test_moving_average_by_hand():
    """Weight 0.2: 0.2 * 2 = 0.4, then 0.2 * 2 + 0.8 * 0.4 = 0.72; the variances are 0.04 and 0.04 + 0.0256."""
    chart = EwmaChart(mean=10.0, std=1.0)

    assert chart.statistic == 0.0
    assert not chart.push(12.0)
    assert chart.average == pytest.approx(10.4)
    assert chart.statistic == pytest.approx(0.4 / 0.2)
    assert not chart.push(12.0)
    assert chart.statistic == pytest.approx(0.72 / 0.0656**0.5)


def test_moving_average_alarms_on_either_side_beyond_its_width():
    """The first value is held against the width itself: |x - mean| / std > 3.2."""
    assert EwmaChart(0.0, 2.0).push(6.42)
    assert EwmaChart(0.0, 2.0).push(-6.42)
    assert not EwmaChart(0.0, 2.0).push(6.38)
    assert not EwmaChart(0.0, 0.0).push(1e9)
