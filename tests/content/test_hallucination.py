"""The published formula: .4 speculative facts + .3 fabricated keys + .2 overconfident + .1 contradiction."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content.answers.hallucination import contradictions, new_entities, risk

from ..rows import over

PROMPT = "Tell me about the trip."


def names(text: str, prompt: str = PROMPT) -> list[str]:
    return [text[found.start : found.end] for found in new_entities(text, prompt)]


def test_every_signal_by_the_documents_formula():
    # Names: Ada Lund, Bergen, Voss = 3 of 5 -> .6; one overconfident word -> .5; no JSON, no contradiction.
    # .4 x .6 + .3 x 0 + .2 x .5 + .1 x 0 = .34
    found = risk("They definitely met with Ada Lund in Bergen, and then in Voss.", PROMPT)
    assert found.signals == {
        "speculative_facts": 0.6,
        "fabricated_keys": 0.0,
        "overconfident_language": 0.5,
        "contradiction": 0.0,
    }
    assert (found.score, found.label) == (pytest.approx(0.34), "medium")
    assert [finding.kind for finding in found.findings] == ["new name"] * 3 + ["overconfident language"]


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("a plain word", 0.0),
        ("it is proven", 0.5),
        ("proven, no doubt", 0.8),
        ("definitely, certainly, guaranteed", 0.8),
    ],
)
def test_overconfident_language_counts_none_one_many(text, signal):
    assert risk(text, PROMPT).signals["overconfident_language"] == signal


def test_the_same_overconfident_word_twice_is_one_pattern():
    assert risk("certainly, certainly", PROMPT).signals["overconfident_language"] == 0.5


@pytest.mark.parametrize(
    "text", ["an unproven uncertainty", "1100% growth", "without doubtful cases", "to certain ends"]
)
def test_words_that_only_contain_an_overconfident_one_do_not_count(text):
    assert risk(text, PROMPT).signals["overconfident_language"] == 0.0


def test_five_unmentioned_keys_give_the_full_signal_and_stay_low():
    # .3 x 5/5 = .3, which is still low: the threshold is inclusive.
    found = risk(json.dumps({"v": 1, "w": 1, "x": 1, "y": 1, "z": 1}), "give me json")
    assert found.signals["fabricated_keys"] == 1.0
    assert (found.score, found.label) == (0.3, "low")


def test_keys_that_the_prompt_names_in_words_are_its_own():
    answer = '{"firstName": "a", "last_name": "b", "age": 3, "nested": {"invented": 1}}'
    found = risk(answer, "Return JSON with the first name, last name, age, and a nested record.")
    assert [answer[each.start : each.end] for each in found.findings] == ["invented"]
    assert found.signals["fabricated_keys"] == 0.2


def test_keys_count_in_json_only_and_values_never():
    assert risk('the "invented": key in prose', PROMPT).signals["fabricated_keys"] == 0.0
    assert risk('["one", "two: three"]', PROMPT).signals["fabricated_keys"] == 0.0
    assert risk('Sure:\n```json\n{"invented": "x"}\n```', PROMPT).signals["fabricated_keys"] == 0.2


def test_the_contradiction_signal_weighs_a_tenth():
    # .1 x .7 = .07
    found = risk("the key is required. the key is optional.", PROMPT)
    assert found.signals["contradiction"] == 0.7
    assert found.score == pytest.approx(0.07)


@pytest.mark.parametrize(
    ("new", "keys", "score", "label"),
    [
        # .4 x n/5 + .3 x k/5: the sums beside both thresholds.
        (3, 1, 0.30, "low"),
        (4, 0, 0.32, "medium"),
        (5, 3, 0.58, "medium"),
        (5, 4, 0.64, "high"),
    ],
)
def test_labels_on_both_sides_of_each_threshold(new, keys, score, label):
    cities = ["in Oslo", "in Bergen", "in Voss", "in Moss", "in Hamar"][:new]
    answer = json.dumps({f"key{number}": "x" for number in range(keys)} | {"trip": ", ".join(cities)})
    found = risk(answer, PROMPT)
    assert (found.score, found.label) == (pytest.approx(score), label)


def test_thresholds_are_arguments():
    assert risk("it is proven", PROMPT, low=0.05).label == "medium"
    assert risk("it is proven", PROMPT, low=0.05, medium=0.09).label == "high"
    assert risk("they saw Voss", PROMPT, enough=1).signals["speculative_facts"] == 1.0


def test_names_in_the_prompt_in_any_case_are_not_new():
    assert names("We met Ada Lund's brother in New York.", "who is ada lund from new york") == []
    assert names("We met Ada Lund in New York.", "who is ada lund") == ["New York"]


def test_a_capital_that_grammar_asks_for_is_no_name():
    assert names("Water is wet. Bring boots.\n- Milk\n- Bread") == ["Water"]  # a word before "is" looks like a name
    assert names("Water is wet, and water is cold.") == []
    assert names("Running is fun. The Eiffel Tower is tall.") == ["Eiffel Tower"]
    assert names("OpenAI answered. I did not.") == ["OpenAI"]


def test_a_name_keeps_its_titles_and_initials_and_no_possessive():
    assert names("we saw Dr. J. Lund's notes on O'Brien and Élodie") == ["Dr. J. Lund", "O'Brien", "Élodie"]


def test_no_name_runs_over_the_end_of_a_sentence():
    assert names("They left Oslo. Bergen was next.") == ["Oslo", "Bergen"]


@over(
    "text",
    [
        "The email field is required. The email field is optional.",
        "Email fields are required; later, the email fields are optional.",
        "The client must authenticate, but the client does not need to authenticate.",
        "The client must authenticate. It doesn't need to authenticate.",
        "The client must authenticate. The clients do not need to.",
        "Tokens are mandatory and are not required.",
    ],
)
def test_contradictions_of_one_subject(text):
    assert len(contradictions(text)) == 1


@over(
    "text",
    [
        "The email is required. The phone is optional.",
        "You can do it, and you cannot do it.",
        "The client must authenticate. The client does not need to pay.",
        "The client must not retry. The client does not need to retry.",
        "It is required.",
        "The email is optional. The email is optional.",
        "",
    ],
)
def test_what_is_no_contradiction(text):
    assert contradictions(text) == ()


@given(st.text(), st.text())
def test_any_text_has_a_risk_and_findings_within_it(output, prompt):
    found = risk(output, prompt)
    assert 0 <= found.score <= 1
    assert all(0 <= each.start <= each.end <= len(output) for each in found.findings)


@given(st.lists(st.sampled_from(["Oslo ", "is ", "required", "must ", '"', ":", "{", "}", "\n", ". ", "A. ", "'s "])))
def test_any_mixture_of_what_the_signals_read_has_findings_within_it(pieces):
    text = "".join(pieces)
    assert all(0 <= each.start < each.end <= len(text) for each in risk(text, "").findings)


@over("unit", ["A", "A. ", "A ", "'s", '"', '\\"', "{", "[", ".", "?!", "\n", " ", "x must a. x need not b. ", "- A"])
def test_a_long_hostile_text_has_an_answer(unit):
    # A quadratic step would take minutes here.
    text = '{"a": "' + unit * (50_000 // len(unit))
    assert 0 <= risk(text, text[:1000]).score <= 1
    assert 0 <= risk(unit * (50_000 // len(unit)), "").score <= 1
