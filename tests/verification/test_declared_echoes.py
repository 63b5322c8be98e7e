"""Declared echoes compiled, and held against every value at their place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.verification._arguments import Arguments
from agentguard.verification._contract import EchoRule, Rows, repeats
from agentguard.verification._document import read
from agentguard.verification._sides import normal


def rows(argument, path, args, result):
    return EchoRule.compile(argument, path, None).rows_of(Arguments(args), args, read(result))


class TestRowsOf:
    @pytest.mark.parametrize(
        ("argument", "path", "args", "result", "found"),
        [
            ("id", "id", {"id": "abc"}, {"id": "abc"}, Rows(1, 1)),
            ("id", "id", {"id": "abc"}, {"id": "xyz"}, Rows(1, 0)),
            ("id", "id", {"id": "abc"}, {"name": "abc"}, None),
            ("id", "id", {"id": "abc"}, {"id": None}, None),
            ("id", "id", {"id": "abc"}, {"id": "  "}, None),
            ("id", "id", {"id": "abc"}, {"id": {"of": "abc"}}, None),
            ("id", "id", {}, {"id": "abc"}, None),
            ("id", "id", None, {"id": "abc"}, None),
            ("id", "id", {"id": None}, {"id": "abc"}, None),
            ("id", "id", {"id": "abc"}, {"id": True}, Rows(1, 0)),
            ("id", "id", {"id": "abc"}, {"id": 10**30}, Rows(1, 0)),
            ("id", "ids", {"id": "abc"}, {"ids": ["abc", "u1", None, ["abc"]]}, Rows(2, 1)),
            ("id", "[].id", {"id": "abc"}, [{"id": "abc"}, {"id": "u1"}, {}, 5], Rows(2, 1)),
            ("id", "a[].b[].id", {"id": "abc"}, {"a": [{"b": [{"id": "abc"}]}, {"b": [{"id": "ABC"}]}]}, Rows(2, 2)),
            ("id", "a.b", {"id": "abc"}, {"a.b": "abc", "a": {"b": "u1"}}, Rows(2, 1)),
            ("q.id_1", "out_2", {"q": {"id_1": "abc"}}, {"out_1": "abc", "out_2": "u1"}, Rows(1, 0)),
            ("ids[]", "[].id", {"ids": ["abc", "u1"]}, [{"id": "abc"}, {"id": "u1"}, {"id": "u2"}], Rows(3, 2)),
            ("id", "id", {"id": "abc"}, "id: abc\nname: Ann", Rows(1, 1)),
            ("id", "id", {"id": "abc"}, "id: xyz\nname: Ann", Rows(1, 0)),
            ("id", "id", {"id": "abc"}, '{"id": "xyz"}', Rows(1, 0)),
            ("id", "[].id", {"id": "abc"}, '{"id": "abc"}\n{"id": "xyz"}', Rows(2, 1)),
            ("id", "id", {"id": "abc"}, "abc", None),
            ("id", "id", {"id": "abc"}, "", None),
        ],
        ids=repr,
    )
    def test_table(self, argument, path, args, result, found):
        assert rows(argument, path, args, result) == found

    def test_every_one_of_many_arguments_is_known(self):
        ids = [f"id-{number}" for number in range(200)]
        assert rows("ids[]", "[].id", {"ids": ids}, [{"id": id_} for id_ in reversed(ids)]) == Rows(200, 200)

    def test_every_one_of_many_rows_is_looked_at(self):
        owners = ["me"] * 5_000
        owners[2_500] = "another"
        result = {"rows": [{"owner": owner} for owner in owners]}
        assert rows("id", "rows[].owner", {"id": "me"}, result) == Rows(5_000, 4_999)

    def test_beyond_some_rows_of_others_values_are_equal_or_not(self):
        """So that a result cannot make the guard compare for ever."""
        result = [{"id": f"other {number}"} for number in range(12_000)] + [{"id": "abc (new)"}, {"id": "ABC"}]
        assert rows("id", "[].id", {"id": "abc"}, result) == Rows(12_002, 1)

    @given(data=st.data())
    def test_any_arguments_and_any_result(self, values, data):
        args, result = data.draw(values.objects), data.draw(values.objects)
        for argument, path in (("id", "id"), ("[]", "[]"), ("rows[].id", "rows[].name"), ("a.b", "k1")):
            found = rows(argument, path, args, result)
            assert found is None or 0 <= found.alike <= found.total > 0

    @given(st.dictionaries(st.sampled_from(["id", "name", "rows"]), st.text(max_size=30) | st.integers() | st.floats()))
    def test_a_result_that_repeats_its_arguments_holds(self, args):
        for name in args:
            found = rows(name, name, args, dict(args))
            assert found is None or found == Rows(1, 1)


class TestRepeats:
    @pytest.mark.parametrize(
        ("text", "value", "same"),
        [
            ("abc", " ABC ", True),
            ("order abc", "abc", True),
            ("abc", "orders abc, u1", True),
            ("btc", "BTCUSDT", True),
            ("s1", "s10", False),
            ("s10", "s1", False),
            ("10", "s10", True),
            ("10", "s1010", False),
            ("s1", "s10, s1", True),  # it stands there too
            ("4711", "ORD-0004711", True),
            ("4711", "ORD-1004711", False),
            ("0", "00", True),
            ("12", 12.5, False),
            ("12.50", 12.5, True),
            ("-5", 5, False),
            ("9007199254740993", "9007199254740992", False),  # the same as floats
            ("us", "status", False),
            ("us", "US", True),
            ("us", "US-CA", True),
            ("abc", True, False),
            ("abc", float("nan"), False),
            ("2024-05-20", "2024-05-20T10:00:00Z", True),
        ],
    )
    def test_table(self, text, value, same):
        assert repeats(text, value) is same

    def test_a_long_text_comes_back_with_other_breaks_and_quotes(self):
        body = normal("Dear Ann, the meeting is at ten. Bring the 'red' folder, please. Bob")
        assert repeats(body, "Dear Ann,\n\nthe meeting is at ten.\nBring the red folder, please.\n\nBob")
        assert not repeats(body, "Dear Ann,\n\nthe meeting is at two.\nBring the red folder, please.\n\nBob")

    def test_long_values_take_no_long(self):
        """A part that stands at each place of a long text, and nowhere as a word of its own."""
        assert not repeats("7" * 40, "7" * 2_000_000)
        assert not repeats("0" * 40 + "7", "0" * 2_000_000)

    @given(st.integers(0, 10**6), st.integers(0, 10**6), st.sampled_from(["", "SKU-", "id:", "(", "é"]))
    def test_numbers_are_compared_as_a_whole(self, one, other, before):
        assert repeats(normal(f"{before}{one}"), f"{before}{other}") is (one == other)


def test_the_places_are_those_of_a_walk():
    rule = EchoRule.compile("q.line_1", "rows[].card_12", "every")
    assert (rule.place, rule.where) == ("q.line_#", "q.line_# rows[].card_#")
