"""What is remembered of equal arguments and of results seen under others."""

import math
import random

import numpy as np
import pytest

from agentguard.verification._arguments import Arguments
from agentguard.verification._document import read
from agentguard.verification._keys import KeyHistory, Keys, numbers_of

LONG = "The weather in Paris is fine today: 20 degrees, with light winds from the south-west and no rain at all."


def learn(keys, args, result):
    arguments, document = Arguments(args), read(result)
    keys.learn(arguments, document)


def is_foreign(keys, args, result):
    arguments = Arguments(args)
    return keys.is_foreign(arguments, read(result).digest)


def history_of(*results):
    history = KeyHistory(frozenset())
    for result in results:
        document = read(result)
        history.learn(document)
    return history


class TestNumbers:
    def test_are_on_the_signed_log_scale(self):
        # ln(1 + 99) = 4.60517…, -ln(1 + 6.389…) = -2, ln(1 + 0) = 0
        numbers = numbers_of(read({"a": 99, "b": -(math.e**2 - 1), "c": 0}))
        assert numbers == pytest.approx({"a": 4.605170185988092, "b": -2.0, "c": 0.0})

    def test_are_the_mean_where_a_path_has_several(self):
        numbers = numbers_of(read({"rows": [{"n": 1}, {"n": 3}, {"n": 7}]}))
        assert numbers == pytest.approx({"rows[].n": np.mean(np.log1p([1, 3, 7]))})

    def test_are_found_among_other_things(self):
        numbers = numbers_of(read({"rows": [{"n": None}, {"n": 3}, {"n": "x"}, {"n": 7}]}))
        assert numbers == pytest.approx({"rows[].n": np.mean(np.log1p([3, 7]))})

    def test_leave_out_what_is_no_number(self):
        assert numbers_of(read({"a": True, "b": "5", "c": math.nan, "d": math.inf, "e": None, "f": 2**70})) == {}

    def test_are_worked_out_once(self):
        document = read({"a": 1})
        assert numbers_of(document) is numbers_of(document)


class TestHistory:
    def test_keeps_distinct_results_the_current_one_last(self):
        a, b = read({"n": 1}), read({"n": 2})
        history = history_of({"n": 1}, {"n": 2}, {"n": 1})
        assert history.results.tolist() == [b.digest, a.digest]
        assert history.count == 3

    def test_forgets_the_oldest_result(self):
        history = history_of(*({"n": n} for n in range(100)))
        assert len(history.results) < 20
        assert history.results[-1] == read({"n": 99}).digest
        assert read({"n": 0}).digest not in history.results

    def test_the_level_of_a_number_is_its_mean(self):
        history = history_of({"p": 9.0}, {"p": 99.0}, {"p": 999.0})
        # The means are kept as 32-bit floats.
        assert history.moves({"p": 0.0}) == [("p", pytest.approx(-np.mean(np.log([10, 100, 1000])), rel=1e-6))]
        assert history.seen == 3

    def test_only_numbers_that_were_there_before_have_moved(self):
        history = history_of({"p": 0, "q": 0}, {"q": 0, "r": 0})
        assert history.moves({"p": 1.0, "q": 2.0, "r": 3.0}) == [("q", 2.0), ("r", 3.0)]

    def test_a_level_follows_a_lasting_change(self):
        history = history_of(*[{"p": 9.0}] * 50, *[{"p": 999.0}] * 100)
        assert history.moves({"p": math.log(1000)})[0][1] == pytest.approx(0.0, abs=0.1)

    def test_numbers_are_bounded(self):
        wide = {f"k{'x' * n}": 1.0 for n in range(90)}
        assert len(history_of(wide).moves(dict.fromkeys(wide, 0.0))) < 50


class TestCutOff:
    def test_every_beginning_from_32_bytes_on_is_cut_off(self):
        history = history_of(LONG)
        assert [length for length in range(32, len(LONG)) if not history.is_cut_off(read(LONG[:length]))] == []

    def test_the_whole_and_anything_longer_is_not(self):
        history = history_of(LONG)
        assert not history.is_cut_off(read(LONG))
        assert not history.is_cut_off(read(LONG + " More."))

    def test_another_text_is_not(self):
        assert not history_of(LONG).is_cut_off(read("The weather in Rome is fine today: 25 degrees."))

    def test_a_few_bytes_say_nothing(self):
        assert not history_of(LONG).is_cut_off(read(LONG[:8]))

    def test_nothing_is_cut_off_from_nothing(self):
        assert not KeyHistory(frozenset()).is_cut_off(read(LONG))

    def test_a_shorter_result_in_between_changes_nothing(self):
        assert history_of(LONG, "Sorry, try later.").is_cut_off(read(LONG[:60]))

    def test_the_beginning_of_json_text_is(self):
        whole = {"user": {"name": "Ann Lee", "email": "ann@example.com"}, "balance": 100}
        text = read(whole).text.decode()
        assert history_of(whole).is_cut_off(read(text[:50]))

    def test_json_that_is_closed_is_never_the_beginning_of_other_json(self):
        whole = {"user": {"name": "Ann Lee", "email": "ann@example.com"}, "balance": 100}
        assert not history_of(whole).is_cut_off(read({**whole, "balance": 99}))
        rows = [{"id": n, "name": "some name"} for n in range(10)]
        assert not history_of(rows).is_cut_off(read(rows[:5]))


