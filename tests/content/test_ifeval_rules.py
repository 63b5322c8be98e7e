"""Each instruction on both sides of its verdict; what it asks for is worked out from IFEval's description of it."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content._text import sentence_spans
from agentguard.content.answers import compliance
from agentguard.content.answers.compliance import FORM_RULES, WORDING_RULES, check

from ..rows import over

ENGLISH = "the weather has been good all week and we are going to walk along the river tomorrow morning"
GERMAN = "Das Wetter ist seit einer Woche gut, und morgen früh gehen wir am Fluss entlang spazieren."


def verdict(text: str, name: str, **parameters) -> bool | None:
    return check(text, [{"type": name, **parameters}]).results[0].followed


KEYWORDS, LENGTH = "keywords:", "length_constraints:"
CONTENT, FORMAT = "detectable_content:", "detectable_format:"
CAPITALS = "change_case:capital_word_frequency"


@over(
    ("name", "parameters", "followed", "broken"),
    [
        (KEYWORDS + "existence", {"keywords": ["tea", "milk"]}, "Teatime. MILK", "tea"),
        (KEYWORDS + "existence", {"keywords": ["a.b"]}, "a.b", "axb"),
        (KEYWORDS + "frequency", {"keyword": "tea", "frequency": 2, "relation": "at least"}, "Tea, teas", "tea"),
        (KEYWORDS + "frequency", {"keyword": "tea", "frequency": 2, "relation": "less than"}, "tea", "tea tea"),
        (KEYWORDS + "forbidden_words", {"forbidden_words": ["tea"]}, "steam", "no Tea"),
        (KEYWORDS + "letter_frequency", {"letter": "T", "let_frequency": 3, "let_relation": "at least"}, "tTt", "tt"),
        (LENGTH + "number_sentences", {"num_sentences": 2, "relation": "at least"}, "One. Two.", "Only one."),
        (LENGTH + "number_paragraphs", {"num_paragraphs": 2}, "a\n***\nb\n***\n", "a\n\nb"),
        (LENGTH + "number_paragraphs", {"num_paragraphs": 2}, "a***b", "a *** *** b"),
        (LENGTH + "number_words", {"num_words": 4, "relation": "at least"}, "well-known it's", "well known one"),
        (LENGTH + "number_words", {"num_words": 3, "relation": "less than"}, "one two", "one two three"),
        (CONTENT + "number_placeholders", {"num_placeholders": 2}, "[a] [b]", "[a\n] [b]"),
        (CONTENT + "postscript", {"postscript_marker": "P.S."}, "Bye\np. s. tea", "PS tea"),
        (CONTENT + "postscript", {"postscript_marker": "P.P.S"}, "Bye P.P.S tea", "P.S. tea"),
        (CONTENT + "postscript", {"postscript_marker": "Note*"}, "note* x", "noteee"),
        (FORMAT + "number_bullet_lists", {"num_bullets": 2}, "* a\n - b", "* a\n** b **"),
        (FORMAT + "number_bullet_lists", {"num_bullets": 1}, "* a\n1. b", "* a\n- b"),
        (FORMAT + "constrained_response", {}, "Well: My answer is no.", "My answer is none"),
        (FORMAT + "number_highlighted_sections", {"num_highlights": 2}, "*a* and **b**", "*a* and ** **"),
        (
            FORMAT + "multiple_sections",
            {"section_spliter": "Part", "num_sections": 2},
            "Part 1 x Part2",
            "Part 1 Part A",
        ),
        (FORMAT + "json_format", {}, '```JSON\n{"a": 1}\n```', 'Here: {"a": 1}'),
        (FORMAT + "title", {}, "x <<tea>> y", "<< >> <tea>"),
        ("combination:two_responses", {}, "a\n******\nb", "a******a"),
        ("combination:two_responses", {}, "******a******b", "a******b******c"),
        ("combination:repeat_prompt", {"prompt_to_repeat": "Say tea "}, " say TEA: yes", "Sure. Say tea"),
        ("startend:end_checker", {"end_phrase": "The end."}, 'So. the END."\n', "The end. Bye"),
        ("startend:quotation", {}, ' "tea"\n', '"tea'),
        ("startend:quotation", {}, '""', '"'),
        (
            "change_case:capital_word_frequency",
            {"capital_frequency": 2, "capital_relation": "at least"},
            "IT'S",
            "It A",
        ),
        (
            "change_case:capital_word_frequency",
            {"capital_frequency": 2, "capital_relation": "less than"},
            "A-B",
            "A (B)",
        ),
        ("punctuation:no_comma", {}, "tea; milk", "tea, milk"),
    ],
)
def test_instructions_on_both_sides(name, parameters, followed, broken):
    assert verdict(followed, name, **parameters) is True
    assert verdict(broken, name, **parameters) is False


@over(
    ("text", "followed"),
    [
        ("Tea is fine.\n\nMilk", True),
        ("'Tea' is fine.\n\nMilk", True),
        ("Teatime\n\nMilk", False),
        ("Tea\n\nMilk\n\nRice", False),
        ("Tea", False),
    ],
)
def test_the_first_word_of_a_paragraph(text, followed):
    rule = {"num_paragraphs": 2, "nth_paragraph": 1, "first_word": "tea"}
    assert verdict(text, LENGTH + "nth_paragraph_first_word", **rule) is followed


def test_a_paragraph_that_is_not_there_breaks_the_rule():
    rule = {"num_paragraphs": 1, "nth_paragraph": 2, "first_word": "tea"}
    assert verdict("tea", LENGTH + "nth_paragraph_first_word", **rule) is False


@over(
    ("text", "number"),
    [
        ("Dr. Lund met J. Moe at 3.30 p.m. in St. Hanshaugen.", 1),
        ("We ate rice, fish, etc. and left. They stayed.", 2),
        ("We ate rice, fish, etc. Then we left.", 2),
        ('Really?! Yes. (He left.) "Good." Bye', 5),
        ("Wait... what? No", 2),
        ("one\ntwo\nthree", 1),
        ("", 0),
    ],
)
def test_sentences(text, number):
    assert len(sentence_spans(text)) == number


def test_languages():
    assert verdict(GERMAN, "language:response_language", language="de") is True
    assert verdict(GERMAN, "language:response_language", language="en") is False
    assert verdict(ENGLISH, "change_case:english_lowercase") is True
    assert verdict(GERMAN.lower(), "change_case:english_lowercase") is False
    assert verdict(ENGLISH.capitalize(), "change_case:english_lowercase") is False
    assert verdict("THE WEATHER IS GOOD AND WE WILL WALK ALONG THE RIVER", "change_case:english_capital") is True
    assert verdict("THE WEATHER IS GOOD AND WE WILL WALK ALONG THE RIVEr", "change_case:english_capital") is False


def test_the_same_text_has_the_same_language_every_time():
    text = "SHORT AND CLEVER: TAXI, RADIO, MUSEUM"
    assert len({compliance.language_of(text) for _ in range(20)}) == 1


def test_a_language_that_cannot_be_told_is_left_open():
    result = check(
        "12345 67", [{"type": "language:response_language", "language": "en"}, {"type": "punctuation:no_comma"}]
    )
    assert [each.followed for each in result.results] == [None, True]
    assert (result.ratio, result.followed) == (1.0, True)


def test_without_langdetect_languages_are_left_open(monkeypatch):
    monkeypatch.setitem(sys.modules, "langdetect.detector_factory", None)
    compliance._factory.cache_clear()
    try:
        result = check(ENGLISH, [{"type": "change_case:english_lowercase"}])
        assert (result.label, result.score, result.findings) == ("undecided", 0.0, ())
        assert verdict("Not lower case", "change_case:english_lowercase") is False
    finally:
        compliance._factory.cache_clear()


PARAMETERS = {
    "keywords": ["a", "("],
    "keyword": "a",
    "frequency": 1,
    "relation": "at least",
    "forbidden_words": ["a", "["],
    "letter": "a",
    "let_frequency": 1,
    "let_relation": "less than",
    "language": "en",
    "num_sentences": 1,
    "num_words": 1,
    "num_paragraphs": 1,
    "nth_paragraph": 1,
    "first_word": "a",
    "num_placeholders": 1,
    "postscript_marker": "P.S.",
    "num_bullets": 1,
    "num_highlights": 1,
    "section_spliter": "(",
    "num_sections": 1,
    "prompt_to_repeat": "a",
    "end_phrase": "a",
    "capital_frequency": 1,
    "capital_relation": "at least",
}
RULES = [
    kind(**{name: PARAMETERS[name] for name in kind.model_fields if name != "type"})
    for kind in (*WORDING_RULES, *FORM_RULES)
]


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_blank_text_follows_no_instruction(text):
    assert {each.followed for each in check(text, RULES).results} == {False}


@given(st.text() | st.lists(st.sampled_from([*'[]*<>"-, .\nAa1', "P.S.", "***", "```"])).map("".join))
def test_any_text_has_a_verdict_and_findings_within_it(text):
    result = check(text, RULES)
    assert all(0 <= found.start <= found.end <= len(text) for found in result.findings)


@over("unit", ["[", "*", "<", "<<", ".", "?!x", "-", "\n", "\n*", " ", "A'", "(", "p. "])
def test_a_long_hostile_text_has_a_verdict(unit):
    check(unit * (50_000 // len(unit)), RULES)
