"""A field of another type than in all results before, told from a new field beside them."""

import math

import pytest

from agentguard.verification import VerificationEngine
from agentguard.verification._document import read
from agentguard.verification._shape import Shape, formats_of, no_number, not_finite
from agentguard.verification.statistics import Categories

RECORDS = [
    {
        "id": n,
        "price": n / 4,
        "tags": ["a", "b"],
        "owner": {"name": "Ann"},
        "lines": [{"sku": "x"}],
        "note": None if n % 2 else "x",
    }
    for n in range(40)
]


def learned(results):
    shape = Shape()
    for result in results:
        shape.learn(read(result))
    return shape


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"price": "9.25"}, "price"),
        ({"price": True}, "price"),
        ({"price": [9.25]}, "price"),
        ({"price": {"value": 9.25}}, "price"),
        ({"price": {"value": {"amount": 9.25}}}, "price"),
        ({"tags": "a, b"}, "tags"),
        ({"tags": ["a", 0]}, "tags[]"),
        ({"tags": ["a", ["b"]]}, "tags[]"),
        ({"tags": ["a", {"value": "b"}]}, "tags[]"),
        ({"lines": [{"sku": "x"}, {"sku": {"value": "y"}}]}, "lines[].sku"),
        ({"owner": "Ann"}, "owner"),
        ({"owner": {"name": 7}}, "owner.name"),
    ],
)
def test_another_type_contradicts_all_results_before(change, where):
    x, said, at = learned(RECORDS).contradiction(read({**RECORDS[0], **change}))
    assert x == pytest.approx(-math.log(0.5 / 41.5))  # in none of 40: (0 + 1/2) / (40 + 3/2)
    assert said.startswith(f"{where} is of another type")
    assert at == where


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"price": 9},
        {"tags": []},
        {"owner": None},
        {"note": None},
        {"admin": True},
        {"admin": {"name": "Bo"}},
        {"owner": {"name": "Ann", "age": 40}},
    ],
)
def test_new_fields_nulls_and_empty_lists_contradict_nothing(change):
    assert learned(RECORDS).contradiction(read({**RECORDS[0], **change}))[:2] == (0.0, "")


def test_the_first_null_where_a_value_always_was_is_another_type():
    x, _, at = learned(RECORDS).contradiction(read({**RECORDS[0], "price": None}))
    assert x == pytest.approx(-math.log(0.5 / 41.5))
    assert at == "price"


def test_an_empty_list_in_lines_of_text_is_not_yet_a_text():
    lines = [f"to: Ann\ncc: []\nsubject: letter {n}" for n in range(40)]
    assert learned(lines).contradiction(read("to: Ann\ncc:\n- Bo\nsubject: letter 7"))[:2] == (0.0, "")


def test_one_field_of_another_type_is_a_suspect_that_may_be_a_change():
    engine = VerificationEngine()
    for record in RECORDS:
        assert engine.verify("shop", args={"n": record["id"]}, result=record).verdict == "accept"
    wrong = engine.verify("shop", args={"n": 90}, result={**RECORDS[0], "id": 90, "price": "N/A"}, learn=False)
    assert wrong.verdict == "flag"
    assert wrong.posterior >= 0.5
    assert wrong.signals["format_mismatch"].fired


def test_a_type_that_changed_for_good_is_held_until_it_is_adopted_where_changes_are_held():
    engine = VerificationEngine()
    engine.register_tool_profile("shop", on_change="hold")
    for record in RECORDS:
        engine.verify("shop", args={"n": record["id"]}, result=record)

    def answers(start):
        return [
            engine.verify("shop", args={"n": n}, result={**RECORDS[n % 40], "id": n, "price": f"{n}.50"})
            for n in range(start, start + 10)
        ]

    held = answers(100)
    assert "accept" not in {answer.verdict for answer in held}
    engine.adopt(held[0].change)
    assert {answer.verdict for answer in answers(110)} == {"accept"}


@pytest.mark.parametrize(
    ("value", "name"),
    [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity"), (9.5, None), (None, None), ("NaN", None)],
)
def test_a_number_that_is_none_is_told_from_numbers_nulls_and_texts(value, name):
    document = read({"id": 7, "note": None, "price": value})
    assert not_finite(document) == ({} if name is None else {"price": name})
    assert formats_of(document).get("price") == (name or ("AaA" if value == "NaN" else None))


def test_the_chance_of_a_number_that_is_none():
    known = {("price", float): 40, ("rows[].x", float): 10}
    document = read({"price": math.nan, "rows": [{"x": 1.0}, {"x": math.inf}], "new": math.nan})
    assert no_number(document, known, {}) == (pytest.approx(0.5 / 41.5), "price")
    seen = Categories()
    seen.push("-Infinity", 4)
    seen.push("a text", 9)
    # 4 of 40 were of that sort: (4 + 1/2) / (40 + 3/2); at the other path none of 10, which is the more unusual now.
    assert no_number(document, known, {"price": seen}) == (pytest.approx(0.5 / 11.5), "rows[].x")
    assert no_number(read({"price": math.nan}), known, {"price": seen}) == (pytest.approx(4.5 / 41.5), "price")
    assert no_number(read({"price": 3.5}), known, {}) == (1.0, "")
