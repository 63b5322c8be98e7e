"""The control charts of latency and size: quiet while nothing changes, quick when something does."""

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.verification._document import read
from agentguard.verification.drift import ALARM, WARM_UP, Drift, Stuck, is_poor


def first_alarm(points, drift=None, name="x"):
    """How many of the points it takes to an alarm; all of them where none comes."""
    drift = drift or Drift()
    for number, x in enumerate(points, 1):
        statistic = drift.statistic(name, x)
        if statistic is not None and statistic >= 1.0:
            return number
        drift.push(name, x)
    return number


def after(points):
    drift = Drift()
    for x in points:
        drift.push("x", x)
    return drift


def normal(seed, count, mean=6.0, spread=0.4):
    rng = random.Random(seed)
    return [rng.gauss(mean, spread) for _ in range(count)]


def test_says_nothing_during_warm_up():
    drift = Drift()
    for count, x in enumerate(normal(1, WARM_UP)):
        assert drift.count("x") == count
        assert drift.statistic("x", 1e6) is None
        drift.push("x", x)
    assert drift.statistic("x", 6.0) is not None


def test_asking_changes_nothing():
    drift = after(normal(1, 60))
    assert drift.statistic("x", 9.0) == drift.statistic("x", 9.0)
    assert first_alarm(normal(2, 30), drift) == first_alarm(normal(2, 30), after(normal(1, 60)))


def test_numbers_are_charted_apart():
    drift = after(normal(1, 60))
    assert drift.statistic("y", 6.0) is None
    assert (drift.count("x"), drift.count("y")) == (60, 0)


@pytest.mark.parametrize("spread", [0.4, 1.0])
def test_runs_about_a_thousand_points_between_false_alarms(spread):
    # Run lengths are about geometric, so that the mean of 60 of them has a standard error of 13%: between 600 and
    # 2,500 is about a thousand. (Roberts' chart with known mean and spread, lambda .2, L 3.2: about 900.)
    runs = [first_alarm(normal(seed, 6_000, spread=spread)) for seed in range(60)]
    assert 600 < statistics.fmean(runs) < 2_500


def test_inertia_is_no_drift():
    def autoregressive(seed, count):
        rng, x, points = random.Random(seed), 0.0, []
        for _ in range(count):
            x = 0.7 * x + rng.gauss(0, 0.5)
            points.append(6.0 + x)
        return points

    assert statistics.fmean(first_alarm(autoregressive(seed, 4_000)) for seed in range(40)) > 600


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("warm", [60, 400])
def test_a_shift_by_three_spreads_is_noticed_at_once(direction, warm):
    # In spreads of the chart, (.2 / 1.8)^.5 = 1/3, three spreads of the data add 3 x .2 x 3 = 1.8 at the first point
    # and 1.8 (1 + .8 + .64) = 4.4 > 3.2 by the third; chance delays some, and the autoregression takes a part.
    delays = [
        first_alarm(normal(1_000 + seed, 60, mean=6.0 + direction * 3 * 0.4), after(normal(seed, warm)))
        for seed in range(40)
    ]
    assert statistics.median(delays) <= 6
    assert max(delays) <= 30


def test_a_shift_by_one_spread_is_noticed_before_long():
    delays = [first_alarm(normal(1_000 + seed, 300, mean=6.4), after(normal(seed, 400))) for seed in range(40)]
    assert statistics.median(delays) <= 30


def test_the_level_of_the_first_point_does_not_matter():
    near, far = after(normal(3, 100, mean=1.0)), after(normal(3, 100, mean=1_000.0))
    assert far.statistic("x", 1_001.0) == pytest.approx(near.statistic("x", 2.0), rel=1e-6)


def test_one_outlier_is_no_drift():
    assert after(normal(4, 100)).statistic("x", 1e6) < 1.5
    later = after([*normal(4, 100), 60.0, *normal(5, 20)])
    assert later.statistic("x", 6.0) < 1.0


def test_a_lasting_change_becomes_the_new_level():
    drift = after([*normal(6, 200), *normal(7, 1_000, mean=9.0)])
    assert drift.statistic("x", 9.0) < 1.0
    assert first_alarm(normal(8, 60, mean=6.0), drift) < 10


@given(st.lists(st.floats(-710, 710), max_size=80), st.floats(-710, 710))
def test_any_points_can_be_charted(points, x):
    statistic = after(points).statistic("x", x)
    assert statistic is None or statistic >= 0.0
    assert (statistic is None) == (len(points) < WARM_UP)


def test_a_constant_is_no_drift():
    assert first_alarm([5.0] * 2_000) == 2_000


def repeated(stuck, times, *, poor=False):
    """The evidence of so many repetitions of answer 7 to new questions."""
    stuck.push(7, b"first", poor=poor)
    for number in range(times):
        stuck.push(7, b"%d" % number, poor=poor)
    return stuck.evidence


def varied(calls=60):
    stuck = Stuck()
    for number in range(calls):
        stuck.push(100 + number, b"of %d" % number)
    return stuck


def test_an_answer_that_says_nothing_may_come_many_times_in_a_row():
    assert repeated(varied(), 4) >= ALARM
    # Each repetition adds -ln(.6) = .51 nats, and 1,000 to one, 6.9 nats, are 14 of them.
    assert repeated(varied(), 13, poor=True) < ALARM <= repeated(varied(), 14, poor=True)
    assert is_poor(read({"found": 0, "rows": [], "note": ""}))
    assert is_poor(read([]))
    assert not is_poor(read({"found": 0, "state": "open"}))


def test_an_answer_that_came_in_runs_before_is_held_to_its_own():
    stuck = varied()
    for run in range(12):
        for number in range(5):
            stuck.push(7, b"%d in %d" % (number, run))
        stuck.push(1_000 + run, b"between %d" % run)
    assert repeated(stuck, 5) < ALARM
    assert len(stuck.runs) == 1
