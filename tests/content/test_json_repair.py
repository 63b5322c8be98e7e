import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content.json_repair import Exhausted, MeteredText, inner_quotes, json_faults, repair

from ..rows import over

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_valid_json_stays_as_it_is(value):
    text = json.dumps(value, ensure_ascii=False)
    assert repair(text) == (value, text, (), True)


def test_two_halves_of_a_surrogate_pair_that_mending_brings_together_are_one_character():
    found = repair("{a: 'x\ud8b7\udf82'")
    assert found.value == {"a": "x\U0003df82"} == json.loads(found.text)


# Beyond the published steps: the fault, the value that was meant, the edit, and its place.
@over(
    ("broken", "value", "edit", "place"),
    [
        ('{"a": "x', {"a": "x"}, "close a string", ""),
        ('{"a": 1 "b": 2}', {"a": 1, "b": 2}, "add a comma", ""),
        ('{"a": True, "b": None}', {"a": True, "b": None}, "repair a value", "True"),
        ('Here: {"a": 1}', {"a": 1}, "remove text around", "Here"),
        ('```json\n{"a": 1}\n```', {"a": 1}, "remove text around", "```json"),
        ("{'a': 1} That is all.", {"a": 1}, "remove text around", "That"),
        ("[,1,,2]", [1, 2], "remove a comma", ","),
        # The text was cut in a value.
        ('{"limit": 100', {"limit": 100}, "complete a value", "100"),
        ('{"rows": [1, 2, -34', {"rows": [1, 2, -34]}, "complete a value", "-34"),
        ('{"price": 19.', {"price": 19.0}, "complete a value", "19."),
        ('{"price": 1.5e-', {"price": 1.5}, "complete a value", "1.5e-"),
        ('{"ok": tru', {"ok": True}, "complete a value", "tru"),
        ('{"ok": F', {"ok": False}, "complete a value", "F"),
        ("[nul", [None], "complete a value", "nul"),
        # The library is left to guess, and numbers and names are what they were.
        ("{a:1,e:2,c:hello world}", {"a": 1, "e": 2, "c": "hello world"}, "repair a value", "hello"),
        ("{a:-1,b:2.50,c:1e3,d:true,f:null,g:x}", {"a": -1, "b": 2.5, "c": 1000.0, "d": True, "f": None, "g": "x"},
         "repair a value", "x"),
        ("{a:9007199254740993,b:x}", {"a": 9007199254740993, "b": "x"}, "quote a key", "a"),
        ('{"a": [1}', {"a": [1]}, "repair a bracket", "}"),
        ("{a:007,b:+1}", {"a": 7, "b": 1}, "repair a value", "007"),
        ('{"ok": true", "n": 1}', {"ok": "true", "n": 1}, "change a type", "true"),
        ("{'a': 'it's', b:1,c:2}", {"a": "it's", "b": 1, "c": 2}, "replace single quotes", "'it'"),
    ],
)  # fmt: skip
def test_each_repair_is_made_and_reported_with_its_place(broken, value, edit, place):
    repaired = repair(broken)
    assert repr(repaired.value) == repr(value)
    assert json.loads(repaired.text) == value
    assert (edit, place) in [(found.kind, broken[found.start : found.end]) for found in repaired.edits]
    assert repaired.label == "repaired"


def test_a_printed_literal_with_bare_quotes_is_one_string():
    broken = """{"error": "", "answer": "[{'by': "Ada's", 'n': 1}, {'by': 'Bo'}]", "n": 2}"""
    repaired = repair(broken)
    assert repaired.value == {"error": "", "answer": """[{'by': "Ada's", 'n': 1}, {'by': 'Bo'}]""", "n": 2}
    assert [found.kind for found in repaired.edits] == ["escape a quote"] * 2


def test_line_breaks_between_values_are_no_edits():
    broken = '{\n  "a": "x\ny",\n  "b": 1\n}'
    assert [(found.kind, found.start) for found in repair(broken).edits] == [("escape a control character", 11)]


