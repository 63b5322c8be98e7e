"""Arguments that come back in results: found, learned, and missed."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.verification.arguments import Arguments
from agentguard.verification.document import read
from agentguard.verification.echoes import Echo, Echoes, EchoPool, find_echoes


def found(args, result):
    """``{(path, where): found}``."""
    return {(echo.path, echo.where): echo.found for echo in find_echoes(Arguments(args), read(result))}


def learn(echoes, pool, args, result):
    echoes.learn(find_echoes(Arguments(args), read(result)), pool)


def surprise(echoes, pool, args, result):
    """The surprise and what it is about."""
    found = echoes.surprise(find_echoes(Arguments(args), read(result)), pool)
    return None if found is None else found[:2]


def direct(echoes, pool, args, result):
    return echoes.surprise(find_echoes(Arguments(args), read(result)), pool)[2]


SOMEWHERE, SAME_NAME, EVERY_ROW = "somewhere", "same name", "every row"


class TestFind:
    @pytest.mark.parametrize(
        ("args", "result", "expected"),
        [
            ({"city": "Paris"}, "It rains in Paris.", {("city", SOMEWHERE): True}),
            ({"city": "Paris"}, "It rains in PARIS.", {("city", SOMEWHERE): True}),
            ({"city": "Paris"}, "It rains in Rome.", {("city", SOMEWHERE): False}),
            ({"id": 4711}, {"user": {"id": 4711}}, {("id", SOMEWHERE): True, ("id", SAME_NAME): True}),
            ({"id": 4711}, {"user": {"id": 4712}}, {("id", SOMEWHERE): False, ("id", SAME_NAME): False}),
            ({"id": 4711}, {"id": "4711"}, {("id", SOMEWHERE): True, ("id", SAME_NAME): True}),
            ({"n": 5.0}, {"n": 5}, {("n", SAME_NAME): True}),
            ({"n": 5}, {"x": 5}, {}),  # one or two characters are found anywhere by chance
            ({"q": {"name": "ann"}}, {"name": "Ann Lee"}, {("q.name", SOMEWHERE): True, ("q.name", SAME_NAME): True}),
            (
                {"id": "abc"},
                [{"id": "x1"}, {"id": "abc"}],
                {("id", SOMEWHERE): True, ("id", SAME_NAME): True, ("id", EVERY_ROW): False},
            ),
            ({"say": 'a "b" \\ c'}, {"x": 'a "b" \\ c'}, {("say", SOMEWHERE): True}),
            ({"say": 'a "b" \\ c'}, 'He said: a "b" \\ c', {("say", SOMEWHERE): True}),
            ({"text": "tab\there\nand there"}, {"x": "tab\there\nand there"}, {("text", SOMEWHERE): True}),
            ({"city": "Łódź"}, "Pogoda: Łódź, 20 stopni", {("city", SOMEWHERE): True}),
            ({"city": "Москва"}, {"place": "Москва"}, {("city", SOMEWHERE): True}),
            ({"city": "ÖSTERREICH"}, {"country": "Österreich"}, {("city", SOMEWHERE): True}),
            ({"city": "Éclair"}, {"place": "Eclair"}, {("city", SOMEWHERE): False}),
            ({"city": "Paris"}, None, {}),
            ({"city": "Paris"}, '{"city": "Par', {}),
            ({"flag": True}, {"flag": True}, {}),
            ({}, {"a": 1}, {}),
            (None, {"a": 1}, {}),
            ({"id": 47}, {"rows": [{"owner": {"id": 3}}]}, {}),  # too deep to be the thing that was asked for
        ],
        ids=repr,
    )
    def test_table(self, args, result, expected):
        assert found(args, result) == expected

    def test_a_value_without_a_name_has_no_namesake(self):
        assert found("hello", "Bonjour, tout le monde") == {("", SOMEWHERE): False}
        assert found(["hello"], ["bonjour"]) == {("[]", SOMEWHERE): False}

    def test_a_long_text_may_come_back_with_other_breaks_and_quotes(self):
        body = "Dear Ann, the meeting is at ten. Bring the 'red' folder, please. Bob"
        assert found({"body": body}, {"body": body.replace(". ", ".\n\n")})[("body", SAME_NAME)]
        assert not found({"body": body}, {"body": "Something else entirely was sent to her, I am afraid"})[
            ("body", SAME_NAME)
        ]

    def test_a_long_text_is_found_folded_quoted_and_escaped(self):
        body = "Family reunion at Grandma's house. Everyone brings a favourite dish, a folding chair and sunshine."
        folded = """description: 'Family reunion at Grandma''s house. Everyone brings a favourite
          dish, a folding chair and sunshine.'"""
        assert found({"body": body}, folded)[("body", SOMEWHERE)]
        other = """description: 'Family reunion at the lake. Everyone gets a parking permit
          and a printed programme.'"""
        assert not found({"body": body}, other)[("body", SOMEWHERE)]

    def test_a_few_words_are_no_text_to_be_recognised_by_them(self):
        asked = "1234-5678-9012-3456-7890-1234 total amount"
        assert not found({"q": asked}, "the total amount is not known to us")[("q", SOMEWHERE)]

    @given(data=st.data())
    def test_any_arguments_and_any_result(self, values, data):
        arguments, document = Arguments(data.draw(values.objects)), read(data.draw(values.objects))
        echoes, pool = Echoes(), EchoPool()
        first = find_echoes(arguments, document)
        assert find_echoes(arguments, document) == first
        echoes.learn(first, pool)
        said = echoes.surprise(first, pool)
        assert said is None or (0.0 <= said[0] < 200.0 and said[2] >= 0.0)

    @given(st.dictionaries(st.sampled_from(["city", "user_id", "q"]), st.text(min_size=3, max_size=20), min_size=1))
    def test_a_result_that_repeats_its_arguments_has_all_echoes(self, args):
        assert all(found(args, dict(args)).values())
        assert all(found(args, read(dict(args)).text.decode()).values())


