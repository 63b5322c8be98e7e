import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content.answers.intent import INTENTS, classify

from ..rows import over

FILLER = " word" * 20


def confidences(text: str, **options) -> dict[str, float]:
    return {each.intent: each.confidence for each in classify(text, **options)}


def test_the_boost_comes_before_the_penalty_and_nothing_exceeds_one():
    # Both signs and three bullets: 1 + .3 = 1.3; short: .7 x 1.3 = .91; long: at most 1.
    text = "- tea\n- milk\n- rice\n1. salt\n"
    assert confidences(text)["list"] == pytest.approx(0.91)
    assert confidences(text + FILLER)["list"] == 1


def test_english_words_that_are_also_code_are_no_code():
    assert "code" not in confidences("The class will function as a const import." + FILLER)


def test_no_sign_no_candidate():
    assert classify("Tea.") == ()
    assert classify("") == ()


def test_findings_point_at_the_signs():
    text = "It fails because of rust."
    (candidate,) = classify(text)
    assert [text[found.start : found.end] for found in candidate.findings] == ["because"]
    assert (candidate.label, candidate.score) == (candidate.intent, candidate.confidence)


@given(st.text())
def test_any_text_has_candidates_with_confidences(text):
    for each in classify(text):
        assert each.intent in INTENTS
        assert 0 < each.confidence <= 1
        assert all(0 <= found.start <= found.end <= len(text) for found in each.findings)


@over("unit", ["function ", "function\t\t", "def a", "- ", "1", " ", "\n", "`", "class a "])
def test_a_long_hostile_text_has_an_answer(unit):
    classify(unit * (200_000 // len(unit)))
