"""A text as a query: quoted words, and nothing that could be an operator."""

import re

from hypothesis import given
from hypothesis import strategies as st

from agentguard.gate.evidence._sqlite import match_expression, query_words


def test_at_most_two_hundred_different_words_are_searched() -> None:
    assert len(query_words(" ".join(f"w{n % 500}" for n in range(5_000)))) == 200


def test_words_beyond_any_word_are_left_out() -> None:
    assert match_expression(query_words(f"camera {'x' * 101} lens")) == '"camera" OR "lens"'


@given(st.text())
def test_every_word_stands_in_quotes(text: str) -> None:
    assert re.fullmatch(r'("[^\W_]+"( OR "[^\W_]+")*)?', match_expression(query_words(text)))
