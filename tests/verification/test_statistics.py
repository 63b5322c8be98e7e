"""Streams in constant memory, held against numpy, scipy, and plain lists."""

import math
import random
from bisect import bisect_right
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from agentguard.verification.statistics import (
    USUAL_P,
    Categories,
    Level,
    Rate,
    Ring,
    Surprises,
    signed_log,
    student_t4_tail,
)

LOGS = st.floats(-710, 710)  # signed logs of all finite floats: ln(1.8e308) is 709.8
SURPRISES = st.floats(0, 700)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_signed_log_is_odd_and_is_numpys_log1p(x):
    assert signed_log(x) == pytest.approx(np.sign(x) * np.log1p(abs(x)))
    assert signed_log(-x) == -signed_log(x)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_signed_log_keeps_the_order(x, y):
    assert (x <= y) <= (signed_log(x) <= signed_log(y))


class TestStudentTail:
    @given(st.floats(-1e4, 1e4))
    def test_is_scipys(self, t):
        # In double precision 1 - (1 - p) keeps p to about 1e-16; below 1e-12 the tail is held there.
        assert student_t4_tail(t) == pytest.approx(max(2 * student.sf(abs(t), df=4), 1e-12), rel=1e-9, abs=1e-14)

    @given(st.floats())
    def test_is_a_p_value_for_any_number(self, t):
        assert math.isnan(t) or 0.0 < student_t4_tail(t) <= 1.0

    @pytest.mark.parametrize("t", [1e7, 1e160, math.inf, -math.inf])
    def test_is_least_at_the_extremes(self, t):
        assert student_t4_tail(t) <= 2e-12


class TestRate:
    def test_by_hand(self):
        rate = Rate()
        for hit in (True, False, False, True):
            rate.push(hit)
        assert rate.mean() == pytest.approx((2 + 0.5) / (4 + 1.5))
        assert rate.mean(prior=0.1, strength=10) == pytest.approx((2 + 1) / (4 + 10))

    def test_weights_count_as_parts_of_an_observation(self):
        rate = Rate()
        rate.push(True, 0.25)
        rate.push(False, 0.5)
        assert rate.mean() == pytest.approx((0.25 + 0.5) / (0.75 + 1.5))

    @pytest.mark.parametrize("prior", [0.001, 0.3, 0.999])
    def test_without_observations_it_is_the_prior(self, prior):
        assert Rate().mean(prior, 7.0) == pytest.approx(prior)

    @given(
        st.lists(st.tuples(st.booleans(), st.floats(0, 1)), max_size=50), st.floats(0.001, 0.999), st.floats(0.01, 100)
    )
    def test_is_a_probability_short_of_certainty(self, observations, prior, strength):
        rate = Rate()
        for hit, weight in observations:
            rate.push(hit, weight)
        assert 0.0 < rate.mean(prior, strength) < 1.0

    def test_old_calls_fade(self):
        rate = Rate()
        for _ in range(5_000):
            rate.push(False)
        for _ in range(5_000):
            rate.push(True)
        assert rate.mean() > 0.95
        assert rate.total < 5_000


class TestCategories:
    def filled(self, **counts):
        categories = Categories()
        for value, count in counts.items():
            for _ in range(count):
                categories.push(value)
        return categories

    def test_an_unseen_value_has_the_good_turing_mass(self):
        # Seen once: c and d. Good-Turing: singles / total, here smoothed as (2 + 1/2) / (24 + 3/2).
        assert self.filled(a=20, b=2, c=1, d=1).p("never") == pytest.approx(2.5 / 25.5)

    def test_a_rare_value_has_the_mass_of_all_that_are_at_most_as_frequent(self):
        categories = self.filled(a=95, b=3, c=1, d=1)
        assert categories.p("b") == pytest.approx((3 + 1 + 1 + 0.5) / 101)
        assert categories.p("c") == pytest.approx((1 + 1 + 0.5) / 101)

    def test_a_usual_value_is_no_surprise(self):
        assert self.filled(a=60, b=40).p("b") == 1.0

    def test_where_all_values_are_new_another_new_one_is_no_surprise(self):
        categories = self.filled(**{f"v{n}": 1 for n in range(100)})
        assert categories.p("another") > 0.95

    def test_where_nothing_was_ever_new_a_new_value_is_a_surprise(self):
        assert self.filled(a=1_000, b=1_000).p("c") < 0.001

    def test_nothing_is_known_at_first(self):
        assert Categories().p("x") > 0.3

    @given(st.lists(st.integers(0, 12), max_size=200), st.integers(0, 15))
    def test_p_is_a_p_value_and_counts_are_right(self, values, value):
        categories = Categories()
        for seen in values:
            categories.push(seen)
        assert 0.0 < categories.p(value) <= 1.0
        counts = Counter(values)
        assert categories.counts == counts
        assert categories.singles == sum(count == 1 for count in counts.values())
        more_frequent = [other for other in counts if counts[other] > counts[value] > 0]
        assert all(categories.p(other) >= categories.p(value) for other in more_frequent)

    def test_distinct_values_are_bounded(self):
        categories = self.filled(**{f"v{n}": 1 for n in range(2_000)})
        assert len(categories.counts) <= Categories.LIMIT
        assert categories.p("v1999") > 0.95  # beyond the limit a value counts as unseen, and unseen ones are usual


