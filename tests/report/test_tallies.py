"""VerdictCounts of verdicts, posteriors and labels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.report._tallies import SLOTS, LabelTally, Posteriors, Timing, by_hour
from agentguard.verification.types import Verdict, VerdictCounts

VERDICTS: tuple[Verdict, ...] = ("accept", "flag", "block")


@given(st.lists(st.sampled_from(VERDICTS), max_size=1_000))
def test_slots_hold_every_call_in_its_order(verdicts: list[Verdict]) -> None:
    timing = Timing()
    for verdict in verdicts:
        timing.push(verdict)
    slots = timing.timeline().slots

    assert len(slots) <= SLOTS
    at = 0
    for slot in slots:
        assert slot.first == at + 1
        part = verdicts[at : slot.last]
        assert slot.counts == VerdictCounts(*(part.count(verdict) for verdict in VERDICTS))
        at = slot.last
    assert at == len(verdicts)


@given(st.dictionaries(st.integers(-(10**9), 10**9), st.builds(VerdictCounts, *[st.integers(0, 99)] * 3), max_size=30))
def test_hours_are_put_together_and_none_is_lost(hours: dict[int, VerdictCounts]) -> None:
    slots = by_hour(hours).slots

    assert len(slots) <= SLOTS
    for k in range(3):
        assert sum(slot.counts[k] for slot in slots) == sum(counts[k] for counts in hours.values())
    for slot in slots:
        inside = [counts for hour, counts in hours.items() if slot.first <= hour <= slot.last]
        assert slot.counts.calls == sum(counts.calls for counts in inside)


def test_posteriors_fall_into_twentieths_and_1_into_the_last() -> None:
    posteriors = Posteriors()
    for posterior in (0.0, 0.049, 0.05, 0.5, 1.0):
        posteriors.push(posterior)
    posteriors.push(0.07, weight=50.0)
    weights = posteriors.histogram().weights

    assert weights[0] == 2.0
    assert weights[1] == 51.0
    assert weights[10] == 1.0
    assert weights[19] == 1.0
    assert posteriors.mean == pytest.approx((0.049 + 0.05 + 0.5 + 1.0 + 3.5) / 55.0)


def test_reliability_by_hand() -> None:
    tally = LabelTally()
    for k in range(10):  # posterior 0.25, 3 of 10 fabricated
        tally.push(0.25, fabricated=k < 3)
    for k in range(5):  # posterior 0.9, 4 of 5 fabricated
        tally.push(0.9, fabricated=k < 4)
    found = tally.reliability()

    assert found is not None
    assert (found.labels, found.fabricated) == (15, 7)
    assert found.error == pytest.approx((10 * 0.05 + 5 * 0.1) / 15)
    assert found.brier == pytest.approx((3 * 0.75**2 + 7 * 0.25**2 + 4 * 0.1**2 + 0.9**2) / 15)
    first, second = found.bins
    assert (first.low, first.high, first.labels) == (0.2, 0.3, 10)
    # The Wilson interval of 3 in 10 at 95% is 0.1078 to 0.6032 (R: prop.test(3, 10, correct = FALSE)).
    assert (first.lower, first.upper) == (pytest.approx(0.1078, abs=5e-5), pytest.approx(0.6032, abs=5e-5))
    assert (second.low, second.observed) == (0.9, pytest.approx(0.8))


def test_a_label_counts_for_the_calls_it_stands_for() -> None:
    tally = LabelTally()
    tally.push(0.15, fabricated=False, weight=50.0)
    tally.push(0.15, fabricated=True, weight=1.0)
    found = tally.reliability()

    assert found is not None
    assert found.bins[0].observed == pytest.approx(1.0 / 51.0)
    assert found.bins[0].upper > 0.7  # two labels, one of which weighs nearly all: they say little


def test_no_labels_no_reliability() -> None:
    assert LabelTally().reliability() is None


@given(st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans(), st.floats(1.0, 200.0)), min_size=1, max_size=60))
def test_reliability_is_within_its_bounds(labels: list[tuple[float, bool, float]]) -> None:
    tally = LabelTally()
    for posterior, fabricated, weight in labels:
        tally.push(posterior, fabricated=fabricated, weight=weight)
    found = tally.reliability()

    assert found is not None
    assert 0.0 <= found.error <= 1.0 + 1e-9
    assert 0.0 <= found.brier <= 1.0 + 1e-9
    assert sum(bin.labels for bin in found.bins) == len(labels)
    for bin in found.bins:
        assert 0.0 <= bin.lower <= bin.observed + 1e-9
        assert bin.observed - 1e-9 <= bin.upper <= 1.0
