"""Vectors of hashed n-grams: what lies near what, and the same everywhere."""

import math
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError
from agentguard.gate.evidence._vectors import LexicalEmbeddings

from ...rows import over

EMBEDDINGS = LexicalEmbeddings()


def cosine(one: str, other: str) -> float:
    return sum(a * b for a, b in zip(EMBEDDINGS.embed_query(one), EMBEDDINGS.embed_query(other), strict=True))


@over("near", ["cameras", "camera's lens", "a digital camera", "camerra", "CÁMERA"])
def test_what_shares_letters_lies_nearer_than_what_does_not(near: str) -> None:
    assert cosine("camera", near) > 0.25 > 0.1 > abs(cosine("camera", "free shipping"))


def test_synonyms_lie_nowhere_near() -> None:
    assert abs(cosine("refund", "money back")) < 0.1


def test_function_words_count_for_nothing() -> None:
    assert EMBEDDINGS.embed_query("the price of a camera") == EMBEDDINGS.embed_query("Price? Camera!")
    assert EMBEDDINGS.embed_query("what is it") == EMBEDDINGS.embed_query("") == [0.0] * 1024


def test_repetition_counts_by_its_logarithm() -> None:
    # <zoom> and <lens> have 10 pieces each: themselves, four of 3 characters, three of 4, two of 5; none is shared. So
    # the cosine is w / sqrt(w² + 1), with w = 1 + ln 5 the weight of a piece that comes five times, against 1.
    often = 1 + math.log(5)

    assert cosine("zoom", "zoom zoom zoom zoom zoom lens") == pytest.approx(often / math.hypot(often, 1), abs=1e-5)


def test_vectors_are_the_same_in_every_process() -> None:
    code = (
        "from agentguard.gate.evidence._vectors import LexicalEmbeddings\n"
        "print(LexicalEmbeddings(64).embed_query('Zwei Jahre Garantie auf Übergrößen 🙂'))"
    )

    def said(seed: str) -> str:
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"}
        return subprocess.run(
            [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True, check=True
        ).stdout

    assert said("1") == f"{LexicalEmbeddings(64).embed_query('Zwei Jahre Garantie auf Übergrößen 🙂')}\n"


@given(st.lists(st.text(st.characters(), max_size=80), max_size=5))
def test_any_text_has_a_vector_of_length_one_or_none(texts: list[str]) -> None:
    for text, vector in zip(texts, EMBEDDINGS.embed_documents(texts), strict=True):
        assert vector == EMBEDDINGS.embed_query(text)
        assert len(vector) == 1024
        assert math.hypot(*vector) == pytest.approx(1.0, abs=1e-5) or not any(vector)


def test_half_a_surrogate_pair_and_a_long_word_have_vectors() -> None:
    assert len(EMBEDDINGS.embed_query("camera \ud83d")) == 1024
    assert any(EMBEDDINGS.embed_query("w" * 1_000_000))


@pytest.mark.parametrize("dimensions", [0, 15, 65_537, -1])
def test_dimensions_are_bounded(dimensions: int) -> None:
    with pytest.raises(ConfigurationError, match="dimensions"):
        LexicalEmbeddings(dimensions)
