"""A field of another type than in all results before, told from a new field beside them."""

import math

import pytest

from agentguard.verification import VerificationEngine
from agentguard.verification.document import read
from agentguard.verification.shape import Shape

RECORDS = [
    {"id": n, "price": n / 4, "tags": ["a", "b"], "owner": {"name": "Ann"}, "note": None if n % 2 else "x"}
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
        ({"owner": "Ann"}, "owner"),
        ({"owner": {"name": 7}}, "owner.name"),
    ],
)
def test_another_type_contradicts_all_results_before(change, where):
    x, said = learned(RECORDS).contradiction(read({**RECORDS[0], **change}))
    assert x == pytest.approx(-math.log(0.5 / 41.5))  # in none of 40: (0 + 1/2) / (40 + 3/2)
    assert said.startswith(f"{where} is of another type")


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"price": 9},
        {"price": None},
        {"tags": []},
        {"owner": None},
        {"note": None},
        {"admin": True},
        {"admin": {"name": "Bo"}},
        {"owner": {"name": "Ann", "age": 40}},
    ],
)
def test_new_fields_nulls_and_empty_lists_contradict_nothing(change):
    assert learned(RECORDS).contradiction(read({**RECORDS[0], **change})) == (0.0, "")


def test_an_empty_list_in_lines_of_text_is_not_yet_a_text():
    lines = [f"to: Ann\ncc: []\nsubject: letter {n}" for n in range(40)]
    assert learned(lines).contradiction(read("to: Ann\ncc:\n- Bo\nsubject: letter 7")) == (0.0, "")


def test_one_field_of_another_type_is_blocked():
    engine = VerificationEngine()
    for record in RECORDS:
        assert engine.verify("shop", args={"n": record["id"]}, result=record).verdict == "accept"
    wrong = engine.verify("shop", args={"n": 90}, result={**RECORDS[0], "id": 90, "price": "N/A"}, learn=False)
    assert wrong.verdict == "block"
    assert wrong.signals["format_mismatch"].fired


def test_a_type_that_changed_for_good_is_learned_within_ten_calls():
    engine = VerificationEngine()
    for record in RECORDS:
        engine.verify("shop", args={"n": record["id"]}, result=record)
    verdicts = [
        engine.verify("shop", args={"n": n}, result={**RECORDS[n % 40], "id": n, "price": f"{n}.50"}).verdict
        for n in range(100, 130)
    ]
    assert set(verdicts[10:]) == {"accept"}