def test_the_score_counts_kinds_of_edits_in_sixths():
    assert repair('{"a": 1}').score == 0
    assert repair("{'a': 1, 'b': 2}").score == pytest.approx(1 / 6)
    assert repair("{'a': 1, 'b': 2,}").score == pytest.approx(2 / 6)
    assert repair("nothing").score == 1


@over("text", ["", "  ", "no JSON here", "[" * 100_000, '{"a":' * 50_000, '{"```json{```'])
def test_where_nothing_can_be_made_of_it_the_text_comes_back(text):
    repaired = repair(text)
    assert (repaired.value, repaired.text, repaired.valid, repaired.label) == (None, text, False, "failed")
    assert len(repaired.findings) == 1


def test_null_is_a_value():
    assert repair("null") == (None, "null", (), True)


@pytest.mark.parametrize("text", ["[NaN]", "[Infinity]", "[1e999,]", "[-Infinity]"])
def test_what_json_cannot_say_is_never_in_the_text(text):
    repaired = repair(text)
    assert not repaired.valid or not any(
        isinstance(x, float) and not math.isfinite(x) for x in json.loads(repaired.text)
    )


def test_a_text_beyond_the_limit_is_not_given_to_the_library():
    assert not repair("{a: b}", max_characters=5).valid
    assert repair("{a: b}", max_characters=6).valid
    assert repair("{a: 1}", max_characters=1).valid


@given(st.text() | st.lists(st.sampled_from([*"{}[]:,'\"\\/*#\n a1", "//", "null"])).map("".join))
def test_any_text_has_an_answer_with_edits_within_it(text):
    repaired = repair(text)
    assert all(0 <= found.start <= found.end <= len(text) for found in repaired.edits)
    if repaired.valid:
        json.loads(repaired.text)
    else:
        assert repaired.text == text


@given(VALUES.filter(lambda value: isinstance(value, (dict, list))))
def test_valid_json_has_no_faults(value):
    text = json.dumps(value, ensure_ascii=False)
    assert [found for found in json_faults(text) if found.kind != "escape a control character"] == []
    assert inner_quotes(text) == [] or "'" in text


