"""The lowest threshold: right by hand, and kept to as often as it says."""

from __future__ import annotations

import random

import pytest

from agentguard.calibration import Label, lowest_threshold


def found(scores: list[float], wished: float, floor: float = 0.0) -> float | None:
    labels = [Label("t", score, False) for score in scores]
    return lowest_threshold(labels, scores, wished, 0.95, floor).value


def test_worked_by_hand() -> None:
    """Of 300 genuine calls none may be caught: with 0 of 300 the bound is .994%, with 1 of 300 it is 1.57%."""
    scores = [0.1] * 299 + [0.5025]

    assert found(scores, 0.01) == 0.505
    assert found(scores, 0.0158) == 0.105
    assert found(scores[:298], 0.01) is None


def test_a_score_at_the_threshold_is_caught() -> None:
    """As the engine does: posteriors from ``block_at`` on are blocked."""
    assert found([0.1] * 299 + [0.5], 0.01) == 0.505
    assert found([0.1] * 299 + [0.4999], 0.01) == 0.5


def test_nothing_below_the_floor_is_tried() -> None:
    assert found([0.01] * 400, 0.01, floor=0.5) == 0.5
    assert found([0.01] * 400, 0.01, floor=0.502) == 0.505


def test_fabricated_calls_have_no_say() -> None:
    scores = [0.1] * 300 + [0.9] * 100
    labels = [Label("t", score, fabricated=score > 0.5) for score in scores]

    threshold = lowest_threshold(labels, scores, 0.01)
    assert (threshold.value, threshold.genuine) == (0.105, 300)
    assert lowest_threshold(labels[300:], scores[300:], 0.01).value is None


def test_too_few_labels_say_what_they_could_have_shown() -> None:
    threshold = lowest_threshold([Label("t", 0.1, False)] * 100, [0.1] * 100, 0.01)

    assert threshold.value is None
    assert threshold.attainable == pytest.approx(1 - 0.05**0.01)
    assert threshold.needed == 299


def test_certain_posteriors_leave_no_threshold() -> None:
    assert found([1.0] * 50 + [0.1] * 950, 0.01) is None


def test_the_wish_is_kept_to_as_often_as_the_confidence_says() -> None:
    """400 times, 2,000 genuine calls with P(score >= t) = (1 - t)^9; those from .2 on are reviewed, 10% of the others.

    The true rate of the threshold found may be above the wish in 5% of the runs plus 3 standard deviations, 33 times.
    It must be of some use too: the threshold with just the wished rate is 1 - .02^(1/9) = .353.
    """
    rng, broken, values = random.Random(7), 0, []
    for _ in range(400):
        labels = []
        for _ in range(2_000):
            score = 1.0 - rng.random() ** (1 / 9)
            if score >= 0.2 or rng.random() < 0.1:
                labels.append(Label("t", score, False, 1.0 if score >= 0.2 else 0.1))
        value = lowest_threshold(labels, [label.posterior for label in labels], 0.02).value
        if value is not None:
            values.append(value)
            broken += (1.0 - value) ** 9 > 0.02
    assert broken <= 33
    assert len(values) > 350
    assert sorted(values)[len(values) // 2] < 0.45
