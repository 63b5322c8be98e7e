"""Reliability figures against values worked by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.calibration import Label, reliability


def label(posterior: float, fabricated: bool, weight: float = 1.0) -> Label:
    return Label("t", posterior, fabricated, 1.0 / weight)


def test_figures_worked_by_hand() -> None:
    """Bins of .1: two calls at .12 and .18, one of them fabricated; one at .95, fabricated, that stands for two.

    Error: 2/4 |.15 - .5| + 2/4 |.95 - 1| = .2. Brier: (.88² + .18² + 2 * .05²) / 4. Each fabricated call against the
    one genuine call at .18: .12 loses, the two at .95 win, so the area is 2/3.
    """
    figures = reliability([label(0.12, True), label(0.18, False), label(0.95, True, 2.0)])

    low, high = figures.bins
    assert (low.low, low.high, low.labels, low.weight) == (0.1, 0.2, 2, 2.0)
    assert (low.predicted, low.observed.value) == pytest.approx((0.15, 0.5))
    assert (high.labels, high.weight) == (1, 2.0)
    assert figures.error == pytest.approx(0.2)
    assert figures.brier == pytest.approx((0.88**2 + 0.18**2 + 2 * 0.05**2) / 4)
    assert figures.log_loss == pytest.approx(-(math.log(0.12) + math.log(0.82) + 2 * math.log(0.95)) / 4)
    assert figures.auroc == pytest.approx(2 / 3)


def test_weights_make_a_figure_of_all_calls() -> None:
    """Suspects alone say that three in four are fabricated; of the calls that the labels stand for, 6 in 104 are."""
    suspects = [label(0.8, True)] * 6 + [label(0.8, False)] * 2
    audited = [label(0.01, False, 48.0)] * 2

    assert reliability(suspects).error == pytest.approx(0.8 - 0.75)
    assert reliability(suspects + audited).error == pytest.approx((8 * 0.05 + 96 * 0.01) / 104)


def test_equal_posteriors_count_half() -> None:
    assert reliability([label(0.3, True), label(0.3, False)]).auroc == 0.5
    assert reliability([label(0.3, True)]).auroc is None


def test_posteriors_of_two_fits_are_not_ranked_against_one_another() -> None:
    labels = [label(0.5, True), label(0.4, False), label(0.3, True), label(0.2, False)]

    assert reliability(labels, parts=[0, 0, 1, 1]).auroc == 1.0
    assert reliability(labels).auroc == 0.75


def test_certainty_that_is_wrong_costs_thirty_nats() -> None:
    figures = reliability([label(0.0, True), label(1.0, False)])

    assert figures.log_loss == pytest.approx(13 * math.log(10))
    assert [(one.low, one.high) for one in figures.bins] == [(0.0, 0.1), (0.9, 1.0)]


def test_what_chance_alone_makes_of_the_error() -> None:
    """100 calls at .5: the observed share has the standard deviation .05, and |x| of a normal x is .798 of that."""
    assert reliability([label(0.5, k % 2 == 0) for k in range(100)]).by_chance == pytest.approx(
        0.05 * 0.79788, rel=1e-4
    )


def test_other_posteriors_may_be_looked_at() -> None:
    labels = [label(0.9, False), label(0.1, True)]

    assert reliability(labels, [0.0, 1.0]).error == 0.0
    assert reliability(labels).error == pytest.approx(0.9)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans(), st.floats(1, 200)), min_size=1))
def test_figures_stay_in_their_ranges(calls: list[tuple[float, bool, float]]) -> None:
    figures = reliability([label(*call) for call in calls])

    assert 0.0 <= figures.error <= 1.0 + 1e-9
    assert 0.0 <= figures.brier <= 1.0 + 1e-9
    assert 0.0 <= figures.log_loss <= 30.0
    assert figures.auroc is None or -1e-9 <= figures.auroc <= 1.0 + 1e-9
    assert sum(one.labels for one in figures.bins) == len(calls)
    assert all(one.low - 1e-9 <= one.predicted <= one.high + 1e-9 for one in figures.bins)
