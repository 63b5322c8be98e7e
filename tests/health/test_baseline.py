"""What is usual: the document's moving average; outliers do not move it, unless they are the new level."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.health._baseline import Level, Levels, summary

TIMES = st.floats(0, 1e6)


def after(*samples: float) -> Level:
    level = Level()
    for sample in samples:
        level = level.push((sample,))
    return level


def pushed(level: Level, times: int, sample: float) -> Level:
    for _ in range(times):
        level = level.push((sample,), outlier=True)
    return level


def test_the_document() -> None:
    """100; 0.9 · 100 + 0.1 · 200 = 110; 0.9 · 110 + 0.1 · 300 = 129."""
    assert after(100.0).usual == (100.0,)
    assert after(100.0, 200.0).usual == pytest.approx((110.0,))
    assert after(100.0, 200.0, 300.0).usual == pytest.approx((129.0,))
    assert after(100.0, 200.0, 300.0).samples == 3


def test_alpha_is_an_argument() -> None:
    assert after(100.0).push((200.0,), alpha=0.5).usual == (150.0,)


def test_figures_that_belong_together_move_together() -> None:
    assert Level().push((100.0, 1.0)).push((200.0, 2.0)).usual == pytest.approx((110.0, 1.1))


@given(st.lists(TIMES, min_size=1, max_size=20), TIMES)
def test_an_outlier_does_not_move_the_average(samples: list[float], outlier: float) -> None:
    level = after(*samples)
    moved = level.push((outlier,), outlier=True)

    assert (moved.usual, moved.samples) == (level.usual, level.samples)


def test_outliers_in_a_row_are_the_new_level() -> None:
    level = pushed(after(100.0), 19, 900.0)
    assert level.usual == (100.0,)

    level = pushed(level, 1, 880.0)
    assert level.usual == pytest.approx((899.0,))  # (19 · 900 + 880) / 20
    assert (level.samples, level.run, level.since) == (20, 0, 0)


def test_how_many_it_takes_is_an_argument() -> None:
    assert after(100.0).push((900.0,), outlier=True, adapt_after=1).usual == (900.0,)


def test_an_incident_that_ends_is_forgotten() -> None:
    """15 outliers take 15 usual samples to be forgotten; 19 more then do not make 20."""
    level = pushed(after(100.0), 15, 900.0)
    for _ in range(15):
        level = level.push((100.0,))
    assert (level.run, level.since) == (0, 0)
    assert pushed(level, 19, 900.0).usual == pytest.approx((100.0,))


def test_outliers_in_the_minority_never_are_the_level() -> None:
    level = after(100.0)
    for _ in range(500):
        level = level.push((900.0,), outlier=True).push((100.0,))

    assert level.usual == pytest.approx((100.0,))


def test_outliers_in_the_majority_are_the_level_with_what_was_between_them() -> None:
    """Two of three: the run grows by one in three samples, and is 20 after 19 · 3 - 2 + 1 = 56 of them.

    The samples are 38 outliers and 18 others: (38 · 900 + 18 · 100) / 56.
    """
    level = after(100.0)
    samples = 0
    while level.usual[0] < 200.0:
        outlier = samples % 3 != 2
        level = level.push((900.0 if outlier else 100.0,), outlier=outlier)
        samples += 1

    assert samples == 56
    assert level.usual == pytest.approx(((38 * 900 + 18 * 100) / 56,))


@given(st.lists(st.tuples(TIMES, st.booleans()), min_size=1, max_size=80), st.integers(1, 10))
def test_the_average_lies_among_the_samples(samples: list[tuple[float, bool]], adapt_after: int) -> None:
    level = Level()
    for sample, outlier in samples:
        level = level.push((sample,), outlier=outlier, adapt_after=adapt_after)

    values = [sample for sample, _ in samples]
    assert min(values) - 1e-6 <= level.usual[0] <= max(values) + 1e-6
    assert level.run < adapt_after


def test_the_summary_of_nothing() -> None:
    found = summary(Levels(), 5)

    assert (found.calls, found.stable, found.latency_ms, found.fingerprint) == (0, False, None, None)


@pytest.mark.parametrize(("samples", "stable"), [(4, False), (5, True)])
def test_stable_after_so_many_samples(samples: int, stable: bool) -> None:
    assert summary(Levels(latency_ms=Level(samples, (1.0,))), 5).stable is stable