class TestSurprise:
    def test_nothing_is_expected_of_an_unknown_tool_without_namesakes(self):
        assert surprise(Echoes(), EchoPool(), {"city": "Paris"}, "It rains.") is None

    def test_a_namesake_is_expected_back_at_once(self):
        x, why = surprise(Echoes(), EchoPool(), {"user_id": "u7"}, {"user_id": "u8"})
        assert x > 1.0
        assert "user_id" in why

    def test_an_identifier_more_than_other_names(self):
        def of(name):
            return surprise(Echoes(), EchoPool(), {name: "abc"}, {name: "xyz"})[0]

        assert of("user_id") > of("status")

    def test_an_echo_that_is_there_is_no_surprise(self):
        assert surprise(Echoes(), EchoPool(), {"user_id": "u7"}, {"user_id": "u7"}) == (0.0, "")

    def test_a_value_that_always_came_back_and_does_not(self):
        echoes, pool = Echoes(), EchoPool()
        for city in ["Paris", "Rome", "Oslo", "Bern"] * 5:
            learn(echoes, pool, {"city": city}, f"The weather in {city} is fine.")
        assert surprise(echoes, pool, {"city": "Bonn"}, "The weather in Bonn is fine.") == (0.0, "")
        x, why = surprise(echoes, pool, {"city": "Bonn"}, "The weather in Paris is fine.")
        # It came back in 20 of 20: the rate is (20 + 1/2) / (20 + 3/2), the surprise -ln of the rest, 1 / 21.5.
        assert x == pytest.approx(-math.log(1 / 21.5))
        assert "city" in why

    def test_a_value_that_never_comes_back_is_not_expected(self):
        echoes, pool = Echoes(), EchoPool()
        for city in ["Paris", "Rome", "Oslo", "Bern"] * 5:
            learn(echoes, pool, {"city": city}, "It is 20 degrees.")
        assert surprise(echoes, pool, {"city": "Bonn"}, "It is 15 degrees.") is None

    def test_a_namesake_that_holds_other_values_is_unlearned(self):
        echoes, pool = Echoes(), EchoPool()
        before = surprise(echoes, pool, {"name": "ann"}, {"name": "x-1"})[0]
        for n in range(30):
            learn(echoes, pool, {"name": "ann"}, {"name": f"x-{n}"})
        after = surprise(echoes, pool, {"name": "ann"}, {"name": "x-99"})
        assert after is None or after[0] < before / 2

    def test_what_one_tool_shows_is_expected_of_another(self):
        pool, first = EchoPool(), Echoes()
        for n in range(30):
            learn(first, pool, {"status": f"state{n}"}, {"status": f"state{n}"})
        taught = surprise(Echoes(), pool, {"status": "open"}, {"status": "closed"})
        untaught = surprise(Echoes(), EchoPool(), {"status": "open"}, {"status": "closed"})
        assert taught[0] > untaught[0]

    def test_kinds_of_results_are_learned_apart(self):
        echoes, pool = Echoes(), EchoPool()
        for city in ["Paris", "Rome", "Oslo", "Bern"] * 5:
            learn(echoes, pool, {"city": city}, {"place": city})
        assert surprise(echoes, pool, {"city": "Bonn"}, "No rain in sight.") is None
        assert surprise(echoes, pool, {"city": "Bonn"}, {"place": "Paris"})[0] > 2.0

    def test_the_missing_echo_most_to_be_expected_is_named(self):
        echoes, pool = Echoes(), EchoPool()
        for n in range(40):
            learn(
                echoes, pool, {"a": f"alpha{n}", "b": f"beta{n}"}, f"alpha{n} and {f'beta{n}' if n % 5 else 'nothing'}"
            )
        x, why = surprise(echoes, pool, {"a": "alpha99", "b": "beta99"}, "something else")
        assert "'a'" in why
        # The one came back in 40 of 40, the other in 32, which counts a third: -ln((41.5 - 32.5) / 41.5).
        assert x == pytest.approx(-math.log(1 / 41.5) - 0.33 * math.log(9 / 41.5))