class TestForeign:
    RESULT = "Paris: 20 degrees and sunny"

    def test_known_under_quite_other_arguments_only(self):
        keys = Keys()
        learn(keys, {"city": "Paris"}, self.RESULT)
        learn(keys, {"city": "Rome"}, "Rome: 25 degrees")
        assert is_foreign(keys, {"city": "Oslo"}, self.RESULT)

    def test_unknown_results_are_nobodys(self):
        keys = Keys()
        assert not is_foreign(keys, {"city": "Oslo"}, self.RESULT)
        learn(keys, {"city": "Paris"}, self.RESULT)
        assert not is_foreign(keys, {"city": "Oslo"}, "Oslo: 5 degrees")

    def test_known_under_these_very_arguments(self):
        keys = Keys()
        learn(keys, {"city": "Paris"}, self.RESULT)
        learn(keys, {"city": "Oslo"}, self.RESULT)
        assert not is_foreign(keys, {"city": "Paris"}, self.RESULT)
        assert not is_foreign(keys, {"city": "Oslo"}, self.RESULT)

    def test_near_equal_questions_rightly_have_equal_answers(self):
        keys = Keys()
        learn(keys, {"q": "weather today in Paris France"}, self.RESULT)
        for city in ("Rome", "Oslo", "Bern"):
            learn(keys, {"q": f"trains from {city}"}, f"{city}: 1 train")
        assert not is_foreign(keys, {"q": "weather today in Paris"}, self.RESULT)
        assert is_foreign(keys, {"q": "trains from Madrid"}, self.RESULT)

    def test_words_that_all_arguments_share_make_none_near(self):
        keys = Keys()
        pages = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu")
        for page in pages:
            learn(keys, {"url": f"https://www.example.com/{page}"}, f"The page of {page}, in full")
        assert is_foreign(keys, {"url": "https://www.example.com/omega"}, "The page of alpha, in full")

    def test_a_result_that_everybody_has_is_not_foreign_where_it_was_seen(self):
        keys = Keys()
        for user in range(50):
            learn(keys, {"user": f"name{user}"}, "status: everything is done")
        assert not any(is_foreign(keys, {"user": f"name{user}"}, "status: everything is done") for user in range(50))

    def test_arguments_without_words_are_compared_with_nothing(self):
        keys = Keys()
        learn(keys, {"flag": True}, self.RESULT)
        assert not is_foreign(keys, {"flag": False}, self.RESULT)

    def test_whose_arguments_are_forgotten_is_not_known_to_be_another(self):
        keys = Keys()
        learn(keys, {"city": "Paris"}, self.RESULT)
        for n in range(keys.MAX_KEYS):
            learn(keys, {"n": n}, "the same for all of them")
        assert read(self.RESULT).digest in keys.owners
        assert not is_foreign(keys, {"city": "Oslo"}, self.RESULT)


class TestBounds:
    def test_keys_results_and_words_are_bounded(self):
        keys, rng = Keys(), random.Random(1)
        for n in range(6_000):
            learn(keys, {"q": f"{rng.random()} {rng.random()}", "n": n}, {"n": n})
        assert len(keys.by_key) <= keys.MAX_KEYS
        assert len(keys.owners) <= keys.MAX_OWNED
        assert len(keys.word_counts) <= keys.MAX_WORDS

    def test_the_least_recently_used_go_first(self):
        keys = Keys()
        learn(keys, {"city": "Paris"}, "Paris: 20")
        for n in range(3 * keys.MAX_OWNED):
            learn(keys, {"n": n}, {"n": n})
            if n % 50 == 0:
                assert read("Paris: 20").digest in keys.owners
                learn(keys, {"city": "Paris"}, "Paris: 20")
        assert Arguments({"city": "Paris"}).key in keys.by_key
        assert read("Paris: 20").digest in keys.owners
        assert Arguments({"n": 0}).key not in keys.by_key
        assert read({"n": 0}).digest not in keys.owners

    def test_words_of_forgotten_keys_are_forgotten(self):
        keys = Keys()
        for n in range(2 * keys.MAX_KEYS):
            learn(keys, {"q": f"word{n} other{n} common"}, "ok")
        old, common = Arguments({"q": f"word{0} other{0}"}), Arguments({"q": "common"})
        assert not old.words & set(keys.word_counts)
        assert [keys.word_counts[word] for word in common.words] == [keys.MAX_KEYS]


def test_a_result_has_grown_where_it_goes_on_after_what_it_was():
    rows = [{"id": number, "state": "open"} for number in range(4)]
    history = history_of(rows[:3])
    assert history.has_grown(read(rows))
    assert not history.has_grown(read(rows[:2]))
    assert not history.has_grown(read([{"id": 77, "state": "open"}, *rows]))
    assert not history.has_grown(read([*rows[:2], {"id": 20_000, "state": "open"}])), "a number with more digits"


def test_what_comes_again_in_another_session_is_told_from_what_came_once():
    keys, arguments = Keys(), Arguments({"path": "a"})
    keys.hear(arguments.key, 7, session=1)
    assert not keys.is_heard_again(arguments.key, 7, 1)
    assert keys.is_heard_again(arguments.key, 7, 2)
    assert not keys.is_heard_again(Arguments({"path": "b"}).key, 7, 2)
    for digest in range(100, 100 + Keys.MAX_HEARD):
        keys.hear(arguments.key, digest, session=1)
    assert len(keys.heard) == Keys.MAX_HEARD
    assert not keys.is_heard_again(arguments.key, 7, 2), "the oldest is forgotten"
