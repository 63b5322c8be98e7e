"""Likelihood ratios and their sum, worked out again by other means."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq

from agentguard.verification.evidence import DEFAULT_RATIOS, combine, ratio_of
from agentguard.verification.types import SignalResult, VerificationTier

RATIOS = st.floats(1.05, 20.0)
SHARES = st.floats(0.3, 0.95)
P = st.floats(1e-9, 1.0)


def signal(name, ratio, group=""):
    return SignalResult(name, True, ratio > 1, 0.5, ratio, 0.01, VerificationTier.TIER_1, "said", group)


def signals(**ratios):
    """``name__group=ratio``."""
    made = {}
    for key, ratio in ratios.items():
        name, _, group = key.partition("__")
        made[name] = signal(name, ratio, group)
    return made


class TestRatio:
    @given(RATIOS, SHARES)
    def test_holds_at_three_sigma(self, ratio, share):
        # Three sigma, two-sided: P(|Z| > 3) = .0027.
        assert ratio_of(0.0027, ratio, share) == pytest.approx(ratio, rel=1e-6)

    @given(RATIOS, SHARES)
    def test_over_genuine_calls_it_is_1_on_average(self, ratio, share):
        """Over genuine calls p is uniform, and a likelihood ratio has the mean 1 under its denominator."""
        # With p = e^-x the integral is smooth: the mean of LR(e^-x) e^-x over x from 0.
        mean, _ = quad(lambda x: ratio_of(math.exp(-x), ratio, share) * math.exp(-x), 0, 300, limit=400)
        assert mean == pytest.approx(1.0, abs=1e-3)

    @given(RATIOS, SHARES, P, P)
    def test_falls_as_p_rises(self, ratio, share, one, other):
        low, high = min(one, other), max(one, other)
        assert ratio_of(low, ratio, share) >= ratio_of(high, ratio, share) > 0.0

    @given(RATIOS, SHARES)
    def test_can_be_inverted(self, ratio, share):
        assert ratio_of(1.0, ratio, share) < 1.0 < ratio_of(1e-9, ratio, share)
        indifferent = brentq(lambda x: ratio_of(math.exp(-x), ratio, share) - 1.0, 0.0, 20.7)
        found = brentq(lambda x: ratio_of(math.exp(-x), ratio, share) - ratio, 0.0, 20.7)
        assert math.exp(-found) == pytest.approx(0.0027, rel=1e-6)
        assert indifferent < found

    @pytest.mark.parametrize("ratio", [1.0, 0.5, 0.01])
    def test_a_signal_that_means_nothing_never_counts_against_a_call(self, ratio):
        for p in (1e-6, 0.0027, 0.5, 1.0):
            assert ratio_of(p, ratio) == pytest.approx(1.0)

    def test_stronger_signals_say_more_both_ways(self):
        for weak, strong in pairwise((1.5, 3.0, 6.0, 12.0)):
            assert ratio_of(1e-4, strong) > ratio_of(1e-4, weak)
            assert ratio_of(1.0, strong) < ratio_of(1.0, weak)

    @pytest.mark.parametrize("ratio", [30.0, 1e3, 1e300])
    def test_what_is_out_of_reach_stays_at_about_23(self, ratio):
        # (1 - w) + w xi p^(xi - 1) at p = .0027 is largest at w = 1, xi = -1/ln p = .169: .169 / .0027^.831 = 23.
        assert 20.0 < ratio_of(0.0027, ratio) < 23.1
        assert ratio_of(1e-9, ratio) > ratio_of(0.0027, ratio)

    def test_every_default_is_above_1_and_finite(self):
        assert all(1.0 < ratio < math.inf for ratio in DEFAULT_RATIOS.values())


class TestCombine:
    def test_a_single_signal_against_the_call_counts_in_full(self):
        assert combine(signals(a=8.0)) == pytest.approx({"a": math.log(8)})

    def test_the_silence_of_every_group_counts_where_nothing_speaks(self):
        silent = combine(signals(a__x=0.5, b__y=0.25, c=0.8))
        assert silent == pytest.approx({"a": math.log(0.5), "b": math.log(0.25), "c": math.log(0.8)})

    def test_the_more_speaks_the_less_the_silence_of_the_rest_says(self):
        # Half of 1.5 nats speaks against the call: silence counts half. Beyond 1.5 nats: the strongest alone, half.
        half = combine(signals(a__x=math.exp(0.75), b__y=0.25, c=0.8))
        assert half == pytest.approx({"a": 0.75, "b": math.log(0.25) / 2, "c": math.log(0.8) / 2})
        loud = combine(signals(a__x=8.0, b__y=0.25, c=0.8))
        assert loud == pytest.approx({"a": math.log(8), "b": math.log(0.25) / 2})

    def test_silence_beside_evidence_of_its_own_group_says_nothing(self):
        contributions = combine(signals(a__x=0.5, b__y=0.25, c__y=8.0))
        assert contributions == pytest.approx({"c": math.log(8), "a": math.log(0.5) / 2})

    def test_groups_add_up(self):
        contributions = combine(signals(a__x=8.0, b__y=4.0, c=2.0))
        assert contributions == pytest.approx({"a": math.log(8), "b": math.log(4), "c": math.log(2)})

    def test_in_a_group_the_rest_counts_a_third(self):
        contributions = combine(signals(a__x=2.0, b__x=16.0, c__x=4.0, d__x=0.1))
        # In nats: 16 in full, 4 and 2 at .33, and nothing for the call where something speaks against it.
        expected = {"b": math.log(16), "c": 0.33 * math.log(4), "a": 0.33 * math.log(2)}
        assert contributions == pytest.approx(expected, rel=0.05)

    def test_in_a_group_only_the_strongest_evidence_for_the_call_counts(self):
        assert combine(signals(a__x=0.5, b__x=0.25, c__x=0.8)) == pytest.approx({"b": math.log(0.25)})

    def test_signals_without_a_group_stand_alone(self):
        assert combine(signals(a=2.0, b=2.0)) == pytest.approx({"a": math.log(2), "b": math.log(2)})

    def test_a_ratio_of_1_is_left_out(self):
        abstained = SignalResult.abstain("a", VerificationTier.TIER_0, "nothing known")
        assert combine({"a": abstained, **signals(b__x=1.0, c__x=2.0)}) == pytest.approx({"c": math.log(2)})
        assert combine({}) == {}

    @given(st.lists(st.tuples(st.floats(1e-6, 1e6), st.sampled_from(["", "x", "y"])), max_size=8), st.randoms())
    def test_the_order_of_signals_does_not_matter(self, drawn, rng):
        made = [(f"s{number}", signal(f"s{number}", ratio, group)) for number, (ratio, group) in enumerate(drawn)]
        shuffled = made[:]
        rng.shuffle(shuffled)
        assert sum(combine(dict(made)).values()) == pytest.approx(sum(combine(dict(shuffled)).values()))

    @given(st.lists(st.tuples(st.floats(1e-6, 1e6), st.sampled_from(["", "x", "y"])), max_size=8))
    def test_redone_by_hand(self, drawn):
        made = {f"s{number}": signal(f"s{number}", ratio, group) for number, (ratio, group) in enumerate(drawn)}
        total, silent = 0.0, []
        for group in {said.group or name for name, said in made.items()}:
            nats = sorted(
                math.log(said.likelihood_ratio) for name, said in made.items() if (said.group or name) == group
            )
            against = [one for one in nats if one > 0]
            if against:
                total += against.pop() + 0.33 * sum(against)
            else:
                silent.append(min(nats[0], 0.0))
        heard = max(1 - total / 1.5, 0.0)
        strongest = min(silent, default=0.0)
        total += heard * (sum(silent) - strongest) + max(heard, 0.5) * strongest
        assert sum(combine(made).values()) == pytest.approx(total, abs=1e-9, rel=0.02)

    @given(st.lists(st.tuples(st.floats(1e-6, 1e6), st.sampled_from(["", "x", "y"])), min_size=1, max_size=8))
    def test_never_more_than_the_naive_sum_in_either_direction(self, drawn):
        made = {f"s{number}": signal(f"s{number}", ratio, group) for number, (ratio, group) in enumerate(drawn)}
        for name, nats in combine(made).items():
            full = math.log(made[name].likelihood_ratio)
            assert abs(nats) <= abs(full) + 1e-12
            assert nats * full >= 0.0