class TestSurprises:
    def test_by_hand(self):
        # Past surprises 1, 2 and 4 nats, and eight calls that behave as claimed: P(X >= x) = exp(-x).
        past = Surprises(floor=0.001, prior=8.0)
        for surprise in (1.0, 2.0, 4.0):
            past.push(surprise)
        assert past.p(3.9) == pytest.approx((1 + 8 * math.exp(-3.9)) / 11)
        assert past.p(2.0) == pytest.approx((2 + 8 * math.exp(-2.0)) / 11)
        assert past.p(0.6) == pytest.approx((3 + 8 * math.exp(-0.6)) / 11)
        assert past.p(2.0, expected=0.5) == pytest.approx((2 + 8 * 0.5) / 11)

    def test_calls_without_surprise_count_in_the_total_only(self):
        past = Surprises(floor=0.001, prior=8.0)
        for _ in range(10):
            past.push(0.0)
        assert past.p(2.0) == pytest.approx(8 * math.exp(-2.0) / 18)
        assert past.p(0.0) == 1.0

    def test_a_weight_is_the_part_of_a_call_that_counts(self):
        past = Surprises(floor=0.001, prior=8.0)
        past.push(3.0, 0.25)
        assert past.p(3.0) == pytest.approx((0.25 + 8 * math.exp(-3.0)) / 8.25)

    def test_without_precedent_the_floor_is_the_least_that_is_believed(self):
        assert Surprises(floor=0.02, prior=8.0).p(50.0) == pytest.approx(0.02)

    @given(st.lists(st.tuples(SURPRISES, st.floats(0, 1)), max_size=60), SURPRISES, st.floats(1e-6, 0.2))
    def test_p_is_a_p_value_that_falls_with_the_surprise(self, pushed, surprise, floor):
        past = Surprises(floor)
        for one, weight in pushed:
            past.push(one, weight)
        assert 0.0 < past.p(surprise) <= 1.0
        assert past.p(surprise + 0.5) <= past.p(surprise)

    @pytest.mark.parametrize("scale", [0.5, 1.0, 2.0, 3.0])
    @pytest.mark.parametrize("silent", [0.0, 0.7])
    def test_of_genuine_calls_a_share_of_a_has_p_up_to_a(self, scale, silent):
        """Surprises are i.i.d., ``scale`` times what they claim, and nothing at all in a share ``silent`` of calls.

        ``p <= a`` needs a tail of weight at most ``a (W + 8)`` among the past calls, of total weight W. For equal
        weights and without ties the rank of a new call is uniform, so that this happens in a share of at most
        ``a + (1 + 8 a) / W``; ties and bins only enlarge the tail. Weights are at most 1, W never falls below half of
        the memory once it is full, and unequal weights are allowed for by doubling the second term. Of N calls the
        share strays by less than 4 sqrt(a / N), but for one in 10,000 seeds.
        """
        rng, past, calls, warm = random.Random(20), Surprises(floor=1e-4), 20_000, 1_000
        seen = []
        for call in range(calls + warm):
            surprise = 0.0 if rng.random() < silent else min(scale * rng.expovariate(1.0), 11.9)
            if call >= warm:
                seen.append(past.p(surprise))
            past.push(surprise)
        weight = Surprises.MEMORY / 2
        for a in (0.01, 0.05, 0.2):
            share = sum(p <= a for p in seen) / calls
            assert share <= a + 2 * (1 + 8 * a) / weight + 4 * math.sqrt(a / calls)
        # And it is about a: a bin is a quarter nat wide, which costs at most a factor of exp(.25 / scale) of the tail;
        # eight prior calls of hundreds cost little.
        share = sum(p <= 0.05 for p in seen) / calls
        assert share >= 0.05 * math.exp(-0.25 / scale) * 0.6

    def test_a_change_of_habit_is_learned(self):
        past = Surprises(floor=0.005)
        for _ in range(3_000):
            past.push(0.1)
        before = past.p(5.0)
        for _ in range(1_000):
            past.push(5.0)
        assert before < 0.01
        assert past.p(5.0) > 0.5


