"""Shares with intervals: Clopper and Pearson's where labels weigh alike, honest where they do not."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from agentguard.calibration import attainable, needed, share_of, upper_bound
from agentguard.calibration._statistics import effective_size, lower_bound

from ..rows import over


@over(("hits", "labels"), [(0, 10), (1, 10), (3, 10), (10, 10), (2, 500), (499, 500)])
@over("weight", [1.0, 50.0])
def test_equal_weights_give_the_exact_binomial_interval(hits: int, labels: int, weight: float) -> None:
    """The oracle is scipy's binomtest."""
    oracle = binomtest(hits, labels).proportion_ci(0.95, "exact")

    share = share_of([weight] * labels, [True] * hits + [False] * (labels - hits), 0.95)

    assert share is not None
    assert share == pytest.approx((hits / labels, oracle.low, oracle.high), abs=1e-9)


def test_a_bound_worked_by_hand() -> None:
    """Three flagged genuine calls, two of them hits, and one audited call that stands for fifty.

    With one more hit of weight 50: p = 52 / 103; variance (2 (1 - p)² + 1 p² + 2500 p² + 2500 (1 - p)²) / 103²
    = (.49034 + .25488 + 637.194 + 612.924) / 10609 = .117906; effective n = p (1 - p) / .117906 = 2.12014.
    The bound is the 95% point of Beta(2.12014 p, 2.12014 (1 - p)).
    """
    p = 52 / 103
    effective = p * (1 - p) / ((2 * (1 - p) ** 2 + p**2 + 2500 * p**2 + 2500 * (1 - p) ** 2) / 103**2)
    assert effective == pytest.approx(2.12014, abs=1e-4)

    from scipy.stats import beta

    expected = beta.ppf(0.95, effective * p, effective * (1 - p))
    assert upper_bound([1, 1, 1, 50], [True, True, False, False], 0.95) == pytest.approx(expected)


def test_without_a_hit_the_rule_of_three() -> None:
    assert attainable([1.0] * 300, 0.95) == pytest.approx(1 - 0.05 ** (1 / 300))
    assert attainable([1.0] * 300, 0.95) == pytest.approx(3 / 300, rel=0.01)


def test_what_was_not_seen_among_the_heavy_counts_by_their_number() -> None:
    """200 audited calls stand for 10,000: that none is a hit says what 200 labels say, and not what 10,000 would."""
    mixed = attainable([50.0] * 200 + [1.0] * 60, 0.95)

    assert mixed == pytest.approx(attainable([50.0] * 200, 0.95), rel=0.02)
    assert attainable([], 0.95) == 1.0


@over(("rate", "labels"), [(0.05, 59), (0.03, 99), (0.01, 299), (0.005, 598), (0.001, 2995)])
def test_so_many_labels_are_needed(rate: float, labels: int) -> None:
    """ln(.05) / ln(1 - rate), rounded up; one label fewer does not do."""
    assert needed(rate, 0.95) == labels
    assert attainable([1.0] * labels, 0.95) <= rate < attainable([1.0] * (labels - 1), 0.95)


def test_effective_size_by_hand() -> None:
    assert effective_size([1.0] * 4 + [2.0] * 2) == pytest.approx(64 / 12)
    assert effective_size([]) == 0.0
    assert share_of([], [], 0.95) is None


@given(st.lists(st.tuples(st.floats(1.0, 200.0), st.booleans()), min_size=1, max_size=60), st.floats(0.5, 0.999))
def test_bounds_lie_on_their_sides_of_the_share(labels: list[tuple[float, bool]], confidence: float) -> None:
    weights, hits = [w for w, _ in labels], [hit for _, hit in labels]
    value = sum(w for w, hit in labels if hit) / sum(weights)

    share = share_of(weights, hits, confidence)

    assert share is not None
    assert 0.0 <= share.low <= value + 1e-9
    assert value - 1e-9 <= share.high <= 1.0
    assert lower_bound(weights, hits, confidence) == pytest.approx(
        1.0 - upper_bound(weights, [not hit for hit in hits], confidence)
    )


@pytest.mark.parametrize("true_share", [0.003, 0.02, 0.2])
def test_the_upper_bound_holds_as_often_as_it_says_where_calls_are_sampled(true_share: float) -> None:
    """400 times: 3,000 calls, the hits among them suspects with odds of 1 : 1; suspects reviewed, 5% of the others.

    A bound at 95% may fail in 5% of 400 runs plus 3 standard deviations, sqrt(400 * .05 * .95) = 4.36: 33 times.
    """
    rng = random.Random(5)
    failed = 0
    for _ in range(400):
        weights, hits = [], []
        for _ in range(3_000):
            hit = rng.random() < true_share
            suspect = rng.random() < (0.5 if hit else 0.03)
            if suspect or rng.random() < 0.05:
                weights.append(1.0 if suspect else 20.0)
                hits.append(hit)
        failed += upper_bound(weights, hits, 0.95) < true_share
    assert failed <= 33


def test_a_bound_that_takes_weights_for_more_labels_would_fail() -> None:
    """The same calls with each label counted as the calls it stands for: the bound is far too low, far too often."""
    rng, failed = random.Random(6), 0
    for _ in range(200):
        audits = [rng.random() < 0.02 for _ in range(100)]
        share = sum(audits) / 100
        naive = share + 1.645 * math.sqrt(max(share * (1 - share), 1e-9) / 5_000)
        failed += naive < 0.02
        assert upper_bound([50.0] * 100, audits, 0.95) >= naive
    assert failed > 0.25 * 200
