import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content.answers.compliance import (
    RULE_TYPES,
    Coverage,
    Exclude,
    Format,
    Include,
    Length,
    Schema,
    check,
    parse_rules,
)
from agentguard.errors import ConfigurationError

from ..rows import over


def follows(text: str, **rule) -> bool:
    return check(text, [rule]).followed


def test_no_rule_is_followed_by_any_text():
    assert (check("", []).ratio, check("", []).followed) == (1.0, True)


JSON, LIST, PROSE, CODE = '{"a": [1]}', "1. tea\n2. milk", "Tea, with milk.", "See:\n```py\nx = 1\n```"


@pytest.mark.parametrize(
    ("name", "followed"),
    [("json", [JSON, "```json\n[1]\n```"]), ("list", [LIST, "- tea"]), ("paragraph", [PROSE]), ("code", [CODE])],
)
def test_formats(name, followed):
    for text in (JSON, "```json\n[1]\n```", LIST, "- tea", PROSE, CODE, ""):
        wanted = text in followed or (name == "code" and text.startswith("```"))
        assert follows(text, type="format", format=name) is wanted, text


@pytest.mark.parametrize("text", ["{broken", '"text"', "5", "Here it is: {}"])
def test_only_an_object_or_an_array_is_in_json_format(text):
    assert not follows(text, type="format", format="json")


def test_lengths_are_inclusive():
    rule = Length(min_words=2, max_words=3)
    assert [check("w " * number, [rule]).followed for number in (1, 2, 3, 4)] == [False, True, True, False]
    items = Length(min_bullets=2, max_bullets=2)
    assert [check("- w\n" * number, [items]).followed for number in (1, 2, 3)] == [False, True, False]


def test_terms_are_whole_and_in_any_case():
    assert follows("A TEA-time", type="include", terms=["tea"])
    assert not follows("steam", type="include", terms=["tea"])
    assert follows("steam", type="exclude", terms=["tea"])
    assert follows("we use C++.", type="include", terms="c++")


def test_what_must_not_occur_is_found_where_it_stands():
    text = "Tea and milk, tea again"
    result = check(text, [Exclude(terms=["tea", "milk", "rice"])])
    assert [text[found.start : found.end] for found in result.findings] == ["Tea", "milk", "tea"]
    assert result.results[0].detail == "present: 'tea', 'milk'"


def test_a_missing_term_counts_over_the_whole_text():
    (found,) = check("tea", [Include(terms=["tea", "milk"])]).findings
    assert (found.kind, found.detail, found.start, found.end) == ("include", "missing: 'milk'", 0, 3)


def test_a_schema_asks_for_keys_of_the_object_or_of_every_object():
    assert follows('{"a": 1, "b": null}', type="schema", keys=["a", "b"])
    assert follows('[{"a": 1}, {"a": 2, "c": 3}]', type="schema", keys=["a"])
    assert not follows('[{"a": 1}, {"b": 2}]', type="schema", keys=["a"])
    assert not follows('{"x": {"a": 1}}', type="schema", keys=["a"])
    assert not any(follows(text, type="schema", keys=["a"]) for text in ("a", "[]", "[1]", '{"a": '))


def test_a_topic_is_covered_by_its_words_anywhere_in_any_number():
    text = "Prices rise because taxes on fuel went up."
    assert follows(text, type="coverage", topics=["the price of fuel", "tax"])
    assert not follows(text, type="coverage", topics=["price of bread"])


def test_rules_by_their_published_names_of_fields():
    assert parse_rules([{"type": "length", "minWords": 2}]) == (Length(min_words=2),)


def test_every_rule_says_how_it_fared():
    result = check(LIST, [Format(format="list"), Schema(keys=["a"]), Coverage(topics=["tea"])])
    assert [each.followed for each in result.results] == [True, False, True]
    assert result.results[1].detail == "no JSON object or array"


@over(
    ("rule", "message"),
    [
        ({"type": "lenght", "min_words": 3}, r"rules\[1\]: unknown rule type 'lenght'; did you mean 'length'\?"),
        ({"min_words": 3}, r"rules\[1\]: the type is missing; known are format, length"),
        ({"type": 3}, r"rules\[1\]: unknown rule type 3"),
        ({"type": "length"}, r"rules\[1\]: length: .*name a bound"),
        ({"type": "length", "min_words": 9, "max_words": 2}, "a minimum is above its maximum"),
        ({"type": "length", "min_words": "3"}, r"rules\[1\]: min_?[wW]ords: "),
        ({"type": "length", "min_words": -1}, "greater than or equal to 0"),
        ({"type": "length", "min_words": 10**5_000}, "less than or equal to 1000000000"),
        ({"type": "length_constraints:number_paragraphs", "num_paragraphs": 10**5_000}, "less than or equal to"),
        ({"type": "include", "terms": []}, r"rules\[1\]: terms"),
        ({"type": "include", "terms": [""]}, r"rules\[1\]: terms.0"),
        ({"type": "format", "format": "xml"}, "'json', 'list', 'paragraph' or 'code'"),
        ({"type": "punctuation:no_comma", "extra": 1}, r"rules\[1\]: extra: "),
        ("no comma", r"rules\[1\]: a rule is a record or a dictionary with a type, not a str"),
    ],
)
def test_a_rule_that_cannot_be_read_is_named_with_its_place(rule, message):
    with pytest.raises(ConfigurationError, match=message):
        check("text", [Include(terms=["tea"]), rule])


def test_all_rules_that_cannot_be_read_are_named_at_once():
    with pytest.raises(ConfigurationError, match=r"(?s)rules\[0\].*rules\[2\]"):
        parse_rules([{"type": "x"}, {"type": "include", "terms": "tea"}, {"type": "schema"}])


def test_all_rule_types():
    assert len(RULE_TYPES) == 6 + 25


@given(st.text(), st.text(min_size=1))
def test_any_text_and_term_have_an_answer(text, term):
    rules = [Include(terms=[term]), Exclude(terms=[term]), Coverage(topics=[term]), Schema(keys=[term])]
    rules += [Format(format=name) for name in ("json", "list", "paragraph", "code")]
    result = check(text, [*rules, Length(max_words=10, max_bullets=3)])
    assert result.results[0].followed is not result.results[1].followed
    assert all(0 <= found.start <= found.end <= len(text) for found in result.findings)
    assert 0 <= result.score <= 1


@over("unit", ["[", "{", "```", "- ", "\n", " ", "1", "a'", "tea"])
def test_a_long_hostile_text_has_an_answer(unit):
    rules = [Format(format="json"), Format(format="list"), Exclude(terms=["tea"]), Coverage(topics=["tea"])]
    check(unit * (300_000 // len(unit)), rules)