def test_memory_is_bounded():
    echoes, pool = Echoes(), EchoPool()
    for n in range(5_000):
        name = "".join(chr(97 + int(digit)) for digit in str(n))
        learn(echoes, pool, {name: "value"}, {name: "value"})
    assert len(echoes.rates) < 1_000
    assert len(pool.by_name) <= EchoPool.LIMIT


def test_long_values_and_results_are_read():
    assert found({"city": "Paris"}, "é" * 2_500_000 + " Paris") == {("city", SOMEWHERE): True}
    assert found({"text": "x" * 5_000_000}, {"text": "x"}) == {}


class TestSeveralEchoes:
    def test_what_is_missing_together_counts_a_third(self):
        echoes, pool = Echoes(), EchoPool()
        one = surprise(echoes, pool, {"origin": "osl"}, {"origin": "rix"})[0]
        both = surprise(echoes, pool, {"origin": "osl", "target": "cdg"}, {"origin": "rix", "target": "fra"})[0]
        assert both == pytest.approx(1.33 * one)

    def test_an_identifier_that_came_back_shows_whose_result_it_is(self):
        asked = {"order_id": "o7", "payment_id": "card 1"}
        lost = surprise(Echoes(), EchoPool(), asked, {"order_id": "o9", "payment_id": "card 2"})
        assert lost is not None
        assert lost[0] > 3.0
        kept = surprise(Echoes(), EchoPool(), asked, {"order_id": "o7", "payment_id": "card 2"})
        assert kept == (0.0, "")

    def test_of_a_tool_that_is_known_it_excuses_nothing(self):
        echoes, pool = Echoes(), EchoPool()
        for number in range(20):
            asked = {"order_id": f"o{number}", "payment_id": f"card {number}"}
            learn(echoes, pool, asked, asked)
        asked = {"order_id": "o7", "payment_id": "card 7"}
        assert surprise(echoes, pool, asked, {**asked, "payment_id": "card 8"})[0] > 3.0


