"""A call's arguments: their key, their values by path, their words."""

import math
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.verification._arguments import Arguments
from agentguard.verification._canonical import args_key
from agentguard.verification._sides import normal


def words(*texts):
    return frozenset(crc32(text.encode()) for text in texts)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (None, []),
        ({}, []),
        ({"city": " Paris "}, [("city", "paris")]),
        ({"n": 5, "x": 5.0, "y": 2.5}, [("n", "5"), ("x", "5"), ("y", "2.5")]),
        ({"flag": True, "nothing": None, "blank": "  "}, []),
        ({"user": {"id_7": "a", "tags": ["B", "c"]}}, [("user.id_#", "a"), ("user.tags[]", "b"), ("user.tags[]", "c")]),
        ("London", [("", "london")]),
        (["a", {"b": 1}], [("[]", "a"), ("[].b", "1")]),
        (("a", "b"), [("[]", "a"), ("[]", "b")]),
        ({"q": ("a", "b")}, [("q[]", "a"), ("q[]", "b")]),
        ({1: "x"}, [("", "x")]),
        (7, [("", "7")]),
    ],
    ids=repr,
)
def test_values_by_path(args, expected):
    assert Arguments(args).values == expected


def test_objects_are_read_by_their_fields(values):
    assert Arguments(values.Customer(name="Ann", tags=["New"])).values == [("name", "ann"), ("tags[]", "new")]
    assert Arguments(values.Order(7)).values == [("number", "7")]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("  Paris\n", "paris"),
        ("", ""),
        ("ÉCLAIR", "éclair"),
        ("x" * 1_000_000, ""),  # a text is no value to look for
        (0, "0"),
        (-3, "-3"),
        (1e3, "1000"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e300, "1e+300"),
        (math.nan, "nan"),
        (math.inf, "inf"),
        (10**400, ""),
        (True, ""),
        (None, ""),
        ([1], ""),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_the_text_by_which_a_scalar_is_compared(value, text):
    assert normal(value) == text


def test_5_and_5_0_are_compared_as_one():
    assert normal(5) == normal(5.0) == normal(" 5 ")


def test_words_are_checksums_of_the_distinct_words():
    arguments = Arguments({"q": "The cat, the CAT", "n": 42, "path": "tmp_dir/a.txt"})
    assert arguments.words == words("the", "cat", "42", "tmp_dir", "a", "txt")


def test_the_order_of_keys_does_not_matter():
    one, other = Arguments({"a": "x y", "b": 1}), Arguments({"b": 1, "a": "x y"})
    assert one.key == other.key == args_key({"a": "x y", "b": 1})
    assert one.words == other.words
    assert sorted(one.values) == sorted(other.values)


def test_many_and_long_arguments_are_bounded():
    many = Arguments({f"k{chr(97 + n % 26)}{n}": f"value{n} and more" for n in range(10_000)})
    assert len(many.values) <= 100
    assert len(many.words) <= 200
    assert Arguments({"text": "word " * 1_000_000}).values == []
    assert Arguments({"flags": [None] * 100_000, "city": "Paris"}).key


@pytest.mark.parametrize("row", [{}, [], (), None, "", {"a": None}], ids=repr)
def test_of_many_rows_the_first_are_read(row):
    """Also where there is nothing in them that could be compared."""
    rows = Arguments({"rows": [row] * 100_000, "city": "Paris"})
    assert not rows.complete
    assert rows.values == []
    assert Arguments([row] * 100_000).values == []
    assert Arguments({"rows": [row] * 100, "city": "Paris"}).values == [("city", "paris")]
    assert Arguments({"rows": [row] * 100, "city": "Paris"}).complete


@given(data=st.data())
def test_anything_can_be_an_argument(values, data):
    check(data.draw(values.objects))
    check(data.draw(st.dictionaries(st.text(max_size=5), values.objects, max_size=4)))


def test_awkward_things_too(each_awkward):
    for each, awkward in each_awkward:
        with each:
            for wrap in (lambda make: make(), lambda make: {"of": make()}, lambda make: [make(), {"deep": make()}]):
                check(wrap(awkward))
                one, other = Arguments(wrap(awkward)), Arguments(wrap(awkward))
                assert (one.key, one.values) == (other.key, other.values)


def check(args):
    arguments, again = Arguments(args), Arguments(args)
    assert arguments.key == args_key(args)
    assert (arguments.key, arguments.values, arguments.words) == (again.key, again.values, again.words)
    assert all(type(path) is str and type(text) is str and text for path, text in arguments.values)
    assert all(text == text.strip() for _, text in arguments.values)
    assert all(type(word) is int for word in arguments.words)


@given(data=st.data())
def test_equal_arguments_have_equal_keys(values, data):
    args = data.draw(values.data)
    assert Arguments(values.reordered(args)).key == Arguments(args).key
