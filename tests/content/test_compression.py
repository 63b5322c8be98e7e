"""Reasoning compression beyond its document: baselines, what counts as a part, any text."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content._text import entropy
from agentguard.content.answers.compression import score

from ..rows import over


def test_without_a_baseline_the_entropy_counts_nothing():
    # .392 + .2 + .0667 = .6587
    assert score("Explain it.", "aa aa bb").score == pytest.approx(0.658667, abs=1e-6)


def test_a_baseline_may_be_a_record_with_an_entropy():
    assert score("Explain it.", "aa aa bb", SimpleNamespace(entropy=2.0)) == score("Explain it.", "aa aa bb", 2.0)


def test_more_variety_than_usual_lowers_the_score():
    # (1 - 1.5) / 1 = -.5: .3 x -.5 = -.15 beside .6587
    assert score("Explain it.", "aa aa bb", 1.0).score == pytest.approx(0.508667, abs=1e-6)


@over(("text", "bits"), [("", 0.0), ("aaaa", 0.0), ("ab", 1.0), ("abcd", 2.0), ("aab", 0.9182958)])
def test_entropy_in_bits(text, bits):
    # "aab": 2/3 x log2(3/2) + 1/3 x log2(3) = .38998 + .52832
    assert entropy(text) == pytest.approx(bits)


def test_function_words_are_no_repetition():
    assert score("x", "the the the tea milk").metrics["repetition"] == 0.5
    assert score("x", "the the the").metrics["repetition"] == 0


def test_a_score_at_a_threshold_is_on_its_lower_side():
    # An empty answer at level 1: .4 x 50/50 = .4. At level 2: .4 + .2 = .6.
    assert (score("x", "").score, score("x", "", low=0.4).label) == (0.4, "low")
    assert (score("why", "").score, score("why", "").label) == (0.6, "moderate")
    assert score("why", "", moderate=0.59).label == "high"


def test_findings_name_what_was_counted():
    assert [found.kind for found in score("why", "tea").findings] == [
        "length deficit",
        "missing transitions",
        "repetition",
    ]


@given(st.text(), st.text(), st.none() | st.floats(0, 8))
def test_any_texts_have_a_score(prompt, output, baseline):
    assert 0 <= score(prompt, output, baseline).score <= 1


@over("unit", ["a", "a-", "?", "? ", "- ", "\n", "(1)", "first ", "'"])
def test_a_long_hostile_text_has_an_answer(unit):
    text = unit * (200_000 // len(unit))
    assert 0 <= score(text, text).score <= 1
