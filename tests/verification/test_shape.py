"""The learned shape of results: what is unusual in one, by how much, and how large a part of it."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.verification._document import read
from agentguard.verification._shape import Shape, facts_of, string_format


def learned(*results):
    shape = Shape()
    for result in results:
        document = read(result)
        shape.learn(document)
    return shape


def surprise(shape, result):
    document = read(result)
    return shape.surprise(document)[:3]


def format_surprise(shape, result):
    return shape.format_surprise(read(result))[:2]


USERS = [{"id": n, "name": f"user {n}", "address": {"city": "Oslo"}} for n in range(40)]


class TestFacts:
    def test_are_paths_with_types(self):
        assert facts_of(read({"a": 1, "b": {"c": "x"}, "d": [None, True]})) == {
            ("a", float), ("b.c", str), ("d[]", type(None)), ("d[]", bool),
        }  # fmt: skip

    def test_20_and_20_0_are_of_one_type(self):
        assert facts_of(read({"t": 20})) == facts_of(read({"t": 20.5}))

    def test_are_words_where_the_result_is_prose(self):
        assert facts_of(read("It is raining in Oslo.")) == {"raining", "oslo"}

    def test_are_the_same_from_text_and_from_objects(self):
        assert facts_of(read(json.dumps(USERS))) == facts_of(read(USERS))


def test_an_empty_list_is_nothing_new_and_its_elements_are_not_missing():
    shape = learned(*[{"hits": [{"sku": f"S{n}"}] * (n % 3 + 1)} for n in range(40)])
    assert surprise(shape, {"hits": []}) == (0.0, 0.0, "")
    assert surprise(shape, {"hits": [None]})[0] > 3.0


def test_numbers_that_count_up_grow_a_digit_and_what_was_asked_is_not_of_the_tool_s_choosing():
    shape = learned(*[{"sku": f"K-{n}"} for n in range(10, 100)])
    assert format_surprise(shape, {"sku": "K-100"}) == (0.0, "")
    x, why = format_surprise(shape, {"sku": "K-1000"})
    assert (x > 3.0, why) == (True, "sku is written in an unusual way")
    assert shape.format_surprise(read({"sku": "K-1000"}), {"k-1000"})[0] == 0.0


def test_a_word_is_form_where_nine_texts_in_ten_say_it_and_one_alone_may_be_left_out():
    texts = [
        f"The parcel of order {n} left the depot{' yesterday' * (n % 5 != 0)} with carrier {n}." for n in range(40)
    ]
    shape = learned(*texts)
    assert surprise(shape, "The parcel of order 99 left the depot with carrier 7.") == (0.0, 0.0, "")
    assert (
        surprise(shape, "The parcel of order 99 left the depot yesterday by itself.")[2]
        != "the word 'carrier' is missing"
    )
    x, _, why = surprise(shape, "Nobody knows where it went.")
    # All seven words of form are missing: the least chance of one, (0 + 1/2) / (40 + 3/2), or an eighth of them less.
    assert -math.log(0.5 / 36.5) <= x <= -math.log(0.5 / 41.5) + 1e-9
    assert "is missing" in why or "never seen" in why


class TestSurprise:
    @pytest.mark.parametrize("result", [{"id": 7, "name": "x", "address": {"city": "Rome"}}, USERS[3]])
    def test_a_result_like_the_others_is_none(self, result):
        assert surprise(learned(*USERS), result) == (0.0, 0.0, "")

    def test_a_new_field_among_results_that_never_had_one(self):
        x, extent, why = surprise(learned(*USERS), {**USERS[0], "admin": True})
        # New traits came in none of the 39 results after the first, (0 + 1/2) / (39 + 3/2), and other keys in none of
        # 40: the more unusual of the two counts.
        # Up to an eighth of the results is added up later.
        assert -math.log(0.5 / 36.5) <= x <= -math.log(0.5 / 41.5) + 1e-9
        assert 1 / 4 <= extent <= 1 / 2  # one of four traits, keys at one of two places
        assert "admin" in why or "keys" in why

    def test_a_field_that_was_always_there_and_is_missing(self):
        x, extent, why = surprise(learned(*USERS), {"id": 1, "name": "x"})
        # The address was missing in none of 40: (40 - 40 + 1/2) / (40 + 3/2); the keys are new too, at .5 / 41.5 or so.
        assert x >= -math.log(0.5 / 36.5)
        assert x == pytest.approx(-math.log(0.5 / 41.5), rel=0.05)
        assert extent >= 1 / 3 - 1e-9  # one of three usual traits
        assert "address" in why or "keys" in why

    def test_a_field_that_is_often_missing_is_no_great_surprise(self):
        half = [user if n % 2 else {"id": n, "name": "x"} for n, user in enumerate(USERS)]
        assert surprise(learned(*half), {"id": 1, "name": "x"})[0] < 1.0

    def test_another_type_at_a_path(self):
        x, _, why = surprise(learned(*USERS), {"id": "seven", "name": "x", "address": {"city": "Oslo"}})
        assert x > 3.0
        assert "id" in why

    def test_another_order_of_keys(self):
        x, extent, why = surprise(learned(*USERS), {"name": "x", "id": 1, "address": {"city": "Oslo"}})
        # Another order was in none of 40, Good-Turing (0 + 1/2) / (40 + 3/2); the odder of two counts 1.5 times.
        assert -math.log(0.75 / 36.5) <= x <= -math.log(0.75 / 41.5) + 1e-9
        assert 0.0 < extent <= 0.5
        assert "keys" in why

    def test_a_result_of_which_nothing_is_known(self):
        _, extent, _ = surprise(learned(*USERS), {"temperature": 20, "wind": "south"})
        assert extent == pytest.approx(1.0)

    def test_a_tool_whose_results_are_always_new_is_never_surprising(self):
        changing = [{f"field_{chr(97 + n)}": n, "id": n} for n in range(26)]
        assert surprise(learned(*changing), {"field_zz": 1, "id": 3})[0] < 0.5

    def test_more_experience_is_more_certainty(self):
        odd = {**USERS[0], "admin": True}
        xs = [surprise(learned(*USERS[:count]), odd)[0] for count in (3, 10, 40)]
        assert xs == sorted(xs)
        assert xs[0] < xs[2]

    def test_words_of_prose_have_a_shape_too(self):
        weather = [f"The weather in {city} is sunny today." for city in ("Oslo", "Rome", "Bern", "Bonn") * 6]
        assert surprise(learned(*weather), "The weather in Rome is sunny today.")[0] == 0.0
        assert surprise(learned(*weather), "Order shipped by courier.")[1] > 0.5

    def test_an_explanation_does_not_depend_on_the_order_of_sets(self):
        # Of many new traits, and of many missing ones, the first by name is the example.
        usual = {f"field_{letter}": 1 for letter in "mfzbkaqw"}
        assert "field_a as" in surprise(learned(*[usual] * 5, {"other": 1}), {"other": 1})[2]
        words = " ".join(letter * 5 for letter in "mfzbkaqw")
        assert "'aaaaa'" in surprise(learned(*["The usual words."] * 5), f"The usual words, and {words}")[2]

    def test_what_is_new_is_learned(self):
        shape = learned(*USERS, *[{**user, "admin": True} for user in USERS])
        assert surprise(shape, {**USERS[0], "admin": True})[0] < 1.0

    @given(data=st.data())
    def test_any_results(self, values, data):
        results = data.draw(st.lists(values.json, max_size=8))
        shape = learned(*results)
        for result in (*results, data.draw(values.json)):
            x, extent, why = surprise(shape, result)
            assert 0.0 <= x < 20.0
            assert 0.0 <= extent <= 1.0
            assert bool(why) == (x > 0.0)
            assert 0.0 <= format_surprise(shape, result)[0] < 20.0


class TestFormats:
    @pytest.mark.parametrize(
        ("text", "form"),
        [
            ("HAT069", "AAA999"), ("2024-05-20", "9999-99-99"), ("ann@x.com", "aaa@a.aaa"), ("", ""), ("é 1", "é 9"),
            ("3f2a-B", "9a9a-A"),
        ],
    )  # fmt: skip
    def test_letters_and_digits_are_put_out(self, text, form):
        assert string_format(text) == form

    def test_a_string_in_another_format(self):
        shape = learned(*({"flight": f"HAT{n:03}"} for n in range(40)))
        assert format_surprise(shape, {"flight": "HAT999"}) == (0.0, "")
        x, why = format_surprise(shape, {"flight": "hat-1"})
        # No other format in 40: (0 + 1/2) / (40 + 3/2).
        assert x == pytest.approx(-math.log(0.5 / 41.5))
        assert "flight" in why

    def test_of_several_strings_the_strangest_counts_less(self):
        shape = learned(*({"a": f"A{n % 10}", "b": f"B{n % 10}", "c": f"C{n % 10}"} for n in range(40)))
        alone, among = (
            format_surprise(shape, {"a": "x-1"})[0],
            format_surprise(shape, {"a": "x-1", "b": "B1", "c": "C1"})[0],
        )
        # The smallest of three p-values counts p (1 + (3 - 1)/2) = 2 p.
        assert among == pytest.approx(alone - math.log(2))

    def test_formats_are_found_among_other_things(self):
        shape = learned(*({"codes": [None, f"A{n % 10}", 5]} for n in range(40)))
        assert format_surprise(shape, {"codes": [None, "A7", 5]})[0] == 0.0
        assert format_surprise(shape, {"codes": ["?-?", None]})[0] > 3.0

    def test_free_text_has_no_format(self):
        texts = ["".join("x" if n >> bit & 1 else " y" for bit in range(8)) for n in range(200)]
        shape = learned(*({"text": text} for text in texts))
        assert format_surprise(shape, {"text": "12345 !!"})[0] == 0.0

    def test_unknown_paths_and_other_types_have_none(self):
        shape = learned(*({"code": f"A{n % 10}"} for n in range(40)))
        assert format_surprise(shape, {"other": "???", "code": 5}) == (0.0, "")


class TestCutObjects:
    ORDER = ("id", "name", "address")

    def test_the_first_keys_of_a_known_order(self):
        shape = learned(*USERS)
        assert shape.is_cut_object("", self.ORDER[:1])
        assert shape.is_cut_object("", self.ORDER[:2])

    def test_all_the_keys_or_others_are_not(self):
        shape = learned(*USERS)
        assert not shape.is_cut_object("", self.ORDER)
        assert not shape.is_cut_object("", ("name", "id"))
        assert not shape.is_cut_object("", (*self.ORDER, "more"))
        assert not shape.is_cut_object("elsewhere", ("id",))

    def test_what_was_once_all_there_was_is_not(self):
        assert not learned(*USERS, {"id": 1, "name": "x"}).is_cut_object("", ("id", "name"))


def test_memory_is_bounded():
    def varied(n):
        digits = "".join(chr(97 + int(digit)) for digit in str(n))
        return {f"{digits}_{letter}": f"{'x' * (n % 40)}{letter}" for letter in "abcdefgh"}

    shape = learned(*(varied(n) for n in range(3_000)))
    assert len(shape.facts) < 3_000
    assert len(shape.keys) < 3_000
    assert len(shape.formats) < 3_000


class TestBrokenFormat:
    LETTERS = [  # noqa: RUF012 - read only
        {"no": n, "sent": f"2025-03-{1 + n % 28:02}T08:{n % 60:02}:00Z", "to": f"Ann {n}"} for n in range(40)
    ]

    @pytest.mark.parametrize("sent", ["03/05/2025 08:15", "yesterday", "2025/03/05", "1741161600"])
    def test_a_date_written_otherwise_than_all_before(self, sent):
        x, said, _ = learned(*self.LETTERS).broken_format(read({"no": 7, "sent": sent, "to": "Bo"}))
        assert x == pytest.approx(-math.log(0.5 / 41.5))  # never in 40: (0 + 1/2) / (40 + 3/2)
        assert said.startswith("sent is written in another way")

    @pytest.mark.parametrize(
        "sent", ["2026-12-24T23:59:59Z", "2026-12-24T23:59:59.123Z", "2026-12-24", "2026-1-2T3:04:05Z", "", None]
    )
    def test_other_dates_more_and_less_precise_ones_and_none_break_nothing(self, sent):
        assert learned(*self.LETTERS).broken_format(read({"no": 7, "sent": sent, "to": "Bo"}))[:2] == (0.0, "")

    def test_words_have_no_format_to_break(self):
        states = [{"state": ("open", "in_transit")[n % 2]} for n in range(40)]
        assert learned(*states).broken_format(read({"state": "on hold (2)"}))[:2] == (0.0, "")

    def test_dates_in_two_ways_are_no_format_yet(self):
        mixed = [{"sent": ("2025-03-05", "05/03/2025")[n % 2]} for n in range(40)]
        assert learned(*mixed).broken_format(read({"sent": "yesterday"}))[0] > 0.0
        assert learned(*mixed[:6]).broken_format(read({"sent": "yesterday"}))[:2] == (0.0, "")  # too few
