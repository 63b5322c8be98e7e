"""Hallucination risk beyond its document: what is a name, a key, a contradiction, and what is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content.answers.hallucination import contradictions, new_entities, risk

from ..rows import over

PROMPT = "Tell me about the trip."


def names(text: str, prompt: str = PROMPT) -> list[str]:
    return [text[found.start : found.end] for found in new_entities(text, prompt)]


@pytest.mark.parametrize(
    "text", ["an unproven uncertainty", "1100% growth", "without doubtful cases", "to certain ends"]
)
def test_words_that_only_contain_an_overconfident_one_do_not_count(text):
    assert risk(text, PROMPT).signals["overconfident_language"] == 0.0


def test_keys_that_the_prompt_names_in_words_are_its_own():
    answer = '{"firstName": "a", "last_name": "b", "age": 3, "nested": {"invented": 1}}'
    found = risk(answer, "Return JSON with the first name, last name, age, and a nested record.")
    assert [answer[each.start : each.end] for each in found.findings] == ["invented"]
    assert found.signals["fabricated_keys"] == 0.2


def test_keys_count_in_json_only_and_values_never():
    assert risk('the "invented": key in prose', PROMPT).signals["fabricated_keys"] == 0.0
    assert risk('["one", "two: three"]', PROMPT).signals["fabricated_keys"] == 0.0
    assert risk('Sure:\n```json\n{"invented": "x"}\n```', PROMPT).signals["fabricated_keys"] == 0.2


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
        "It is required. It is optional.",
        "The port matters. It is required. It is optional.",
        "You must sign. You do not need to sign.",
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
        "The port matters. It is required. The host matters. It is optional.",
        "I must sign. You do not need to sign.",
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