class TestRing:
    @given(st.lists(LOGS, max_size=120), st.integers(1, 40))
    def test_keeps_the_last_ones_in_order(self, values, size):
        ring = Ring(size)
        for value in values:
            ring.push(value)
        assert ring.ordered.tolist() == sorted(values[-size:])
        assert ring.arrived.tolist() == values[-size:]
        assert len(ring) == min(size, len(values))

    @given(st.lists(LOGS, min_size=1, max_size=80), LOGS)
    def test_between_the_deciles_p_is_the_rank(self, values, value):
        ring = filled(values)
        ordered = sorted(values)
        tenth = max(len(values) // 10, 1)
        if value >= ordered[tenth - 1]:
            at_most = sum(other <= value for other in values)
            assert ring.lower_p(value, 0.1) == pytest.approx((at_most + 1) / (len(values) + 2))
        if value <= ordered[-tenth]:
            at_least = sum(other >= value for other in values)
            assert ring.upper_p(value, 0.1) == pytest.approx((at_least + 1) / (len(values) + 2))

    @given(st.lists(LOGS, max_size=80), LOGS, LOGS, st.floats(0.01, 5))
    def test_p_is_a_p_value_and_keeps_the_order(self, values, one, other, scale):
        ring, low, high = filled(values), min(one, other), max(one, other)
        for p in (ring.lower_p(low, scale), ring.upper_p(low, scale)):
            assert 0.0 < p <= 1.0
        if values:
            assert ring.lower_p(low, scale) <= ring.lower_p(high, scale)
            assert ring.upper_p(low, scale) >= ring.upper_p(high, scale)

    @given(st.lists(LOGS, min_size=1, max_size=80), LOGS)
    def test_the_upper_tail_mirrors_the_lower(self, values, value):
        mirrored = filled([-x for x in values])
        assert filled(values).upper_p(value, 0.1) == pytest.approx(mirrored.lower_p(-value, 0.1))

    def test_beyond_the_decile_the_tail_is_exponential(self):
        values = list(np.random.default_rng(3).normal(6, 0.5, 100))
        ring, lowest = filled(values), np.sort(values)[:10]
        u = lowest[-1]
        scale = np.mean(u - lowest)
        at_u = ring.lower_p(u, 1e-9)
        assert at_u == pytest.approx((10 + 1) / (100 + 2))
        # An exponential tail halves every scale * ln 2.
        for halvings in (1, 2, 5):
            assert ring.lower_p(u - halvings * scale * math.log(2), 1e-9) == pytest.approx(at_u / 2**halvings)

    def test_equal_values_are_held_to_the_least_scale_only(self):
        ring = filled([5.0] * 50)
        assert ring.lower_p(5.0 - 0.2 * math.log(2), 0.2) == pytest.approx(
            ring.lower_p(5.0, 0.2) * (5 + 1) / (50 + 1) / 2
        )
        assert ring.lower_p(5.0, 0.2) > 0.9

    def test_of_genuine_values_a_share_of_a_has_p_up_to_a(self):
        # The rank of a new value among n is uniform: P(p <= a) = P(rank + 1 <= a (n + 2)) <= a + a/(n + 1) inside the
        # deciles. Beyond them the exponential tail is fitted to k = 25 values, so that 1% is met to about a third.
        # 4 sqrt(a / N) is for chance.
        rng, ring, calls = np.random.default_rng(5), Ring(256), 20_000
        values = rng.normal(6, 0.5, calls + 256)
        for value in values[:256]:
            ring.push(value)
        seen = []
        for value in values[256:]:
            seen.append(ring.lower_p(value, 0.01))
            ring.push(value)
        for a, slack in ((0.2, 0.005), (0.5, 0.005), (0.01, 0.01 / 3)):
            share = np.mean(np.array(seen) <= a)
            assert abs(share - a) <= slack + 4 * math.sqrt(a / calls)


def filled(values):
    ring = Ring(max(len(values), 1))
    for value in values:
        ring.push(value)
    return ring


class TestLevel:
    def level(self, values):
        level = Level()
        for value in values:
            level.push(value)
        return level

    @given(st.lists(st.floats(-20, 20), min_size=1, max_size=8))
    def test_short_streams_have_numpys_mean_and_a_shrunken_variance(self, values):
        level = self.level(values)
        assert level.mean == pytest.approx(np.mean(values), abs=1e-9)
        # Squares about the mean, and two more of the prior spread; n - 1 and two degrees of freedom.
        squares = np.sum((np.array(values) - np.mean(values)) ** 2)
        expected = (squares + Level.PRIOR_COUNT * Level.PRIOR_SD**2) / (len(values) - 1 + Level.PRIOR_COUNT)
        assert level.variance == pytest.approx(expected, abs=1e-9)

    @given(st.lists(st.floats(-20, 20), min_size=3, max_size=7), st.floats(-30, 30))
    def test_p_is_students_for_a_new_observation(self, values, x):
        level = self.level(values)
        # A new observation varies by its own spread and by that of the mean: variance (1 + 1/n).
        t = (x - level.mean) / math.sqrt(level.variance * (1 + 1 / len(values)))
        exact = max(2 * student.sf(abs(t), df=4), 1e-12)
        assert level.p(x) == pytest.approx(1.0 if exact > USUAL_P else exact, rel=1e-3)

    @pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0]])
    def test_too_few_values_say_nothing(self, values):
        assert self.level(values).p(1e3) == 1.0

    @given(st.lists(LOGS, max_size=300), LOGS)
    def test_p_is_a_p_value(self, values, x):
        level = self.level(values)
        assert 0.0 < level.p(x) <= 1.0
        assert level.variance > 0.0

    def test_a_few_equal_values_are_no_ground_for_certainty(self):
        assert self.level([3.0] * 4).p(3.2) > 0.05
        assert self.level([3.0, 2.999] * 50).p(3.2) < 0.01

    def test_a_counter_may_grow_but_not_fall(self):
        counter = self.level([float(n) for n in range(1, 30)])
        assert counter.only_grows
        assert counter.p(31.0) == counter.p(40.0) == 1.0
        assert counter.p(-100.0) < 0.01

    def test_what_fell_once_is_no_counter(self):
        level = self.level([*map(float, range(1, 20)), 3.0, *map(float, range(21, 30))])
        assert not level.only_grows
        assert level.p(700.0) < 0.01

    def test_what_never_changed_is_no_counter(self):
        constant = self.level([6.5] * 50)
        assert not constant.only_grows
        assert constant.p(6.5) == 1.0
        assert constant.p(11.0) < 0.001

    def test_a_level_that_rises_now_and_then_is_a_counter(self):
        assert self.level([1.0] * 10 + [2.0] * 10).only_grows

    def test_an_outlier_moves_the_level_by_no_more_than_a_few_spreads(self):
        rng = random.Random(2)
        level = self.level([rng.gauss(5, 0.2) for _ in range(100)])
        mean, spread = level.mean, math.sqrt(level.variance)
        level.push(700.0)
        assert level.mean - mean <= Level.WINSOR * spread / 100
        assert level.p(700.0) < 1e-6

    def test_a_lasting_change_is_learned(self):
        rng = random.Random(2)
        level = self.level([rng.gauss(5, 0.2) for _ in range(1_000)])
        assert level.p(8.0) < 0.001
        for _ in range(1_000):
            level.push(rng.gauss(8, 0.2))
        assert level.p(8.0) > 0.5
        assert level.p(5.0) < 0.01

    def test_long_streams_keep_the_recent_mean_and_spread(self):
        values = np.random.default_rng(4).normal(5, 0.5, 5_000)
        level = self.level(values)
        # About 100 to 200 recent values count: the mean strays by 4 x .5 / sqrt(100) at most, the spread by a third.
        assert level.mean == pytest.approx(5, abs=0.2)
        assert math.sqrt(level.variance) == pytest.approx(0.5, rel=1 / 3)

    def test_genuine_values_are_hardly_ever_unusual(self):
        # Student's tail is the heavier: P(|T4| > 2.776) = .05, P(|Z| > 2.776) = .0055.
        rng, level, seen = random.Random(9), Level(), []
        for call in range(6_000):
            x = rng.gauss(5, 0.5)
            if call >= 100:
                seen.append(level.p(x))
            level.push(x)
        assert sum(p <= 0.05 for p in seen) / len(seen) <= 0.05
        # 1.19 is where Student's two-sided tail is USUAL_P, .3: P(|Z| > 1.19) = .234.
        assert sum(p <= USUAL_P for p in seen) / len(seen) == pytest.approx(0.234, abs=0.03)
        assert {p for p in seen if p > USUAL_P} == {1.0}


def test_ranks_agree_with_bisect_on_ties():
    values = [1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    ring = filled(values)
    assert ring.lower_p(2.0, 0.1) == (bisect_right(values, 2.0) + 1) / (len(values) + 2)


class TestSignOfALevel:
    def test_the_first_value_below_0_after_99_others(self):
        level = Level()
        for n in range(99):
            level.push(signed_log(5.0 + n % 7))
        assert level.sign_p(signed_log(-5.0)) == pytest.approx(0.5 / 100.5)  # (0 + 1/2) / (99 + 3/2)
        assert level.sign_p(signed_log(900.0)) == 1.0

    def test_says_nothing_of_few_values_or_once_there_was_one(self):
        level = Level()
        for _ in range(40):
            level.push(signed_log(5.0))
        assert level.sign_p(signed_log(-5.0)) == 1.0
        level.push(signed_log(-1.0))
        for _ in range(40):
            level.push(signed_log(5.0))
        assert level.sign_p(signed_log(-5.0)) == 1.0
