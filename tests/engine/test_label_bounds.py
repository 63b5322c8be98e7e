"""How far labels can move what a signal weighs, and how much one of them counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.stores import MemoryStore
from agentguard.verification import VerificationEngine
from agentguard.verification._calibration import LabelCounts, factors

RATIOS = {"echo_mismatch": 16.0}


def factor(tool: list[bool], others: list[bool]) -> float:
    """By how much the evidence of a signal counts more, of which all these labels speak."""
    own, everywhere = LabelCounts(), LabelCounts()
    for label in tool:
        own.add(was_hallucination=label, fired=RATIOS)
        everywhere.add(was_hallucination=label, fired=RATIOS)
    for label in others:
        everywhere.add(was_hallucination=label, fired=RATIOS)
    return factors(own, everywhere, RATIOS, 0.15)["echo_mismatch"]


@given(st.lists(st.booleans(), min_size=1, max_size=300), st.lists(st.booleans(), max_size=300))
def test_labels_move_a_signals_evidence_between_an_eighth_and_four_times(tool: list[bool], others: list[bool]) -> None:
    assert 1 / 8 <= factor(tool, others) <= 4.0


def test_labels_of_one_kind_reach_both_bounds() -> None:
    assert factor([False] * 1_000, []) == 1 / 8
    assert factor([True] * 1_000, []) == 4.0


def test_one_label_counts_at_most_twenty() -> None:
    """Of one call in a thousand that are put on record: (.15 x 40) / (40 + 20), and not (.15 x 40) / (40 + 1,000)."""
    store = MemoryStore()
    engine = VerificationEngine(store=store, audit_rate=0.001)
    for number in range(20_000):
        engine.verify("t", result="fine", call_id=str(number))
        if record := next(iter(store.events("audit")), None):
            break

    assert record is not None
    assert record.event["propensity"] == 0.001
    engine.record_feedback("t", 0.1, False, record.event["call_id"])
    assert engine.verify("t", learn=False).prior == pytest.approx(6 / 60)
