import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content.answers.intent import INTENTS, classify

from ..rows import over

FILLER = " word" * 20


def confidences(text: str, **options) -> dict[str, float]:
    return {each.intent: each.confidence for each in classify(text, **options)}


def test_the_share_of_signs_is_the_confidence():
    # 2 of the 3 signs of an explanation, in a text of 20 words or more.
    assert confidences("because it is so, therefore" + FILLER) == {"explanation": pytest.approx(2 / 3)}


def test_a_short_text_counts_seven_tenths():
    # 19 words: .7 x 1/3; 20 words: 1/3.
    assert confidences("because" + " word" * 18)["explanation"] == pytest.approx(0.7 / 3)
    assert confidences("because" + " word" * 19)["explanation"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(("items", "confidence"), [(2, 0.5), (3, 0.8)])
def test_three_list_items_add_three_tenths(items, confidence):
    # Bullets are one of a list's two signs: 1/2, and .3 more from three items.
    assert confidences("- tea\n" * items + FILLER)["list"] == pytest.approx(confidence)


def test_a_code_block_adds_four_tenths():
    # One of four signs: 1/4 + .4 = .65; with a class, 2/4 + .4 = .9.
    assert confidences("```\nx\n```" + FILLER)["code"] == pytest.approx(0.65)
    assert confidences("```\nclass Tea:\n```" + FILLER)["code"] == pytest.approx(0.9)


def test_the_boost_comes_before_the_penalty_and_nothing_exceeds_one():
    # Both signs and three items: 1 + .3 = 1.3; short: .7 x 1.3 = .91; long: at most 1.
    text = "- tea\n- milk\n1. rice\n"
    assert confidences(text)["list"] == pytest.approx(0.91)
    assert confidences(text + FILLER)["list"] == 1


def test_english_words_that_are_also_code_are_no_code():
    assert "code" not in confidences("The class will function as a const import." + FILLER)


def test_candidates_come_by_confidence():
    found = classify("In summary, the key points: tl;dr unlike the other" + FILLER)
    assert [(each.intent, each.confidence) for each in found] == [
        ("summary", 1.0),
        ("comparison", pytest.approx(1 / 3)),
    ]


def test_weights_are_arguments():
    assert confidences("because" + FILLER, weights={"explanation": 0.6})["explanation"] == pytest.approx(0.2)


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
