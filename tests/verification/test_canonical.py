"""Any object as JSON, and the keys made from it."""

import json
import math
import signal
import sys
import uuid
from asyncio import CancelledError
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from agentguard.verification import _canonical
from agentguard.verification._canonical import (
    args_key,
    as_name,
    digest,
    made_plain,
    plain,
    serialise,
    serialised,
    weighs_too_much,
)

PLAIN = (dict, list, str, int, float, bool, type(None))


def is_plain(value):
    """JSON's own types all the way down, exactly, with every number finite and every key and text encodable."""
    if type(value) is dict:
        return all(type(key) is str and key.encode() is not None and is_plain(item) for key, item in value.items())
    if type(value) is list:
        return all(map(is_plain, value))
    if type(value) is float:
        return math.isfinite(value)
    if type(value) is int:
        return -(2**63) <= value < 2**64
    return type(value) in PLAIN and (type(value) is not str or value.encode() is not None)


@given(data=st.data())
def test_json_is_left_as_it_is(values, data):
    value = data.draw(values.json)
    text, same = serialise(value)
    assert same is value
    assert json.loads(text) == value
    assert plain(value) == value


@given(data=st.data())
def test_any_object_becomes_plain_json(values, data):
    value = data.draw(values.objects)
    made = plain(value)
    assert is_plain(made)
    text, _ = serialise(value)
    json.loads(text)
    assert (plain(value), serialise(value)[0], args_key(value)) == (made, text, args_key(value))
    assert len(args_key(value)) == 16
    assert 0 <= digest(text) < 2**64


def test_each_awkward_object_has_a_plain_form_that_does_not_change(each_awkward):
    for each, awkward in each_awkward:
        with each:
            made = plain(awkward())
            assert is_plain(made)
            assert plain(awkward()) == made
            assert args_key({"of": awkward()}) == args_key({"of": awkward()})
            assert serialise([awkward()])[0] == serialise([awkward()])[0]
            json.loads(serialise([awkward()])[0])


@given(data=st.data())
def test_equal_values_have_equal_keys_whatever_the_order_of_their_parts(values, data):
    value = data.draw(values.data)
    assert args_key(values.reordered(value)) == args_key(value)


@given(data=st.data())
def test_other_json_has_another_key(values, data):
    one, other = data.draw(values.json), data.draw(values.json)
    as_text = [json.dumps(value, sort_keys=True) for value in (one, other)]
    assume(as_text[0] != as_text[1])
    assert args_key(one) != args_key(other)
    assert digest(serialise(one)[0]) != digest(serialise(other)[0]) or serialise(one)[0] == serialise(other)[0]


@given(st.text(st.characters(), max_size=40), st.text(st.characters(), max_size=40))
@example("a\ud800", "a\udfff")
def test_texts_without_lone_surrogates_are_kept_and_told_apart(one, other):
    clean = all(not "\ud800" <= char <= "\udfff" for char in one + other)
    assert not clean or plain(one) == one
    assert (args_key(one) == args_key(other)) == (plain(one) == plain(other))


class Shade(Enum):
    DARK = ("level", 9)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": {3, 1}}, {"a": [1, 3]}),
        ((1, (2, 3)), [1, [2, 3]]),
        ({1: "x", None: "y", 2.5: "z", b"k": 0}, {"1": "x", "None": "y", "2.5": "z", "k": 0}),
        ([math.nan, math.inf, -math.inf], ["NaN", "Infinity", "-Infinity"]),
        (2**64, "18446744073709551616"),  # one above what 64 bits hold
        (2**64 - 1, 18446744073709551615),
        (-(2**63) - 1, "-9223372036854775809"),
        (b"caf\xc3\xa9", "café"),
        (Decimal("12.50"), "12.50"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Shade.DARK, ["level", 9]),
        ([True, 1, 1.0], [True, 1, 1.0]),
    ],
)
def test_what_stands_for_a_value(value, expected):
    made = plain(value)
    assert json.dumps(made) == json.dumps(expected)  # tells 1, 1.0 and true apart


def test_dataclasses_and_models_are_their_fields(values):
    assert plain(values.Order(7, {"x": (1,)})) == {"number": 7, "lines": {"x": [1]}}
    assert plain(values.Customer(name="Ann", tags=[{2}])) == {"name": "Ann", "tags": [[2]]}


def test_keys_of_bytes_are_their_text(values):
    raw = values.awkward["bytes_subclass_that_raises"]()
    assert plain({b"k": 1, raw: 2, b"\xff": 3}) == {"k": 1, "raw": 2, "\ufffd": 3}


def test_10_to_the_400_keeps_its_digits():
    assert plain(10**400) == "1" + "0" * 400


def test_bytes_that_are_no_text_are_told_apart():
    assert plain(b"\xff\x00") != plain(b"\xff\x01")


def test_a_cycle_is_marked_where_it_closes():
    loop: list = [1]
    loop.append({"again": loop})
    assert plain(loop) == [1, {"again": "<cycle>"}]


def test_the_same_object_twice_is_no_cycle():
    shared = {"x": [1]}
    assert plain([shared, shared, {4}]) == [{"x": [1]}, {"x": [1]}, [4]]


@pytest.mark.parametrize("of", ["list", "dict", "tuple", "both"])
def test_too_deep_a_value_is_cut_with_a_mark(values, of):
    text = serialise(values.deep(10_000, of=of))[0]
    assert len(text) < 1_000
    assert b"deeper" in text


def test_an_endless_iterable_costs_a_bounded_number_of_steps():
    class Endless(dict):
        steps = 0

        def items(self):
            while True:
                Endless.steps += 1
                yield str(Endless.steps), Endless.steps

    assert len(plain({"of": Endless(a=1)})["of"]) <= 200_000
    assert Endless.steps <= 200_001


