"""Intervals and exact tests, held against other ways to the same numbers."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from agentguard.gate._history import difference_interval, mann_kendall_p, sign_flip_p, wilson_interval


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.5, 0.999))
def test_wilson_is_that_of_scipy(counts: tuple[int, int], confidence: float) -> None:
    k, n = counts
    expected = stats.binomtest(k, n).proportion_ci(confidence, method="wilson")

    assert wilson_interval(k / n, n, confidence) == pytest.approx((expected.low, expected.high), abs=1e-9)


@pytest.mark.parametrize(
    ("p", "n", "q", "m", "expected"),
    # Newcombe 1998 (Statistics in Medicine 17, 873), table II, method 10
    [
        (56 / 70, 70, 48 / 80, 80, (0.0524, 0.3339)),
        (9 / 10, 10, 3 / 10, 10, (0.1705, 0.8090)),
        (10 / 10, 10, 0 / 20, 20, (0.6791, 1.0000)),
        (10 / 10, 10, 0 / 10, 10, (0.6075, 1.0000)),
    ],
)
def test_the_difference_is_newcombes(p: float, n: int, q: float, m: int, expected: tuple[float, float]) -> None:
    assert difference_interval(p, n, q, m) == pytest.approx(expected, abs=5e-5)


@given(st.permutations(range(6)))
def test_mann_kendall_counts_all_orders(order: list[int]) -> None:
    def s(values: tuple[int, ...]) -> int:
        return sum((b > a) - (b < a) for a, b in itertools.combinations(values, 2))

    here = abs(s(tuple(order)))
    as_far = sum(abs(s(other)) >= here for other in itertools.permutations(range(6)))

    assert mann_kendall_p(order) == pytest.approx(as_far / math.factorial(6))


@given(st.lists(st.integers(0, 30), min_size=10, max_size=30, unique=True))
def test_mann_kendall_is_kendalls_test_of_time(values: list[int]) -> None:
    expected = stats.kendalltau(range(len(values)), values, method="exact").pvalue

    assert mann_kendall_p(values) == pytest.approx(expected)


def test_mann_kendall_with_ties_is_the_normal_approximation() -> None:
    # S = 9 of [1, 1, 2, 2, 3, 3]'s 15 pairs less 3 ties = 12; variance (6·5·17 − 3·2·1·9) / 18 = 456 / 18
    z = (12 - 1) / math.sqrt(456 / 18)

    assert mann_kendall_p([1, 1, 2, 2, 3, 3]) == pytest.approx(2 * stats.norm.sf(z))
    assert mann_kendall_p([1, 1, 1]) == 1.0


@settings(deadline=None)
@given(st.lists(st.integers(-20, 20).map(lambda n: n / 20), min_size=1, max_size=10))
def test_sign_flips_count_all_signs(differences: list[float]) -> None:
    total = abs(round(sum(differences) * 20))
    sums = [
        abs(round(sum(sign * d for sign, d in zip(signs, differences, strict=True)) * 20))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]

    assert sign_flip_p(differences) == pytest.approx(sum(found >= total for found in sums) / len(sums))


def test_sign_flips_of_equal_differences_are_a_sign_test() -> None:
    differences = [0.5] * 14 + [-0.5] * 4 + [0.0] * 6

    assert sign_flip_p(differences) == pytest.approx(stats.binomtest(14, 18).pvalue)


def test_sign_flips_of_thousands_are_the_normal_distribution() -> None:
    differences = [0.5] * 2_100 + [-0.5] * 1_900

    assert sign_flip_p(differences) == pytest.approx(stats.binomtest(2_100, 4_000).pvalue, rel=1e-6)


@pytest.mark.parametrize("differences", [[], [0.0, 0.0], [0.25, -0.25]])
def test_no_difference_is_chance(differences: list[float]) -> None:
    assert sign_flip_p(differences) == 1.0
