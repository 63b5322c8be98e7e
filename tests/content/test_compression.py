"""The published formula: .4 length deficit + .3 entropy drop + .2 missing transitions + .1 repetition."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content._text import entropy
from agentguard.content.answers.compression import complexity, score

from ..rows import over


def test_every_metric_by_the_documents_formula():
    # Level 2 ("Explain"), so 150 words are expected and 3 given: deficit 147/150 = .98. The text "aa aa bb" has 4 a,
    # 2 b, 2 blanks of 8: entropy 1/2 x 1 + 2 x 1/4 x 2 = 1.5 bits; the usual 2 bits drop by .5/2 = .25. No transition
    # word: 1. "aa" is 2 of 3 words. .4 x .98 + .3 x .25 + .2 x 1 + .1 x 2/3 = .392 + .075 + .2 + .0667 = .7337
    found = score("Explain it.", "aa aa bb", baseline=2.0)
    assert (found.level, found.expected_words) == (2, 150)
    assert found.metrics == {
        "length_deficit": pytest.approx(0.98),
        "entropy_drop": pytest.approx(0.25),
        "missing_transitions": 1.0,
        "repetition": pytest.approx(2 / 3),
    }
    assert (found.score, found.label) == (pytest.approx(0.733667, abs=1e-6), "high")


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


@over(
    ("prompt", "level"),
    [
        ("tea " * 149, 1),
        ("tea " * 150, 2),
        ("tea " * 400, 2),
        ("tea " * 401, 3),
        ("Name a colour.", 1),
        ("Compare red and blue.", 2),
        ("Is it red?", 1),
        ("Is it red? Is it blue?", 3),
        ("1. Name a colour.\n2. Name a taste.", 3),
        ("Firstly name a colour, secondly a taste.", 3),
    ],
)
def test_the_highest_level_whose_condition_holds(prompt, level):
    assert complexity(prompt) == level


@pytest.mark.parametrize(("level", "prompt", "enough"), [(1, "x", 50), (2, "why", 150), (3, "a? b?", 250)])
def test_enough_words_leave_no_deficit(level, prompt, enough):
    assert score(prompt, "word " * enough).metrics["length_deficit"] == 0
    assert score(prompt, "word " * (enough - 1)).metrics["length_deficit"] == pytest.approx(1 / enough)


def test_transitions_are_asked_of_levels_two_and_three_only():
    assert score("x", "tea milk").metrics["missing_transitions"] == 0
    assert score("why", "tea milk").metrics["missing_transitions"] == 1
    assert score("why", "tea because milk").metrics["missing_transitions"] == 0


def test_function_words_are_no_repetition():
    assert score("x", "the the the tea milk").metrics["repetition"] == 0.5
    assert score("x", "the the the").metrics["repetition"] == 0


@pytest.mark.parametrize(("missing", "label"), [(36, "low"), (38, "moderate")])
def test_low_ends_at_three_tenths(missing, label):
    # Level 1, distinct words n = 50 - m: .4 x m/50 + .1 x 1/n. m = 36: .288 + .0071 = .2951; 38: .304 + .0083 = .3123
    answer = " ".join(f"w{number}" for number in range(50 - missing))
    assert score("x", answer).label == label


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