# Each makes the library take a time that grows with the square of the text or faster; reads are bounded.
@over("unit", ["{,", "{a:", 'b"c"d', "[{", "(", "\"[{'", '\\"', "/*", "'", '"', "*/ /*", "```json"])
@over("start", ["", '{"a":"', "["])
def test_a_long_hostile_text_has_an_answer(start, unit):
    repair(start + unit * (10_000 // len(unit)))


def test_the_faults_of_a_long_hostile_text_are_read_in_one_pass():
    for unit in ("{,", '"', '\\"', "/*", "'", "[", "a:", " ", "\"[{'"):
        text = "{" + unit * (30_000 // len(unit))
        assert sum(1 for _ in json_faults(text)) > 0
        inner_quotes(text)


def test_a_metered_text_is_shared_by_what_replaces_it():
    text = MeteredText("abcdef", 9)
    longer = text[:3] + "xyz"  # three characters
    assert longer[3:] == "xyz"  # three more
    assert text.find("c") == 2  # one
    assert (longer[0], longer[1]) == ("a", "b")
    with pytest.raises(Exhausted):
        longer[2]


@over(
    ("broken", "value", "edit", "place"),
    [
        ('{"a" 1}', {"a": 1}, "add a colon", ""),
        ('{"ok" true, "n" 3}', {"ok": True, "n": 3}, "add a colon", ""),
        ('{"k" -2.5e3, "l" null}', {"k": -2500.0, "l": None}, "add a colon", ""),
        ('{"a": {"b" [5]}}', {"a": {"b": [5]}}, "add a colon", ""),
        ('{"a": [{"x": 1} {"y": 2}]}', {"a": [{"x": 1}, {"y": 2}]}, "add a comma", ""),
        ('[{"x": 1}\n{"y" 2}]', [{"x": 1}, {"y": 2}], "add a comma", ""),
        ('{"a": 1,, "b": 2}', {"a": 1, "b": 2}, "remove a comma", ","),
        ("{\u201ca\u201d: \u201cb c\u201d}", {"a": "b c"}, "replace quotes", "\u201cb c\u201d"),
        (
            "{\u2018a\u2019: \u2018it\u2019s\u2019, 'n': 2}",
            {"a": "it\u2019s", "n": 2},
            "replace quotes",
            "\u2018a\u2019",
        ),
        ("{\u201ea\u201c: \u00abb\u00bb}", {"a": "b"}, "replace quotes", "\u00abb\u00bb"),
        ("{`a`: `x y`}", {"a": "x y"}, "replace quotes", "`x y`"),
        ('{"a": \u201che said "hi"\u201d}', {"a": 'he said "hi"'}, "replace quotes", '\u201che said "hi"\u201d'),
        ('{"a": 1 2}', {"a": 1}, "lose a value", "2"),
        ('{\u201ca\u201d: "b" "c"}', {"a": "b"}, "lose a value", '"c"'),
    ],
)
def test_nothing_is_lost_unsaid(broken, value, edit, place):
    repaired = repair(broken)
    assert (repaired.value, json.loads(repaired.text)) == (value, value)
    assert (edit, place) in [(found.kind, broken[found.start : found.end]) for found in repaired.edits]


def test_quotes_of_other_kinds_within_strings_stay():
    broken = '{"a": "\u201cx\u201d and `y`", "b": 1,}'
    assert repair(broken).value == {"a": "\u201cx\u201d and `y`", "b": 1}


def scalars(value):
    """Keys and scalars of a value, as text."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from scalars(item)
    elif isinstance(value, list):
        for item in value:
            yield from scalars(item)
    else:
        yield value if isinstance(value, str) else json.dumps(value)


WORDS = st.sampled_from(["alpha", "beta", "gamma", "delta", "omega", "7", "41", "true", "-3.5"])
SMALL = st.recursive(
    WORDS | st.integers(1, 99) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("text", "value", "lost"),
    [('{"a": [true], 1]}', {"a": [True]}, "1"), ('{"a": [1], true]}', {"a": [1]}, "true")],
)
def test_one_and_true_are_two_values(text, value, lost):
    repaired = repair(text)
    assert repaired.value == value
    assert ("lose a value", text.rindex(lost)) in [(each.kind, each.start) for each in repaired.edits]


def test_what_is_lost_behind_the_last_closing_bracket_is_told_where_another_is_open():
    repaired = repair('{alpha": null, "beta": [], "gamma: "delta"')

    lost = [each for each in repaired.edits if each.kind == "lose a value"]
    assert "delta" not in repr(repaired.value)
    assert any(each.start >= 26 for each in lost)


@given(st.dictionaries(WORDS, SMALL, min_size=1, max_size=4), st.data())
def test_each_scalar_is_kept_or_told(value, data):
    """Separators, quotes and brackets are left out or doubled; what was in the text is in the value or in the edits."""
    text = json.dumps(value)
    for _ in range(data.draw(st.integers(1, 3))):
        places = [index for index, letter in enumerate(text) if letter in ',:[]{}"'] or [0]
        place = data.draw(st.sampled_from(places))
        new = data.draw(st.sampled_from(["", text[place] * 2, " ", "\u201c", "`", "'"]))
        text = text[:place] + new + text[place + 1 :]
    repaired = repair(text)
    if repaired.valid and repaired.edits:
        told = "\0".join(text[each.start : each.end] for each in repaired.edits)
        if any(each.kind == "remove text around" for each in repaired.edits):
            told += text  # all that stands outside of the brackets, of which the edit has the first word
        kept = "\0".join(scalars(repaired.value))
        for scalar in scalars(value):
            assert scalar in kept or scalar in told or scalar == "null", (text, repaired)