def test_keys_that_json_cannot_tell_apart_do_not_depend_on_order():
    assert plain({1: "a", "1": "b"}) == plain({"1": "b", 1: "a"})
    assert args_key({1: "a", "1": "b"}) == args_key({"1": "b", 1: "a"})


@pytest.mark.parametrize("value", [(x for x in ()), lambda: None, object(), [].append], ids=type)
def test_no_address_in_memory_gets_into_the_text(value):
    assert "0x" not in plain(value)


def test_null_and_not_a_number_are_different_arguments():
    keys = {args_key({"a": value}) for value in (None, math.nan, math.inf, -math.inf, "", 0, False)}
    assert len(keys) == 7


def test_numbers_as_json_writes_them_are_told_apart():
    assert args_key({"n": 1}) != args_key({"n": True})
    assert args_key({"n": 1}) != args_key({"n": "1"})


@pytest.mark.parametrize("size", [1, 100, 4_095, 4_096, 4_097, 100_000, 5_000_000])
def test_texts_of_any_length_are_told_apart(size):
    body = b"x" * size
    changed = {body[:at] + b"y" + body[at + 1 :] for at in (0, size // 3, size // 2, size - 1)}
    assert len({digest(text) for text in (body, body + b"x", body[1:], *changed)}) == 3 + len(changed)


def test_equal_texts_have_one_digest():
    body = b"x" * 5_000_000
    assert digest(body) == digest(b"x" * 5_000_000)


def test_a_long_string_is_serialised_whole():
    text, value = serialise({"blob": "é" * 2_500_000, "of": {1}})
    assert len(value["blob"]) == 2_500_000
    assert len(text) > 5_000_000


def test_what_is_left_out_is_told_of(values):
    assert made_plain({"a": [1, "x"]}) == ({"a": [1, "x"]}, "")
    assert made_plain(values.deep(64))[1] == ""
    assert "64 levels" in made_plain(values.deep(65))[1]
    assert "200,000 values" in made_plain([0] * 200_001).cut
    assert len(made_plain([0] * 200_001).value) < 200_000
    assert "more than 1,048,576 characters" in made_plain([PurePosixPath("x" * (1 << 20) + "y")]).cut
    assert serialised([{1}, values.deep(300)]).cut == made_plain(values.deep(300)).cut


class TestForeignCode:
    """What a value raises while it is read is held, unless it is for the process."""

    @pytest.mark.parametrize("error", [SystemExit, GeneratorExit, CancelledError, MemoryError, RecursionError])
    def test_an_object_that_would_end_the_process_is_a_value_all_the_same(self, error):
        thing = raising(error)
        assert plain({"a": thing, "b": 1}) == {"a": f"<Raising: {error.__name__}>", "b": 1}
        assert plain({thing: 1}) == {f"<Raising: {error.__name__}>": 1}
        assert as_name(thing) == f"<Raising: {error.__name__}>"

    def test_what_the_user_raises_goes_through(self):
        with pytest.raises(KeyboardInterrupt):
            plain({"a": [raising(KeyboardInterrupt)]})

    def test_what_a_signal_raises_goes_through(self):
        """As a service ends by ``SystemExit`` out of its handler, which runs between any two steps of ours."""
        before = signal.signal(signal.SIGVTALRM, lambda *_: sys.exit("told to end"))
        value = [[{"n": n} for n in range(1_000)] for _ in range(100)]
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.02)  # of the processor's time, and this takes far more
        try:
            with pytest.raises(SystemExit, match="told to end"):
                list(map(plain, [value] * 20))
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)


def raising(error):
    class Raising:
        def __str__(self, *_):
            raise error

    return Raising()


@pytest.mark.parametrize("of", [dict, set])
def test_a_container_that_grows_while_it_is_read_is_read_as_it_was(of):
    grown = []

    class Foreign:
        @property
        def model_dump(self):
            grown.append(1)
            container.update({f"new {len(grown)}": 1} if of is dict else {f"new {len(grown)}"})
            raise AttributeError

    container = {"a": 1, Foreign(): 2} if of is dict else {"a", Foreign()}
    assert plain([container]) == ([{"a": 1, "<Foreign>": 2}] if of is dict else [["<Foreign>", "a"]])
    assert grown


class TestWeighing:
    def test_more_containers_than_are_looked_at_weigh_too_much(self):
        rows = [{"a": 1} for _ in range(9)]
        assert not weighs_too_much(rows, 10)
        assert weighs_too_much(rows, 9)

    def test_long_keys_weigh(self):
        row = {"k" * 1_000_000: 1}
        assert weighs_too_much([row] * 300)
        assert not weighs_too_much([row] * 200)

    def test_arguments_beyond_the_bound_are_told_apart_by_their_beginning(self, monkeypatch):
        monkeypatch.setattr(_canonical, "MAX_NODES", 2_000)
        rows = [{"n": n} for n in range(2_001)]
        assert args_key([*rows, {"n": 1}]) == args_key([*rows, {"n": 2}])
        assert args_key([{"n": 1}, *rows]) != args_key([{"n": 2}, *rows])
        assert args_key([*rows[:1_500], {"n": 1}]) != args_key([*rows[:1_500], {"n": 2}])


def test_parts_shared_at_any_depth_take_the_time_of_the_value_in_memory() -> None:
    value: object = "leaf"
    for _ in range(60):
        value = [value, value]
    for _ in range(70):
        value = [value]
    assert weighs_too_much(value)
    assert args_key({"a": value}) == args_key({"a": value})
