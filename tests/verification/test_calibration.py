"""Feedback as a prior: which way it moves, and how far it can."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.verification._calibration import LabelCounts

LABELS = st.lists(st.booleans(), max_size=400)
PRIORS = st.floats(0.001, 0.999)


def counted(labels):
    counts = LabelCounts()
    for label in labels:
        counts.add(was_hallucination=label)
    return counts


@pytest.mark.parametrize("prior", [0.01, 0.15, 0.7])
def test_without_labels_it_is_the_configured_prior(prior):
    assert LabelCounts().prior(prior) == pytest.approx(prior)


@pytest.mark.parametrize(
    ("fabricated", "genuine", "expected"),
    [
        (1, 0, 7 / 41),  # Beta(.15 x 40 + 1, .85 x 40): the mean is 7 / 41
        (0, 1, 6 / 41),
        (10, 10, 16 / 60),
        (0, 40, 6 / 80),
    ],
)
def test_is_the_mean_of_a_beta_that_starts_with_the_weight_of_40_calls(fabricated, genuine, expected):
    assert counted([True] * fabricated + [False] * genuine).prior(0.15) == pytest.approx(expected)


@given(LABELS, PRIORS)
def test_a_label_moves_the_prior_its_own_way(labels, prior):
    before = counted(labels).prior(prior)
    assert counted([*labels, True]).prior(prior) >= before - 1e-12
    assert counted([*labels, False]).prior(prior) <= before + 1e-12


@given(LABELS, PRIORS)
def test_one_label_is_a_small_step(labels, prior):
    before = counted(labels).prior(prior)
    for label in (True, False):
        assert abs(counted([*labels, label]).prior(prior) - before) <= 1 / 41 + 1e-12


@given(st.booleans(), PRIORS)
def test_no_number_of_labels_leaves_the_bounds(label, prior):
    end = counted([label] * 3_000).prior(prior)
    assert min(0.05, prior) - 1e-12 <= end <= max(0.45, prior) + 1e-12  # 0.9 of the 0.5 that blocks


def test_any_number_of_labels_of_one_kind_ends_at_its_bound():
    assert counted([True] * 10_000).prior(0.15) == pytest.approx(0.45)
    assert counted([True] * 10_000).prior(0.15, block_at=0.8) == pytest.approx(0.72)
    assert counted([False] * 10_000).prior(0.15) == 0.05
    assert counted([False] * 10_000).prior(0.01) < 0.011  # a configured prior below the bound is the bound
    assert counted([True] * 10_000).prior(0.9) == pytest.approx(0.9)


@given(LABELS, st.floats(0.01, 0.4), st.floats(0.5, 1.0))
def test_labels_alone_never_block_a_call(labels, prior, block_at):
    assert counted(labels).prior(prior, block_at) < block_at


def test_old_labels_fade():
    counts = counted([True] * 5_000 + [False] * 400)
    assert counts.prior(0.15) < 0.2
    assert counts.fabricated + counts.genuine == pytest.approx(200)
