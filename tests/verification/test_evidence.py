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
from agentguard.verification.weights import KNOT, WEIGHTS

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

    def test_what_speaks_against_the_call_and_what_speaks_for_it_add_up(self):
        contributions = combine(signals(a__x=8.0, b__y=0.25, c=0.8, d__x=2.0))
        expected = zip("abcd", (8, 0.25, 0.8, 2), strict=True)
        assert contributions == pytest.approx({name: math.log(x) for name, x in expected})

    def test_a_learned_signal_counts_by_its_weights(self):
        """Silence by one, evidence up to the knot by another, what goes beyond by a third."""
        silence, against, beyond = WEIGHTS["structure_mismatch"]
        for nats, expected in (
            (0.5 * KNOT, 0.5 * KNOT * against),
            (KNOT + 2.0, KNOT * against + 2.0 * beyond),
            (-0.3, -0.3 * silence),
        ):
            made = {"structure_mismatch": signal("structure_mismatch", math.exp(nats))}
            assert combine(made) == pytest.approx({"structure_mismatch": expected} if expected else {})

    def test_no_weight_is_negative(self):
        """More evidence against a call never lowers its posterior."""
        assert all(weight >= 0.0 for weights in WEIGHTS.values() for weight in weights)

    def test_silence_does_not_excuse_a_broken_declaration(self):
        broken = {"a": signal("a", 8.0)._replace(p_value=None), **signals(b=0.1)}
        assert combine(broken) == pytest.approx({"a": math.log(8)})

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

    @given(st.lists(st.tuples(st.floats(1e-6, 1e6), st.sampled_from(["", "x", "y"])), min_size=1, max_size=8))
    def test_never_more_than_the_naive_sum_in_either_direction(self, drawn):
        made = {f"s{number}": signal(f"s{number}", ratio, group) for number, (ratio, group) in enumerate(drawn)}
        for name, nats in combine(made).items():
            full = math.log(made[name].likelihood_ratio)
            assert abs(nats) <= abs(full) + 1e-12
            assert nats * full >= 0.0