class TestLikelihood:
    def test_a_name_is_known_over_all_tools(self):
        # Before anything is known a city comes back in 85%: half of the fabricated against 15% of the genuine.
        assert direct(Echoes(), EchoPool(), {"city": "Oslo"}, {"city": "Riga"}) == pytest.approx(0.5 / 0.15)

    def test_a_place_is_known_after_eight_calls(self):
        echoes, pool = Echoes(), EchoPool()
        for number, city in enumerate(["Paris", "Rome", "Oslo", "Bern"] * 3):
            if 3 <= number < 8:
                assert direct(echoes, pool, {"city": "Riga"}, "It rains.") == 0.0
            learn(echoes, pool, {"city": city}, f"It rains in {city}.")
        assert direct(echoes, pool, {"city": "Riga"}, "It rains.") == pytest.approx(0.5 / (1 / 13.5))
        assert direct(echoes, pool, {"city": "Riga"}, "It rains in Riga.") == 0.0


class TestEveryRow:
    @pytest.mark.parametrize(
        ("args", "result", "every"),
        [
            ({"id": "abc"}, [{"id": "abc"}, {"id": "ABC"}], True),
            ({"id": "abc"}, {"rows": [{"id": "abc"}, {"id": "xyz"}]}, False),
            ({"id": "abc"}, {"id": "abc", "rows": [{"id": "u1"}, {"id": "u2"}]}, False),
            ({"id": "abc"}, [{"id": "abc"}], None),  # one row is no rows
            ({"id": "abc"}, [{"id": "abc"}, {"id": None}], None),
            ({"id": "abc"}, [{"id": "u1"}, {"id": "u2"}], None),  # none repeats it: that is said already
            ({"id": "abc"}, {"id": "abc", "user": {"id": "u1"}}, None),  # two values, and no rows
            ({"ids": ["abc", "xyz"]}, {"ids": ["xyz", "abc"]}, True),
            ({"ids": ["abc", "xyz"]}, {"ids": ["xyz", "uvw"]}, False),
            ({"ids": [f"id{n}" for n in range(90)]}, {"ids": ["id3", "id88"]}, None),  # some were left out
        ],
        ids=repr,
    )
    def test_is_asked_of_rows_of_which_one_repeats_it(self, args, result, every):
        told = {where: found for (_, where), found in found(args, result).items()}
        assert told.get(EVERY_ROW) is every

    def test_rows_of_others_are_a_surprise_where_all_rows_were_the_asked_ones(self):
        echoes, pool = Echoes(), EchoPool()
        for n in range(20):
            learn(echoes, pool, {"id": f"u{n}"}, [{"id": f"u{n}"}, {"id": f"u{n}"}])
        asked, rows = {"id": "u7"}, [{"id": "u7"}, {"id": "u8"}]
        x, why = surprise(echoes, pool, asked, rows)
        # So in 20 of 20: the rate is (20 + 1/2) / (20 + 3/2), the surprise -ln of the rest, 1 / 21.5.
        assert x == pytest.approx(-math.log(1 / 21.5))
        assert why == "not every row repeats argument 'id' (every row), usual in 95%"
        assert direct(echoes, pool, asked, rows) == pytest.approx(0.5 * 21.5)
        assert surprise(echoes, pool, asked, [{"id": "u7"}, {"id": "u7"}]) == (0.0, "")

    def test_rows_of_others_are_none_where_they_were_usual(self):
        echoes, pool = Echoes(), EchoPool()
        for n in range(20):
            learn(echoes, pool, {"id": f"u{n}"}, [{"id": f"u{n}"}, {"id": "staff"}])
        assert surprise(echoes, pool, {"id": "u7"}, [{"id": "u7"}, {"id": "u8"}]) == (0.0, "")

    def test_few_results_are_no_ground(self):
        echoes, pool = Echoes(), EchoPool()
        for n in range(7):
            learn(echoes, pool, {"id": f"u{n}"}, [{"id": f"u{n}"}, {"id": f"u{n}"}])
        assert surprise(echoes, pool, {"id": "u7"}, [{"id": "u7"}, {"id": "u8"}]) == (0.0, "")


def test_what_is_found_at_declared_places_is_kept_with_the_rest():
    arguments, document = Arguments({"id": "abc"}), read([{"owner": "abc"}])
    declared = Echo("id", "every [].owner", "array", True)
    assert find_echoes(arguments, document, [declared])[-1] is declared
    assert find_echoes(arguments, document)[-1] is declared
